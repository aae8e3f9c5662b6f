import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anArrayOf, aRecord, atLeast, optional, someOptions } from '../../primitives/checks/kinds.ts';
import {
  array,
  type Column,
  type Context,
  expand,
  fn,
  input,
  lowerBound,
  map,
  plus,
  reduceByKey,
  sortByKey,
  type Table,
  u32,
  uniform,
  upperBound,
} from '../../primitives/index.ts';
import { capacityFor } from '../../primitives/prepared/inputs.ts';
import { type Band, bandsOf } from './bands.ts';
import { type LabelPair, someLabelRegions } from './label-regions.ts';
import { type BandPixels, type KeyBits, pixelTotals, type SharedPixels } from './pixel-totals.ts';

export interface SharedPixelsOptions {
  /**
   * Maximum number of runs of both images that are on the device at the same time. A single row may have more. Default
   * 2²⁰.
   */
  readonly bandRuns?: number | undefined;
}

/**
 * Counts the pixels that regions of two label images share, for all pairs of regions that share any. Images of
 * different sizes are aligned at the upper left corner. Several jobs, such as the tiles of an image, are processed
 * together.
 *
 * Each run of pixels is examined once, no matter how many regions' boxes overlap. A run of p overlaps a range of the
 * runs of q, found by binary search. The overlaps of one run of p with one run of q are sorted by their regions (p, q).
 * Then the lengths of the overlaps of each pair (p, q) are summed.
 *
 * - Work O(r log r) for r runs of both images; r is at most the number of pixels. Span O(log r).
 * - The same numbers on every backend. Waits for the device once for each band of `bandRuns` runs.
 *
 * @example
 * const stripes = { ...NO_REGIONS, width: 4, height: 1, rowRuns: Uint32Array.of(0, 2), start: Uint32Array.of(0, 2),
 *   end: Uint32Array.of(2, 4), region: Uint32Array.of(0, 1), area: BigUint64Array.of(2n, 2n) };
 * const middle = { ...stripes, rowRuns: Uint32Array.of(0, 1), start: Uint32Array.of(1), end: Uint32Array.of(4),
 *   region: Uint32Array.of(0), area: BigUint64Array.of(3n) };
 * const [{ p, q, pixels }] = await sharedPixels(ctx, [{ p: stripes, q: middle }]);
 * [p, q, pixels]; // [Uint32Array [0, 1], Uint32Array [0, 0], BigUint64Array [1n, 2n]]
 */
export async function sharedPixels(
  context: Context,
  jobs: readonly LabelPair[],
  options: SharedPixelsOptions = {},
): Promise<SharedPixels[]> {
  requireArguments('sharedPixels', { context, jobs, options }, ARGUMENTS);
  const { bandRuns = 2 ** 20 } = options;
  const totals = pixelTotals(jobs);
  for (const band of bandsOf(jobs, bandRuns)) totals.add(await pixelsIn(context, band, totals.bits));
  return totals.byJob();
}

const ARGUMENTS = {
  context: aContext,
  jobs: anArrayOf(aRecord<LabelPair>({ p: someLabelRegions, q: someLabelRegions })),
  options: someOptions<SharedPixelsOptions>({ bandRuns: optional(atLeast(1)) }),
};

async function pixelsIn(context: Context, band: Band, bits: KeyBits): Promise<BandPixels> {
  const sums = context.scope(() => {
    const [p, q] = [uploadRuns(context, band.p), uploadRuns(context, band.q)];
    const keys = { width: keyWidth(bits), low: bits.q };
    const step = summingStep(context, p, q, keys.width);
    return step === undefined
      ? sumPieces(intersectRuns(p, q), keys)
      : step({ p: { ...p }, q: { ...q }, low: keys.low });
  });
  try {
    return (await context.read(sums)) as unknown as BandPixels;
  } finally {
    context.dispose(sums);
  }
}

/**
 * Maximum number of runs of a band for which a prepared pipeline is used. With more runs, launches take longer on the
 * device than the host needs to issue them, so preparing them saves nothing.
 */
const MAX_RUNS_OF_STEP = 2 ** 16;

