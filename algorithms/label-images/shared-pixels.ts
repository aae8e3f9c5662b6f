import { aContext } from '../../primitives/argument-kinds.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import {
  array,
  type Column,
  type Context,
  expand,
  fn,
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
import { anArrayOf, aRecord, atLeast, optional, someOptions } from '../../primitives/kinds.ts';
import { type Band, bandsOf } from './bands.ts';
import { type LabelPair, someLabelRegions } from './label-regions.ts';
import { type BandPixels, type KeyBits, pixelTotals, type SharedPixels } from './pixel-totals.ts';

export interface SharedPixelsOptions {
  /** Runs of both images that are on the device at a time, unless a single row has more; 2²⁰ where left out. */
  readonly bandRuns?: number | undefined;
}

/**
 * The pixels that regions of two label images have in common: all pairs that share any, and how many. Images of different
 * sizes are laid on each other from the upper left corner on. Of several jobs at once, such as the tiles of an image.
 *
 * However often the regions' boxes meet, each run of pixels is looked at once: a run of p meets a range of the runs of q, found
 * by binary search; the pieces are sorted by (p, q) and summed.
 *
 * - Work O(r log r) for r runs of both images, which is at most the number of pixels. Span O(log r).
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
    return sumPieces(intersectRuns(p, q), bits);
  });
  try {
    return (await context.read(sums)) as unknown as BandPixels;
  } finally {
    context.dispose(sums);
  }
}

/** Runs on a device: places of their pixels, ascending, and the region of each. */
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

/** Pixels that a run of p and one of q have in common. */
interface Pieces {
  readonly p: Column<'u32'>;
  readonly q: Column<'u32'>;
  readonly pixels: Column<'u32'>;
}

/** The pieces that runs of p have in common with runs of q: fewer than there are runs. */
function intersectRuns(p: Runs, q: Runs): Pieces {
  const first = upperBound(q.end, p.start);
  const past = lowerBound(q.start, p.end);
  const capacity = (p.start.length as number) + (q.start.length as number);
  const captures = { starts: q.start, ends: q.end, regions: q.region };
  return expand({ ...p, first }, map(difference, { past, first }), piece, { capacity, captures });
}

const packed = fn('packed', { p: u32, q: u32, bits: uniform(u32) }, u32, ({ p, q, bits }) => p.shl(bits).or(q));

/** Pixels of pieces by (p, q), ascending. Both numbers go into one word where they fit, which sorts twice as fast. */
function sumPieces({ p, q, pixels }: Pieces, bits: KeyBits): Table {
  if (bits.p + bits.q > 32) {
    const sorted = sortByKey({ hi: p, lo: q }, pixels);
    const { keys, values } = reduceByKey(sorted.keys, sorted.values, plus(u32));
    return { ...keys, pixels: values };
  }
  const keys = map(packed, { p, q, bits: bits.q });
  const sorted = sortByKey(keys, pixels, { bits: { from: 0, to: bits.p + bits.q } });
  const { keys: lo, values } = reduceByKey(sorted.keys, sorted.values, plus(u32));
  return { lo, pixels: values };
}
