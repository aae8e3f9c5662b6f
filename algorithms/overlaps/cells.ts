import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { aRecord, type Kind } from '../../primitives/checks/kinds.ts';
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

/** For each row of {@link QuadrantPairs}, the part of one region (a polygon) in the quadrant of this row. */
export interface RegionInQuadrants {
  /**
   * 1 if the region contains the quadrant's lower left corner, else 0. Edges through the corner count as if the corner
   * were moved infinitely little to the right and, by even less, up.
   */
  readonly corner: Column<'u32'>;
  /**
   * The edges of the region that pass through the quadrant are `count` consecutive entries in the list of edges.
   * `first` is the index of the first of these entries.
   */
  readonly first: Column<'u32'>;
  readonly count: Column<'u32'>;
}

/**
 * Pairs of regions `p` and `q` that each cover a part of the same quadrant, one pair per row. Several rows may have the
 * same quadrant.
 */
export interface QuadrantPairs {
  /**
   * The left side and the size of the quadrant, packed in one word. The word is twice the number of steps from the left
   * of the domain to the left of the quadrant, plus 2ⁿ for a quadrant with a side of 2ⁿ steps.
   */
  readonly column: Column<'u32'>;
  /** Number of steps from the domain's bottom to the quadrant's bottom. Bits 30 and 31 are ignored. */
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

/** Mask of both regions of a pair: bit 0 stands for region p, bit 1 for region q. */
export const BOTH = 3;

/** Cells: quadrants of the caller, or the smaller quadrants into which these were split. */
export interface Cells {
  readonly column: Column<'u32'>;
  /**
   * Number of steps from the bottom of the domain to the bottom of the cell. In addition, bit 30 is set if region p
   * contains the lower left corner of the cell, bit 31 if region q does.
   */
  readonly row: Column<'u32'>;
  /** The row of the caller's table from which the cell comes. */
  readonly pair: Column<'u32'>;
}

/** Edges that pass through cells, cell after cell. An edge that passes through several cells has one row per cell. */
export interface Items {
  readonly cell: Column<'u32'>;
  /** The index of the edge, below 2³⁰. Bit 30 is set if it belongs to p, bit 31 if it belongs to q. */
  readonly item: Column<'u32'>;
}

/** Cells that are processed together, with their edges. */
export interface Front {
  readonly cells: Cells;
  readonly items: Items;
}

const LOW_BITS = 2 ** 30 - 1;

/** Parameters of a functor: the columns and rows of all cells. */
export const cellArrays: { readonly columns: ArrayParameter<'u32'>; readonly rows: ArrayParameter<'u32'> } = {
  columns: array(u32),
  rows: array(u32),
};

/** A cell, as unpacked in a functor. */
export interface CellPlace {
  readonly x: U32;
  readonly y: U32;
  /** Logarithm of the cell's side: the side is 2^shift steps. */
  readonly shift: U32;
  /** Which regions contain the lower left corner, as bits. */
  readonly corner: U32;
}

export function cellAt(columns: ArrayValue<'u32'>, rows: ArrayValue<'u32'>, cell: U32): CellPlace {
  const [column, row] = [columns.at(cell), rows.at(cell)];
  const shift = ctz(column);
  return { x: column.xor(u32(1).shl(shift)).shr(1), y: row.and(LOW_BITS), shift, corner: row.shr(30) };
}

/** Packs the position of a cell into two words. */
export function packCell({ x, y, shift, corner }: CellPlace): { readonly column: U32; readonly row: U32 } {
  return { column: x.shl(1).or(u32(1).shl(shift)), row: y.or(corner.shl(30)) };
}

export function edgeOfItem(item: U32): U32 {
  return item.and(LOW_BITS);
}

/** The region to which an edge belongs, as a bit. */
export function regionOfItem(item: U32): U32 {
  return item.shr(30);
}

/**
 * Makes the cells of all pairs, with their edges. A cell gets no edges if the answer is certain without them: both
 * regions contain the corner of the cell, or one region is not in the cell. Waits for the device once.
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

/**
 * Number of edges to list for a cell. It is 0 if both regions contain the corner, or if one region is not in the cell.
 */
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
