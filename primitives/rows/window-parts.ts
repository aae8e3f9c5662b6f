/** Cells that a part adds up before its sum is added to others. */
export const PART = 16;

/** A part of a window: `cells` cells, a power of 16, from the window's cell `at`. */
export interface WindowPart {
  readonly cells: number;
  readonly at: number;
}

/** The parts of a window of `width` cells, the largest first: the digits of the width in base 16. */
export function partsOf(width: number): WindowPart[] {
  const parts: WindowPart[] = [];
  let at = 0;
  for (let cells = PART ** Math.floor(Math.log(width) / Math.log(PART) + 1); cells >= 1; cells /= PART) {
    for (; at + cells <= width; at += cells) parts.push({ cells, at });
  }
  return parts;
}

/**
 * The sum of a window's cells, in the order that `windowSum` states: the sums of its parts from left to right. A part of
 * more than one cell is the sum of 16 smaller parts, from left to right.
 */
export function sumOfWindow<V>(width: number, cell: (at: number) => V, add: (a: V, b: V) => V): V {
  const sumOf = ({ cells, at }: WindowPart): V => {
    if (cells === 1) return cell(at);
    const smaller = cells / PART;
    return Array.from({ length: PART }, (_, i) => sumOf({ cells: smaller, at: at + i * smaller })).reduce(add);
  };
  return partsOf(width).map(sumOf).reduce(add);
}
