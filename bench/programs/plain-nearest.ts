import type { Answer, Case } from './program.ts';

/** Neighbours of every point. */
export const NEIGHBOURS = 8;

/** Metres of a side of a cell. A power of two, so that the borders of cells are exact. */
export const CELL = 64;

/** No neighbour, where there are fewer than {@link NEIGHBOURS} other points. */
const NONE = 2 ** 32 - 1;

/**
 * The nearest other points of every point, by distance, and of equally distant ones by number. Points are sorted by the
 * cell of a grid. The search looks at the nine cells around a point, then at ring after ring, until everything beyond is
 * farther away than what was found.
 */
export function nearestByGrid({ inputs, sizes }: Case): () => Answer {
  const { x, y } = inputs as { x: Float32Array; y: Float32Array };
  const side = sizes.side!;
  const whole = (length: number): Uint32Array => new Uint32Array(length);
  const [cellOf, starts, id] = [whole(x.length), whole(side * side + 1), whole(x.length)];
  const [px, py] = [new Float32Array(x.length), new Float32Array(x.length)];
  const near = Array.from({ length: NEIGHBOURS }, () => new Uint32Array(x.length));
  return () => {
    starts.fill(0);
    for (let i = 0; i < x.length; i++) {
      const cell = Math.floor(y[i]! / CELL) * side + Math.floor(x[i]! / CELL);
      cellOf[i] = cell;
      starts[cell + 1]!++;
    }
    for (let cell = 0; cell < side * side; cell++) starts[cell + 1]! += starts[cell]!;
    const next = starts.slice();
    for (let i = 0; i < x.length; i++) {
      const at = next[cellOf[i]!]!++;
      px[at] = x[i]!;
      py[at] = y[i]!;
      id[at] = i;
    }
    for (let row = 0; row < side; row++) {
      for (let column = 0; column < side; column++) search(px, py, id, starts, side, column, row, near);
    }
    return Object.fromEntries(near.map((each, k) => [`near${k}`, each]));
  };
}

const distance = new Float64Array(NEIGHBOURS);
const found = new Uint32Array(NEIGHBOURS);

/** Searches the neighbours of all points of a cell. Points of a row of cells lie side by side. */
function search(
  px: Float32Array,
  py: Float32Array,
  id: Uint32Array,
  starts: Uint32Array,
  side: number,
  column: number,
  row: number,
  near: readonly Uint32Array[],
): void {
  const { fround, max, min } = Math;
  const own = row * side + column;
  for (let query = starts[own]!; query < starts[own + 1]!; query++) {
    const qx = px[query]!;
    const qy = py[query]!;
    let [farthest, last] = [Infinity, NONE];
    distance.fill(farthest);
    found.fill(last);
    for (let ring = 1; ; ring++) {
      const [left, right, bottom, top] = [column - ring, column + ring, row - ring, row + ring];
      const [from, to] = [max(left, 0), min(right, side - 1)];
      for (let y = max(bottom, 0); y <= min(top, side - 1); y++) {
        const isWhole = ring === 1 || y === bottom || y === top;
        for (let part = 0; part < (isWhole ? 1 : 2); part++) {
          if (!isWhole && (part === 0 ? left < 0 : right >= side)) continue;
          const end = starts[y * side + (isWhole || part === 1 ? to : from) + 1]!;
          for (let at = starts[y * side + (part === 0 ? from : to)]!; at < end; at++) {
            const dx = fround(px[at]! - qx);
            const dy = fround(py[at]! - qy);
            const d = fround(fround(dx * dx) + fround(dy * dy));
            if (d > farthest || at === query) continue;
            const point = id[at]!;
            if (d === farthest && point > last) continue;
            let k = NEIGHBOURS - 1;
            for (; k > 0 && (d < distance[k - 1]! || (d === distance[k - 1]! && point < found[k - 1]!)); k--) {
              distance[k] = distance[k - 1]!;
              found[k] = found[k - 1]!;
            }
            distance[k] = d;
            found[k] = point;
            farthest = distance[NEIGHBOURS - 1]!;
            last = found[NEIGHBOURS - 1]!;
          }
        }
      }
      // How far it is to the nearest cell that was not looked at.
      const bound = min(
        left > 0 ? fround(qx - left * CELL) : Infinity,
        right < side - 1 ? fround((right + 1) * CELL - qx) : Infinity,
        bottom > 0 ? fround(qy - bottom * CELL) : Infinity,
        top < side - 1 ? fround((top + 1) * CELL - qy) : Infinity,
      );
      if (bound === Infinity || farthest < fround(bound * bound)) break;
    }
    const point = id[query]!;
    for (let k = 0; k < NEIGHBOURS; k++) near[k]![point] = found[k]!;
  }
}
