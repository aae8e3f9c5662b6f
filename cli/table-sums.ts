import type { HostColumn } from '../algorithms/tables/index.ts';
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

/** Sum, average and variance of the floats of each group. */
export interface RealSums {
  /** Adds values to their groups: the values of all rows, or only of the rows in `places`. */
  add(values: HostColumn, groups: Uint32Array, places: Uint32Array | undefined): void;
  sum(group: number): number | undefined;
  average(group: number): number | undefined;
  variance(group: number): number | undefined;
  readonly bytes: number;
}

/**
 * Creates sums of f32 or f64 values. The sums are computed in f64, with compensation for rounding (Neumaier, 1974), and
 * are almost as exact as if they were computed with twice as many digits. The sums do not depend on how the file is
 * divided into parts. Squared deviations are updated by the method of Welford (1962).
 */
export function realSums(): RealSums {
  let count = new Float64Array(16);
  let [sum, lost, mean, squares] = [16, 16, 16, 16].map((room) => new Float64Array(room)) as Float64Array[] as [
    Float64Array<ArrayBuffer>,
    Float64Array<ArrayBuffer>,
    Float64Array<ArrayBuffer>,
    Float64Array<ArrayBuffer>,
  ];
  /** 1 for groups whose sum has exceeded the largest f64. From then on, it is kept divided by `LARGE_SUM`. */
  let isLarge = new Uint8Array(16);
  const makeRoom = (group: number): void => {
    count = roomy(count, group);
    isLarge = copied(isLarge, new Uint8Array(count.length));
    [sum, lost, mean, squares] = [roomy(sum, group), roomy(lost, group), roomy(mean, group), roomy(squares, group)];
  };
  const sumOf = (group: number): number => (Number.isFinite(sum[group]!) ? sum[group]! + lost[group]! : sum[group]!);
  const unitOf = (group: number): number => (isLarge[group] === 1 ? LARGE_SUM : 1);
  return {
    add({ validity, ...column }, groups, places) {
      const { values } = column as { values: Float64Array };
      for (let i = 0; i < groups.length; i++) {
        const row = places === undefined ? i : places[i]!;
        if (validity !== undefined && !isSet(validity, row)) continue;
        const [group, value] = [groups[i]!, values[row]!];
        if (group >= count.length) makeRoom(group);
        let [before, own] = [sum[group]!, isLarge[group] === 1 ? value / LARGE_SUM : value];
        let total = before + own;
        if (!Number.isFinite(total) && Number.isFinite(before) && Number.isFinite(value)) {
          [before, own, isLarge[group]] = [before / LARGE_SUM, value / LARGE_SUM, 1];
          lost[group]! /= LARGE_SUM;
          total = before + own;
        }
        lost[group]! += Math.abs(before) >= Math.abs(own) ? before - total + own : own - total + before;
        sum[group] = total;
        const n = ++count[group]!;
        const apart = value - mean[group]!;
        mean[group]! += apart / n;
        squares[group]! += apart * (value - mean[group]!);
      }
    },
    sum: (group) => ((count[group] ?? 0) === 0 ? undefined : sumOf(group) * unitOf(group)),
    average: (group) => ((count[group] ?? 0) === 0 ? undefined : (sumOf(group) / count[group]!) * unitOf(group)),
    variance(group) {
      if ((count[group] ?? 0) < 2) return undefined;
      // If all values are finite, only a variance beyond the largest f64 makes a step of the method undefined.
      const isUndefined = Number.isNaN(squares[group]!) && Number.isFinite(sum[group]!);
      return isUndefined ? Infinity : squares[group]! / (count[group]! - 1);
    },
    get bytes() {
      return 5 * count.byteLength + isLarge.byteLength;
    },
  };
}

/** Dividing by this power of two is exact, except for subnormal results, and keeps sums of 2^64 numbers finite. */
const LARGE_SUM = 2 ** 64;

/** Copies an array to a longer array, which is at least twice as long and contains the index `place`. */
function roomy(numbers: Float64Array<ArrayBuffer>, place: number): Float64Array<ArrayBuffer> {
  return copied(numbers, new Float64Array(Math.max(2 * numbers.length, place + 1)));
}

function copied<A extends Float64Array | Uint8Array>(numbers: A, into: A): A {
  into.set(numbers);
  return into;
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
