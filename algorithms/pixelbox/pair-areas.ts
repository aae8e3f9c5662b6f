import {
  type Column,
  type Context,
  constant,
  type HostTableOf,
  scatter,
  type Table,
  u32,
} from '../../primitives/index.ts';
import { type AreaMethod, type AreaPlan, planAreas, type RegionPairs, sharedRows } from './area-plan.ts';
import { addCornerSums, cornerSums64, uploadSignedCorners } from './corner-sum.ts';
import { cornerSweep } from './corner-sweep.ts';
import { type DeviceRuns, isNarrow, uploadRuns } from './device-runs.ts';
import type { NumberedPairs } from './pair-tables.ts';
import type { Regions } from './regions.ts';
import { addWideAreas, maskWords, narrowAreas, placeMasks, type RowMasks, rowMasks, uploadPairs } from './row-masks.ts';
import { type SignedCorners, signedArea, signedCorners } from './signed-corners.ts';

export interface PairAreaOptions {
  /** One method for all pairs, where it can be; the choice of `area-plan.ts` where left out. */
  readonly method?: AreaMethod | 'auto' | undefined;
  /** Words that masks, rows and terms may take at a time; 2²⁶ where left out. Pairs are done in parts to fit. */
  readonly budget?: number | undefined;
}

/** Areas in pixels, one of each a pair. */
export interface PairAreas {
  /** ‖p∩q‖. */
  readonly intersection: BigUint64Array;
  readonly p: BigUint64Array;
  readonly q: BigUint64Array;
}

/**
 * ‖p∩q‖, ‖p‖ and ‖q‖ of pairs of regions, exact; ‖p∪q‖ is ‖p‖ + ‖q‖ − ‖p∩q‖. Holes, several rings and rings that touch or
 * cross themselves are as good as any, and pairs may come in any order, also more than once.
 *
 * The method is chosen for each pair by size. Small regions are drawn as bit masks, each once, and their rows are counted
 * together: O(corners + rows shared). Of large ones with few corners the corners alone are summed, O(corners of p · corners
 * of q); where these are many too, a sweep takes O(n log² n).
 *
 * - The same numbers on every backend, whatever the method and the budget.
 * - Waits for the device once for each part of the pairs.
 *
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
  { method = 'auto', budget = 2 ** 26 }: PairAreaOptions = {},
): Promise<PairAreas> {
  const plan = planAreas(p, q, pairs, method);
  const intersection = new BigUint64Array(pairs.p.length);
  const areas = { p: new BigUint64Array(p.left.length), q: new BigUint64Array(q.left.length) };
  await addMasked(context, { p, q }, pairs, plan, budget, intersection, areas);
  await addSigned(context, { p, q }, pairs, plan, budget, intersection, areas);
  return { intersection, p: areasOf(areas.p, pairs.p), q: areasOf(areas.q, pairs.q) };
}

interface Sides<T> {
  readonly p: T;
  readonly q: T;
}

function areasOf(areas: BigUint64Array, regions: Uint32Array): BigUint64Array {
  const result = new BigUint64Array(regions.length);
  for (let pair = 0; pair < regions.length; pair++) result[pair] = areas[regions[pair]!]!;
  return result;
}

/** Cuts a list of pairs where what they need would pass the budget; a pair that needs more alone stands alone. */
function* parts(
  list: Uint32Array,
  budget: number,
  cost: (pair: number, part: number) => number,
): Generator<Uint32Array> {
  let [from, used, part] = [0, 0, 1];
  for (let i = 0; i < list.length; i++) {
    let needed = cost(list[i]!, part);
    if (i > from && used + needed > budget) {
      yield list.subarray(from, i);
      [from, used] = [i, 0];
      needed = cost(list[i]!, ++part);
    }
    used += needed;
  }
  if (from < list.length) yield list.subarray(from);
}

function numbered(list: Uint32Array, { p, q }: RegionPairs): NumberedPairs {
  return { pair: list, p: list.map((pair) => p[pair]!), q: list.map((pair) => q[pair]!) };
}

