import {
  type ArrayParameter,
  type ArrayValue,
  array,
  bitsToU32,
  type Column,
  clz,
  ctz,
  fn,
  type I32,
  i32,
  map,
  sequence,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';
import { DOMAIN_BITS } from './domain.ts';
import type { Edges } from './edges.ts';

/**
 * Open quadrants: edges pass through them, and they are to be split. A quadrant is packed into three words, because
 * devices can bind only a few arrays in one launch.
 *
 * - `column`: twice the number of steps from the left of the domain to the left of the quadrant, plus 2^n for a side of
 *   2^n steps. The number of steps is a multiple of the side, so the lowest set bit gives the side.
 * - `row`: steps from the bottom of the domain to the bottom of the quadrant; bit 31 is set if the polygon contains the
 *   quadrant's lower left corner.
 * - `owner`: the polygon, as an index among the polygons that have edges.
 */
export interface OpenQuadrants {
  readonly column: Column<'u32'>;
  readonly row: Column<'u32'>;
  readonly owner: Column<'u32'>;
}

/** Parameters of a functor: the columns and rows of all quadrants. */
export const quadrantArrays: { readonly columns: ArrayParameter<'u32'>; readonly rows: ArrayParameter<'u32'> } = {
  columns: array(u32),
  rows: array(u32),
};

const ROW_BITS = 2 ** 31 - 1;

/** A quadrant, as unpacked in a functor. */
export interface Quadrant {
  /**
   * Distance from the domain's left side to the quadrant's left side, in steps. `y` is the distance from the domain's
   * bottom side to the quadrant's bottom side.
   */
  readonly x: U32;
  readonly y: U32;
  /** Logarithm of the quadrant's side: the side is 2^shift steps. */
  readonly shift: U32;
  /** 1 if the polygon contains the lower left corner, else 0. */
  readonly parity: U32;
}

/** Unpacks a quadrant from the columns `column` and `row` of {@link OpenQuadrants}. */
export function quadrantAt(columns: ArrayValue<'u32'>, rows: ArrayValue<'u32'>, index: U32): Quadrant {
  return unpackQuadrant(columns.at(index), rows.at(index));
}

export function unpackQuadrant(column: U32, row: U32): Quadrant {
  const shift = ctz(column);
  return { x: column.xor(u32(1).shl(shift)).shr(1), y: row.and(ROW_BITS), shift, parity: row.shr(31) };
}

/**
 * The position of a child, and `parity`, which is 1 if the polygon contains the parent's lower left corner. The index
 * `child` is the index of the parent, followed by 2 bits, x + 2y. If `bits` is 0, these 2 bits are missing, and the
 * only child is the parent itself.
 */
export function childPlace(
  child: U32,
  bits: U32,
  columns: ArrayValue<'u32'>,
  rows: ArrayValue<'u32'>,
): Quadrant & { readonly parent: U32; readonly number: U32 } {
  const parent = child.shr(bits);
  const number = child.sub(parent.shl(bits));
  const { x, y, shift, parity } = quadrantAt(columns, rows, parent);
  const side = shift.sub(bits.shr(1));
  return { x: x.add(number.and(1).shl(side)), y: y.add(number.shr(1).shl(side)), shift: side, parity, parent, number };
}

/** Packs a quadrant into the words `column` and `row` of {@link OpenQuadrants}. */
export function packQuadrant({ x, y, shift, parity }: Quadrant): { readonly column: U32; readonly row: U32 } {
  return { column: x.shl(1).or(u32(1).shl(shift)), row: y.or(parity.shl(31)) };
}

const enclosingQuadrant = fn(
  'enclosingQuadrant',
  { left: i32, bottom: i32, right: i32, top: i32, min: uniform(u32) },
  { column: u32, row: u32 },
  ({ left, bottom, right, top, min }) => {
    const [x0, y0] = [cellOf(left), cellOf(bottom)];
    const [x1, y1] = [cellOf(right.sub(1).max(left)), cellOf(top.sub(1).max(bottom))];
    const differ = x0.xor(x1).or(y0.xor(y1));
    const shift = u32(32).sub(clz(differ)).max(min);
    const corner = (cell: U32): U32 => cell.shr(shift).shl(shift);
    return packQuadrant({ x: corner(x0), y: corner(y0), shift, parity: u32(0) });
  },
);

/**
 * For each polygon, the smallest quadrant that contains its bounding box and has a side of at least 2^min steps, as a
 * view. Of a polygon that leaves the domain, what is within the domain counts. The quadrant is given by the leading bits that the coordinates of two opposite corners of the box have in
 * common. Quadrants are half-open, but a box may also end exactly on the right or top side of its quadrant.
 */
export function enclosingQuadrants({ polygons }: Edges, min: number): OpenQuadrants {
  const { left, bottom, right, top } = polygons;
  const place = map(enclosingQuadrant, { left, bottom, right, top, min });
  return { ...place, owner: sequence(left.length) };
}

/**
 * Index of the grid step that begins at a coordinate. At the right or top end of the domain and beyond, the index of
 * the last step; left of the domain or below, of the first step.
 */
function cellOf(coordinate: I32): U32 {
  return bitsToU32(coordinate.max(0).min(2 ** DOMAIN_BITS - 1));
}
