import { aColumn } from '../../primitives/argument-kinds.ts';
import {
  type ArrayParameter,
  type ArrayValue,
  array,
  type Column,
  type Context,
  ctz,
  expand,
  fn,
  map,
  select,
  sequence,
  type U32,
  u32,
} from '../../primitives/index.ts';
import { aRecord, type Kind } from '../../primitives/kinds.ts';

/** The part of a region in each quadrant, row by row. */
export interface RegionInQuadrants {
  /**
   * 1 if the region contains the quadrant's lower left corner, else 0. A corner represents the area directly to its
   * right and then above.
   */
  readonly corner: Column<'u32'>;
  /** Position of the region's first edge through the quadrant, and number of its edges there. */
  readonly first: Column<'u32'>;
  readonly count: Column<'u32'>;
}

/** Quadrants that two regions have in common. Several rows may have the same quadrant. */
export interface QuadrantPairs {
  /**
   * Steps from the domain's left to the quadrant's left, doubled, plus one bit that gives its side: bit n for 2ⁿ steps.
   */
  readonly column: Column<'u32'>;
  /** Steps from the domain's bottom to the quadrant's bottom. Bits 30 and 31 are ignored. */
  readonly row: Column<'u32'>;
  readonly p: RegionInQuadrants;
  readonly q: RegionInQuadrants;
}

const aRegion: Kind = aRecord<RegionInQuadrants>({
  corner: aColumn('u32'),
  first: aColumn('u32'),
  count: aColumn('u32'),
});

export const somePairs: Kind = aRecord<QuadrantPairs>({
  column: aColumn('u32'),
  row: aColumn('u32'),
  p: aRegion,
  q: aRegion,
});

/** Both regions, as bits: p is bit 0, q is bit 1. */
export const BOTH = 3;

/** Quadrants in progress. */
export interface Cells {
  readonly column: Column<'u32'>;
  /** Steps from the domain's bottom. Bits 30 and 31 tell whether p and q contain the lower left corner. */
  readonly row: Column<'u32'>;
  /** The caller's row. */
  readonly pair: Column<'u32'>;
}

/** Edges that pass through cells, cell by cell. */
export interface Items {
  readonly cell: Column<'u32'>;
  /** The index of the edge, below 2³⁰. Bits 30 and 31 tell whether it belongs to p or to q. */
  readonly item: Column<'u32'>;
}

/** Cells in progress, with their edges. */
export interface Front {
  readonly cells: Cells;
  readonly items: Items;
}

const LOW_BITS = 2 ** 30 - 1;

/** Captured columns and rows of cells. */
export const cellArrays: { readonly columns: ArrayParameter<'u32'>; readonly rows: ArrayParameter<'u32'> } = {
  columns: array(u32),
  rows: array(u32),
};

/** A cell inside a functor. */
export interface CellPlace {
  readonly x: U32;
  readonly y: U32;
  /** The side is 2^shift steps. */
  readonly shift: U32;
  /** The regions that contain the lower left corner, as bits. */
  readonly corner: U32;
}

export function cellAt(columns: ArrayValue<'u32'>, rows: ArrayValue<'u32'>, cell: U32): CellPlace {
  const [column, row] = [columns.at(cell), rows.at(cell)];
  const shift = ctz(column);
  return { x: column.xor(u32(1).shl(shift)).shr(1), y: row.and(LOW_BITS), shift, corner: row.shr(30) };
}

/** The two words of a cell's position. */
export function packCell({ x, y, shift, corner }: CellPlace): { readonly column: U32; readonly row: U32 } {
  return { column: x.shl(1).or(u32(1).shl(shift)), row: y.or(corner.shl(30)) };
}

export function edgeOfItem(item: U32): U32 {
  return item.and(LOW_BITS);
}

/** The region whose edge it is, as a bit. */
export function regionOfItem(item: U32): U32 {
  return item.shr(30);
}

/**
 * The cells of all pairs, with their edges. A cell whose overlap is certain or impossible whatever its edges are gets
 * none. Waits for the device once.
 */
export async function cellsOf(context: Context, pairs: QuadrantPairs, edge: Column<'u32'>): Promise<Front> {
  const { column, row, p, q } = pairs;
  const pair = sequence(column.length);
  const cells = context.scope(() =>
    context.materialize({ ...map(packedPlace, { column, row, cornerP: p.corner, cornerQ: q.corner }), pair }),
  );
  try {
    const rows = { cell: pair, firstP: p.first, countP: p.count, firstQ: q.first };
    const counts = map(itemCount, { cornerP: p.corner, countP: p.count, cornerQ: q.corner, countQ: q.count });
    return { cells, items: await expand(rows, counts, itemAt, { captures: { edges: edge } }) };
  } catch (error) {
    context.dispose(cells);
    throw error;
  }
}

const packedPlace = fn(
  'packedPlace',
  { column: u32, row: u32, cornerP: u32, cornerQ: u32 },
  { column: u32, row: u32 },
  ({ column, row, cornerP, cornerQ }) => ({
    column,
    row: row.and(LOW_BITS).or(cornerP.shl(30)).or(cornerQ.shl(31)),
  }),
);

/** A cell gets no edges if both regions contain the corner, or if one region is absent. */
const itemCount = fn(
  'itemCount',
  { cornerP: u32, countP: u32, cornerQ: u32, countQ: u32 },
  u32,
  ({ cornerP, countP, cornerQ, countQ }) => {
    const isOpen = cornerP.and(cornerQ).eq(0).and(cornerP.or(countP).ne(0)).and(cornerQ.or(countQ).ne(0));
    return select(u32(0), countP.add(countQ), isOpen);
  },
);

const itemAt = fn(
  'itemAt',
  { cell: u32, firstP: u32, countP: u32, firstQ: u32, rank: u32, edges: array(u32) },
  { cell: u32, item: u32 },
  ({ cell, firstP, countP, firstQ, rank, edges }) => {
    const ofQ = rank.ge(countP);
    const at = select(firstP.add(rank), firstQ.add(rank.sub(countP)), ofQ);
    return { cell, item: edges.at(at).or(select(u32(1), 2, ofQ).shl(30)) };
  },
);
