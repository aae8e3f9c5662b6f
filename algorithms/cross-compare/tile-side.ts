import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aPositive, aRecord, aText, aWhole, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { aFill, type FillRule, overlapSentence, type Polygons, somePolygons } from '../geometry/polygons.ts';
import { NO_REGIONS } from '../label-images/label-regions.ts';
import { type Note, noteTally, someNotes } from '../notes.ts';
import { regionsOf } from '../pixelbox/regions.ts';
import { aPixelSize, gridPolygons } from '../pixelbox/snap-to-pixels.ts';
import { aTextColumn, type TextColumn, textAt } from '../text-column.ts';
import type { ImageSize, LabelSide, PolygonSide } from './tile-comparison.ts';
import { aVoxelGrid } from './voxel-grid.ts';

/** Polygons as read from a file. */
export interface ReadPolygons {
  readonly ids: TextColumn;
  readonly polygons: Polygons;
  readonly notes: readonly Note[];
  /** Size of the image, if known. */
  readonly size?: ImageSize | undefined;
  /** Name or definition of the coordinate reference system, if known; equal for equal systems. */
  readonly crs?: string | undefined;
}

export interface TileSideOptions {
  /** Side length of a pixel, in the coordinates of the polygons. Default 1. */
  readonly pixelSize?: number | undefined;
  /** Which points are inside a polygon whose parts overlap. Default `union`. */
  readonly fill?: FillRule | undefined;
  /** Maximum bytes of memory for the outlines of polygons whose overlapping parts are united. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
  /** Name of the file with the polygons, used in notes and errors. */
  readonly place: string;
}

/**
 * Snaps the polygons of one side of a tile to the pixel grid. Accepts the polygons that `gridPolygons` accepts.
 *
 * Adds the notes `compare/moved-vertices` if vertices are not at corners of pixels, and `compare/overlapping-parts` if
 * parts of a polygon overlap.
 *
 * @throws The errors of `gridPolygons` and `regionsOf`.
 * @example
 * const { polygons } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [2.2, 0], [2.2, 1], [0, 1]]] }').zones;
 * const ids = { bytes: Uint8Array.of(48), starts: Uint32Array.of(0, 1) };
 * const { regions, notes } = tileSide({ ids, polygons, notes: [] }, { place: 'a.wkt' });
 * [regions.right[0], notes[0].code, notes[0].count]; // [2, 'compare/moved-vertices', 2]
 */
export function tileSide(read: ReadPolygons, options: TileSideOptions): PolygonSide {
  requireArguments('tileSide', { read, options }, { read: whatWasRead, options: OPTIONS });
  const { ids, polygons, notes, size, crs } = read;
  const { pixelSize, fill = 'union', memoryBytes, place } = options;
  const grid = gridPolygons(polygons, { pixelSize, fill, memoryBytes, file: place });
  const moved = grid.moved === 0 ? [] : [movedNote(grid.moved, place)];
  const placed = [...notes, ...overlapNotes(ids, grid.overlapping, fill)].map((note) => ({
    ...note,
    message: `${place}: ${note.message}`,
  }));
  return { ids, regions: regionsOf(grid), notes: [...placed, ...moved], size, crs };
}

function overlapNotes(ids: TextColumn, overlapping: Uint32Array | undefined, fill: FillRule): Note[] {
  const tally = noteTally();
  for (const polygon of overlapping ?? []) tally.add('compare/overlapping-parts', textAt(ids, polygon));
  return tally.notes({ 'compare/overlapping-parts': (n) => overlapSentence(n, ['polygon', 'polygons'], fill) });
}

const whatWasRead: Kind = aRecord<ReadPolygons>({
  ids: aTextColumn,
  polygons: somePolygons,
  notes: someNotes,
  size: optional(aRecord<ImageSize>({ width: aWhole(), height: aWhole(), grid: optional(aVoxelGrid) })),
  crs: optional(aText),
});
const OPTIONS: Kind = someOptions<TileSideOptions>({
  pixelSize: optional(aPixelSize),
  fill: optional(aFill),
  memoryBytes: optional(aPositive()),
  place: aText,
});

function movedNote(count: number, place: string): Note {
  const subject = count === 1 ? '1 vertex lies' : `${count} vertices lie`;
  const message =
    `${place}: ${subject} between the corners of pixels, and areas are those of the polygons on the pixel grid; ` +
    'smaller pixels come closer.';
  return { code: 'compare/moved-vertices', message, count };
}

/** An empty side, which replaces a missing side of a tile if the other side has polygons. */
export const NO_POLYGONS: PolygonSide = {
  ids: { bytes: new Uint8Array(0), starts: Uint32Array.of(0) },
  regions: {
    polygonRings: Uint32Array.of(0),
    ringVertices: Uint32Array.of(0),
    x: new Int32Array(0),
    y: new Int32Array(0),
    left: new Int32Array(0),
    top: new Int32Array(0),
    right: new Int32Array(0),
    bottom: new Int32Array(0),
  },
  notes: [],
};

/** An empty side, which replaces a missing side of a tile if the other side is a label image. */
export const NO_LABELS: LabelSide = { ids: NO_POLYGONS.ids, labels: NO_REGIONS, notes: [] };
