import { setBits } from '../geometry/bit-rows.ts';
import { type Box, boxesMeet, remainderOf } from '../geometry/boxes.ts';
import type { BlockBits, Window } from '../geometry/raster.ts';
import { tileBits } from './hidden-cells.ts';
import type { WindowPlan } from './window-plan.ts';

/** Whether a window has cells that no box holds. Boxes are in cells of the raster. */
export function hasFreeCells(window: Window, taken: readonly Box[]): boolean {
  return remainderOf(boxOf(window), taken).length > 0;
}

/** Whether a window has cells in a box. */
export function hasTakenCells(window: Window, taken: readonly Box[]): boolean {
  const own = boxOf(window);
  return taken.some((box) => boxesMeet(box, own));
}

/** Bits of the cells of a window in boxes, by tiles of the window. */
export function takenBits(plan: WindowPlan, taken: readonly Box[]): BlockBits {
  const { window } = plan;
  const pitch = Math.ceil(window.columns / 32);
  const words = new Uint32Array(pitch * window.rows);
  for (const box of taken) {
    const left = Math.max(0, box.left - window.column);
    const right = Math.min(window.columns, box.right - window.column);
    const bottom = Math.min(window.rows, box.bottom - window.row);
    for (let row = Math.max(0, box.top - window.row); row < bottom; row++) {
      if (left < right) setBits(words, row * pitch, left, right - left);
    }
  }
  return tileBits(plan, (row, column) => words[row * pitch + column / 32]!);
}

function boxOf({ column, row, columns, rows }: Window): Box {
  return { left: column, top: row, right: column + columns, bottom: row + rows };
}
