import { type Column, type Context, constant, u32 } from '../../primitives/index.ts';
import { type AreaJob, parts, readOnce, writeAreas } from './area-job.ts';
import { ascending, maskedWords, type RegionPairs, type RegionSizes } from './area-plan.ts';
import { addBandedAreas, bandedMasks, uploadBandedPairs, uploadBandedRuns } from './banded-masks.ts';
import type { Selection } from './boxes.ts';
import { narrowAreas, narrowMasks, uploadNarrowRegions } from './narrow-masks.ts';
import type { Regions } from './regions.ts';

/**
 * Computes the areas of all pairs in which both regions have masks. Computes all jobs together if their masks fit in
 * `memoryBytes`.
 */
export async function addMaskedAreas(context: Context, jobs: readonly AreaJob[], memoryBytes: number): Promise<void> {
  const bytes = jobs.reduce((sum, { p, q, plan: { sizes } }) => sum + allBytes(p, sizes.p) + allBytes(q, sizes.q), 0);
  if (bytes <= memoryBytes) {
    const all = (kind: MaskKind): Listed[] => jobs.map((job) => ({ job, list: job.plan[kind] }));
    // Both kinds of masks are processed at once: the host prepares the second kind while the device works on the first.
    await settle(KINDS.map((kind) => drawTogether(context, all(kind), kind)));
    return;
  }
  for (const job of jobs) {
    for (const kind of KINDS) {
      for (const list of partsOf(job, job.plan[kind], memoryBytes)) await drawTogether(context, [{ job, list }], kind);
    }
  }
}

const KINDS = ['narrow', 'banded'] as const;
type MaskKind = (typeof KINDS)[number];

/** Waits until all promises have settled, then throws the first error. */
async function settle(promises: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(promises)).find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

function allBytes(regions: Regions, sizes: RegionSizes): number {
  let sum = 0;
  for (let region = 0; region < sizes.kinds.length; region++) sum += maskedWords(regions, sizes, region);
  return 4 * sum;
}

/**
 * Cuts the pairs of a job into parts by memory. A mask counts once per part, even if several pairs of the part need it.
 */
function partsOf(
  { p, q, pairs, plan: { sizes } }: AreaJob,
  list: Uint32Array,
  memoryBytes: number,
): Iterable<Uint32Array> {
  const drawn = { p: new Uint32Array(p.left.length), q: new Uint32Array(q.left.length) };
  const claim = (seen: Uint32Array, regions: Regions, of: RegionSizes, region: number, part: number): number => {
    if (seen[region] === part) return 0;
    seen[region] = part;
    return 4 * maskedWords(regions, of, region);
  };
  return parts(
    list,
    memoryBytes,
    (pair, part) => claim(drawn.p, p, sizes.p, pairs.p[pair]!, part) + claim(drawn.q, q, sizes.q, pairs.q[pair]!, part),
  );
}

/** Some of the pairs of a job, given by their indices. */
interface Listed {
  readonly job: AreaJob;
  readonly list: Uint32Array;
}

/**
 * The regions p or the regions q of a job: those to draw, and their numbers among all regions that are drawn together.
 */
interface Numbered extends Selection {
  readonly local: Uint32Array;
  readonly first: number;
  readonly areas: BigUint64Array;
}

/**
 * Draws each region of the listed pairs once. Computes the intersection of each pair, and the area of every drawn
 * region as its intersection with itself.
 */
async function drawTogether(context: Context, all: readonly Listed[], kind: MaskKind): Promise<void> {
  const listed = all.filter(({ list }) => list.length > 0);
  if (listed.length === 0) return;
  const sides = numberSides(listed);
  const areasOf = kind === 'narrow' ? narrowly : banded;
  const areas = await readOnce(
    context,
    context.scope(() => areasOf(context, sides, numberPairs(listed, sides))),
  );
  let row = 0;
  const take = (into: BigUint64Array, rows: Uint32Array): void => {
    writeAreas(into, rows, areas.subarray(row, row + rows.length));
    row += rows.length;
  };
  for (const { job, list } of listed) take(job.intersection, list);
  for (const { members, areas } of sides) take(areas, members);
}

/** Numbers the regions of p and q of every job, in the order in which they are drawn. */
function numberSides(listed: readonly Listed[]): Numbered[] {
  const sides: Numbered[] = [];
  let first = 0;
  for (const { job, list } of listed) {
    for (const side of ['p', 'q'] as const) {
      const regions = job[side];
      const { members, local } = isWhole(job, list)
        ? allOf(regions.left.length)
        : distinct(job.pairs[side], list, regions.left.length);
      sides.push({ regions, members, local, first, areas: side === 'p' ? job.ofP : job.ofQ });
      first += members.length;
    }
  }
  return sides;
}

/**
 * Whether all regions of a job are drawn, without a search for the regions of the listed pairs. If `list` has only a
 * part of the pairs, only the regions of that part are drawn, because memory is counted only for these regions.
 */
function isWhole({ plan }: AreaJob, list: Uint32Array): boolean {
  return plan.isNarrow && list === plan.narrow;
}

type Members = Pick<Numbered, 'members' | 'local'>;

function allOf(count: number): Members {
  const members = ascending(count);
  return { members, local: members };
}

/** The regions that occur in the listed pairs, ascending, and the rank of each of them. */
function distinct(regions: Uint32Array, list: Uint32Array, count: number): Members {
  const local = new Uint32Array(count);
  for (let i = 0; i < list.length; i++) local[regions[list[i]!]!] = 1;
  let found = 0;
  for (let region = 0; region < count; region++) found += local[region]!;
  const members = new Uint32Array(found);
  for (let region = 0, at = 0; region < count; region++) {
    if (local[region] === 0) continue;
    members[at] = region;
    local[region] = at++;
  }
  return { members, local };
}

/**
 * Returns the listed pairs of all jobs, with regions given by their numbers among all drawn regions. These pairs are
 * followed by one pair of each drawn region with itself.
 */
function numberPairs(listed: readonly Listed[], sides: readonly Numbered[]): RegionPairs {
  const regions = sides.reduce((sum, { members }) => sum + members.length, 0);
  const total = listed.reduce((sum, { list }) => sum + list.length, regions);
  const numbered = { p: new Uint32Array(total), q: new Uint32Array(total) };
  let row = 0;
  for (const [index, { job, list }] of listed.entries()) {
    const [p, q] = [sides[2 * index]!, sides[2 * index + 1]!];
    for (let i = 0; i < list.length; i++, row++) {
      numbered.p[row] = p.first + p.local[job.pairs.p[list[i]!]!]!;
      numbered.q[row] = q.first + q.local[job.pairs.q[list[i]!]!]!;
    }
  }
  for (let region = 0; region < regions; region++, row++) numbered.p[row] = numbered.q[row] = region;
  return numbered;
}

function narrowly(context: Context, selections: readonly Selection[], { p, q }: RegionPairs): Column<'u32'> {
  const masks = narrowMasks(context, uploadNarrowRegions(context, selections));
  return context.materialize(narrowAreas({ p: context.column(p), q: context.column(q) }, masks));
}

function banded(context: Context, selections: readonly Selection[], pairs: RegionPairs): Column<'u32'> {
  const runs = uploadBandedRuns(context, selections);
  const pair = ascending(pairs.p.length);
  const areas = context.materialize(constant(u32, 0, pair.length));
  addBandedAreas(uploadBandedPairs(context, { pair, ...pairs }, runs), bandedMasks(context, runs), areas);
  return areas;
}
