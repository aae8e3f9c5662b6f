import type { Answer, Case } from './program.ts';

/** Points at most this far apart are in the same cluster. */
export const RADIUS = 1000;

/** Steps of a side of a cell. All points of a cell are within the radius of each other. */
export const CELL: number = Math.floor(RADIUS / Math.SQRT2);

/** Empty cells around the grid, so that every cell has neighbours. */
export const MARGIN = 2;

/** If one of two cells has more points, points far from the box of the other's are left out. */
export const FEW = 8;

/** Half of the cells that may have points within the radius of points of a cell: steps to later cells of the grid. */
export function laterCells(columns: number): readonly number[] {
  const next = [1, 2];
  const above = [-2, -1, 0, 1, 2].map((step) => columns + step);
  const beyond = [-1, 0, 1].map((step) => 2 * columns + step);
  return [...next, ...above, ...beyond];
}

/** Of each row of later cells: the number of its first cell among them, and how many lie side by side. */
export const LATER_ROWS = [
  [0, 2],
  [2, 5],
  [7, 3],
] as const;

/**
 * Labels points by the first point of their cluster. Points are sorted by the cell of a grid whose cells each belong to
 * one cluster. Cells that are close are united, by lesser number and with paths halved, if two of their points are.
 * Finally every point follows its links to the end.
 */
export function clustersByGrid({ inputs, sizes }: Case): () => Answer {
  const { x, y } = inputs as { x: Uint32Array; y: Uint32Array };
  const columns = sizes.columns!;
  const cells = columns * columns;
  const empty = (length: number): Uint32Array => new Uint32Array(length);
  const [starts, next] = [empty(cells + 1), empty(cells + 1)];
  const [cellOf, px, py] = [empty(x.length), empty(x.length), empty(x.length)];
  const [id, label] = [empty(x.length), empty(x.length)];
  const later = laterCells(columns);
  return () => {
    starts.fill(0);
    for (let i = 0; i < x.length; i++) {
      const cell = (((y[i]! / CELL) | 0) + MARGIN) * columns + ((x[i]! / CELL) | 0) + MARGIN;
      cellOf[i] = cell;
      starts[cell + 1]!++;
    }
    for (let cell = 0; cell < cells; cell++) starts[cell + 1]! += starts[cell]!;
    next.set(starts);
    for (let i = 0; i < x.length; i++) {
      const cell = cellOf[i]!;
      const at = next[cell]!++;
      px[at] = x[i]!;
      py[at] = y[i]!;
      id[at] = i;
      label[i] = id[starts[cell]!]!;
    }
    uniteCells(later, starts, px, py, id, label);
    for (let i = 0; i < x.length; i++) label[i] = rootOf(label, i);
    return { label };
  };
}

function uniteCells(
  later: readonly number[],
  starts: Uint32Array,
  px: Uint32Array,
  py: Uint32Array,
  id: Uint32Array,
  label: Uint32Array,
): void {
  for (let cell = 0; cell < starts.length - 1; cell++) {
    const from = starts[cell]!;
    const to = starts[cell + 1]!;
    if (from === to) continue;
    for (let k = 0; k < later.length; k++) {
      const other = cell + later[k]!;
      const start = starts[other]!;
      const end = starts[other + 1]!;
      if (start === end) continue;
      const a = rootOf(label, id[from]!);
      const b = rootOf(label, id[start]!);
      if (a === b || !touch(px, py, from, to, start, end)) continue;
      if (a < b) label[b] = a;
      else label[a] = b;
    }
  }
}

function rootOf(label: Uint32Array, point: number): number {
  for (let next = label[point]!; next !== point; next = label[point]!) {
    const after = label[next]!;
    label[point] = after;
    point = after;
  }
  return point;
}

/** Whether one of the points `from … to − 1` is close to one of the points `start … end − 1`. */
function touch(px: Uint32Array, py: Uint32Array, from: number, to: number, start: number, end: number): boolean {
  if (Math.max(to - from, end - start) > FEW) return manyTouch(px, py, from, to, start, end);
  for (let i = from; i < to; i++) if (isClose(px, py, i, start, end)) return true;
  return false;
}

function isClose(px: Uint32Array, py: Uint32Array, point: number, start: number, end: number): boolean {
  const x = px[point]!;
  const y = py[point]!;
  for (let j = start; j < end; j++) {
    const dx = px[j]! - x;
    const dy = py[j]! - y;
    if (dx * dx + dy * dy <= RADIUS * RADIUS) return true;
  }
  return false;
}

/** The same, with few comparisons: points far from the box of the others have no close ones among them. */
function manyTouch(px: Uint32Array, py: Uint32Array, from: number, to: number, start: number, end: number): boolean {
  let left = 2 ** 32;
  let bottom = left;
  let right = 0;
  let top = 0;
  for (let j = start; j < end; j++) {
    const x = px[j]!;
    const y = py[j]!;
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < bottom) bottom = y;
    if (y > top) top = y;
  }
  for (let i = from; i < to; i++) {
    const across = Math.max(0, left - px[i]!, px[i]! - right);
    const up = Math.max(0, bottom - py[i]!, py[i]! - top);
    if (across * across + up * up <= RADIUS * RADIUS && isClose(px, py, i, start, end)) return true;
  }
  return false;
}
