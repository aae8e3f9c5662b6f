import {
  type Column,
  fn,
  type Grid,
  inclusiveScan,
  neighbours,
  plus,
  select,
  stencil,
  u32,
} from '../../primitives/index.ts';
import { congruential } from '../shared/random.ts';
import type { Answer, BenchProgram, Case } from './program.ts';

/** Cells of a window in each direction. */
const WINDOW = 15;

/** A summed-area table of a grid, and the sums of windows of 15 × 15 cells around every cell, modulo 2^32. */
export const boxFilter: BenchProgram = {
  name: 'box-filter',
  over: 'grid',
  type: 'u32',
  sizes: [4096],
  cpp: 'box-filter.cpp',
  kinds: {
    noise(side) {
      const random = congruential(3);
      const cells = Uint32Array.from({ length: side * side }, () => 256 * random());
      return { inputs: { cells }, sizes: { width: side, window: WINDOW } };
    },
  },
  plain,
  quadrille(context, { inputs, sizes }) {
    const grid: Grid = { rows: inputs.cells!.length / sizes.width!, columns: sizes.width! };
    const cells: Column<'u32'> = context.column(inputs.cells as Uint32Array, grid);
    const run = () => {
      const table = inclusiveScan(inclusiveScan(cells, plus(u32), { axis: 'rows' }), plus(u32), { axis: 'columns' });
      return { table, box: context.materialize(stencil(boxOfTable, { z: table })) };
    };
    return { held: cells, run };
  },
};

const [BEFORE, AFTER] = [(WINDOW - 1) >> 1, WINDOW >> 1];

/** The table goes on with its last sums beyond the last cell; before the first cell, sums are zero. */
const boxOfTable = fn({ z: neighbours(u32) }, u32, ({ z }) => {
  const [hasLeft, hasAbove] = [z.x.gt(BEFORE), z.y.gt(BEFORE)];
  const left = select(u32(0), z.at(-BEFORE - 1, AFTER), hasLeft);
  const above = select(u32(0), z.at(AFTER, -BEFORE - 1), hasAbove);
  const both = select(u32(0), z.at(-BEFORE - 1, -BEFORE - 1), hasLeft.and(hasAbove));
  return z.at(AFTER, AFTER).sub(left).sub(above).add(both);
});

/** One pass for the table; a window is a difference of four of its entries. */
function plain({ inputs, sizes }: Case): () => Answer {
  const cells = inputs.cells as Uint32Array;
  const width = sizes.width!;
  const height = cells.length / width;
  const [table, box] = [new Uint32Array(cells.length), new Uint32Array(cells.length)];
  return () => {
    for (let y = 0, i = 0; y < height; y++) {
      let sum = 0;
      for (let x = 0; x < width; x++, i++) {
        sum = (sum + cells[i]!) | 0;
        table[i] = y === 0 ? sum : sum + table[i - width]!;
      }
    }
    for (let y = 0; y < height; y++) {
      const low = Math.min(height - 1, y + AFTER) * width;
      const high = (y - BEFORE - 1) * width;
      const windowAt = (x: number): number => {
        const right = Math.min(width - 1, x + AFTER);
        const left = x - BEFORE - 1;
        let sum = table[low + right]! - (left < 0 ? 0 : table[low + left]!);
        if (high >= 0) sum -= table[high + right]! - (left < 0 ? 0 : table[high + left]!);
        return sum;
      };
      const row = y * width;
      const inner = Math.min(width, BEFORE + 1);
      const outer = Math.max(inner, width - AFTER);
      for (let x = 0; x < inner; x++) box[row + x] = windowAt(x);
      if (high >= 0) {
        for (let x = inner; x < outer; x++) {
          const [right, left] = [x + AFTER, x - BEFORE - 1];
          box[row + x] = table[low + right]! - table[low + left]! - table[high + right]! + table[high + left]!;
        }
      } else {
        for (let x = inner; x < outer; x++) box[row + x] = table[low + x + AFTER]! - table[low + x - BEFORE - 1]!;
      }
      for (let x = outer; x < width; x++) box[row + x] = windowAt(x);
    }
    return { table, box };
  };
}
