import { BYTES_PER_RUN, type LabelRegions } from '../../algorithms/label-images/label-regions.ts';
import type { ErrorPlace } from '../../primitives/checks/errors.ts';
import { resized } from '../bytes/byte-arrays.ts';
import { overMemory } from '../memory.ts';
import type { LabelRows, Labels } from './label-rows.ts';

/** Which pixels form a region: those of a 4-connected component of equal labels, or all pixels with the same label. */
export type RegionKind = 'components' | 'labels';

export interface GatherOptions {
  readonly regions?: RegionKind | undefined;
  /** Maximum bytes for the runs of pixels of an image. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
  readonly place?: ErrorPlace | undefined;
}

/** The regions of an image, and the label of each region. */
export interface LabelledRegions {
  readonly regions: LabelRegions;
  readonly labels: readonly number[];
}

/**
 * Gathers the regions of a label image. Regions are in the order of their first pixels. Only runs of equal pixels are
 * stored, so memory grows with the outlines of the regions, not with the number of pixels.
 *
 * O(pixels), sequential, deterministic.
 *
 * @throws OutOfMemoryError `memory/limit` if the runs exceed `memoryBytes`.
 */
export function gatherRegions(rows: LabelRows, options: GatherOptions = {}): LabelledRegions {
  const { width, height } = rows;
  const runs = growingRuns(options);
  const numbering = options.regions === 'labels' ? byLabel() : byComponent(runs);
  const rowRuns = new Uint32Array(height + 1);
  let y = 0;
  rows.each((row) => {
    numbering.beginRow();
    addRow(row, width, runs, numbering.regionOf);
    rowRuns[++y] = runs.length;
    runs.checkRoom(y, height);
  });
  const { labels, numbers } = numbering.finish();
  const columns = runs.finish();
  const { region } = columns;
  if (numbers !== undefined) for (let run = 0; run < region.length; run++) region[run] = numbers[region[run]!]!;
  const runColumns = { width, height, rowRuns, ...columns };
  return { regions: { ...runColumns, ...measure(runColumns, labels.length) }, labels };
}

type RegionOf = (label: number, start: number, end: number) => number;

function addRow(row: Labels, width: number, runs: GrowingRuns, regionOf: RegionOf): void {
  for (let column = 0; column < width; ) {
    const label = row[column]!;
    if (label === 0) {
      column++;
      continue;
    }
    const start = column++;
    while (column < width && row[column] === label) column++;
    runs.add(start, column, regionOf(label, start, column));
  }
}

/**
 * Assigns a region number to each horizontal run of pixels with the same label. Runs are visited row by row, from left
 * to right.
 */
interface Numbering {
  beginRow(): void;
  readonly regionOf: RegionOf;
  /**
   * Returns the label of each region. If `regionOf` returns provisional region numbers, also returns the final number
   * for each provisional number.
   */
  finish(): { readonly labels: readonly number[]; readonly numbers?: Uint32Array };
}

function byLabel(): Numbering {
  const numbers = new Map<number, number>();
  return {
    beginRow: () => {},
    regionOf(label) {
      const known = numbers.get(label);
      if (known !== undefined) return known;
      numbers.set(label, numbers.size);
      return numbers.size - 1;
    },
    finish: () => ({ labels: [...numbers.keys()] }),
  };
}

/**
 * Numbers the 4-connected components of an image. Two runs of pixels in adjacent rows belong to the same component if
 * they have the same label and share a column. Uses union-find: the parent of a provisional component has a smaller
 * number, and a root is its own parent.
 */
function byComponent(runs: GrowingRuns): Numbering {
  const parent: number[] = [];
  const labelOf: number[] = [];
  let [above, row] = [emptyRow(), emptyRow()];
  let next = 0;
  return {
    beginRow() {
      runs.checkOther(parent.length * BYTES_PER_COMPONENT);
      [above, row] = [row, above];
      [row.length, next] = [0, 0];
    },
    regionOf(label, start, end) {
      while (next < above.length && above.end[next]! <= start) next++;
      let region = -1;
      for (let run = next; run < above.length && above.start[run]! < end; run++) {
        const other = above.region[run]!;
        if (labelOf[other] !== label) continue;
        region = region === -1 ? rootOf(parent, other) : join(parent, region, other);
      }
      if (region === -1) {
        region = parent.length;
        parent.push(region);
        labelOf.push(label);
      }
      pushRun(row, start, end, region);
      return region;
    },
    finish: () => numberComponents(parent, labelOf),
  };
}

/** Bytes of memory per component in the arrays `parent` and `labelOf`, including unused entries after growth. */
const BYTES_PER_COMPONENT = 24;

interface Row {
  start: Uint32Array;
  end: Uint32Array;
  region: Uint32Array;
  length: number;
}

function emptyRow(): Row {
  return { start: new Uint32Array(64), end: new Uint32Array(64), region: new Uint32Array(64), length: 0 };
}

function pushRun(row: Row, start: number, end: number, region: number): void {
  if (row.length === row.start.length) {
    row.start = resized(row.start, 2 * row.start.length);
    row.end = resized(row.end, 2 * row.end.length);
    row.region = resized(row.region, 2 * row.region.length);
  }
  row.start[row.length] = start;
  row.end[row.length] = end;
  row.region[row.length++] = region;
}

function join(parent: number[], a: number, b: number): number {
  const [rootA, rootB] = [rootOf(parent, a), rootOf(parent, b)];
  if (rootA < rootB) parent[rootB] = rootA;
  else parent[rootA] = rootB;
  return Math.min(rootA, rootB);
}

/** The root of the component to which `member` belongs (union-find with path halving). */
function rootOf(parent: number[], member: number): number {
  let at = member;
  while (parent[at] !== at) {
    parent[at] = parent[parent[at]!]!;
    at = parent[at]!;
  }
  return at;
}

function numberComponents(parent: number[], labelOf: readonly number[]): ReturnType<Numbering['finish']> {
  const numbers = new Uint32Array(parent.length);
  const labels: number[] = [];
  for (let member = 0; member < parent.length; member++) {
    const root = rootOf(parent, member);
    numbers[member] = root === member ? labels.push(labelOf[member]!) - 1 : numbers[root]!;
  }
  return { labels, numbers };
}

/**
 * Columns of runs of pixels. The columns grow by adding chunks, so nothing is copied until the chunks are concatenated
 * at the end.
 */
interface GrowingRuns {
  readonly length: number;
  add(start: number, end: number, region: number): void;
  /**
   * Throws if more memory is needed than the limit allows, for the runs and for the bytes last passed to `checkOther`.
   * `rows` of the image's `height` rows have been read so far.
   */
  checkRoom(rows: number, height: number): void;
  checkOther(bytes: number): void;
  finish(): Pick<LabelRegions, 'start' | 'end' | 'region'>;
}

const CHUNK = 2 ** 16;

function growingRuns({ memoryBytes = Number.POSITIVE_INFINITY, place }: GatherOptions): GrowingRuns {
  const chunks: Record<'start' | 'end' | 'region', Uint32Array[]> = { start: [], end: [], region: [] };
  let [start, end, region] = [new Uint32Array(0), new Uint32Array(0), new Uint32Array(0)];
  let [length, fill, other] = [0, CHUNK, 0];
  const grow = (): void => {
    [start, end, region] = [new Uint32Array(CHUNK), new Uint32Array(CHUNK), new Uint32Array(CHUNK)];
    chunks.start.push(start);
    chunks.end.push(end);
    chunks.region.push(region);
    fill = 0;
  };
  const joined = (column: Uint32Array[]): Uint32Array => {
    const all = new Uint32Array(length);
    for (const [i, chunk] of column.entries()) all.set(chunk.subarray(0, length - i * CHUNK), i * CHUNK);
    column.length = 0;
    return all;
  };
  return {
    get length() {
      return length;
    },
    add(first, behind, of) {
      if (fill === CHUNK) grow();
      start[fill] = first;
      end[fill] = behind;
      region[fill++] = of;
      length++;
    },
    checkOther(bytes) {
      other = bytes;
    },
    checkRoom(rows, height) {
      // `finish` copies one column at a time, so only one extra column (4 bytes per run) is needed.
      const needed = length * (BYTES_PER_RUN + 4) + other;
      if (needed <= memoryBytes) return;
      throw overMemory('The label image has too many runs of pixels.', {
        needed: (needed / rows) * height,
        what: `about ${Math.round((length / rows) * height)} runs, by the first ${rows} of ${height} rows`,
        allowed: memoryBytes,
        instead: 'compare smaller tiles',
        place,
      });
    },
    finish: () => ({ start: joined(chunks.start), end: joined(chunks.end), region: joined(chunks.region) }),
  };
}

/** The bounding boxes and areas of the regions, in pixels. */
function measure(
  { height, rowRuns, start, end, region }: Pick<LabelRegions, 'height' | 'rowRuns' | 'start' | 'end' | 'region'>,
  count: number,
): Pick<LabelRegions, 'left' | 'top' | 'right' | 'bottom' | 'area'> {
  const left = new Int32Array(count).fill(2 ** 31 - 1);
  const top = new Int32Array(count).fill(-1);
  const [right, bottom, area] = [new Int32Array(count), new Int32Array(count), new Float64Array(count)];
  for (let y = 0; y < height; y++) {
    for (let run = rowRuns[y]!; run < rowRuns[y + 1]!; run++) {
      const of = region[run]!;
      if (start[run]! < left[of]!) left[of] = start[run]!;
      if (end[run]! > right[of]!) right[of] = end[run]!;
      if (top[of] === -1) top[of] = y;
      bottom[of] = y + 1;
      area[of]! += end[run]! - start[run]!;
    }
  }
  return { left, top, right, bottom, area: BigUint64Array.from(area, BigInt) };
}
