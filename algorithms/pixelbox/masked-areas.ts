import { type Column, type Context, constant, u32 } from '../../primitives/index.ts';
import { type AreaJob, parts, readOnce, writeAreas } from './area-job.ts';
import { addBandedAreas, bandedMasks, uploadBandedPairs, uploadBandedRuns } from './banded-masks.ts';
import type { Selection } from './boxes.ts';
import { isNarrow, narrowAreas, narrowMasks, uploadNarrowRuns } from './narrow-masks.ts';
import type { NumberedPairs } from './pair-tables.ts';

/** Finds the areas of all pairs of which both regions have masks: of all jobs at once if they fit the budget. */
export async function addMaskedAreas(context: Context, jobs: readonly AreaJob[], budget: number): Promise<void> {
  const words = jobs.reduce(
    (sum, { plan: { words, masked } }) => sum + maskedWords(words.p, masked.p) + maskedWords(words.q, masked.q),
    0,
  );
  if (words <= budget) {
    await addTogether(
      context,
      jobs.map((job) => ({ job, list: job.plan.masks })),
    );
    return;
  }
  for (const job of jobs) {
    for (const list of partsOf(job, budget)) await addTogether(context, [{ job, list }]);
  }
}

function maskedWords(words: Float64Array, masked: Uint8Array): number {
  let sum = 0;
  for (let region = 0; region < masked.length; region++) if (masked[region] === 1) sum += words[region]!;
  return sum;
}

/** The masks of regions that a part of the pairs is about count once. */
function partsOf({ p, q, pairs, plan: { masks, words } }: AreaJob, budget: number): Iterable<Uint32Array> {
  const drawn = { p: new Uint32Array(p.left.length), q: new Uint32Array(q.left.length) };
  const claim = (seen: Uint32Array, all: Float64Array, region: number, part: number): number => {
    if (seen[region] === part) return 0;
    seen[region] = part;
    return all[region]!;
  };
  return parts(
    masks,
    budget,
    (pair, part) => claim(drawn.p, words.p, pairs.p[pair]!, part) + claim(drawn.q, words.q, pairs.q[pair]!, part),
  );
}

/** Some pairs of a job, by their numbers. */
interface Listed {
  readonly job: AreaJob;
  readonly list: Uint32Array;
}

/** Pairs of narrow regions, and all others, apart. */
async function addTogether(context: Context, listed: readonly Listed[]): Promise<void> {
  const narrow: Listed[] = [];
  const others: Listed[] = [];
  for (const { job, list } of listed) {
    const [short, rest] = splitNarrow(job, list);
    if (short.length > 0) narrow.push({ job, list: short });
    if (rest.length > 0) others.push({ job, list: rest });
  }
  if (narrow.length > 0) await drawTogether(context, narrow, narrowly);
  if (others.length > 0) await drawTogether(context, others, banded);
}

function splitNarrow({ p, q, pairs }: AreaJob, list: Uint32Array): [narrow: Uint32Array, others: Uint32Array] {
  const split = new Uint32Array(list.length);
  let [narrow, end] = [0, list.length];
  for (let i = 0; i < list.length; i++) {
    const pair = list[i]!;
    if (isNarrow(p, pairs.p[pair]!) && isNarrow(q, pairs.q[pair]!)) split[narrow++] = pair;
    else split[--end] = pair;
  }
  return [split.subarray(0, narrow), split.subarray(narrow)];
}

/** A side of a job in what is drawn together: the regions that occur, and the numbers they have there. */
interface Numbered extends Selection {
  readonly local: Uint32Array;
  readonly first: number;
  readonly areas: BigUint64Array;
}

/** Draws the regions of all listed pairs, each once, compares the pairs, and every region with itself. */
async function drawTogether(
  context: Context,
  listed: readonly Listed[],
  areasOf: (context: Context, selections: readonly Selection[], pairs: NumberedPairs) => Column<'u32'>,
): Promise<void> {
  const sides = numberSides(listed);
  const all = await readOnce(
    context,
    context.scope(() => areasOf(context, sides, numberPairs(listed, sides))),
  );
  let row = 0;
  const take = (areas: BigUint64Array, rows: Uint32Array): void => {
    writeAreas(areas, rows, all.subarray(row, row + rows.length));
    row += rows.length;
  };
  for (const { job, list } of listed) take(job.intersection, list);
  for (const { members, areas } of sides) take(areas, members);
}

/** Both sides of every job in turn. */
function numberSides(listed: readonly Listed[]): Numbered[] {
  const sides: Numbered[] = [];
  let first = 0;
  for (const { job, list } of listed) {
    for (const side of ['p', 'q'] as const) {
      const regions = job[side];
      const { members, local } = distinct(job.pairs[side], list, regions.left.length);
      sides.push({ regions, members, local, first, areas: side === 'p' ? job.ofP : job.ofQ });
      first += members.length;
    }
  }
  return sides;
}

/** The regions that occur in listed pairs, ascending, and the place of each among them. */
function distinct(
  regions: Uint32Array,
  list: Uint32Array,
  count: number,
): { readonly members: Uint32Array; readonly local: Uint32Array } {
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

/** The listed pairs of all jobs, then every region with itself. */
function numberPairs(listed: readonly Listed[], sides: readonly Numbered[]): NumberedPairs {
  const regions = sides.reduce((sum, { members }) => sum + members.length, 0);
  const total = listed.reduce((sum, { list }) => sum + list.length, regions);
  const column = (): Uint32Array => new Uint32Array(total);
  const numbered = { pair: column(), p: column(), q: column() };
  let row = 0;
  for (const [index, { job, list }] of listed.entries()) {
    const [p, q] = [sides[2 * index]!, sides[2 * index + 1]!];
    for (let i = 0; i < list.length; i++, row++) {
      numbered.p[row] = p.first + p.local[job.pairs.p[list[i]!]!]!;
      numbered.q[row] = q.first + q.local[job.pairs.q[list[i]!]!]!;
    }
  }
  for (let region = 0; region < regions; region++, row++) numbered.p[row] = numbered.q[row] = region;
  for (let i = 0; i < total; i++) numbered.pair[i] = i;
  return numbered;
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
