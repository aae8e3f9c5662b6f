import type { LabelRegions } from '../label-images/label-regions.ts';
import type { SharedPixels } from '../label-images/pixel-totals.ts';
import type { Note } from '../notes.ts';
import type { PairAreas } from '../pixelbox/pair-areas.ts';
import type { Regions } from '../pixelbox/regions.ts';
import type { TextColumn } from '../text-column.ts';
import { exactSum, ratiosOf } from './areas.ts';
import type { BoxMeetings } from './box-meetings.ts';
import type { Candidates, PairColumns } from './filter.ts';
import { type MatchOptions, matchPairs } from './matching.ts';

/** Columns and rows of an image. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** What is known of one side of a tile beside its polygons. */
interface NamedSide {
  /** What the file calls the polygons, one each. */
  readonly ids: TextColumn;
  /** What was met while they were read. */
  readonly notes: readonly Note[];
  /** Of their image, where it is known. */
  readonly size?: ImageSize | undefined;
}

/** The polygons that one side has in a tile, by their vertices. */
export interface PolygonSide extends NamedSide {
  readonly regions: Regions;
  readonly labels?: undefined;
}

/** The polygons that one side has in a tile: regions of a label image, by their pixels. */
export interface LabelSide extends NamedSide {
  readonly labels: LabelRegions;
  readonly regions?: undefined;
}

/** One side of a tile. Both sides are of the same kind. */
export type TileSide = PolygonSide | LabelSide;

/** A tile of polygons on its way to the aggregator: both sides, and the pairs that can have common area. */
export interface PolygonTask {
  readonly tile: string;
  readonly p: PolygonSide;
  readonly q: PolygonSide;
  readonly candidates: Candidates;
}

/** A tile of label images on its way to the aggregator. */
export interface LabelTask {
  readonly tile: string;
  readonly p: LabelSide;
  readonly q: LabelSide;
  readonly meetings: BoxMeetings;
}

export type TileTask = PolygonTask | LabelTask;

/** Pairs with common area as columns, ascending by (p, q); areas in pixels. */
export interface ComparedPairs extends PairColumns {
  readonly areas: PairAreas;
  /** ‖p ∩ q‖ ÷ ‖p ∪ q‖, above 0. */
  readonly ratio: Float64Array;
  /** 1 where the pair is one of the one-to-one matches, else 0. */
  readonly matched: Uint8Array;
}

/** What is known of one side of a tile. */
export interface SideResult {
  readonly ids: TextColumn;
  readonly polygons: number;
  /** Polygons without common area with any of the other side, ascending. One without a pixel is always among them. */
  readonly missing: Uint32Array;
}

/** The comparison of one tile. */
export interface TileComparison {
  readonly tile: string;
  readonly p: SideResult;
  readonly q: SideResult;
  readonly pairs: ComparedPairs;
  /** Pairs whose boxes have common area, and those whose boxes meet at all. */
  readonly candidates: number;
  readonly meeting: number;
  readonly matches: number;
  /** The sum of the pairs' ratios, exact in multiples of 2⁻⁵², and of the matches' alone. */
  readonly ratioSum: bigint;
  readonly matchedSum: bigint;
  /** What was met while its sides were read, those of `p` first, and `compare/tile-sizes` where their sizes differ. */
  readonly notes: readonly Note[];
}

/**
 * What the areas of a tile's candidates say: the pairs that have common area, with their ratios; the polygons that are in
 * no such pair; the matches. O(polygons + pairs), and what matching takes.
 */
export function compareTile(task: PolygonTask, areas: PairAreas, matching: MatchOptions): TileComparison {
  const { candidates } = task;
  const met = positive(areas.intersection);
  const pairs = { p: met.map((pair) => candidates.p[pair]!), q: met.map((pair) => candidates.q[pair]!) };
  const common = {
    intersection: pick(areas.intersection, met),
    p: pick(areas.p, met),
    q: pick(areas.q, met),
  };
  const meetings = { candidates: candidates.p.length, meeting: candidates.meeting };
  return judge(task, { pairs, common, meetings }, matching);
}

/** What the shared pixels of a tile's label images say, as {@link compareTile}. */
export function compareLabels(task: LabelTask, shared: SharedPixels, matching: MatchOptions): TileComparison {
  const { p, q } = shared;
  const common = {
    intersection: shared.pixels,
    p: pick(task.p.labels.area, p),
    q: pick(task.q.labels.area, q),
  };
  return judge(task, { pairs: { p, q }, common, meetings: task.meetings }, matching);
}

/** The pairs of a tile that have common area, and how many boxes meet. */
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
    notes: [...task.p.notes, ...task.q.notes, ...sizeNote(task)],
  };
}

function sizeNote({ tile, p, q }: TileTask): Note[] {
  if (p.size === undefined || q.size === undefined) return [];
  if (p.size.width === q.size.width && p.size.height === q.size.height) return [];
  const said = ({ width, height }: ImageSize): string => `${width} × ${height}`;
  const message =
    `The tile ${JSON.stringify(tile)} has ${said(p.size)} pixels in the first set and ${said(q.size)} in the second; ` +
    'they are compared from the same corner on.';
  return [{ code: 'compare/tile-sizes', message, count: 1 }];
}

/** Where a column is not 0. */
function positive(column: BigUint64Array): Uint32Array {
  const words = new Uint32Array(column.buffer, column.byteOffset, 2 * column.length);
  const found = new Uint32Array(column.length);
  let count = 0;
  for (let i = 0; i < found.length; i++) if ((words[2 * i]! | words[2 * i + 1]!) !== 0) found[count++] = i;
  return found.slice(0, count);
}

function pick(column: BigUint64Array, indices: Uint32Array): BigUint64Array {
  const picked = new BigUint64Array(indices.length);
  for (let i = 0; i < indices.length; i++) picked[i] = column[indices[i]!]!;
  return picked;
}

function sideResult({ ids, regions, labels }: TileSide, inPairs: Uint32Array): SideResult {
  const polygons = (regions ?? labels).left.length;
  const met = new Uint8Array(polygons);
  for (const polygon of inPairs) met[polygon] = 1;
  const missing = Uint32Array.from(met.keys()).filter((polygon) => met[polygon] === 0);
  return { ids, polygons, missing };
}
