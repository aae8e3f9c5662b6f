import type { RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { emitStoreScalar } from '../../commands/kernel-arguments.ts';
import { pushLiteral } from '../../wasm/emit-wasm.ts';
import { lanesOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import { emitAdvance, emitLeaf, emitRows, emitStandIn, type GridForm, type GridLocals } from './relax-grid.ts';

/** Fills the cells around a grid with the states before a round, as the boundary's rules say. */
export function emitSurroundings(code: Code, form: GridForm, command: RelaxCommand, grid: GridLocals): void {
  emitColumns(code, form, command, grid);
  emitRowsAround(code, form, command, grid);
}

/** The cells to the left and right of each row. */
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
  /** For every column, how many bytes behind the beginning of a row the cell lies that stands for it. */
  const sources = columns.map(({ isRight, at }) => {
    const source = code.local(I32);
    if (isConstant) return source;
    const place = (): void => {
      code.i32(at);
      if (!isRight) return;
      code.get(width);
      code.op(op.i32Add);
    };
    emitStandIn(code, boundary.x, width, place, source);
    code.get(source);
    code.i32(2);
    code.op(op.i32Shl);
    code.set(source);
    return source;
  });
  const [row, end, value] = [code.local(I32), code.local(I32), code.local(I32)];
  for (const [leaf, type] of states.entries()) {
    emitLeaf(code, from, leafBytes, leaf, row);
    emitRows(code, height, () => {
      code.get(row);
      code.get(width);
      code.i32(2);
      code.op(op.i32Shl, op.i32Add);
      code.set(end);
      for (const [k, { isRight, at }] of columns.entries()) {
        if (!isConstant) {
          code.get(row);
          code.get(sources[k]!);
          code.op(op.i32Add);
          code.memory(op.i32Load);
          code.set(value);
        }
        code.get(isRight ? end : row);
        if (!isRight) {
          code.i32(4 * left);
          code.op(op.i32Sub);
        }
        const bytes = 4 * (isRight ? at : at + left);
        if (isConstant) {
          pushLiteral(code, type, outside[leaf]!);
          code.memory(type === 'f32' ? op.f32Store : op.i32Store, bytes);
        } else {
          emitStoreScalar(code, 'u32', value, bytes);
        }
      }
      emitAdvance(code, [row], () => code.get(rowBytes));
    });
  }
  releaseAll(code, [row, end, value, ...sources]);
}

/** The rows above and below, with the cells to their left and right. */
function emitRowsAround(
  code: Code,
  { states, left, above, below }: GridForm,
  { boundary, outside }: RelaxCommand,
  { height, rowBytes, leafBytes, from }: GridLocals,
): void {
  const [to, source, place] = [code.local(I32), code.local(I32), code.local(I32)];
  const isConstant = boundary.y === 'constant';
  const words = code.local(V128);
  const fill = (pushRow: () => void): void => {
    if (!isConstant) emitStandIn(code, boundary.y, height, pushRow, place);
    for (const [leaf, type] of states.entries()) {
      const address = (pushAt: () => void, into: number): void => {
        emitLeaf(code, from, leafBytes, leaf, into);
        emitAdvance(code, [into], () => {
          pushAt();
          code.get(rowBytes);
          code.op(op.i32Mul);
          code.i32(4 * left);
          code.op(op.i32Sub);
        });
      };
      address(pushRow, to);
      if (isConstant) {
        const value = outside[leaf]!;
        code.v128(lanesOf(type === 'bool' ? 'u32' : type, type === 'bool' ? Number(value) : value));
        code.set(words);
      } else {
        address(() => code.get(place), source);
      }
      emitVectors(code, rowBytes, (at) => {
        const push = (row: number): void => {
          code.get(row);
          code.get(at);
          code.op(op.i32Add);
        };
        push(to);
        if (isConstant) code.get(words);
        else {
          push(source);
          code.simdMemory(simd.load);
        }
        code.simdMemory(simd.store);
      });
    }
  };
  for (let row = -above; row < 0; row++) fill(() => code.i32(row));
  for (let row = 0; row < below; row++) {
    fill(() => {
      code.get(height);
      code.i32(row);
      code.op(op.i32Add);
    });
  }
  releaseAll(code, [to, source, place, words]);
}

/** Goes through the vectors of a row. */
function emitVectors(code: Code, bytes: number, body: (at: number) => void): void {
  const at = code.local(I32);
  code.i32(0);
  code.set(at);
  const again = code.loop();
  body(at);
  code.get(at);
  code.i32(16);
  code.op(op.i32Add);
  code.tee(at);
  code.get(bytes);
  code.op(op.i32LtU);
  code.brIf(again);
  code.end();
  code.release(at);
}
