import {
  type ArrayParameter,
  type ArrayValue,
  array,
  type Column,
  ctz,
  type U32,
  u32,
} from '../../primitives/index.ts';

/**
 * Quadrants that two regions share, packed.
 *
 * - `column`: as in `open-quadrants.ts`.
 * - `row`: steps from the domain's bottom to the quadrant's; bits 30 and 31: whether p and q hold the lower left corner.
 * - `pair`: the caller's row.
 */
export interface Cells {
  readonly column: Column<'u32'>;
  readonly row: Column<'u32'>;
  readonly pair: Column<'u32'>;
}

/** Edges that pass through cells, cell by cell. */
export interface Items {
  readonly cell: Column<'u32'>;
  /** The edge, and bits 30 and 31: whether it is p's or q's. */
  readonly item: Column<'u32'>;
}

/** Bits of both regions. */
export const BOTH = 3;

const LOW_BITS = 2 ** 30 - 1;

export const cellArrays: { readonly columns: ArrayParameter<'u32'>; readonly rows: ArrayParameter<'u32'> } = {
  columns: array(u32),
  rows: array(u32),
};

export interface Cell {
  readonly x: U32;
  readonly y: U32;
  /** The side is 2^shift steps. */
  readonly shift: U32;
  /** Bits 0 and 1: whether p and q hold the lower left corner. */
  readonly corner: U32;
}

export function cellAt(columns: ArrayValue<'u32'>, rows: ArrayValue<'u32'>, index: U32): Cell {
  const [column, row] = [columns.at(index), rows.at(index)];
  const shift = ctz(column);
  return { x: column.xor(u32(1).shl(shift)).shr(1), y: row.and(LOW_BITS), shift, corner: row.shr(30) };
}

export function edgeOfItem(item: U32): U32 {
  return item.and(LOW_BITS);
}

/** Bit 0 where the edge is p's, bit 1 where it is q's. */
export function regionOfItem(item: U32): U32 {
  return item.shr(30);
}

/** Cells under way, with their edges. */
export interface Front {
  readonly cells: Cells;
  readonly items: Items;
}
