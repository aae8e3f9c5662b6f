import type { LabelRegions } from '../label-images/label-regions.ts';
import type { SharedPixels } from '../label-images/pixel-totals.ts';
import type { Note } from '../notes.ts';
import type { PairAreas } from '../pixelbox/pair-areas.ts';
import { gatherAreas } from '../pixelbox/pair-areas.ts';
import type { Regions } from '../pixelbox/regions.ts';
import { shortNamesApart } from '../quoted-names.ts';
import type { TextColumn } from '../text-column.ts';
import { exactSum, ratiosOf } from './areas.ts';
import type { BoxMeetings } from './box-meetings.ts';
import type { Candidates, PairColumns } from './filter.ts';
import { type MatchOptions, matchPairs } from './matching.ts';
import { gridText, isSameGrid, type VoxelGrid } from './voxel-grid.ts';

/** Size of an image in pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
  /** Where the voxels of a slice of a volume are in space, if the file states it. */
  readonly grid?: VoxelGrid | undefined;
}

/** Data of one side of a tile, except its polygons. Both kinds of sides have these fields. */
interface NamedSide {
  /** Names of the polygons, as in the file. */
  readonly ids: TextColumn;
  /** Notes made while the polygons were read. */
  readonly notes: readonly Note[];
  /** Size of the image from which the polygons come, if known. */
  readonly size?: ImageSize | undefined;
  /** Name or definition of the coordinate reference system, if the file states one; equal for equal systems. */
  readonly crs?: string | undefined;
}

/** One side of a tile, with polygons given by their vertices. */
export interface PolygonSide extends NamedSide {
  readonly regions: Regions;
  readonly labels?: undefined;
}

/** One side of a tile, with polygons given as regions of a label image. */
export interface LabelSide extends NamedSide {
  readonly labels: LabelRegions;
  readonly regions?: undefined;
}

/** One side of a tile. Both sides of a tile are of the same kind. */
export type TileSide = PolygonSide | LabelSide;

/** A tile of polygons, ready for the last step (areas and matches): both sides, and the candidate pairs. */
export interface PolygonTask {
  readonly tile: string;
  readonly p: PolygonSide;
  readonly q: PolygonSide;
  readonly candidates: Candidates;
}

/** A tile of label images, ready for the last step (common pixels and matches). */
export interface LabelTask {
  readonly tile: string;
  readonly p: LabelSide;
  readonly q: LabelSide;
  readonly meetings: BoxMeetings;
}

export type TileTask = PolygonTask | LabelTask;

/** The pairs of polygons with common area as columns, ordered by (p, q). Areas are in pixels. */
export interface ComparedPairs extends PairColumns {
  readonly areas: PairAreas;
  /** Intersection over union, ‖p ∩ q‖ ÷ ‖p ∪ q‖, above 0. */
  readonly ratio: Float64Array;
  /** 1 if the pair is one of the one-to-one matches, else 0. */
  readonly matched: Uint8Array;
}

/** Result for one side of a tile. */
export interface SideResult {
  readonly ids: TextColumn;
  readonly polygons: number;
  /**
   * Indices of the polygons that share no area with any polygon of the other side, ascending. Polygons without pixels
   * are always among them.
   */
  readonly missing: Uint32Array;
}

/** The comparison of one tile. */
export interface TileComparison {
  readonly tile: string;
  readonly p: SideResult;
  readonly q: SideResult;
  readonly pairs: ComparedPairs;
  /** Number of pairs whose boxes have common area. `meeting` is the number of pairs whose boxes overlap or touch. */
  readonly candidates: number;
  readonly meeting: number;
  readonly matches: number;
  /** Sum of the ratios of all pairs, as an exact multiple of 2⁻⁵². `matchedSum` is the sum for the matches alone. */
  readonly ratioSum: bigint;
  readonly matchedSum: bigint;
  /** Notes of both sides, `p` first, then `compare/tile-sizes` or `compare/voxel-grids` if their images have different sizes or places, or `compare/crs` if they state different systems. */
  readonly notes: readonly Note[];
}

/**
 * Compares a tile, given the areas of its candidate pairs. Finds the pairs with common area and their ratios, the
 * polygons that share no area with the other side, and the matches. Takes O(polygons + pairs), plus the time of
 * matching.
 */
