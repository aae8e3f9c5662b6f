import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  anArrayOf,
  anInstance,
  aPositive,
  aRecord,
  aWord,
  type FieldKinds,
  type Kind,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import { ArgumentError, type Context } from '../../primitives/index.ts';
import type { AreaJob } from './area-job.ts';
import { type AreaMethod, planAreas, type RegionPairs } from './area-plan.ts';
import { addMaskedAreas } from './masked-areas.ts';
import { type Regions, someRegions } from './regions.ts';
import { addSignedAreas } from './signed-areas.ts';

export interface PairAreaOptions {
  /** The method for all pairs that allow it. Default `auto`: `area-plan.ts` chooses a method for each pair. */
  readonly method?: AreaMethod | 'auto' | undefined;
  /**
   * Maximum bytes of all masks and tables that are in device memory at the same time. Pairs are processed in parts that
   * fit. Default 256 MiB.
   */
  readonly memoryBytes?: number | undefined;
}

/** Areas in pixels, with one row per pair. */
export interface PairAreas {
  /** Area ‖p∩q‖ of the intersection. `p` and `q` are the areas ‖p‖ and ‖q‖ of the two regions. */
  readonly intersection: BigUint64Array;
  readonly p: BigUint64Array;
  readonly q: BigUint64Array;
}

export const somePairAreas: Kind = aRecord<PairAreas>({
  intersection: anInstance(BigUint64Array),
  p: anInstance(BigUint64Array),
  q: anInstance(BigUint64Array),
});

/**
 * Computes the exact areas ‖p∩q‖, ‖p‖ and ‖q‖ of pairs of regions. The area of the union ‖p∪q‖ is ‖p‖ + ‖q‖ − ‖p∩q‖.
 * Regions may have holes, several rings, and rings that touch or cross themselves. Pairs may be in any order and may
 * repeat.
 *
 * The method depends on the sizes of the two regions. Small regions are drawn once each as bit masks, which are
 * compared row by row: O(corners + rows shared). For large regions with few corners, a sum over pairs of corners is
 * enough: O(corners of p · corners of q). For pairs with a large number n of corners, a sweep takes O(n log² n).
 *
 * - The areas are the same on every backend, for every method and every `memoryBytes`.
 * - Waits for the device once for each part of the pairs.
 *
 * @throws `ArgumentError` `pixelbox/pairs` for indices of regions that do not exist, `pixelbox/method`,
 * `pixelbox/memory-bytes`; `CapacityError` `pixelbox/runs` if sloped edges make too many steps.
 * @example
 * const boxes = '{ "type": "MultiPolygon", "coordinates": [[[[0, 0], [4, 0], [4, 3], [0, 3]], [[1, 1], [2, 1], [2, 2], [1, 2]]]] }';
 * const regions = regionsOf(gridPolygons(parseZones(boxes).zones.polygons));
 * const areas = await pairAreas(ctx, regions, regions, { p: Uint32Array.of(0), q: Uint32Array.of(0) });
 * [areas.intersection[0], areas.p[0]]; // [11n, 11n]
 */
export async function pairAreas(
  context: Context,
  p: Regions,
  q: Regions,
  pairs: RegionPairs,
  options: PairAreaOptions = {},
): Promise<PairAreas> {
  const kinds = { context: aContext, ...jobKinds, options: OPTIONS };
  requireArguments('pairAreas', { context, p, q, pairs, options }, kinds);
  const [areas] = await areasOf(context, [{ p, q, pairs }], options);
  return areas!;
}

/** Two sets of regions, and pairs between them. */
export interface PairAreaJob {
  readonly p: Regions;
  readonly q: Regions;
  readonly pairs: RegionPairs;
}

/**
 * Same as {@link pairAreas} for several jobs together, such as the tiles of an image. Small jobs then share the
 * overhead of using the device.
 *
 * @example
 * const square = '{ "type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 2], [0, 2]]] }';
 * const p = regionsOf(gridPolygons(parseZones(square).zones.polygons));
 * const job = { p, q: p, pairs: { p: Uint32Array.of(0), q: Uint32Array.of(0) } };
 * (await areasOfJobs(ctx, [job, job])).map(({ intersection }) => intersection[0]); // [4n, 4n]
 */
export async function areasOfJobs(
  context: Context,
  jobs: readonly PairAreaJob[],
  options: PairAreaOptions = {},
): Promise<PairAreas[]> {
  const kinds = { context: aContext, jobs: anArrayOf(aRecord<PairAreaJob>(jobKinds)), options: OPTIONS };
  requireArguments('areasOfJobs', { context, jobs, options }, kinds);
  return areasOf(context, jobs, options);
}

const jobKinds: FieldKinds<PairAreaJob> = {
  p: someRegions,
  q: someRegions,
  pairs: aRecord<RegionPairs>({ p: anInstance(Uint32Array), q: anInstance(Uint32Array) }),
};

const OPTIONS: Kind = someOptions<PairAreaOptions>({
  method: optional(aWord(['auto', 'masks', 'corners', 'sweep'], 'pixelbox/method')),
  memoryBytes: optional(aPositive('pixelbox/memory-bytes', 'Leave it out.')),
});

async function areasOf(
  context: Context,
  jobs: readonly PairAreaJob[],
  { method = 'auto', memoryBytes = 2 ** 28 }: PairAreaOptions,
): Promise<PairAreas[]> {
  const planned = jobs.map((job) => planJob(job, method));
  await addMaskedAreas(context, planned, memoryBytes);
  for (const job of planned) await addSignedAreas(context, job, memoryBytes);
  return planned.map(({ intersection, ofP, ofQ, pairs }) => ({
    intersection,
    p: gatherAreas(ofP, pairs.p),
    q: gatherAreas(ofQ, pairs.q),
  }));
}

function planJob({ p, q, pairs }: PairAreaJob, method: AreaMethod | 'auto'): AreaJob {
  requirePairs(p, q, pairs);
  const intersection = new BigUint64Array(pairs.p.length);
  const [ofP, ofQ] = [new BigUint64Array(p.left.length), new BigUint64Array(q.left.length)];
  return { p, q, pairs, plan: planAreas(p, q, pairs, method), intersection, ofP, ofQ };
}

function requirePairs(p: Regions, q: Regions, pairs: RegionPairs): void {
  if (pairs.p.length !== pairs.q.length) {
    const details = { expected: `${pairs.p.length} regions of q`, got: pairs.q.length };
    throw new ArgumentError('pixelbox/pairs', 'Every pair needs a region of p and a region of q.', details);
  }
  for (const [side, regions] of [
    ['p', p],
    ['q', q],
  ] as const) {
    const count = regions.left.length;
    const { [side]: list } = pairs;
    let wrong = 0;
    while (wrong < list.length && list[wrong]! < count) wrong++;
    if (wrong === list.length) continue;
    throw new ArgumentError('pixelbox/pairs', `A pair names a region that ${side} does not have.`, {
      expected: `below ${count}`,
      got: list[wrong],
      place: { record: wrong },
    });
  }
}

export function gatherAreas(areas: BigUint64Array, regions: Uint32Array): BigUint64Array {
  const gathered = new BigUint64Array(regions.length);
  for (let pair = 0; pair < regions.length; pair++) gathered[pair] = areas[regions[pair]!]!;
  return gathered;
}
