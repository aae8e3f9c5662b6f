import { type Kind, someOptions } from '../../primitives/checks/kinds.ts';
import { CapacityError, type Context } from '../../primitives/index.ts';
import type { PolygonEdges } from './polygon-edges.ts';
import {
  MAX_PIXELS,
  measureDirectly,
  planOf,
  requireSampled,
  type SampledAreas,
  samplingKinds,
} from './sampling-boxes.ts';
import type { PolygonPairs } from './sampling-run.ts';

/** Options of {@link pixelOnly}. They do not change the areas. */
export interface PixelOnlyOptions {
  /** Number of threads that share the pixels of a pair. Must be the square of a number from 2 to 32. Default 64. */
  readonly blockSize?: number | undefined;
  /** Maximum bytes of tables on the device. Default 256 MiB. */
  readonly memoryBytes?: number | undefined;
}

/**
 * PixelOnly, a base version in the paper of {@link pixelBox} (Wang and others, 2012), for experiments. It examines
 * every pixel of the MBR (minimum bounding rectangle) of a pair, and measures the intersection and the union. Gives the
 * same areas as {@link pixelBox} on every backend. Its time grows with the area of the MBRs.
 *
 * - Work O(pixels of the MBRs · edges of the pair). Deterministic. The host waits once for the largest MBR and once for
 *   every window (the pairs processed together).
 *
 * @throws `CapacityError` `pixelbox/pixels` if the MBR of a pair has 2²⁴ pixels or more; and the errors of {@link
 * pixelBox}.
 *
 * @example
 * const squares = { polygonRings: Uint32Array.of(0, 1, 2), ringVertices: Uint32Array.of(0, 4, 8),
 *   x: Int32Array.of(0, 9, 9, 0, 6, 15, 15, 6), y: Int32Array.of(0, 0, 9, 9, 8, 8, 17, 17) };
 * const edges = uploadPolygonEdges(ctx, squares);
 * const pairs = { p: ctx.column(Uint32Array.of(0)), q: ctx.column(Uint32Array.of(1)) };
 * const { intersection, union } = await ctx.read(await pixelOnly(ctx, edges, edges, pairs));
 * [intersection.lo, union.lo]; // [Uint32Array [3], Uint32Array [159]]
 */
export async function pixelOnly(
  context: Context,
  p: PolygonEdges,
  q: PolygonEdges,
  pairs: PolygonPairs,
  options: PixelOnlyOptions = {},
): Promise<SampledAreas> {
  requireSampled('pixelOnly', { context, p, q, pairs, options }, OPTIONS);
  const plan = planOf({ ...options, threshold: MAX_PIXELS });
  return measureDirectly({ context, p, q, pairs }, { ...plan, requireFits: requirePixels });
}

const OPTIONS: Kind = someOptions<PixelOnlyOptions>(samplingKinds);

function requirePixels(largest: number): void {
  if (largest < MAX_PIXELS) return;
  throw new CapacityError('pixelbox/pixels', 'The bounding rectangle of a pair has too many pixels.', {
    expected: `fewer than ${MAX_PIXELS} pixels`,
    got: largest,
    remedy: 'Use pixelBox, which examines regions.',
  });
}
