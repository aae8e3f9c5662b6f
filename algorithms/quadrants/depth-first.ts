import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { optional, someOptions, where } from '../../primitives/checks/kinds.ts';
import {
  type ArrayValue,
  array,
  bool,
  type Column,
  type Context,
  concatenate,
  copyIf,
  ctz,
  exclusiveScan,
  fn,
  gather,
  If,
  inclusiveScan,
  map,
  plus,
  reduce,
  scatter,
  scatterReduce,
  select,
  sequence,
  type U32,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { asNumber } from '../plain-functors.ts';
import { someLevels } from './decompose.ts';
import { DOMAIN_BITS, type DomainPolygons, someGridPolygons } from './domain.ts';
import { type Edges, uploadEdges } from './edges.ts';
import { type LeafQuadrants, type Quadrants, quadrantsOf } from './leaves.ts';
import {
  enclosingQuadrants,
  type OpenQuadrants,
  packQuadrant,
  quadrantArrays,
  unpackQuadrant,
} from './open-quadrants.ts';
import { areOpen, leavesAmong, OUTSIDE, polygonArrays, relationTo, type TestedQuadrants } from './polygon-relation.ts';
import { uniteSheets } from './sheet-quadrants.ts';
import { testQuadrants } from './whole-polygon.ts';

export interface DepthFirstOptions {
  /** Number of times the domain is halved along each axis for the smallest quadrants, from 0 to 30. */
  readonly levels: number;
  /** Number of parts into which a quadrant is split: 4, 16 or 64, which is 1, 2 or 3 levels at once. Default 64. */
  readonly split?: 4 | 16 | 64 | undefined;
}

/**
 * A variant of {@link decompose} with a stack for every polygon, for comparison. It follows PixelBox*, with which
 * Zhang, You and Gruenwald (2014) compare their method. In a round, every polygon takes the top quadrant from its stack
 * and splits it into `split` parts. Each part is tested against the whole polygon. Parts to be split further are pushed
 * onto the stack, and all other parts are settled.
 *
 * The quadrants cover the same area as those of `decompose`, and the boundary quadrants are the same. Inside quadrants
 * may be smaller, because a split may skip levels. A `split` of 16 goes down two levels at once and a `split` of 64
 * three levels, but never beyond the last level. Splitting starts with the smallest quadrant around the polygon. An
 * inside quadrant of `decompose` at a skipped level is replaced by its parts at the next level that is not skipped. A
 * `split` of 4 skips no level, so all quadrants are those of `decompose`.
 *
 * - Work O(quadrants · edges of their polygons), span O(rounds · edges of a polygon). The number of rounds is the
 *   number of quadrants split in the polygon that needs most splits. With s nested splits, a stack has at most (split −
 *   1) · (s − 1) + 1 quadrants.
 * - Waits for the device O(log rounds + tests / 2²¹) times: rounds are issued ahead, and rounds after all stacks are
 *   empty do nothing.
 * - The result has the same quadrants in the same order on every backend.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon
 * Data on GPUs, 2014, section 6; Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data
 * Cross-Comparison on CPU-GPU Hybrid Systems, 2012.
 *
 * @throws `ArgumentError` `quadrants/levels`, `quadrants/split`.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const quadrants = await decomposeDepthFirst(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 });
 * (await ctx.read(quadrants.code.lo)).length; // 32
 */
export async function decomposeDepthFirst(
  context: Context,
  polygons: DomainPolygons,
  options: DepthFirstOptions,
): Promise<Quadrants> {
  requireArguments('decomposeDepthFirst', { context, polygons, options }, ARGUMENTS);
  const { levels, split = 64 } = options;
  const min = DOMAIN_BITS - levels;
  return uniteSheets(context, polygons, async (each) => {
    const edges = context.scope(() => uploadEdges(context, each));
    try {
      return quadrantsOf(context, await emptyStacks(context, edges, { min, bits: Math.log2(split) }), edges, min);
    } finally {
      context.dispose(edges);
    }
  });
}

const ARGUMENTS = {
  context: aContext,
  polygons: someGridPolygons,
  options: someOptions<DepthFirstOptions>({
    levels: someLevels,
    split: optional(
      where('4, 16 or 64', (split) => [4, 16, 64].includes(split as number), { code: 'quadrants/split' }),
    ),
  }),
};

/** How quadrants are split. Quadrants with a side of 2^min steps are not split. The index of a part has `bits` bits. */
interface Splits {
  readonly min: number;
  readonly bits: number;
}

/**
 * The stacks of all polygons in one column, which is modified in place. Each quadrant takes two words, its column and
 * row as in {@link OpenQuadrants}. The words above the top of a stack are 0.
 */
type Stacks = Column<'u32'>;

/**
 * For each polygon, the quadrant that it took off its stack, and the quadrant's position on the stack. Column and row
 * are 0 if the stack was empty.
 */
interface Taken {
  readonly top: Column<'u32'>;
  readonly column: Column<'u32'>;
  readonly row: Column<'u32'>;
}

/**
 * Polygons with quadrants left to split: their indices, where their stacks begin, and the quadrants they have taken.
 */
interface Working extends Taken {
  readonly owner: Column<'u32'>;
  readonly bottom: Column<'u32'>;
}

/** Maximum number of parts that are tested before the host checks which polygons are done. */
const TESTED_AT_ONCE = 2 ** 21;

/** Runs rounds until all stacks are empty. The host waits for the device at growing intervals. */
async function emptyStacks(context: Context, edges: Edges, splits: Splits): Promise<LeafQuadrants[]> {
  const { open, leaves } = await testQuadrants(context, edges, enclosingQuadrants(edges, splits.min), splits.min);
  const settled = [leaves];
  let made: { readonly stacks: Stacks; readonly working: Working } | undefined;
  try {
    made = await stackUp(context, open, splits);
    const { stacks } = made;
    for (let past = 0; made.working.owner.length !== 0; ) {
      const parts = (made.working.owner.length as number) * 2 ** splits.bits;
      const rounds = Math.max(1, Math.min(Math.floor(TESTED_AT_ONCE / parts), 4 + (past >> 1)));
      const next = await runRounds(context, edges, stacks, made.working, rounds, splits);
      settled.push(next.leaves);
      context.dispose(made.working);
      made = { stacks, working: next.working };
      past += rounds;
    }
    return settled;
  } catch (error) {
    context.dispose(settled);
    throw error;
  } finally {
    context.dispose(open, made);
  }
}

/**
 * Allocates each stack with room for the maximum number of quadrants, pushes the initial quadrant of each polygon, and
 * pops this quadrant. Waits for the device once.
 */
async function stackUp(
  context: Context,
  { column, row, owner }: OpenQuadrants,
  splits: Splits,
): Promise<{ readonly stacks: Stacks; readonly working: Working }> {
  const rooms = map(roomFor, { column, ...splits });
  const total = context.scope(() => reduce(rooms, plus(u32)));
  try {
    const [quadrants] = await context.read(total);
    return context.scope(() => {
      const bottom = exclusiveScan(rooms, plus(u32));
      const word = sequence(2 * (owner.length as number));
      const words = map(wordOf, { word, columns: column, rows: row });
      const stacks = scatter(words, map(placeOf, { word, quadrants: bottom }), 2 * quadrants!);
      return { stacks, working: { owner, bottom, top: bottom, column, row } };
    });
  } finally {
    context.dispose(total);
  }
}

const roomFor = fn('roomFor', { column: u32, min: uniform(u32), bits: uniform(u32) }, u32, ({ column, min, bits }) => {
  const halvings = bits.shr(1);
  const splitsBelow = ctz(column).sub(min).sub(1).div(halvings);
  return u32(1).shl(bits).sub(1).mul(splitsBelow).add(1);
});

/** Runs the given number of rounds, then finds the polygons whose stacks are not empty. Waits for the device once. */
async function runRounds(
  context: Context,
  edges: Edges,
  stacks: Stacks,
  { owner, bottom, ...first }: Working,
  rounds: number,
  { min, bits }: Splits,
): Promise<{ readonly working: Working; readonly leaves: LeafQuadrants }> {
  const made = context.scope(() => {
    const tested: TestedQuadrants[] = [];
    let taken: Taken = first;
    for (let round = 0; round < rounds; round++) {
      const step = context.scope(() => splitTaken(context, edges, stacks, { owner, bottom, ...taken }, { min, bits }));
      tested.push(step.tested);
      taken = step.taken;
    }
    const { column } = taken;
    return {
      leaves: leavesAmong(concatenate(tested.map((quadrants) => ({ ...quadrants }))), min),
      unfinished: copyIf({ owner, bottom, ...taken }, map(isTaken, { column })),
    };
  });
  try {
    const { leaves, unfinished } = made;
    const [leafCount, count] = await Promise.all([context.count({ ...leaves }), context.count(unfinished)]);
    return context.scope(() => ({
      leaves: context.materialize(gather({ ...leaves }, sequence(leafCount))),
      working: context.materialize(gather(unfinished, sequence(count))),
    }));
  } finally {
    context.dispose(made);
  }
}

const isTaken = fn('isTaken', { column: u32 }, bool, ({ column }) => column.ne(0));

/**
 * Runs one round: splits the quadrants that were taken, pushes the parts to be split further, and takes the next
 * quadrants.
 */
function splitTaken(
  context: Context,
  edges: Edges,
  stacks: Stacks,
  { owner, bottom, ...taken }: Working,
  { min, bits }: Splits,
): { readonly tested: TestedQuadrants; readonly taken: Taken } {
  const part = sequence((owner.length as number) << bits);
  const polygons = { firsts: edges.polygons.first, ends: edges.ends };
  const places = { columns: taken.column, rows: taken.row, owners: owner };
  const parts = context.materialize(map(testPart, { part, ...places, ...polygons, min, bits }));
  const tested = { ...parts, owner: map(ownerOf, { part, owners: owner, bits }) };
  const pushed = inclusiveScan(map(asNumber, { flag: areOpen(tested, min) }), plus(u32));
  changeStacks(stacks, taken, tested, pushed, bits);
  const next = { parent: sequence(owner.length), bottom, top: taken.top, pushed, words: stacks, bits };
  return { tested, taken: context.materialize(map(takeNext, next)) };
}

/**
 * A part of the quadrant that a polygon has taken, and the relation of the part to the polygon. The relation is OUTSIDE
 * if no quadrant was taken or the quadrant has no such part.
 */
const testPart = fn(
  'testPart',
  { part: u32, ...quadrantArrays, owners: array(u32), ...polygonArrays, min: uniform(u32), bits: uniform(u32) },
  { column: u32, row: u32, kind: u32 },
  ({ part, columns, rows, owners, min, bits, ...polygons }) => {
    const parent = part.shr(bits);
    const number = part.sub(parent.shl(bits));
    const { x, y, shift } = unpackQuadrant(columns.at(parent), rows.at(parent));
    const halvings = bits.shr(1).min(shift.sub(min));
    const side = shift.sub(halvings);
    const place = {
      x: x.add(number.and(u32(1).shl(halvings).sub(1)).shl(side)),
      y: y.add(number.shr(halvings).shl(side)),
      shift: side,
      parity: u32(0),
    };
    const isPart = columns
      .at(parent)
      .ne(0)
      .and(number.shr(halvings.shl(1)).eq(0));
    const kind = Var(u32(OUTSIDE));
    If(isPart, () => kind.set(relationTo(place, owners.at(parent), polygons)));
    return { ...packQuadrant(place), kind };
  },
);

const ownerOf = fn('ownerOf', { part: u32, owners: array(u32), bits: uniform(u32) }, u32, ({ part, owners, bits }) =>
  owners.at(part.shr(bits)),
);

/**
 * One of the two words of a quadrant. `word` is twice the index of the quadrant, plus 0 for its column or 1 for its
 * row.
 */
const wordOf = fn('wordOf', { word: u32, ...quadrantArrays }, u32, ({ word, columns, rows }) =>
  wordAt(word, columns, rows),
);

function wordAt(word: U32, columns: ArrayValue<'u32'>, rows: ArrayValue<'u32'>): U32 {
  return select(columns.at(word.shr(1)), rows.at(word.shr(1)), word.and(1).eq(1));
}

/** The position of one word of a quadrant on the stacks, computed from the position of the quadrant. */
const placeOf = fn('placeOf', { word: u32, quadrants: array(u32) }, u32, ({ word, quadrants }) =>
  quadrants.at(word.shr(1)).shl(1).or(word.and(1)),
);

/**
 * Pops the taken quadrants and pushes those of their parts that are to be split, in one launch. The first pushed part
 * takes the position of the popped quadrant, so plain writes to this position would conflict. Instead, each word on the
 * stack is XORed with the word of the popped quadrant, which clears it, and with the word of the pushed part.
 */
function changeStacks(
  stacks: Stacks,
  { top, column, row }: Taken,
  parts: OpenQuadrants,
  pushed: Column<'u32'>,
  bits: number,
): void {
  const taken = 2 * (top.length as number);
  const word = sequence(taken + 2 * (parts.column.length as number));
  const words = { columns: column, rows: row, partColumns: parts.column, partRows: parts.row };
  const difference = map(changeOf, { word, taken, ...words });
  scatterReduce(difference, map(placeOfChange, { word, taken, tops: top, pushed, bits }), 'xor', stacks);
}

const changeOf = fn(
  'changeOf',
  { word: u32, taken: uniform(u32), ...quadrantArrays, partColumns: array(u32), partRows: array(u32) },
  u32,
  ({ word, taken, columns, rows, partColumns, partRows }) =>
    select(wordAt(word.sub(taken), partColumns, partRows), wordAt(word, columns, rows), word.lt(taken)),
);

/**
 * The position of a word on the stacks. For a word of a part that is not pushed, the position is `NOWHERE`. `pushed`
 * has the number of pushed parts up to and including each part, so a part is pushed if this number increases at it.
 */
const placeOfChange = fn(
  'placeOfChange',
  { word: u32, taken: uniform(u32), tops: array(u32), pushed: array(u32), bits: uniform(u32) },
  u32,
  ({ word, taken, tops, pushed, bits }) => {
    const isTaken = word.lt(taken);
    const part = word.sub(taken).shr(1);
    const parent = select(part.shr(bits), word.shr(1), isTaken);
    const [before, upTo] = [pushed.at(part.sub(1)), pushed.at(part)];
    const ofOthers = pushed.at(parent.shl(bits).sub(1));
    const place = tops.at(parent).add(select(before.sub(ofOthers), u32(0), isTaken));
    return select(u32(NOWHERE), place.shl(1).or(word.and(1)), isTaken.or(upTo.ne(before)));
  },
);

/** A position beyond all stacks. */
const NOWHERE = 2 ** 32 - 2;

const takeNext = fn(
  'takeNext',
  { parent: u32, bottom: u32, top: u32, pushed: array(u32), words: array(u32), bits: uniform(u32) },
  { top: u32, column: u32, row: u32 },
  ({ parent, bottom, top, pushed, words, bits }) => {
    const first = parent.shl(bits);
    const last = first.add(u32(1).shl(bits)).sub(1);
    const above = top.add(pushed.at(last)).sub(pushed.at(first.sub(1)));
    const isLeft = above.gt(bottom);
    const next = above.sub(u32(isLeft));
    const word = select(u32(NOWHERE), next.shl(1), isLeft);
    return { top: next, column: words.at(word), row: words.at(word.add(1)) };
  },
);
