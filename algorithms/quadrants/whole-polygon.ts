import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { someOptions } from '../../primitives/checks/kinds.ts';
import { array, type Column, type Context, copyIf, fn, gather, map, sequence, u32 } from '../../primitives/index.ts';
import { someLevels } from './decompose.ts';
import { DOMAIN_BITS, type DomainPolygons, someGridPolygons } from './domain.ts';
import { type Edges, uploadEdges } from './edges.ts';
import { type LeafQuadrants, type Quadrants, quadrantsOf } from './leaves.ts';
import {
  childPlace,
  enclosingQuadrants,
  type OpenQuadrants,
  packQuadrant,
  quadrantArrays,
  unpackQuadrant,
} from './open-quadrants.ts';
import { areOpen, leavesAmong, polygonArrays, relationTo } from './polygon-relation.ts';
import { uniteSheets } from './sheet-quadrants.ts';

/**
 * Same as {@link decompose}, by the method of Zhang, You and Gruenwald (2014), for comparison. Goes down level by
 * level, and tests each quadrant against its whole polygon. The test searches for an edge that passes through the
 * quadrant, and stops at the first one. If there is none, all edges decide whether the polygon contains the quadrant.
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
  options: { readonly levels: number },
): Promise<Quadrants> {
  requireArguments('decomposeWhole', { context, polygons, options }, ARGUMENTS);
  const { levels } = options;
  const min = DOMAIN_BITS - levels;
  return uniteSheets(context, polygons, async (each) => {
    const edges = context.scope(() => uploadEdges(context, each));
    try {
      return quadrantsOf(context, await testAll(context, edges, min), edges, min);
    } finally {
      context.dispose(edges);
    }
  });
}

const ARGUMENTS = {
  context: aContext,
  polygons: someGridPolygons,
  options: someOptions<{ levels: number }>({ levels: someLevels }),
};

async function testAll(context: Context, edges: Edges, min: number): Promise<LeafQuadrants[]> {
  const settled: LeafQuadrants[] = [];
  let open: OpenQuadrants | undefined;
  try {
    do {
      const tested = await testQuadrants(
        context,
        edges,
        open === undefined ? enclosingQuadrants(edges, min) : childrenOf(open),
        min,
      );
      settled.push(tested.leaves);
      context.dispose(open);
      open = tested.open;
    } while (open.column.length !== 0);
    return settled;
  } catch (error) {
    context.dispose(settled);
    throw error;
  } finally {
    context.dispose(open);
  }
}

/** Results of testing quadrants: those to be split, and those that are settled. */
interface Tested {
  readonly open: { readonly [K in keyof OpenQuadrants]: Column<'u32'> };
  readonly leaves: LeafQuadrants;
}

/** Tests quadrants against their polygons. Waits for the device once. */
export async function testQuadrants(
  context: Context,
  edges: Edges,
  { column, row, owner }: OpenQuadrants,
  min: number,
): Promise<Tested> {
  const made = context.scope(() => {
    const polygons = { firsts: edges.polygons.first, ends: edges.ends };
    const kind = map(relation, { column, row, owner, ...polygons });
    const tested = context.materialize({ column, row, owner, kind });
    const { kind: _, ...place } = tested;
    return { tested, goesOn: copyIf(place, areOpen(tested, min)), settled: leavesAmong(tested, min) };
  });
  try {
    const { goesOn, settled } = made;
    const [openCount, leafCount] = await Promise.all([context.count(goesOn), context.count({ ...settled })]);
    return context.scope(() => ({
      open: context.materialize(gather(goesOn, sequence(openCount))),
      leaves: context.materialize(gather({ ...settled }, sequence(leafCount))),
    }));
  } finally {
    context.dispose(made);
  }
}

const child = fn(
  'child',
  { child: u32, ...quadrantArrays, owners: array(u32) },
  { column: u32, row: u32, owner: u32 },
  ({ child, columns, rows, owners }) => {
    const { parent, x, y, shift } = childPlace(child, u32(2), columns, rows);
    return { ...packQuadrant({ x, y, shift, parity: u32(0) }), owner: owners.at(parent) };
  },
);

/** The four children of every quadrant, as views. */
function childrenOf({ column, row, owner }: OpenQuadrants): OpenQuadrants {
  const children = sequence((column.length as number) << 2);
  return map(child, { child: children, columns: column, rows: row, owners: owner });
}

const relation = fn(
  'relation',
  { column: u32, row: u32, owner: u32, ...polygonArrays },
  u32,
  ({ column, row, owner, ...polygons }) => relationTo(unpackQuadrant(column, row), owner, polygons),
);