/** All pairs of which both regions have masks, part by part. */
async function addMasked(
  context: Context,
  sides: Sides<Regions>,
  pairs: RegionPairs,
  plan: AreaPlan,
  budget: number,
  intersection: BigUint64Array,
  areas: Sides<BigUint64Array>,
): Promise<void> {
  if (plan.masks.length === 0) return;
  const { p, q } = sides;
  const drawn = { p: new Uint32Array(p.left.length), q: new Uint32Array(q.left.length) };
  const cost = (pair: number, part: number): number => {
    const [a, b] = [pairs.p[pair]!, pairs.q[pair]!];
    const words = claim(drawn.p, a, part, p) + claim(drawn.q, b, part, q);
    return words + (isNarrow(p, a) && isNarrow(q, b) ? 0 : 2 * sharedRows(p, a, q, b));
  };
  const runs = { p: uploadRuns(context, p), q: uploadRuns(context, q) };
  try {
    for (const list of parts(plan.masks, budget, cost)) {
      const part = localPart(list, pairs);
      const found = maskedPart(context, sides, runs, part);
      const { shared, ofP, ofQ } = await readOnce(context, found.areas);
      write(intersection, list, shared);
      write(areas.p, found.p, ofP);
      write(areas.q, found.q, ofQ);
    }
  } finally {
    context.dispose(runs);
  }
}

/** Words of a region's mask the first time that a part of the pairs meets it. */
function claim(drawn: Uint32Array, region: number, part: number, regions: Regions): number {
  if (drawn[region] === part) return 0;
  drawn[region] = part;
  return maskWords(regions, region);
}

/** The regions that a part of the pairs is about, and the pixels that pairs share and regions have. */
interface MaskedPart {
  readonly p: Uint32Array;
  readonly q: Uint32Array;
  readonly areas: { readonly shared: Column<'u32'>; readonly ofP: Column<'u32'>; readonly ofQ: Column<'u32'> };
}

function maskedPart(
  context: Context,
  { p, q }: Sides<Regions>,
  runs: Sides<DeviceRuns>,
  pairs: NumberedPairs,
): MaskedPart {
  const used = { p: distinct(pairs.p, p), q: distinct(pairs.q, q) };
  const areas = context.scope(() => {
    const masks = {
      p: rowMasks(context, runs.p, placeMasks(context, p, used.p)),
      q: rowMasks(context, runs.q, placeMasks(context, q, used.q)),
    };
    return {
      shared: maskedAreas(context, { p, q }, masks, pairs),
      ofP: selfAreas(context, p, masks.p, used.p),
      ofQ: selfAreas(context, q, masks.q, used.q),
    };
  });
  return { ...used, areas };
}

/** The regions that occur, ascending. */
function distinct(regions: Uint32Array, { left }: Regions): Uint32Array {
  const seen = new Uint8Array(left.length);
  let count = 0;
  for (let i = 0; i < regions.length; i++) {
    count += 1 - seen[regions[i]!]!;
    seen[regions[i]!] = 1;
  }
  const found = new Uint32Array(count);
  for (let region = 0, at = 0; at < count; region++) if (seen[region] === 1) found[at++] = region;
  return found;
}

/** A region shares all its pixels with itself. */
function selfAreas(context: Context, regions: Regions, masks: RowMasks, used: Uint32Array): Column<'u32'> {
  const pairs = { pair: used.map((_, row) => row), p: used, q: used };
  return maskedAreas(context, { p: regions, q: regions }, { p: masks, q: masks }, pairs);
}

