/**
 * Computes the same as `drainageBasins`, in plain loops. The test compares the results, and the benchmark compares the
 * times.
 */
export function plainBasins(heights: Uint32Array, width: number, rows: number): Uint32Array {
  const targets = heights.map((_, cell) => downhill(heights, width, rows, cell));
  return targets.map((target) => {
    while (targets[target]! !== target) target = targets[target]!;
    return target;
  });
}

function downhill(heights: Uint32Array, width: number, rows: number, cell: number): number {
  const [x, y] = [cell % width, Math.floor(cell / width)];
  let target = cell;
  for (let row = Math.max(0, y - 1); row <= Math.min(rows - 1, y + 1); row++) {
    for (let column = Math.max(0, x - 1); column <= Math.min(width - 1, x + 1); column++) {
      const other = row * width + column;
      if (heights[other]! < heights[target]!) target = other;
    }
  }
  return target;
}
