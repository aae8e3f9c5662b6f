import { type Boundary, capacityOf, type RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { largestOf } from '../../../../primitives/host/extremes.ts';
import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32 } from '../../wasm/wasm-encoder.ts';
import { Int32, i32 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { doWhile } from '../../wasm/wasm-statements.ts';

/**
 * The layout of a grid in the private memory of the thread that relaxes it.
 *
 * There are two copies of the states: a round reads one and writes the other. Each copy is padded as far as the offsets
 * of neighbours reach, and the padding is filled before every round. Each neighbour is therefore at a fixed offset from
 * its cell. If any neighbour is far away (`isFar`), there is no padding, and the boundary rule gives the position of
 * each neighbour.
 */
export interface GridForm {
  readonly states: readonly ScalarType[];
  readonly owns: readonly ScalarType[];
  /** The width of the padding on each side of the grid, in cells. */
  readonly left: number;
  readonly right: number;
  readonly above: number;
  readonly below: number;
  readonly isFar: boolean;
}

/**
 * Maximum width of the padding. Filling wider padding would cost more than computing the position of each neighbour.
 */
const MAX_AROUND = 8;

export function formOf({ state, own, neighbours }: RelaxCommand): GridForm {
  const reach = (of: (at: { readonly dx: number; readonly dy: number }) => number): number =>
    largestOf(neighbours.map(of), 0);
  const sides = {
    left: reach(({ dx }) => -dx),
    right: reach(({ dx }) => dx),
    above: reach(({ dy }) => -dy),
    below: reach(({ dy }) => dy),
  };
  const isFar = largestOf(Object.values(sides)) > MAX_AROUND;
  const around = isFar ? { left: 0, right: 0, above: 0, below: 0 } : sides;
  return { states: state.map(({ type }) => type), owns: entryOf(own.module).results, ...around, isFar };
}

const VECTOR_BYTES = 16;
/**
 * Extra bytes per column of a grid. They leave room for vectors that extend beyond the last row, and for aligning the
 * first cell of each row.
 */
const SLACK = 2 * VECTOR_BYTES;

/**
 * Bytes of private memory that a thread needs for the largest grid: the fold of the changes of all cells, two copies of
 * the states, and the results of `own`.
 */
export function ownBytes(
  { states, owns, left, right, above, below }: GridForm,
  { cells, change, maxWidth, maxHeight }: RelaxCommand,
): number {
  const max = capacityOf(cells);
  const [width, height] = [Math.min(maxWidth, max), Math.min(maxHeight, max)];
  const [besides, over] = [left + right + 3, above + below];
  const padded = Math.min(width * height, max) + besides * height + over * (width + besides);
  return VECTOR_BYTES + totalsBytes(change.types.length) + (2 * states.length + owns.length) * (4 * padded + SLACK);
}

function totalsBytes(leaves: number): number {
  return VECTOR_BYTES * Math.ceil(leaves / 4);
}

/** Locals for the current grid. Its columns are `leafBytes` apart, and the rows of a column are `rowBytes` apart. */
export interface GridLocals {
  /** Index of the grid's first cell in the state columns, which hold the cells of all grids. */
  readonly first: Int32Local;
  readonly width: Int32Local;
  readonly height: Int32Local;
  readonly rowBytes: Int32Local;
  readonly leafBytes: Int32Local;
  /** Address of the fold of the changes of all cells in the latest round. */
  readonly totals: Int32Local;
  /**
   * Addresses of the first cell in the states before the round, in the states after the round, and in the results of
   * `own`.
   */
  readonly from: Int32Local;
  readonly to: Int32Local;
  readonly own: Int32Local;
}

/** Sets the strides and addresses of a grid from its width and height. `address` must be a multiple of 16. */
export function emitPlaceGrid(form: GridForm, leaves: number, grid: GridLocals, address: Int32): void {
  const { left, right, above, below } = form;
  const { width, height, rowBytes, leafBytes, totals, from, to, own } = grid;
  rowBytes.set(
    width
      .add(left + right + 3)
      .and(-4)
      .shl(2),
  );
  leafBytes.set(
    height
      .add(above + below)
      .mul(rowBytes)
      .add(SLACK),
  );
  const before = totalsBytes(leaves) + VECTOR_BYTES * Math.ceil((4 * left) / VECTOR_BYTES);
  from.set(totals.tee(address).add(before).add(rowBytes.mul(above)));
  const states = form.states.length;
  to.set(leafOf(from, leafBytes, states));
  own.set(leafOf(to, leafBytes, states));
}

export function leafOf(origin: Int32, leafBytes: Int32, leaf: number): Int32 {
  return origin.add(leafBytes.mul(leaf));
}

/** Loops over the rows of a grid, which must have at least one row. */
export function forRows(code: Code, height: Int32, body: (row: Int32) => void): void {
  const row = code.local(I32);
  row.set(0);
  doWhile(code, () => body(row), row.tee(row.add(1)).ltU(height));
  code.release(row);
}

export function advance(addresses: readonly Int32Local[], bytes: Int32 | number): void {
  for (const address of addresses) address.set(address.add(bytes));
}

/**
 * Sets `into` to the row or column that replaces the row or column `place`, by the boundary rule. `place` is signed and
 * may be outside the grid, which has `size` rows or columns. For a constant boundary, `into` is `place` itself.
 */
export function emitStandIn(code: Code, boundary: Boundary, size: Int32, place: Int32, into: Int32Local): void {
  into.set(place);
  const period = code.local(I32);
  switch (boundary) {
    case 'constant':
      break;
    case 'clamp':
      emitMaxS(code, into, i32(0));
      emitMinS(code, into, size.sub(1));
      break;
    case 'wrap':
      into.set(into.remS(size).add(size).remU(size));
      break;
    case 'reflect': {
      period.set(periodOf(code, size));
      const distance = into.gtS(0).select(into, i32(0).sub(into));
      into.set(distance.remU(period));
      emitMinS(code, into, period.sub(into));
    }
  }
  code.release(period);
}

/**
 * The period of a reflected row or column: 2 · (size − 1), but at least 1. Use the expression only once, because it
 * uses a temporary local.
 */
export function periodOf(code: Code, size: Int32): Int32 {
  return new Int32((bytes) => {
    const period = code.local(I32);
    period.select(period.tee(size.sub(1).shl(1)), 1).emit(bytes);
    code.release(period);
  });
}

/** Raises a local to at least `to`. Both are signed. */
function emitMaxS(code: Code, local: Int32Local, to: Int32): void {
  const value = code.local(I32);
  value.set(to);
  local.set(local.gtS(value).select(local, value));
  code.release(value);
}

/** Lowers a local to at most `to`. Both are signed. */
function emitMinS(code: Code, local: Int32Local, to: Int32): void {
  const value = code.local(I32);
  value.set(to);
  local.set(local.ltS(value).select(local, value));
  code.release(value);
}
