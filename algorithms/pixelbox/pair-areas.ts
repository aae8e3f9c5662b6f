import { type Column, type Context, constant, type HostTableOf, type Table, u32 } from '../../primitives/index.ts';
import { type AreaMethod, type AreaPlan, maskWords, planAreas, type RegionPairs } from './area-plan.ts';
import { addBandedAreas, bandedMasks, uploadBandedPairs, uploadBandedRuns } from './banded-masks.ts';
import type { Selection } from './boxes.ts';
import { addCornerSums, cornerSums64, uploadSignedCorners } from './corner-sum.ts';
import { cornerSweep } from './corner-sweep.ts';
import { isNarrow, narrowAreas, narrowMasks, uploadNarrowRuns } from './narrow-masks.ts';
import type { NumberedPairs } from './pair-tables.ts';
import type { Regions } from './regions.ts';
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
  const { p, q } = sides;
  for (const list of maskParts({ p, q }, pairs, plan, budget)) {
    for (const found of maskedPart(context, sides, numbered(list, pairs))) {
      const all = await readOnce(context, found.areas);
      write(intersection, found.pairs, all);
      write(areas.p, found.p, all.subarray(found.pairs.length));
      write(areas.q, found.q, all.subarray(found.pairs.length + found.p.length));
    }
  }
}

/** All pairs at once if the masks of all regions fit the budget, or as many at a time as do. */
function maskParts(
  { p, q }: Sides<Regions>,
  pairs: RegionPairs,
  { masks, masked }: AreaPlan,
  budget: number,
): Iterable<Uint32Array> {
  if (wordsOfAll(p, masked.p) + wordsOfAll(q, masked.q) <= budget) return [masks];
  const drawn = { p: new Uint32Array(p.left.length), q: new Uint32Array(q.left.length) };
  return parts(
    masks,
    budget,
    (pair, part) => claim(drawn.p, pairs.p[pair]!, part, p) + claim(drawn.q, pairs.q[pair]!, part, q),
  );
}

function wordsOfAll(regions: Regions, masked: Uint8Array): number {
  let words = 0;
  for (let region = 0; region < masked.length; region++) {
    if (masked[region] === 1) words += maskWords(regions, region);
  }
  return words;
}

/** Words of a region's mask the first time that a part of the pairs meets it. */
function claim(drawn: Uint32Array, region: number, part: number, regions: Regions): number {
  if (drawn[region] === part) return 0;
  drawn[region] = part;
  return maskWords(regions, region);
}

/** Pairs done together and the regions they are about; areas of the pairs, then of the regions of p and of q. */
interface MaskedPairs {
  readonly pairs: Uint32Array;
  readonly p: Uint32Array;
  readonly q: Uint32Array;
  readonly areas: Column<'u32'>;
}

/** Pairs of narrow regions, and all others, apart. */
function maskedPart(context: Context, { p, q }: Sides<Regions>, pairs: NumberedPairs): MaskedPairs[] {
  const isWide = new Uint8Array(pairs.pair.length);
  let wide = 0;
  for (let i = 0; i < isWide.length; i++) {
    if (isNarrow(p, pairs.p[i]!) && isNarrow(q, pairs.q[i]!)) continue;
    isWide[i] = 1;
    wide++;
  }
  const pick = (kind: number): NumberedPairs => {
    const isWanted = (_: number, i: number): boolean => isWide[i] === kind;
    return { pair: pairs.pair.filter(isWanted), p: pairs.p.filter(isWanted), q: pairs.q.filter(isWanted) };
  };
  if (wide === 0) return [drawTogether(context, { p, q }, pairs, narrowly)];
  if (wide === isWide.length) return [drawTogether(context, { p, q }, pairs, banded)];
  return [drawTogether(context, { p, q }, pick(0), narrowly), drawTogether(context, { p, q }, pick(1), banded)];
}

/** Numbers the regions of both sides through; each is drawn once, and compared with itself as well. */
function drawTogether(
  context: Context,
  { p, q }: Sides<Regions>,
  pairs: NumberedPairs,
  areasOfSelected: (context: Context, selections: readonly Selection[], pairs: NumberedPairs) => Column<'u32'>,
): MaskedPairs {
  const [ofP, ofQ] = [distinct(pairs.p, p), distinct(pairs.q, q)];
  const count = pairs.pair.length;
  const total = count + ofP.members.length + ofQ.members.length;
  const all = { pair: new Uint32Array(total), p: new Uint32Array(total), q: new Uint32Array(total) };
  for (let i = 0; i < total; i++) {
    all.pair[i] = i;
    all.p[i] = i < count ? ofP.local[pairs.p[i]!]! : i - count;
    all.q[i] = i < count ? ofP.members.length + ofQ.local[pairs.q[i]!]! : i - count;
  }
  const selections = [
    { regions: p, members: ofP.members },
    { regions: q, members: ofQ.members },
  ];
  const areas = context.scope(() => areasOfSelected(context, selections, all));
  return { pairs: pairs.pair, p: ofP.members, q: ofQ.members, areas };
}

function narrowly(context: Context, selections: readonly Selection[], { p, q }: NumberedPairs): Column<'u32'> {
  const masks = narrowMasks(context, uploadNarrowRuns(context, selections));
  return context.materialize(narrowAreas({ p: context.column(p), q: context.column(q) }, masks));
}

function banded(context: Context, selections: readonly Selection[], pairs: NumberedPairs): Column<'u32'> {
  const runs = uploadBandedRuns(context, selections);
  const areas = context.materialize(constant(u32, 0, pairs.pair.length));
  addBandedAreas(uploadBandedPairs(context, pairs, runs), bandedMasks(context, runs), areas);
  return areas;
}

/** The regions that occur, ascending, and the place of each among them. */
function distinct(
  regions: Uint32Array,
  { left }: Regions,
): { readonly members: Uint32Array; readonly local: Uint32Array } {
  const local = new Uint32Array(left.length);
  for (let i = 0; i < regions.length; i++) local[regions[i]!] = 1;
  let count = 0;
  for (let region = 0; region < local.length; region++) count += local[region]!;
  const members = new Uint32Array(count);
  for (let region = 0, at = 0; region < local.length; region++) {
    if (local[region] === 0) continue;
    members[at] = region;
    local[region] = at++;
  }
  return { members, local };
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
