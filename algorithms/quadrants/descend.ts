import {
  type ArrayValue,
  array,
  bool,
  type Column,
  type Context,
  constant,
  copyIf,
  ctz,
  exclusiveScan,
  expand,
  fn,
  gather,
  type Monoid,
  map,
  monoid,
  plus,
  popcount,
  reduceByKey,
  scatterReduce,
  select,
  sequence,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';
import { allOrNone, freeOnFailure } from '../free-on-failure.ts';
import { edgesInEnclosing, edgesInQuadrants, FLIPS, PASSES, type Passages } from './edge-in-quadrant.ts';
import type { Edges } from './edges.ts';
import type { Leaves } from './leaves.ts';
import {
  childPlace,
  enclosingQuadrants,
  type OpenQuadrants,
  packQuadrant,
  type Quadrant,
  quadrantArrays,
} from './open-quadrants.ts';

/** Quadrants that are to be split, and the edges that pass through them. */
export interface Front {
  readonly open: OpenQuadrants;
  readonly passages: Passages;
}

/** What a step comes to; the host knows how many of everything there are. */
export interface Descent {
  readonly front: Front;
  readonly leaves: Leaves;
  /** The edges that pass through the leaves, where they are kept. */
  readonly leafPassages: Passages | undefined;
}

/** What holds for all steps. */
export interface DescentRules {
  /** Quadrants of 2^least steps are not split. */
  readonly least: number;
  /** Whether it is kept which edges pass through leaves. */
  readonly keepsEdges: boolean;
}

/** The quadrants around the polygons: those with edges inside go on, the others are settled or of no use. */
export function enclose(context: Context, edges: Edges, rules: DescentRules): Promise<Descent> {
  const { open, edge } = context.scope(() => ({
    open: context.materialize({ ...enclosingQuadrants(edges, rules.least) }),
    edge: context.materialize(sequence(edges.owner.length)),
  }));
  const passages = { quadrant: edges.owner, edge };
  return settle(context, { open, passages }, edgesInEnclosing(passages, edges, open), 0, rules).finally(() =>
    context.dispose(open, edge),
  );
}

/**
 * One level of decomposition: quadrants become their four children, which keep the edges that pass through them.
 *
 * - Work O(passages + quadrants), span O(log passages). Waits for the device once.
 */
export function descend(context: Context, edges: Edges, front: Front, rules: DescentRules): Promise<Descent> {
  return settle(context, front, edgesInQuadrants(front.passages, edges, front.open), 2, rules);
}

/** What becomes of a quadrant. */
const NOTHING = 0;
const INSIDE = 1;
const BOUNDARY = 2;
const OPEN = 3;

/** Bits of a child's number: of four children 2, of the quadrant itself 0. */
type ChildBits = 0 | 2;

/** Looks what the edges do, and sorts the quadrants' children into those that go on, those that are settled, and the rest. */
async function settle(
  context: Context,
  { open, passages }: Front,
  looks: Column<'u32'>,
  bits: ChildBits,
  { least, keepsEdges }: DescentRules,
): Promise<Descent> {
  const made = context.scope(() => {
    const look = context.materialize(looks);
    const marks = markQuadrants(context, passages.quadrant, look, open.column.length);
    const children = sequence((open.column.length as number) << bits);
    const places = { columns: open.column, rows: open.row, marks };
    const kind = context.materialize(map(kindOf, { child: children, ...places, bits, least }));
    return {
      look,
      marks,
      numbers: exclusiveScan(map(opens, { kind }), plus(u32)),
      leafNumbers: keepsEdges ? exclusiveScan(map(settles, { kind }), plus(u32)) : undefined,
      goesOn: copyIf(children, map(isKind, { kind, from: OPEN, to: OPEN })),
      settled: copyIf(children, map(isKind, { kind, from: INSIDE, to: BOUNDARY })),
    };
  });
  try {
    const { look, marks, numbers, leafNumbers, goesOn, settled } = made;
    const passOnto = (children: Column<'u32'>, settles: 0 | 1): Promise<Passages> => {
      const counts = map(passCount, { quadrant: passages.quadrant, look, columns: open.column, bits, least, settles });
      return expand({ ...passages, look }, counts, passOn, { captures: { numbers: children, bits } });
    };
    const [openCount, leafCount, next, leafPassages] = await allOrNone(context, [
      context.count(goesOn),
      context.count(settled),
      passOnto(numbers, 0),
      leafNumbers === undefined ? undefined : passOnto(leafNumbers, 1),
    ]);
    const parents = { ...open, marks };
    return freeOnFailure(context, [next, leafPassages], () =>
      context.scope(() => {
        const { boundary: _, ...places } = childrenOf(parents, gather(goesOn, sequence(openCount)), bits);
        const leaves = childrenOf(parents, gather(settled, sequence(leafCount)), bits);
        const front = { open: context.materialize(places), passages: next };
        return { front, leaves: context.materialize(leaves), leafPassages };
      }),
    );
  } finally {
    context.dispose(made);
  }
}

/** Bits of edges in the same quadrant: to pass through and to pass through is to pass through, flips cancel out. */
const together: Monoid<typeof u32> = monoid({
  of: u32,
  identity: 0,
  combine: ({ a, b }) => a.or(b).and(PASSES).or(a.xor(b).and(FLIPS)),
  name: 'together',
});

const masked = fn('masked', { bits: u32, mask: uniform(u32) }, u32, ({ bits, mask }) => bits.and(mask));

/** Brings together what all edges of a quadrant do. Those next to each other first: large polygons have many in one. */
function markQuadrants(
  context: Context,
  quadrant: Column<'u32'>,
  look: Column<'u32'>,
  count: Column['length'],
): Column<'u32'> {
  const marks = context.materialize(constant(u32, 0, count));
  const { keys, values } = reduceByKey(quadrant, look, together);
  scatterReduce(map(masked, { bits: values, mask: PASSES }), keys, 'or', marks);
  scatterReduce(map(masked, { bits: values, mask: FLIPS }), keys, 'xor', marks);
  return marks;
}

const parents = { ...quadrantArrays, marks: array(u32), bits: uniform(u32) } as const;

interface Parents {
  readonly columns: ArrayValue<'u32'>;
  readonly rows: ArrayValue<'u32'>;
  readonly marks: ArrayValue<'u32'>;
  readonly bits: U32;
}

/** A child, and 1 where edges pass through it. */
function childOf(child: U32, { columns, rows, marks, bits }: Parents): Quadrant & { readonly passed: U32 } {
  const { parent, number, parity, ...place } = childPlace(child, bits, columns, rows);
  const mark = marks.at(parent);
  // The way from the quadrant's corner to the child's: see `edge-in-quadrant.ts`.
  const way = select(number.add(number.and(number.shr(1)).mul(3)), u32(1), bits.eq(0));
  return {
    ...place,
    parity: parity.xor(popcount(mark.shr(4).and(way)).and(1)),
    passed: mark.shr(number).and(1),
  };
}

const kindOf = fn('kindOf', { child: u32, ...parents, least: uniform(u32) }, u32, ({ child, least, ...from }) => {
  const { shift, parity, passed } = childOf(child, from);
  return select(
    select(u32(NOTHING), u32(INSIDE), parity.eq(1)),
    select(u32(BOUNDARY), u32(OPEN), shift.gt(least)),
    passed.eq(1),
  );
});

const opens = fn('opens', { kind: u32 }, u32, ({ kind }) => u32(kind.eq(OPEN)));

const settles = fn('settles', { kind: u32 }, u32, ({ kind }) => u32(kind.eq(INSIDE).or(kind.eq(BOUNDARY))));

const isKind = fn('isKind', { kind: u32, from: uniform(u32), to: uniform(u32) }, bool, ({ kind, from, to }) =>
  kind.ge(from).and(kind.le(to)),
);

/** How many children of its quadrant an edge passes through, if they go on, or, where these are asked for, if they settle. */
const passCount = fn(
  'passCount',
  { quadrant: u32, look: u32, columns: array(u32), bits: uniform(u32), least: uniform(u32), settles: uniform(u32) },
  u32,
  ({ quadrant, look, columns, bits, least, settles }) => {
    const side = ctz(columns.at(quadrant)).sub(bits.shr(1));
    return select(u32(0), popcount(look.and(PASSES)), side.gt(least).ne(settles.eq(1)));
  },
);

const passOn = fn(
  'passOn',
  { quadrant: u32, edge: u32, look: u32, rank: u32, numbers: array(u32), bits: uniform(u32) },
  { quadrant: u32, edge: u32 },
  ({ quadrant, edge, look, rank, numbers, bits }) => {
    const passes = [look.and(PASSES)];
    for (let k = 0; k < 2; k++) passes.push(passes[k]!.and(passes[k]!.sub(1)));
    const left = select(select(passes[0]!, passes[1]!, rank.eq(1)), passes[2]!, rank.eq(2));
    return { quadrant: numbers.at(quadrant.shl(bits).add(ctz(left))), edge };
  },
);

type MarkedQuadrants = OpenQuadrants & { readonly marks: Column<'u32'> };

const packedChild = fn(
  'packedChild',
  { child: u32, ...parents, owners: array(u32) },
  { column: u32, row: u32, owner: u32, boundary: u32 },
  ({ child, owners, ...from }) => {
    const { passed, ...place } = childOf(child, from);
    return { ...packQuadrant(place), owner: owners.at(child.shr(from.bits)), boundary: passed };
  },
);

/** Children by their numbers, as a view. */
function childrenOf({ column, row, owner, marks }: MarkedQuadrants, child: Column<'u32'>, bits: ChildBits) {
  return map(packedChild, { child, columns: column, rows: row, marks, bits, owners: owner });
}
