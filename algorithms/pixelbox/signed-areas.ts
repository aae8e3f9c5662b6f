import { type Context, constant, u32 } from '../../primitives/index.ts';
import { type AreaJob, listedPairs, parts, readOnce, writeAreas } from './area-job.ts';
import { addCornerSums, cornerSums64, uploadSignedCorners } from './corner-sum.ts';
import { cornerSweep } from './corner-sweep.ts';
import type { Regions } from './regions.ts';
import { areaOf, type SignedCorners, signedCorners } from './signed-corners.ts';

/**
 * Computes the areas of those pairs of a job for which the plan chooses signed corners. Processes the pairs in parts
 * that fit in `memoryBytes`.
 */
export async function addSignedAreas(context: Context, job: AreaJob, memoryBytes: number): Promise<void> {
  const { corners32, corners64, sweep } = job.plan;
  if (corners32.length + corners64.length + sweep.length === 0) return;
  const { p, q, pairs, intersection } = job;
  const lists = [corners32, corners64, sweep];
  const signed = { p: signSide(p, pairs.p, lists, job.ofP), q: signSide(q, pairs.q, lists, job.ofQ) };
  // A scope frees the first upload if there is no memory for the second.
  const device = context.scope(() => ({
    p: uploadSignedCorners(context, signed.p),
    q: uploadSignedCorners(context, signed.q),
  }));
  const terms = (pair: number): number => cornersIn(signed.p, pairs.p[pair]!);
  const both = (pair: number): number => 96 * (terms(pair) + cornersIn(signed.q, pairs.q[pair]!));
  try {
    for (const list of parts(corners32, memoryBytes, (pair) => 8 * terms(pair))) {
      const sums = context.scope(() => {
        const found = context.materialize(constant(u32, 0, list.length));
        addCornerSums(context, listedPairs(list, pairs), device.p, device.q, found);
        return found;
      });
      writeAreas(intersection, list, await readOnce(context, sums));
    }
    for (const list of parts(corners64, memoryBytes, (pair) => 32 * terms(pair))) {
      const sums = cornerSums64(context, listedPairs(list, pairs), device.p, device.q, list.length);
      const { lo, hi } = await readOnce(context, sums);
      writeAreas(intersection, list, lo, hi);
    }
    for (const list of parts(sweep, memoryBytes, both)) {
      const sums = cornerSweep(context, listedPairs(list, pairs), signed.p, signed.q, list.length);
      const { lo, hi } = await readOnce(context, sums);
      writeAreas(intersection, list, lo, hi);
    }
  } finally {
    context.dispose(device.p.fields, device.q.fields);
  }
}

const cornersIn = ({ start }: SignedCorners, region: number): number => start[region + 1]! - start[region]!;

/**
 * Returns the signed corners of those regions of a set (p or q) that occur in the listed pairs. Also writes the areas
 * of these regions to `areas`.
 */
function signSide(
  regions: Regions,
  used: Uint32Array,
  lists: readonly Uint32Array[],
  areas: BigUint64Array,
): SignedCorners {
  const wanted = new Uint8Array(regions.left.length);
  for (const list of lists) for (const pair of list) wanted[used[pair]!] = 1;
  const signed = signedCorners(regions, (region) => wanted[region] === 1);
  for (const [region, isWanted] of wanted.entries()) {
    if (isWanted === 1) areas[region] = areaOf(signed, region);
  }
  return signed;
}
