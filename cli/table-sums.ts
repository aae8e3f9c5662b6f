import type { HostColumn } from '../algorithms/tables/index.ts';
import { resized } from '../formats/bytes/byte-arrays.ts';
import { isSet } from '../formats/tables/bits.ts';
import type { PartTotal } from './table-totals.ts';

/** An exact sum of integers for each group, without overflow. */
export interface ExactSums {
  add(group: number, value: number | bigint): void;
  /** Adds an integer of any size. */
  addLarge(group: number, value: bigint): void;
  at(group: number): bigint;
  readonly bytes: number;
}

/**
 * Creates sums that are initially 0. The upper and lower halves of bigints are added separately, as numbers, which is
 * much faster than adding bigints. Numbers are exact below 2^53, so the sum of a group is moved to a bigint when the
 * sum of its upper or lower halves reaches `LARGE`.
 */
export function exactSums(): ExactSums {
  let [low, high] = [new Float64Array(16), new Float64Array(16)];
  const carried = new Map<number, bigint>();
  const at = (group: number): bigint =>
    BigInt(low[group] ?? 0) + (BigInt(high[group] ?? 0) << 32n) + (carried.get(group) ?? 0n);
  return {
    add(group, value) {
      if (group >= low.length) [low, high] = [roomy(low, group), roomy(high, group)];
      if (typeof value === 'number') low[group]! += value;
      else {
        low[group]! += Number(value & 0xffffffffn);
        high[group]! += Number(value >> 32n);
      }
      if (Math.abs(low[group]!) < LARGE && Math.abs(high[group]!) < LARGE) return;
      carried.set(group, at(group));
      low[group] = high[group] = 0;
    },
    addLarge(group, value) {
      carried.set(group, (carried.get(group) ?? 0n) + value);
    },
    at,
    get bytes() {
      return 2 * low.byteLength + 64 * carried.size;
    },
  };
}

/** Limit of a sum of halves of integers. Below this limit, adding another half is still exact. */
const LARGE = 2 ** 52;

/** A number for each group, initially 0. */
export interface GroupNumbers {
  add(group: number, value: number): void;
  at(group: number): number;
  readonly bytes: number;
}

export function groupNumbers(): GroupNumbers {
  let numbers = new Float64Array(16);
  return {
    add(group, value) {
      if (group >= numbers.length) numbers = roomy(numbers, group);
      numbers[group]! += value;
    },
    at: (group) => numbers[group] ?? 0,
    get bytes() {
      return numbers.byteLength;
    },
  };
}

/** The minimum or maximum of each group. NaN counts as the largest value. */
export interface Extrema {
  add(group: number, value: number | bigint): void;
  at(group: number): number | bigint | undefined;
}

export function extrema(kind: 'min' | 'max'): Extrema {
  const found: (number | bigint | undefined)[] = [];
  const isNew = kind === 'min' ? isBelow : (a: number | bigint, b: number | bigint): boolean => isBelow(b, a);
  return {
    add(group, value) {
      const known = found[group];
      if (known === undefined || isNew(value, known)) found[group] = value;
    },
    at: (group) => found[group],
  };
}

function isBelow(a: number | bigint, b: number | bigint): boolean {
  return a < b || (Number.isNaN(b) && !Number.isNaN(a));
}

/** Copies an array to a longer array, which is at least twice as long and contains the index `place`. */
export function roomy(numbers: Float64Array<ArrayBuffer>, place: number): Float64Array<ArrayBuffer> {
  return resized(numbers, Math.max(2 * numbers.length, place + 1));
}

/** Adds integers, or their squares, to the sums of their groups: the integers of all rows, or only of the rows in `places`. */
export function addValues(
  into: ExactSums,
  { values: { validity, ...column }, isSquare }: { readonly values: HostColumn; readonly isSquare: boolean },
  groups: Uint32Array,
  places: Uint32Array | undefined,
): void {
  const { values } = column as { values: ArrayLike<number | bigint> };
  for (let i = 0; i < groups.length; i++) {
    const row = places === undefined ? i : places[i]!;
    if (validity !== undefined && !isSet(validity, row)) continue;
    const value = values[row]!;
    if (isSquare) into.addLarge(groups[i]!, BigInt(value) ** 2n);
    else into.add(groups[i]!, value);
  }
}

/** Adds the totals of the groups of one part of the file to the totals of the same groups in the whole file. */
export function addTotals(
  into: { add(group: number, value: number | bigint): void },
  groups: Uint32Array,
  total: PartTotal,
): void {
  for (let i = 0; i < groups.length; i++) {
    const value = total(i);
    if (value !== undefined) into.add(groups[i]!, value);
  }
}
