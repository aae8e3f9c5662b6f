import { emitMaximum, emitMinimum, type KernelInputs } from '../../commands/kernel-arguments.ts';
import type { VectorCode } from '../../wasm/emit-simd.ts';
import { emitIndexLoop, type IndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op } from '../../wasm/wasm-encoder.ts';
import type { GridRows } from './grid-rows.ts';

/** Minimum number of cells for which a row is processed as such. */
export const MIN_CELLS = 64;

/** Number of cells in a row: a constant or a local. */
export type RowSize = { readonly local: number } | { readonly cells: number };

/**
 * Processes a range row by row: vectors for the cells between the ends of a row, scalars for the others. Rows must be
 * wider than the ends that are left out.
 */
export function emitRowLoop(
  code: Code,
  inputs: KernelInputs,
  rows: GridRows,
  range: Omit<IndexLoop, 'vector'>,
  vectorOf: (bind: (lanes: VectorCode) => void) => VectorPart,
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

/** Processes a range row by row; `vectorOf` receives the local of the row number. */
export function emitRows(
  code: Code,
  { size, before, after }: { readonly size: RowSize; readonly before: number; readonly after: number },
  range: Omit<IndexLoop, 'vector'>,
  vectorOf: (row: number) => VectorPart,
): void {
  const { from, to } = range;
  const [at, end, quotient, start] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const pushSize = (): void => pushSizeOf(code, size);
  const within = (cells: () => void): void => pushWithin(code, start, to, cells);
  const narrowToRow = (first: number, last: number): void => {
    emitMaximum(code, first, () => within(() => code.i32(before)));
    emitMinimum(code, last, () =>
      within(() => {
        pushSize();
        code.i32(after);
        code.op(op.i32Sub);
      }),
    );
  };
  code.get(from);
  code.set(at);
  code.while(
    () => {
      code.get(at);
      code.get(to);
      code.op(op.i32LtU);
    },
    () => {
      code.get(at);
      pushSize();
      code.op(op.i32DivU);
      code.tee(quotient);
      pushSize();
      code.op(op.i32Mul);
      code.set(start);
      within(pushSize);
      code.set(end);
      const vector = vectorOf(quotient);
      const narrow = (first: number, last: number): void => {
        vector.narrow(first, last);
        narrowToRow(first, last);
      };
      emitIndexLoop(code, { ...range, from: at, to: end, vector: { ...vector, narrow } });
      code.get(end);
      code.set(at);
    },
  );
  for (const local of [at, end, quotient, start]) code.release(local);
}

function sizeOf(inputs: KernelInputs, { size }: GridRows): RowSize {
  return size!.kind === 'uniform' ? { local: inputs.uniforms[size!.slot]! } : { cells: Number(size!.value) };
}

/** Vectors for cells that form a single row, without its ends. */
function withinOneRow(code: Code, inputs: KernelInputs, rows: GridRows, vector: VectorPart): VectorPart {
  const { size, before, after } = rows;
  const narrow = (first: number, last: number): void => {
    vector.narrow(first, last);
    emitMaximum(code, first, () => code.i32(before));
    if (size === undefined) return;
    emitMinimum(code, last, () => {
      pushSizeOf(code, sizeOf(inputs, rows));
      code.i32(after);
      code.op(op.i32Sub);
    });
  };
  return { ...vector, narrow };
}

function pushSizeOf(code: Code, size: RowSize): void {
  if ('local' in size) code.get(size.local);
  else code.i32(size.cells);
}

/** Pushes the index `cells` after the start of a row, but at most the end of the range. No sum exceeds 2^32. */
function pushWithin(code: Code, start: number, to: number, cells: () => void): void {
  const count = code.local(I32);
  cells();
  code.set(count);
  emitMinimum(code, count, () => {
    code.get(to);
    code.get(start);
    code.op(op.i32Sub);
  });
  code.get(start);
  code.get(count);
  code.op(op.i32Add);
  code.release(count);
}
