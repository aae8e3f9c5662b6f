import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { aRecord, type Kind } from '../../primitives/checks/kinds.ts';
import {
  ArgumentError,
  bool,
  type Column,
  type Context,
  constant,
  copyIf,
  fn,
  gather,
  map,
  maximum,
  maxU64,
  monoid,
  OutOfMemoryError,
  product,
  reduce,
  sequence,
  slice,
  u32,
  u64,
  uniform,
} from '../../primitives/index.ts';
import { type AreaSums, addToSums, startSums, WIDE_ROW_BYTES } from './area-sums.ts';
import type { PolygonEdges } from './polygon-edges.ts';
import {
  BOX_STRIDE,
  childWord,
  contribution,
  type SamplingFunctors,
  STATES,
  samplingFunctors,
  startSize,
  startWord,
  stateBySize,
} from './sampling-functors.ts';

/** Pairs of polygons, given by their indices in two tables. */
export interface PolygonPairs {
  readonly p: Column<'u32'>;
  readonly q: Column<'u32'>;
}

export const somePairs: Kind = aRecord<PolygonPairs>({ p: aColumn('u32'), q: aColumn('u32') });

/** Pairs of polygons of two tables. */
export interface Sampled {
  readonly context: Context;
  readonly p: PolygonEdges;
  readonly q: PolygonEdges;
  readonly pairs: PolygonPairs;
}

/** The parameters of a computation (run): how sampling boxes are processed. */
export interface SamplingPlan {
  /** Whether the union is also measured box by box. Otherwise only the intersection is measured. */
  readonly direct: boolean;
  /**
   * Whether the first box of a pair is the intersection of both MBRs (minimum bounding rectangles). Otherwise the first
   * box is the MBR of both polygons.
   */
  readonly overlap: boolean;
  /** A box is partitioned into `grid` columns and `grid` rows of sub-boxes. */
  readonly grid: number;
  /** Number of pixels below which a box is examined pixel by pixel. */
  readonly threshold: number;
  /** Maximum bytes of tables of boxes on the device. */
  readonly memoryBytes: number;
  /** Called with the number of pixels of the largest initial box. Throws if there are too many. */
  requireFits?(largest: number): void;
}

/** A computation (run): its parameters, and the data that all its tables of boxes share. */
interface SamplingRun extends SamplingPlan {
  readonly context: Context;
  readonly pairs: number;
  /** Columns of the pairs and of the edges of their polygons, as arguments of functors. */
  readonly polygons: PolygonPairs & { readonly wordsP: Column<'u32'>; readonly wordsQ: Column<'u32'> };
  readonly functors: SamplingFunctors;
  readonly intersection: AreaSums;
  readonly union: AreaSums | undefined;
  /** Number of boxes that are partitioned at a time. */
  readonly boxesAtOnce: number;
}

/** A table of sampling boxes, {@link BOX_STRIDE} words each, in the order of their pairs. */
interface Boxes {
  readonly words: Column<'u32'>;
  readonly count: number;
}

/**
 * A table of boxes, each cut into sub-boxes by a grid. `small` and `large` are the indices of the undecided sub-boxes:
 * the small ones are to be examined pixel by pixel, the large ones are to be partitioned.
 */
interface Level {
  readonly boxes: Boxes;
  readonly grid: number;
  /** Whether the table of boxes is freed together with the level. */
  readonly ownsBoxes: boolean;
  readonly small: Column<'u32'>;
  readonly large: Column<'u32'>;
}

/**
 * Measures materialized pairs level by level. A table of boxes that is too large for `memoryBytes` is processed in
 * parts. Each part is processed down to its last level before the next part begins. The host waits once for the size of
 * the largest box. It also waits for the number of undecided boxes, once for every window (the pairs processed
 * together) and once for every part.
 */
export async function measurePairs(
  sampled: Sampled,
  plan: SamplingPlan,
): Promise<{ readonly intersection: AreaSums; readonly union: AreaSums | undefined }> {
  const run = await startRun(sampled, plan);
  try {
    await measureWindows(run);
    return run;
  } catch (error) {
    sampled.context.dispose(sumsOf(run));
    throw error;
  }
}

/** Calls `body` with the pairs as materialized columns whose length the host knows. Frees the columns that it made. */
export async function withStoredPairs<R>(sampled: Sampled, body: (stored: Sampled) => Promise<R>): Promise<R> {
  const { context, pairs } = sampled;
  const count = await context.count({ ...pairs });
  // A length known only on the device would be an additional binding of every kernel.
  const ofCount = typeof pairs.p.length === 'number' ? { ...pairs } : gather({ ...pairs }, sequence(count));
  const stored = context.materialize(ofCount);
  try {
    return await body({ ...sampled, pairs: stored });
  } finally {
    for (const side of ['p', 'q'] as const) if (stored[side] !== pairs[side]) context.dispose(stored[side]);
  }
}