export function compareTile(task: PolygonTask, areas: PairAreas, matching: MatchOptions): TileComparison {
  const { candidates } = task;
  const met = positive(areas.intersection);
  const pairs = { p: met.map((pair) => candidates.p[pair]!), q: met.map((pair) => candidates.q[pair]!) };
  const common = {
    intersection: gatherAreas(areas.intersection, met),
    p: gatherAreas(areas.p, met),
    q: gatherAreas(areas.q, met),
  };
  const meetings = { candidates: candidates.p.length, meeting: candidates.meeting };
  return judge(task, { pairs, common, meetings }, matching);
}

/** Same as {@link compareTile} for two label images, given the pixels that their regions share. */
export function compareLabels(task: LabelTask, shared: SharedPixels, matching: MatchOptions): TileComparison {
  const { p, q } = shared;
  const common = {
    intersection: shared.pixels,
    p: gatherAreas(task.p.labels.area, p),
    q: gatherAreas(task.q.labels.area, q),
  };
  return judge(task, { pairs: { p, q }, common, meetings: task.meetings }, matching);
}

/** The pairs of a tile that have common area, and the number of pairs whose boxes overlap or touch. */
interface MetPairs {
  readonly pairs: PairColumns;
  readonly common: PairAreas;
  readonly meetings: BoxMeetings;
}

function judge(task: TileTask, { pairs, common, meetings }: MetPairs, matching: MatchOptions): TileComparison {
  const { p, q } = pairs;
  const ratio = ratiosOf(common);
  const matches = matchPairs({ p, q, ratio }, matching);
  const matched = new Uint8Array(p.length);
  for (const pair of matches) matched[pair] = 1;
  return {
    tile: task.tile,
    p: sideResult(task.p, p),
    q: sideResult(task.q, q),
    pairs: { p, q, areas: common, ratio, matched },
    ...meetings,
    matches: matches.length,
    ratioSum: exactSum(ratio),
    matchedSum: exactSum(Float64Array.from(matches, (pair) => ratio[pair]!)),
    notes: [...task.p.notes, ...task.q.notes, ...sizeNote(task), ...crsNote(task)],
  };
}

function sizeNote({ tile, p, q }: TileTask): Note[] {
  if (p.size === undefined || q.size === undefined) return [];
  if (p.size.width === q.size.width && p.size.height === q.size.height) return gridNote(tile, p.size.grid, q.size.grid);
  const said = ({ width, height }: ImageSize): string => `${width} × ${height}`;
  const message =
    `The tile ${JSON.stringify(tile)} has ${said(p.size)} pixels in the first set and ${said(q.size)} in the second; ` +
    'they are compared from the same corner on.';
  return [{ code: 'compare/tile-sizes', message, count: 1 }];
}

function crsNote({ tile, p, q }: TileTask): Note[] {
  if (p.crs === undefined || q.crs === undefined || p.crs === q.crs) return [];
  const [inP, inQ] = shortNamesApart(p.crs, q.crs);
  const message =
    `The tile ${JSON.stringify(tile)} is in ${inP} in the first set and in ${inQ} in the second; ` +
    'coordinates are compared as they are. Bring both sets to one coordinate system, for example with ogr2ogr -t_srs.';
  return [{ code: 'compare/crs', message, count: 1 }];
}

function gridNote(tile: string, p: VoxelGrid | undefined, q: VoxelGrid | undefined): Note[] {
  if (p === undefined || q === undefined || isSameGrid(p, q)) return [];
  const what = p.affine === undefined || q.affine === undefined ? 'voxels of different sizes' : 'different affines';
  const message =
    `The volumes of the tile ${JSON.stringify(tile)} have ${what}, ${gridText(p, q)} in the first set and ` +
    `${gridText(q, p)} in the second; voxels are compared by their numbers, not by their places. ` +
    'Resample one volume to the grid of the other.';
  return [{ code: 'compare/voxel-grids', message, count: 1 }];
}

/** Indices of the elements above 0. */
function positive(column: BigUint64Array): Uint32Array {
  const words = new Uint32Array(column.buffer, column.byteOffset, 2 * column.length);
  const found = new Uint32Array(column.length);
  let count = 0;
  for (let i = 0; i < found.length; i++) if ((words[2 * i]! | words[2 * i + 1]!) !== 0) found[count++] = i;
  return found.slice(0, count);
}

function sideResult({ ids, regions, labels }: TileSide, inPairs: Uint32Array): SideResult {
  const polygons = (regions ?? labels).left.length;
  const met = new Uint8Array(polygons);
  for (const polygon of inPairs) met[polygon] = 1;
  const missing = Uint32Array.from(met.keys()).filter((polygon) => met[polygon] === 0);
  return { ids, polygons, missing };
}
