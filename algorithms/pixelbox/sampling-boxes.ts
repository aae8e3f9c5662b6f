import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  aWhole,
  aWord,
  type FieldKinds,
  type Kind,
  optional,
  someOptions,
  where,
} from '../../primitives/checks/kinds.ts';
import { add64, sub64 } from '../../primitives/functors/standard/wide.ts';
import { type ColumnsOf, type Context, gather, map, sequence, type u64 } from '../../primitives/index.ts';
import { polygonAreas } from './polygon-areas.ts';
import { type PolygonEdges, someEdges } from './polygon-edges.ts';
import {
  measurePairs,
  type PolygonPairs,
  type Sampled,
  type SamplingPlan,
  somePairs,
  withStoredPairs,
} from './sampling-run.ts';

/** Options of {@link pixelBox}. They do not change the areas. */
export interface SamplingOptions {
  /**
   * Number of sub-boxes into which a sampling box is partitioned. Also the number of threads that share the pixels of a
   * box. Called n in the paper. Must be the square of a number from 2 to 32. Default 64, a grid of 8 × 8.
   */
  readonly blockSize?: number | undefined;
  /**
   * Number of pixels below which a box is examined pixel by pixel. Called T in the paper. From 2 to 2²⁴. Default
   * `blockSize`² / 2.
   */
  readonly threshold?: number | undefined;
  /**
   * The first sampling box of a pair. `pair`: the MBR (minimum bounding rectangle) of both polygons, as in the paper.
   * `overlap`: the intersection of both MBRs.
   */
  readonly start?: 'pair' | 'overlap' | undefined;
  /** Maximum bytes of tables of sampling boxes on the device. Larger tables are processed in parts. Default 256 MiB. */
  readonly memoryBytes?: number | undefined;
}

/** Maximum value of the option `threshold`. A single block of threads can examine any box with fewer pixels. */
export const MAX_PIXELS: number = 2 ** 24;

const SIDES = Array.from({ length: 31 }, (_, i) => i + 2);
const aSquare: Kind = where(
  'the square of 2 to 32',
  (size) => typeof size === 'number' && SIDES.includes(Math.sqrt(size)),
  { code: 'pixelbox/block-size' },
);

/** Validators of the options that all methods share. */
export const samplingKinds: Pick<FieldKinds<SamplingOptions>, 'blockSize' | 'memoryBytes'> = {
  blockSize: optional(aSquare),
  memoryBytes: optional(aWhole(1, 2 ** 40, 'pixelbox/memory-bytes')),
};

/** Validator of the options of {@link pixelBox}. */
const SAMPLING: Kind = someOptions<SamplingOptions>({
  ...samplingKinds,
  threshold: optional(aWhole(2, MAX_PIXELS, 'pixelbox/threshold')),
  start: optional(aWord(['pair', 'overlap'])),
});

/** Checks the arguments that all sampling methods share. */
export function requireSampled(
  call: string,
  given: Sampled & { readonly options: SamplingOptions },
  options: Kind = SAMPLING,
): void {
  requireArguments(call, given, { context: aContext, p: someEdges, q: someEdges, pairs: somePairs, options });
}

/** Areas of intersection and union in pixels, one row per pair. */
export type SampledAreas = {
  readonly intersection: ColumnsOf<typeof u64>;
  readonly union: ColumnsOf<typeof u64>;
};

/**
 * PixelBox: the areas of intersection and of union of pairs of polygons. The MBR (minimum bounding rectangle) of a pair
 * is its first sampling box. A box is partitioned into sub-boxes. A sub-box inside both polygons counts with all its
 * pixels; a sub-box outside one of them does not count. All other sub-boxes are partitioned again. Once a sub-box has
 * fewer pixels than the threshold, it is examined pixel by pixel. The union is ‖p‖ + ‖q‖ − ‖p ∩ q‖.
 *
 * A pixel is in a polygon if its centre is, by the even-odd rule over all rings. Polygons are half-open: left and
 * bottom edges are inside. For rectilinear polygons the areas are exact; for other polygons they are numbers of pixels.
 * ‖p‖ is {@link polygonAreas} for rectilinear polygons, and ‖p ∩ p‖ for other polygons.
 *
 * - Work O((boxes + pixels examined) · edges of the pair), span O(levels · edges of a polygon · threshold / blockSize).
 * - Deterministic: areas have the same bytes on every backend, for all options and any order of the pairs.
 * - The host waits once for the size of the largest MBR, once for every window (the pairs processed together), and once
 *   for every part of a level. If only the device knows the number of pairs, the host also waits for this number.
 * - Memory: `memoryBytes`, 8 bytes an area, and the polygons. Free the areas with `context.dispose(areas)`.
 *
 * @throws `ArgumentError` `pixelbox/block-size`, `pixelbox/threshold` and `pixelbox/memory-bytes` for invalid options,
 * `pixelbox/polygon` if a pair names a polygon that does not exist; `OutOfMemoryError` `pixelbox/memory-bytes` if the
 * sub-boxes of a single box do not fit.
 *
 * Source: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU Hybrid
 * Systems, 2012, Algorithm 1. In the paper, a block of threads processes one pair and keeps the pair's boxes on a
 * stack. Here, all pairs of a window are processed together, level by level.
 *
 * @example
 * const squares = { polygonRings: Uint32Array.of(0, 1, 2), ringVertices: Uint32Array.of(0, 4, 8),
 *   x: Int32Array.of(0, 90, 90, 0, 60, 150, 150, 60), y: Int32Array.of(0, 0, 90, 90, 80, 80, 170, 170) };
 * const edges = uploadPolygonEdges(ctx, squares);
 * const pairs = { p: ctx.column(Uint32Array.of(0)), q: ctx.column(Uint32Array.of(1)) };
 * const areas = await pixelBox(ctx, edges, edges, pairs);
 * const { intersection, union } = await ctx.read(areas);
 * [intersection.lo, union.lo]; // [Uint32Array [300], Uint32Array [15900]]
 */
