import type { Polygons } from '../../../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../../../algorithms/geometry/raster.ts';
import type { AnyHistogram } from '../../../algorithms/zonal/types.ts';
import { largestOf } from '../../../primitives/host/extremes.ts';
import { type Colors, meanText } from './colors.ts';
import { intersectionOf, type MapExtent, moved, ringExtents, unionOf } from './extent.ts';
import { unrollLongitudes } from './longitudes.ts';
import { countText, escapeXml, HAIRLINE, NO_DATA, placed, px } from './page.ts';
import { regionsOf } from './regions.ts';
import { drawRing, type Frame, fitFrame } from './ring-path.ts';

/** A part of a larger drawing: SVG elements, and the height of the part in pixels. */
export interface Drawing {
  readonly svg: string;
  readonly height: number;
}

/** A drawn map. */
export interface ZoneMap extends Drawing {
  /** Whether the map shows zones without data. If so, the legend must explain their grey colour. */
  readonly showsNoData: boolean;
  /** Number of outlying regions, which are drawn in separate frames with their own scales. */
  readonly insets: number;
}

const TALLEST = 680;
const INSET_HEIGHT = 130;
const INSET_WIDTH = 240;
const GAP = 12;
/** If there are more zones than this number, borders are thin, so that they do not hide the colours. */
const MANY_ZONES = 400;

/**
 * Draws a map of at most `width` pixels, in which the colour of a zone shows its statistic. The map is cropped to zones with
 * cells. A few zones that are far from all others are drawn in separate frames below, because otherwise the main map
 * would be too small.
 */
export function drawMap(
  polygons: Polygons,
  grid: RasterGrid,
  histogram: AnyHistogram,
  means: Float64Array,
  colors: Colors,
  width: number,
): ZoneMap {
  const layer = layOut(polygons, grid, histogram.cells);
  const [main, ...outlying] = regionsOf(layer.shown).map((region) => clipToRaster(region, grid));
  const mainFrame = fitFrame(main ?? rasterExtent(grid), grid.geographic, width, TALLEST);
  const room = Math.min(INSET_WIDTH, (width + GAP) / outlying.length - GAP);
  const insets = outlying.map((extent) => fitFrame(extent, grid.geographic, room, INSET_HEIGHT));
  const label = (zone: number): string => hintOf(histogram, means[zone]!, colors, zone);
  const united = new Set(histogram.united);
  const drawn = [mainFrame, ...insets].map((frame, inset) =>
    drawFrame(layer, frame, means, colors, inset === 0 ? 'Map of the zones' : 'Map of outlying zones', label, united),
  );
  const below = insets.length === 0 ? [] : placeInRow(insets, drawn.slice(1), mainFrame.height + GAP);
  return {
    height: mainFrame.height + (insets.length === 0 ? 0 : GAP + largestOf(insets.map(({ height }) => height))),
    svg: [placed(drawn[0]!.svg, (width - mainFrame.width) / 2, 0), ...below].join('\n'),
    showsNoData: drawn.some(({ showsNoData }) => showsNoData),
    insets: insets.length,
  };
}

/** The zones, and where to draw them. `shifts[ring]` is added to all x coordinates of a ring. */
interface Layer {
  readonly polygons: Polygons;
  readonly shifts: Float64Array;
  /** Bounds of each zone after shifting; undefined if the zone has no vertices. */
  readonly bounds: readonly (MapExtent | undefined)[];
  /** Bounds of the zones with cells. If no zone has cells, the bounds of all zones. */
  readonly shown: readonly MapExtent[];
}

function layOut(polygons: Polygons, grid: RasterGrid, cells: BigUint64Array): Layer {
  const { polygonRings } = polygons;
  const rings = ringExtents(polygons);
  const withCells = new Uint8Array(rings.length);
  for (const [zone, count] of cells.entries()) {
    if (count > 0n) withCells.fill(1, polygonRings[zone]!, polygonRings[zone + 1]!);
  }
  const shifts = grid.geographic
    ? unrollLongitudes(rings, (ring) => withCells[ring] === 1)
    : new Float64Array(rings.length);
  const placedRings = rings.map((extent, ring) => moved(extent, shifts[ring]!));
  const bounds = Array.from(cells, (_, zone) =>
    unionOf(placedRings.slice(polygonRings[zone]!, polygonRings[zone + 1]!)),
  );
  const known = bounds.filter((extent, zone) => extent !== undefined && cells[zone]! > 0n);
  const shown = (known.length > 0 ? known : bounds).filter((extent) => extent !== undefined);
  return { polygons, shifts, bounds, shown };
}