async function startRun({ context, p, q, pairs }: Sampled, plan: SamplingPlan): Promise<SamplingRun> {
  const count = pairs.p.capacity;
  const polygons = { ...pairs, wordsP: p.words, wordsQ: q.words };
  const found = count === 0 ? NO_PAIRS : await lookAtPairs(context, polygons, count, plan);
  requireThere('p', found.p, p.polygons);
  requireThere('q', found.q, q.polygons);
  plan.requireFits?.(found.largest);
  const wide = found.largest >= 2 ** 32;
  return {
    ...plan,
    context,
    pairs: count,
    polygons,
    functors: samplingFunctors(p.rectilinear && q.rectilinear, plan.direct),
    boxesAtOnce: boxesAtOnce(plan, found.largest),
    intersection: startSums(context, count, wide),
    union: plan.direct ? startSums(context, count, wide) : undefined,
  };
}

const NO_PAIRS = { largest: 0, p: -1, q: -1 };

const noPixels = { lo: 0, hi: 0 };
const largestU64 = monoid({ of: u64, identity: noPixels, combine: maxU64, commutative: true, name: 'largestU64' });
const largestOfPairs = product({ size: largestU64, p: maximum(u32), q: maximum(u32) });

/**
 * The number of pixels of the largest initial box, and the largest polygon index in each of the columns `p` and `q`.
 */
async function lookAtPairs(
  context: Context,
  polygons: SamplingRun['polygons'],
  count: number,
  { overlap }: SamplingPlan,
): Promise<{ largest: number; p: number; q: number }> {
  const { p, q } = polygons;
  const size = map(startSize, { pair: sequence(count), overlap: Number(overlap), ...polygons });
  const max = context.scope(() => reduce({ size, p, q }, largestOfPairs));
  const found = await context.read(max);
  context.dispose(max);
  return { largest: found.size.lo[0]! + found.size.hi[0]! * 2 ** 32, p: found.p[0]!, q: found.q[0]! };
}

function requireThere(side: string, largest: number, polygons: number): void {
  if (largest < polygons) return;
  throw new ArgumentError('pixelbox/polygon', `A pair names a polygon ${side} that does not exist.`, {
    expected: `a number below ${polygons}`,
    got: largest,
  });
}

/** Bytes per sub-box while its table is examined: for its state, and for its ranks among small and large sub-boxes. */
const LOOK_BYTES = 12 + WIDE_ROW_BYTES;

/** Maximum number of sub-boxes at a time, so that their words fit in a column. */
const MAX_SUB_BOXES = 2 ** 29;

/**
 * Number of boxes that can be partitioned at a time within `memoryBytes`. Assumes the worst case, in which no sub-box
 * is decided on any level below.
 */
function boxesAtOnce({ grid, threshold, memoryBytes }: SamplingPlan, largest: number): number {
  const levels = Math.max(1, Math.ceil(Math.log(largest / threshold) / Math.log(grid * grid)));
  const bytes = grid * grid * (LOOK_BYTES + levels * BOX_STRIDE * 4);
  if (bytes > memoryBytes) {
    throw new OutOfMemoryError(
      'pixelbox/memory-bytes',
      'The sub-boxes of a single sampling box do not fit in memory.',
      {
        expected: `at most ${memoryBytes} bytes`,
        got: `${bytes} bytes for ${grid * grid} sub-boxes on ${levels} levels`,
        remedy: 'Raise memoryBytes, or make blockSize smaller.',
      },
    );
  }
  return Math.floor(Math.min(memoryBytes / bytes, MAX_SUB_BOXES / grid ** 2));
}

function sumsOf({ intersection, union }: Pick<SamplingRun, 'intersection' | 'union'>): Column[] {
  return [intersection, ...(union === undefined ? [] : [union])].flatMap(({ lo, hi }) => [lo, hi]);
}

/**
 * Processes all pairs in windows of as many pairs as fit in memory. The first level of a window has the initial boxes
 * of its pairs. On this level, only the sizes of the boxes are examined.
 */
