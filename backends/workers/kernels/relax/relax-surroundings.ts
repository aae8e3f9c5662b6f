import type { RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { literal } from '../../wasm/emit-wasm.ts';
import { lanesOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32, load, loadVector, v128 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { doWhile, store } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import { advance, emitStandIn, forRows, type GridForm, type GridLocals, leafOf } from './relax-grid.ts';

/** Fills the padding around the grid by the boundary rule. Must run before every round. */
export function emitSurroundings(code: Code, form: GridForm, command: RelaxCommand, grid: GridLocals): void {
  emitColumns(code, form, command, grid);
  emitRowsAround(code, form, command, grid);
}

/** Fills the padding at the left and right of each row. */
function emitColumns(
  code: Code,
  { states, left, right }: GridForm,
  { boundary, outside }: RelaxCommand,
  { width, height, rowBytes, leafBytes, from }: GridLocals,
): void {
  const columns = [
    ...Array.from({ length: left }, (_, k) => ({ isRight: false, at: k - left })),
    ...Array.from({ length: right }, (_, k) => ({ isRight: true, at: k })),
  ];
  if (columns.length === 0) return;
  const isConstant = boundary.x === 'constant';
  /** For each padding column, the byte offset in the row of the source cell, whose state is copied to the column. */
  const sources = columns.map(({ isRight, at }) => {
    const source = code.local(I32);
    if (isConstant) return source;
    emitStandIn(code, boundary.x, width, isRight ? i32(at).add(width) : i32(at), source);
    source.set(source.shl(2));
    return source;
  });
  const [row, end, value] = [code.local(I32), code.local(I32), code.local(I32)];
  for (const [leaf, type] of states.entries()) {
    row.set(leafOf(from, leafBytes, leaf));
    forRows(code, height, () => {
      end.set(row.add(width.shl(2)));
      for (const [k, { isRight, at }] of columns.entries()) {
        if (!isConstant) value.set(load(row.add(sources[k]!)));
        const stored = isConstant ? literal(type, outside[leaf]!) : value;
        if (isRight) store(code, end, stored, 4 * at);
        else store(code, row.sub(4 * left), stored, 4 * (at + left));
      }
      advance([row], rowBytes);
    });
  }
  releaseAll(code, [row, end, value, ...sources]);
}

/** Fills the padding rows above and below the grid, including the corners. The padding columns must be filled first. */
function emitRowsAround(
  code: Code,
  { states, left, above, below }: GridForm,
  { boundary, outside }: RelaxCommand,
  { height, rowBytes, leafBytes, from }: GridLocals,
): void {
  const [to, source, place] = [code.local(I32), code.local(I32), code.local(I32)];
  const isConstant = boundary.y === 'constant';
  const words = code.local(V128);
  const setAddress = (address: Int32Local, leaf: number, row: Int32): void => {
    address.set(leafOf(from, leafBytes, leaf));
    advance([address], row.mul(rowBytes).sub(4 * left));
  };
  const fill = (row: Int32): void => {
    if (!isConstant) emitStandIn(code, boundary.y, height, row, place);
    for (const [leaf, type] of states.entries()) {
      setAddress(to, leaf, row);
      const value = outside[leaf]!;
      if (isConstant) words.set(v128(lanesOf(type === 'bool' ? 'u32' : type, type === 'bool' ? Number(value) : value)));
      else setAddress(source, leaf, place);
      forVectors(code, rowBytes, (at) => store(code, to.add(at), isConstant ? words : loadVector(source.add(at))));
    }
  };
  for (let row = -above; row < 0; row++) fill(i32(row));
  for (let row = 0; row < below; row++) fill(height.add(row));
  releaseAll(code, [to, source, place, words]);
}

/** Loops over the vectors of a row of `bytes` bytes; `bytes` must not be 0. */
function forVectors(code: Code, bytes: Int32, body: (at: Int32) => void): void {
  const at = code.local(I32);
  at.set(0);
  doWhile(code, () => body(at), at.tee(at.add(16)).ltU(bytes));
  code.release(at);
}
