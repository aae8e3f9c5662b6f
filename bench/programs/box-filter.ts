import { type Column, type Grid, inclusiveScan, plus, u32, windowSum } from '../../primitives/index.ts';
import { congruential } from '../shared/random.ts';
import type { Answer, BenchProgram, Case } from './program.ts';

/** Cells of a window in each direction. */
const WINDOW = 15;

/** A summed-area table of a grid, and the sums of windows of 15 × 15 cells around every cell, modulo 2^32. */
export const boxFilter: BenchProgram = {
  name: 'box filter',
  cpp: 'box-filter.cpp',
  *cases(side = 4096) {
    const random = congruential(3);
    const cells = Uint32Array.from({ length: side * side }, () => 256 * random());
    yield { name: `${side} × ${side}`, inputs: { cells }, sizes: { width: side, window: WINDOW } };
  },
  plain,
  async quadrille(context, { inputs, sizes }) {
    const grid: Grid = { rows: inputs.cells!.length / sizes.width!, columns: sizes.width! };
    const cells: Column<'u32'> = context.column(inputs.cells as Uint32Array, grid);
    return () => ({
      table: inclusiveScan(inclusiveScan(cells, plus(u32), { axis: 'rows' }), plus(u32), { axis: 'columns' }),
      box: windowSum(cells, { width: WINDOW, boundary: 'constant' }),
    });
  },
};

/** One pass for the table; a window is a difference of four of its entries. */
function plain({ inputs, sizes }: Case): () => Answer {
  const cells = inputs.cells as Uint32Array;
  const width = sizes.width!;
  const height = cells.length / width;
  const [table, box] = [new Uint32Array(cells.length), new Uint32Array(cells.length)];
  const before = (WINDOW - 1) >> 1;
  const after = WINDOW >> 1;
  return () => {
    for (let y = 0, i = 0; y < height; y++) {
      let sum = 0;
      for (let x = 0; x < width; x++, i++) {
        sum = (sum + cells[i]!) | 0;
        table[i] = y === 0 ? sum : sum + table[i - width]!;
      }
    }
    for (let y = 0; y < height; y++) {
      const low = Math.min(height - 1, y + after) * width;
      const high = (y - before - 1) * width;
      const windowAt = (x: number): number => {
        const right = Math.min(width - 1, x + after);
        const left = x - before - 1;
        let sum = table[low + right]! - (left < 0 ? 0 : table[low + left]!);
        if (high >= 0) sum -= table[high + right]! - (left < 0 ? 0 : table[high + left]!);
        return sum;
      };
      const row = y * width;
      const inner = Math.min(width, before + 1);
      const outer = Math.max(inner, width - after);
      for (let x = 0; x < inner; x++) box[row + x] = windowAt(x);
      if (high >= 0) {
        for (let x = inner; x < outer; x++) {
          const [right, left] = [x + after, x - before - 1];
          box[row + x] = table[low + right]! - table[low + left]! - table[high + right]! + table[high + left]!;
        }
      } else {
        for (let x = inner; x < outer; x++) box[row + x] = table[low + x + after]! - table[low + x - before - 1]!;
      }
      for (let x = outer; x < width; x++) box[row + x] = windowAt(x);
    }
    return { table, box };
  };
}
