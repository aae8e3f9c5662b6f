import {
  array,
  bool,
  type Column,
  type Context,
  copyIf,
  ctz,
  For,
  fn,
  gather,
  If,
  i32,
  map,
  sequence,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import { requireLevels } from './decompose.ts';
import { DOMAIN_BITS, type DomainPolygons } from './domain.ts';
import { flipsCorner, lineFrom, passesThrough } from './edge-line.ts';
import { type Edges, uploadEdges } from './edges.ts';
import { type Leaves, type Quadrants, quadrantsOf } from './leaves.ts';
import {
  childPlace,
  enclosingQuadrants,
  type OpenQuadrants,
  packQuadrant,
  quadrantArrays,
  unpackQuadrant,
} from './open-quadrants.ts';

/**
 * {@link decompose} as Zhang, You and Gruenwald (2014) have it: level by level, and each quadrant is tested against its whole
 * polygon. First whether an edge passes through, up to the first that does; then, where none does, whether the polygon holds
 * it, which takes all edges. An experiment, for comparison: the quadrants are the same.
 *
 * - Work O(quadrants · edges of their polygons).
 *
 * @throws `ArgumentError` `quadrants/levels`.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const quadrants = await decomposeWhole(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 });
 * await ctx.read(quadrants.code.lo); // Uint32Array [12, 13]
 */
export async function decomposeWhole(
  context: Context,
  polygons: DomainPolygons,
  { levels }: { readonly levels: number },
): Promise<Quadrants> {
  requireLevels(levels);
  const least = DOMAIN_BITS - levels;
  const edges = context.scope(() => uploadEdges(context, polygons));
  try {
    return quadrantsOf(context, await testAll(context, edges, least), edges, least);
  } finally {
    context.dispose(edges);
  }
}

async function testAll(context: Context, edges: Edges, least: number): Promise<Leaves[]> {
  const settled: Leaves[] = [];
  let open = context.scope(() => context.materialize({ ...enclosingQuadrants(edges, least) }));
  try {
    for (let bits = 0; bits === 0 || open.column.length !== 0; bits = 2) {
      const tested = await testChildren(context, edges, open, bits, least);
      settled.push(tested.leaves);
      context.dispose(open);
      open = tested.open;
    }
    return settled;
  } catch (error) {
    context.dispose(settled);
    throw error;
  } finally {
    context.dispose(open);
  }
}

interface Tested {
  readonly open: { readonly [K in keyof OpenQuadrants]: Column<'u32'> };
  readonly leaves: Leaves;
}

/** Tests the children of quadrants, or where `bits` is 0 the quadrants themselves. Waits for the device once. */
async function testChildren(
  context: Context,
  edges: Edges,
  { column, row, owner }: OpenQuadrants,
  bits: number,
  least: number,
): Promise<Tested> {
  const made = context.scope(() => {
    const from = { columns: column, rows: row, owners: owner, bits };
    const children = map(child, { child: sequence((column.length as number) << bits), ...from });
    const { first } = edges.polygons;
    const kinds = map(relation, { ...children, firsts: first, ends: edges.ends });
    const tested = context.materialize({ ...children, kind: kinds });
    return {
      tested,
      goesOn: copyIf(tested, map(isOpen, { column: tested.column, kind: tested.kind, least })),
      settled: copyIf(tested, map(isLeaf, { column: tested.column, kind: tested.kind, least })),
    };
  });
  try {
    const { goesOn, settled } = made;
    const [openCount, leafCount] = await Promise.all([context.count(goesOn), context.count(settled)]);
    return context.scope(() => {
      const open = gather({ column: goesOn.column, row: goesOn.row, owner: goesOn.owner }, sequence(openCount));
      const { kind, ...place } = gather(settled, sequence(leafCount));
      const boundary = map(isCrossed, { kind });
      return { open: context.materialize(open), leaves: context.materialize({ ...place, boundary }) };
    });
  } finally {
    context.dispose(made);
  }
}

const child = fn(
  'child',
  { child: u32, ...quadrantArrays, owners: array(u32), bits: uniform(u32) },
  { column: u32, row: u32, owner: u32 },
  ({ child, columns, rows, owners, bits }) => {
    const { parent, x, y, shift } = childPlace(child, bits, columns, rows);
    return { ...packQuadrant({ x, y, shift, parity: u32(0) }), owner: owners.at(parent) };
  },
);

/** The relations of a quadrant and a polygon. */
const OUTSIDE = 0;
const INSIDE = 1;
const CROSSED = 2;

const relation = fn(
  'relation',
  { column: u32, row: u32, owner: u32, firsts: array(u32), ends: array(i32) },
  u32,
  ({ column, row, owner, firsts, ends }) => {
    const place = unpackQuadrant(column, row);
    const [first, end] = [firsts.at(owner), firsts.at(owner.add(1))];
    const found = Var(u32(OUTSIDE));
    const edge = Var(first);
    While(
      () => edge.lt(end).and(found.eq(OUTSIDE)),
      () => {
        If(passesThrough(lineFrom(ends, edge, place), place.shift), () => found.set(u32(CROSSED)));
        edge.set(edge.add(1));
      },
    );
    If(found.eq(OUTSIDE), () => {
      For(first, end, (each) => {
        found.set(found.xor(u32(flipsCorner(lineFrom(ends, each, place)))));
      });
    });
    return found;
  },
);

const isOpen = fn('isOpen', { column: u32, kind: u32, least: uniform(u32) }, bool, ({ column, kind, least }) =>
  kind.eq(CROSSED).and(ctz(column).gt(least)),
);

const isLeaf = fn('isLeaf', { column: u32, kind: u32, least: uniform(u32) }, bool, ({ column, kind, least }) =>
  kind.eq(INSIDE).or(kind.eq(CROSSED).and(ctz(column).le(least))),
);

const isCrossed = fn('isCrossed', { kind: u32 }, u32, ({ kind }) => u32(kind.eq(CROSSED)));