export async function pixelBox(
  context: Context,
  p: PolygonEdges,
  q: PolygonEdges,
  pairs: PolygonPairs,
  options: SamplingOptions = {},
): Promise<SampledAreas> {
  requireSampled('pixelBox', { context, p, q, pairs, options });
  const plan = { ...planOf(options), direct: false, overlap: options.start === 'overlap' };
  return withStoredPairs({ context, p, q, pairs }, async (stored) => {
    const { lo, hi } = (await measurePairs(stored, plan)).intersection;
    try {
      return { intersection: { lo, hi }, union: await unionOf(stored, { lo, hi }, plan) };
    } catch (error) {
      context.dispose(lo, hi);
      throw error;
    }
  });
}

/** The areas of union: ‖p‖ + ‖q‖ − ‖p ∩ q‖. */
async function unionOf(
  { context, p, q, pairs }: Sampled,
  intersection: ColumnsOf<typeof u64>,
  plan: SamplingPlan,
): Promise<ColumnsOf<typeof u64>> {
  const [areasP, areasQ] = await areasOf(context, p, q, plan);
  try {
    return context.scope(() => {
      const both = map(add64, { a: gather(areasP, pairs.p), b: gather(areasQ, pairs.q) });
      // `both` is materialized, because one kernel cannot bind all inputs of the union.
      return context.materialize(map(sub64, { a: context.materialize(both), b: intersection }));
    });
  } finally {
    context.dispose(areasP, areasQ);
  }
}

/**
 * PixelBox-NoSep, a base version in the paper of {@link pixelBox} (Wang and others, 2012), for experiments. It measures
 * not only the intersection but also the union box by box. So a box must be partitioned as long as the boundary of
 * either polygon passes through the box. The areas are those of {@link pixelBox}, at a higher cost. Waits, errors and
 * determinism are also those of {@link pixelBox}. The first box of a pair is always the MBR (minimum bounding
 * rectangle) of both polygons.
 *
 * @example
 * const squares = { polygonRings: Uint32Array.of(0, 1, 2), ringVertices: Uint32Array.of(0, 4, 8),
 *   x: Int32Array.of(0, 90, 90, 0, 60, 150, 150, 60), y: Int32Array.of(0, 0, 90, 90, 80, 80, 170, 170) };
 * const edges = uploadPolygonEdges(ctx, squares);
 * const pairs = { p: ctx.column(Uint32Array.of(0)), q: ctx.column(Uint32Array.of(1)) };
 * const { intersection, union } = await ctx.read(await pixelBoxNoSep(ctx, edges, edges, pairs));
 * [intersection.lo, union.lo]; // [Uint32Array [300], Uint32Array [15900]]
 */
export async function pixelBoxNoSep(
  context: Context,
  p: PolygonEdges,
  q: PolygonEdges,
  pairs: PolygonPairs,
  options: Omit<SamplingOptions, 'start'> = {},
): Promise<SampledAreas> {
  requireSampled('pixelBoxNoSep', { context, p, q, pairs, options });
  return measureDirectly({ context, p, q, pairs }, planOf(options));
}

/** The areas of intersection and union, both measured box by box. */
export async function measureDirectly(
  sampled: Sampled,
  plan: Omit<SamplingPlan, 'direct' | 'overlap'>,
): Promise<SampledAreas> {
  const found = await withStoredPairs(sampled, (stored) =>
    measurePairs(stored, { ...plan, direct: true, overlap: false }),
  );
  const [intersection, union] = [found.intersection, found.union!];
  return { intersection: { lo: intersection.lo, hi: intersection.hi }, union: { lo: union.lo, hi: union.hi } };
}

/** The areas of all polygons in the tables `p` and `q`. Computed only once if `p` and `q` are the same table. */
async function areasOf(
  context: Context,
  p: PolygonEdges,
  q: PolygonEdges,
  plan: SamplingPlan,
): Promise<[ColumnsOf<typeof u64>, ColumnsOf<typeof u64>]> {
  const areasP = await areasOfAll(context, p, plan);
  try {
    return [areasP, p === q ? areasP : await areasOfAll(context, q, plan)];
  } catch (error) {
    context.dispose(areasP);
    throw error;
  }
}

async function areasOfAll(context: Context, edges: PolygonEdges, plan: SamplingPlan): Promise<ColumnsOf<typeof u64>> {
  if (edges.rectilinear) return polygonAreas(context, edges);
  const itself = sequence(edges.polygons);
  const sampled = { context, p: edges, q: edges, pairs: { p: itself, q: itself } };
  const { intersection } = await withStoredPairs(sampled, (stored) => measurePairs(stored, plan));
  return { lo: intersection.lo, hi: intersection.hi };
}

/** Makes a plan (how sampling boxes are processed) from checked options. */
export function planOf({
  blockSize = 64,
  threshold = blockSize ** 2 / 2,
  memoryBytes = 2 ** 28,
}: SamplingOptions): Omit<SamplingPlan, 'direct' | 'overlap'> {
  return { grid: Math.sqrt(blockSize), threshold, memoryBytes };
}
