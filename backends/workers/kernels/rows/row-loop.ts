import type { KernelInputs } from '../../commands/kernel-arguments.ts';
import type { LaneCode } from '../../wasm/emit-lanes.ts';
import type { VectorCode } from '../../wasm/emit-simd.ts';
import { emitIndexLoop, type IndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32 } from '../../wasm/wasm-encoder.ts';
import { Int32, i32 } from '../../wasm/wasm-expressions.ts';
import { asInt32, type Int32Local } from '../../wasm/wasm-locals.ts';
import { lower, raise, whileTrue } from '../../wasm/wasm-statements.ts';
import type { GridRows } from './grid-rows.ts';

/** Minimum number of cells per row for which row-wise evaluation is worthwhile. */
export const MIN_CELLS = 64;

/**
 * Processes a range of cells row by row. Scalar code evaluates the left-out cells at both ends of a row, and vectors
 * evaluate the cells between them. A row must have more cells than are left out.
 */
export function emitRowLoop(
  code: Code,
  inputs: KernelInputs,
  rows: GridRows,
  range: Omit<IndexLoop, 'vector'>,
  vectorOf: (bind: (lanes: VectorCode | LaneCode) => void) => VectorPart,
): void {
  const { row, before, after } = rows;
  if (row === undefined) {
    const vector = vectorOf(() => {});
    emitIndexLoop(code, { ...range, vector: withinOneRow(code, inputs, rows, vector) });
    return;
  }
  const ends = { size: sizeOf(inputs, rows), before, after };
  emitRows(code, ends, range, (quotient) => vectorOf((lanes) => lanes.bindInvariant(row, quotient)));
}

/**
 * Processes a range in rows of `size` cells. `vectorOf` returns the vector code for a row, given the local with the row
 * number.
 */
export function emitRows(
  code: Code,
  { size, before, after }: { readonly size: Int32; readonly before: number; readonly after: number },
  range: Omit<IndexLoop, 'vector'>,
  vectorOf: (row: Int32Local) => VectorPart,
): void {
  const { from, to } = range;
  const [at, end, quotient, start] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const within = (cells: Int32): Int32 => indexWithin(code, start, to, cells);
  const narrowToRow = (first: Int32Local, last: Int32Local): void => {
    raise(code, first, within(i32(before)));
    lower(code, last, within(size.sub(after)));
  };
  at.set(from);
  whileTrue(code, at.ltU(to), () => {
    start.set(quotient.tee(at.divU(size)).mul(size));
    end.set(within(size));
    const vector = vectorOf(quotient);
    const narrow = (first: Int32Local, last: Int32Local): void => {
      vector.narrow(first, last);
      narrowToRow(first, last);
    };
    emitIndexLoop(code, { ...range, from: at, to: end, vector: { ...vector, narrow } });
    at.set(end);
  });
  for (const local of [at, end, quotient, start]) code.release(local);
}

/** Number of cells per row, as an expression. */
function sizeOf(inputs: KernelInputs, { size }: GridRows): Int32 {
  return size!.kind === 'uniform' ? asInt32(inputs.uniforms[size!.slot]!) : i32(Number(size!.value));
}

/** Restricts vector code to the cells that are not left out, if all cells form a single row. */
function withinOneRow(code: Code, inputs: KernelInputs, rows: GridRows, vector: VectorPart): VectorPart {
  const { size, before, after } = rows;
  const narrow = (first: Int32Local, last: Int32Local): void => {
    vector.narrow(first, last);
    raise(code, first, before);
    if (size !== undefined) lower(code, last, sizeOf(inputs, rows).sub(after));
  };
  return { ...vector, narrow };
}

/** The index that is `cells` cells after the start of a row, but at most `to`. No intermediate sum exceeds 2^32. */
function indexWithin(code: Code, start: Int32, to: Int32, cells: Int32): Int32 {
  return new Int32((bytes) => {
    const count = code.local(I32);
    count.set(cells);
    lower(code, count, to.sub(start));
    start.add(count).emit(bytes);
    code.release(count);
  });
}