/**
 * Returns the prepared pipeline for a short band, or undefined for a long band. Bands share a pipeline if their sort
 * keys have the same width and, on each side, their numbers of runs round up to the same power of two.
 */
function summingStep(context: Context, p: Runs, q: Runs, width: number | undefined) {
  const [ofP, ofQ] = [capacityFor(p.start), capacityFor(q.start)];
  if (ofP + ofQ > MAX_RUNS_OF_STEP) return undefined;
  const inputs = () => ({ p: input(run, ofP), q: input(run, ofQ), low: uniform(u32) });
  return context.step(`sharedPixels ${ofP} ${ofQ} ${width}`, inputs, ({ p, q, low }) =>
    sumPieces(intersectRuns(p, q), { width, low }),
  );
}

/**
 * Number of bits of the sort key that packs both region indices into one word, rounded up to whole sort passes of 8
 * bits. Undefined if the indices do not fit in one word.
 */
function keyWidth({ p, q }: KeyBits): number | undefined {
  return p + q > 32 ? undefined : 8 * Math.ceil((p + q) / 8);
}

const run = { start: u32, end: u32, region: u32 } as const;

/**
 * Runs of pixels on a device. Each run has a start, an end (exclusive) and a region. Starts and ends are positions of
 * pixels in the band, ascending.
 */
interface Runs {
  readonly start: Column<'u32'>;
  readonly end: Column<'u32'>;
  readonly region: Column<'u32'>;
}

function uploadRuns(context: Context, { start, end, region }: Band['p']): Runs {
  return { start: context.column(start), end: context.column(end), region: context.column(region) };
}

const difference = fn('difference', { past: u32, first: u32 }, u32, ({ past, first }) => past.sub(first));

const piece = fn(
  'piece',
  {
    start: u32,
    end: u32,
    region: u32,
    first: u32,
    rank: u32,
    starts: array(u32),
    ends: array(u32),
    regions: array(u32),
  },
  { p: u32, q: u32, pixels: u32 },
  ({ start, end, region, first, rank, starts, ends, regions }) => {
    const met = first.add(rank);
    return { p: region, q: regions.at(met), pixels: end.min(ends.at(met)).sub(start.max(starts.at(met))) };
  },
);

/**
 * Pieces: a piece is the common pixels of a run of p and a run of q, given by the two regions and the number of pixels.
 */
interface Pieces {
  readonly p: Column<'u32'>;
  readonly q: Column<'u32'>;
  readonly pixels: Column<'u32'>;
}

/** Intersects the runs of p with the runs of q. There are fewer pieces than runs of both sides together. */
function intersectRuns(p: Runs, q: Runs): Pieces {
  const first = upperBound(q.end, p.start);
  const past = lowerBound(q.start, p.end);
  const capacity = p.start.capacity + q.start.capacity;
  const captures = { starts: q.start, ends: q.end, regions: q.region };
  return expand({ ...p, first }, map(difference, { past, first }), piece, { capacity, captures });
}

const packed = fn('packed', { p: u32, q: u32, bits: uniform(u32) }, u32, ({ p, q, bits }) => p.shl(bits).or(q));

/** How pieces are sorted by (p, q): by one word of `width` bits if both indices fit in a word. */
interface PieceKeys {
  readonly width: number | undefined;
  /** Number of bits of q's index in the word. */
  readonly low: number;
}

/**
 * Sums the pixels of the pieces of each pair (p, q). The pairs of the result are ascending. If the indices of p and q
 * fit, they are packed into one word, which sorts twice as fast.
 */
function sumPieces({ p, q, pixels }: Pieces, { width, low }: PieceKeys): Table {
  if (width === undefined) {
    const sorted = sortByKey({ hi: p, lo: q }, pixels);
    const { keys, values } = reduceByKey(sorted.keys, sorted.values, plus(u32));
    return { ...keys, pixels: values };
  }
  const keys = map(packed, { p, q, bits: low });
  const sorted = sortByKey(keys, pixels, { bits: { from: 0, to: width } });
  const { keys: lo, values } = reduceByKey(sorted.keys, sorted.values, plus(u32));
  return { lo, pixels: values };
}