async function measureWindows(run: SamplingRun): Promise<void> {
  const { context, grid, overlap, polygons, pairs } = run;
  const pairsAtOnce = run.boxesAtOnce * grid * grid;
  for (let firstPair = 0; firstPair < pairs; firstPair += pairsAtOnce) {
    const count = Math.min(pairsAtOnce, pairs - firstPair);
    const level = context.scope(() => {
      const index = sequence(count * BOX_STRIDE);
      const words = context.materialize(map(startWord, { index, firstPair, overlap: Number(overlap), ...polygons }));
      const boxes = { words, count };
      const states = map(stateBySize, {
        number: sequence(count),
        boxes: words,
        grid: 1,
        threshold: run.threshold,
      });
      return { boxes, grid: 1, ownsBoxes: true, ...openBoxes(count, context.materialize(states)) };
    });
    await measureOpen(run, level);
  }
}

/**
 * Partitions boxes into sub-boxes. Decided sub-boxes are added to the areas. Undecided sub-boxes are partitioned again
 * if they are large, and examined pixel by pixel if they are small.
 */
async function partitionBoxes(run: SamplingRun, boxes: Boxes): Promise<void> {
  const { context, grid, threshold, polygons, functors } = run;
  for (let from = 0; from < boxes.count; from += run.boxesAtOnce) {
    const count = Math.min(run.boxesAtOnce, boxes.count - from);
    const words = slice(boxes.words, from * BOX_STRIDE, (from + count) * BOX_STRIDE);
    const level = context.scope(() => {
      const number = sequence(count * grid * grid);
      const states = context.materialize(
        map(functors.boxState, { number, boxes: words, grid, threshold, ...polygons }),
      );
      const add = (sums: AreaSums, union: number): void =>
        addToSums(context, sums, map(contribution, { number, boxes: words, grid, state: states, union }));
      add(run.intersection, 0);
      if (run.union !== undefined) add(run.union, 1);
      return { boxes: { words, count }, grid, ownsBoxes: false, ...openBoxes(count * grid * grid, states) };
    });
    await measureOpen(run, level);
  }
}

const isState = fn('isState', { state: u32, wanted: uniform(u32) }, bool, ({ state, wanted }) => state.eq(wanted));

function openBoxes(count: number, state: Column<'u32'>): Pick<Level, 'small' | 'large'> {
  const ofState = (wanted: number): Column<'u32'> => copyIf(sequence(count), map(isState, { state, wanted }));
  return { small: ofState(STATES.pixelize), large: ofState(STATES.partition) };
}

/** Examines the small boxes of a level pixel by pixel, partitions the large ones, and frees the level. */
async function measureOpen(run: SamplingRun, level: Level): Promise<void> {
  const { context } = run;
  const { boxes, grid, small, large } = level;
  let children: Boxes | undefined;
  try {
    const [smallCount, largeCount] = await Promise.all([context.count(small), context.count(large)]);
    pixelizeBoxes(run, level, smallCount);
    if (largeCount > 0) {
      const index = sequence(largeCount * BOX_STRIDE);
      const words = context.materialize(map(childWord, { index, chosen: large, boxes: boxes.words, grid }));
      children = { words, count: largeCount };
    }
  } finally {
    context.dispose(small, large, level.ownsBoxes ? boxes.words : []);
  }
  if (children === undefined) return;
  try {
    await partitionBoxes(run, children);
  } finally {
    context.dispose(children.words);
  }
}

/** Maximum number of pixels examined in one launch, because devices abort launches that take too long. */
const PIXELS_PER_LAUNCH = 2 ** 28;

/**
 * Counts pixels in small boxes. The pixels of a box are shared by grid² threads, as many as a block has in the paper.
 */
function pixelizeBoxes(run: SamplingRun, { boxes, grid, small }: Level, count: number): void {
  const { context, threshold, polygons, functors, intersection, union } = run;
  const lanes = run.grid * run.grid;
  const atOnce = Math.min(run.boxesAtOnce, Math.max(1, Math.floor(PIXELS_PER_LAUNCH / threshold)));
  for (let firstChosen = 0; firstChosen < count; firstChosen += atOnce) {
    const index = sequence(Math.min(atOnce, count - firstChosen) * lanes);
    context.scope(() => {
      const found = map(functors.pixelCounts, {
        index,
        chosen: small,
        firstChosen,
        lanes,
        boxes: boxes.words,
        grid,
        ...polygons,
      });
      // If the union is measured too, `found` is materialized, because both sums read it.
      const { pair, both, either } = union === undefined ? found : context.materialize(found);
      const hi = constant(u32, 0, index.length);
      addToSums(context, intersection, { pair, lo: both, hi });
      if (union !== undefined) addToSums(context, union, { pair, lo: either, hi });
    });
  }
}