/**
 * The part of a region that the raster covers. The longitudes of the raster and of the region may differ by full turns.
 * So the raster is first moved by full turns to the region.
 */
function clipToRaster(region: MapExtent, grid: RasterGrid): MapExtent {
  const raster = rasterExtent(grid);
  if (!grid.geographic) return intersectionOf(region, raster);
  if (raster.right - raster.left >= 360) return intersectionOf(region, { ...raster, left: -Infinity, right: Infinity });
  const apart = (region.left + region.right - raster.left - raster.right) / 2;
  return intersectionOf(region, moved(raster, 360 * Math.round(apart / 360)));
}

function rasterExtent({ originX, originY, width, height, stepX, stepY }: RasterGrid): MapExtent {
  const [x, y] = [originX + width * stepX, originY + height * stepY];
  return {
    left: Math.min(originX, x),
    right: Math.max(originX, x),
    bottom: Math.min(originY, y),
    top: Math.max(originY, y),
  };
}

interface DrawnFrame {
  readonly svg: string;
  readonly showsNoData: boolean;
}

function drawFrame(
  layer: Layer,
  frame: Frame,
  means: Float64Array,
  colors: Colors,
  title: string,
  label: (zone: number) => string,
  united: ReadonlySet<number>,
): DrawnFrame {
  const paths: string[] = [];
  let showsNoData = false;
  for (const zone of means.keys()) {
    const parts = zonePaths(layer, frame, zone, united.has(zone)).filter((d) => d !== '');
    if (parts.length === 0) continue;
    const empty = Number.isNaN(means[zone]);
    showsNoData ||= empty;
    const fill = empty ? NO_DATA : colors.colorOf(means[zone]!);
    for (const d of parts) paths.push(`<path fill="${fill}" d="${d}"><title>${label(zone)}</title></path>`);
  }
  const border = means.length > MANY_ZONES ? 0.3 : 0.75;
  const size = `width="${px(frame.width)}" height="${px(frame.height)}"`;
  // The nested `<svg>` clips zones that extend beyond the frame.
  const svg =
    `<svg ${size} fill-rule="evenodd" stroke="#fff" stroke-width="${border}" stroke-linejoin="round">\n` +
    `<title>${title}</title>\n${paths.join('\n')}\n</svg><rect ${size} fill="none" stroke="${HAIRLINE}"/>`;
  return { svg, showsNoData };
}

/**
 * The SVG paths of a zone. All rings of the zone form one path, which is filled by the even-odd rule. However, if parts
 * of the zone overlap, each part needs its own path.
 */
function zonePaths({ polygons, shifts, bounds }: Layer, frame: Frame, zone: number, byPart: boolean): string[] {
  const box = bounds[zone];
  const { left, right, bottom, top } = frame.extent;
  if (box === undefined || box.right < left || box.left > right || box.top < bottom || box.bottom > top) return [];
  const { polygonRings, ringVertices, ringParts, x, y } = polygons;
  const paths = new Map<number, string>();
  for (let ring = polygonRings[zone]!; ring < polygonRings[zone + 1]!; ring++) {
    const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    const part = byPart ? ringParts![ring]! : 0;
    const d = drawRing(x.subarray(start, end), y.subarray(start, end), shifts[ring]!, frame);
    paths.set(part, (paths.get(part) ?? '') + d);
  }
  return [...paths.values()];
}

function hintOf({ names, cells }: AnyHistogram, mean: number, colors: Colors, zone: number): string {
  const figure = Number.isNaN(mean) ? 'no data' : `${colors.name} ${meanText(mean, colors)}`;
  return escapeXml(`${names[zone]}: ${figure}, ${countText(cells[zone]!)} cells`);
}

function placeInRow(frames: readonly Frame[], drawn: readonly DrawnFrame[], top: number): string[] {
  let left = 0;
  return drawn.map(({ svg }, index) => {
    const part = placed(svg, left, top);
    left += frames[index]!.width + GAP;
    return part;
  });
}
