import { turnedInto } from '../algorithms/quadrants/come-round.ts';
import type { Domain } from '../algorithms/quadrants/domain.ts';

/**
 * Windows (query rectangles) as rows of coordinates. A window has one or two rows; `windowOf` contains, for each row,
 * the number of its window.
 */
export interface WindowHalves {
  readonly left: Float64Array;
  readonly bottom: Float64Array;
  readonly right: Float64Array;
  readonly top: Float64Array;
  readonly windowOf: Uint32Array;
}

/**
 * Moves windows into a domain by full turns of longitude (360°). A window whose `left` is greater than its `right`
 * crosses the antimeridian. If a moved window extends more than a full turn to the right of the domain's left end, the
 * excess part becomes a second row at the left end.
 *
 * @param sides - The columns `left`, `bottom`, `right` and `top` of the windows.
 */
export function halvesOf(sides: readonly Float64Array[], domain: Domain): WindowHalves {
  const rows: number[][] = [[], [], [], []];
  const windowOf: number[] = [];
  const add = (window: number, ...corners: number[]): void => {
    for (const [side, corner] of corners.entries()) rows[side]!.push(corner);
    windowOf.push(window);
  };
  const end = domain.left + 360;
  for (const [window, from] of sides[0]!.entries()) {
    const [bottom, to, top] = [sides[1]![window]!, sides[2]![window]!, sides[3]![window]!];
    const width = Math.min(360, from > to ? to - from + 360 : to - from);
    const left = turnedInto(from, domain);
    // If the window is already inside the domain, keep `right` unchanged, to avoid rounding.
    const right = left === from && from <= to && to - from === width ? to : left + width;
    add(window, left, bottom, Math.min(right, Math.max(end, left)), top);
    if (right > end) add(window, domain.left, bottom, right - 360, top);
  }
  const [left, bottom, right, top] = rows.map((row) => Float64Array.from(row)) as Float64Array[];
  return { left: left!, bottom: bottom!, right: right!, top: top!, windowOf: Uint32Array.from(windowOf) };
}

/**
 * Pairs of a region and a polygon. `min` and `max` are bounds of the area that both share, as 64-bit integers. A region
 * is a row of {@link WindowHalves}, or a whole window in the result of {@link addHalves}.
 */
interface AreaWords {
  readonly region: Uint32Array;
  readonly set: Uint32Array;
  readonly polygon: Uint32Array;
  readonly min: { readonly lo: Uint32Array; readonly hi: Uint32Array };
  readonly max: { readonly lo: Uint32Array; readonly hi: Uint32Array };
}

/**
 * Replaces pairs of a row and a polygon by pairs of a window and a polygon. If a window has two rows, the areas that
 * these rows share with the polygon are added up. Omits pairs whose shared area cannot exceed `above`.
 */
export function addHalves(rows: AreaWords, windowOf: Uint32Array, above: bigint): AreaWords {
  const window = rows.region.map((row) => windowOf[row]!);
  const order = Uint32Array.from(window.keys()).sort(
    (a, b) => window[a]! - window[b]! || rows.set[a]! - rows.set[b]! || rows.polygon[a]! - rows.polygon[b]!,
  );
  const sums: { row: number; min: bigint; max: bigint }[] = [];
  const areaAt = ({ lo, hi }: AreaWords['min'], row: number): bigint => (BigInt(hi[row]!) << 32n) | BigInt(lo[row]!);
  for (const row of order) {
    const last = sums.at(-1);
    const [min, max] = [areaAt(rows.min, row), areaAt(rows.max, row)];
    const isSame =
      last !== undefined &&
      window[last.row] === window[row] &&
      rows.set[last.row] === rows.set[row] &&
      rows.polygon[last.row] === rows.polygon[row];
    if (!isSame) sums.push({ row, min, max });
    else {
      last.min += min;
      last.max += max;
    }
  }
  const kept = sums.filter(({ max }) => max > above);
  const column = (value: (sum: (typeof kept)[number]) => number): Uint32Array => Uint32Array.from(kept, value);
  const words = (area: (sum: (typeof kept)[number]) => bigint): AreaWords['min'] => ({
    lo: column((sum) => Number(area(sum) & 0xffffffffn)),
    hi: column((sum) => Number(area(sum) >> 32n)),
  });
  return {
    region: column(({ row }) => window[row]!),
    set: column(({ row }) => rows.set[row]!),
    polygon: column(({ row }) => rows.polygon[row]!),
    min: words(({ min }) => min),
    max: words(({ max }) => max),
  };
}