/** Pixels that the regions of pairs share, the pairs of narrow regions by the short way. */
function maskedAreas(
  context: Context,
  { p, q }: Sides<Regions>,
  masks: Sides<RowMasks>,
  pairs: NumberedPairs,
): Column<'u32'> {
  const narrow = pairs.pair.filter((row) => isNarrow(p, pairs.p[row]!) && isNarrow(q, pairs.q[row]!));
  if (narrow.length === pairs.pair.length) return areasOfNarrow(context, pairs, masks);
  const isShort = new Uint8Array(pairs.pair.length);
  for (const row of narrow) isShort[row] = 1;
  const others = pairs.pair.filter((row) => isShort[row] === 0);
  const wide = numbered(others, pairs);
  const rows = wide.p.reduce((sum, a, i) => sum + sharedRows(p, a, q, wide.q[i]!), 0);
  return context.scope(() => {
    const short = areasOfNarrow(context, numbered(narrow, pairs), masks);
    const areas = scatter(short, context.column(narrow), pairs.pair.length);
    addWideAreas(context, uploadPairs(context, wide, rows), masks.p, masks.q, areas);
    return areas;
  });
}

function areasOfNarrow(context: Context, { p, q }: NumberedPairs, masks: Sides<RowMasks>): Column<'u32'> {
  return context.scope(() => {
    const pairs = { p: context.column(p), q: context.column(q) };
    return narrowAreas(context, pairs, masks.p, masks.q);
  });
}

/** All other pairs, by signed corners. */
async function addSigned(
  context: Context,
  { p, q }: Sides<Regions>,
  pairs: RegionPairs,
  plan: AreaPlan,
  budget: number,
  intersection: BigUint64Array,
  areas: Sides<BigUint64Array>,
): Promise<void> {
  const { corners32, corners64, sweep } = plan;
  if (corners32.length + corners64.length + sweep.length === 0) return;
  const lists = [corners32, corners64, sweep];
  const signed = {
    p: signSide(p, pairs.p, lists, areas.p),
    q: signSide(q, pairs.q, lists, areas.q),
  };
  const device = { p: uploadSignedCorners(context, signed.p), q: uploadSignedCorners(context, signed.q) };
  const terms = (pair: number): number => cornersIn(signed.p, pairs.p[pair]!);
  const both = (pair: number): number => 24 * (terms(pair) + cornersIn(signed.q, pairs.q[pair]!));
  try {
    for (const list of parts(corners32, budget, (pair) => 2 * terms(pair))) {
      const part = localPart(list, pairs);
      const sums = context.scope(() => {
        const found = context.materialize(constant(u32, 0, list.length));
        addCornerSums(context, part, device.p, device.q, found);
        return found;
      });
      write(intersection, list, await readOnce(context, sums));
    }
    for (const list of parts(corners64, budget, (pair) => 8 * terms(pair))) {
      const sums = cornerSums64(context, localPart(list, pairs), device.p, device.q, list.length);
      await writeWide(context, intersection, list, sums);
    }
    for (const list of parts(sweep, budget, both)) {
      const sums = cornerSweep(context, localPart(list, pairs), signed.p, signed.q, list.length);
      await writeWide(context, intersection, list, sums);
    }
  } finally {
    context.dispose(device.p.fields, device.q.fields);
  }
}

function localPart(list: Uint32Array, pairs: RegionPairs): NumberedPairs {
  return { ...numbered(list, pairs), pair: list.map((_, row) => row) };
}

const cornersIn = ({ start }: SignedCorners, region: number): number => start[region + 1]! - start[region]!;

/** Signs the corners of the regions that the lists of pairs need, and finds the areas of those that have no mask. */
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
    if (isWanted === 1) areas[region] = signedArea(signed, region);
  }
  return signed;
}

async function readOnce<C extends Table>(context: Context, table: C): Promise<HostTableOf<C>> {
  try {
    return await context.read(table);
  } finally {
    context.dispose(table);
  }
}

function write(areas: BigUint64Array, rows: Uint32Array, lo: Uint32Array, hi?: Uint32Array): void {
  const words = new Uint32Array(areas.buffer);
  for (let i = 0; i < rows.length; i++) {
    words[2 * rows[i]!] = lo[i]!;
    words[2 * rows[i]! + 1] = hi?.[i] ?? 0;
  }
}

async function writeWide(
  context: Context,
  areas: BigUint64Array,
  rows: Uint32Array,
  sums: { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> },
): Promise<void> {
  const { lo, hi } = await readOnce(context, sums);
  write(areas, rows, lo, hi);
}
