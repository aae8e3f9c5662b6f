import { ratio } from '../../algorithms/exact-ratio.ts';

/** The data of a zone, and how it is stored. */
export interface DataOfZone {
  /** Stored values of the cells with data, in row order. */
  readonly stored: readonly (number | bigint)[];
  readonly cells: number;
  readonly scaling: { readonly scale: number; readonly offset: number } | undefined;
}

/** The unit of exact values: every f32, and every scale and offset of the tests, is a multiple of 2^-200. */
const UNIT = 200n;

/** A number of which all digits are known, in units of 2^-200. */
function exact(value: number | bigint): bigint {
  if (typeof value === 'bigint') return value << UNIT;
  let [rest, bits] = [value, UNIT];
  while (!Number.isInteger(rest)) [rest, bits] = [rest * 2, bits - 1n];
  return BigInt(rest) << bits;
}

/** The values that are sorted and counted, ascending: those of 64 bits without scale and offset are integers. */
const scaledOf = ({ stored, scaling }: DataOfZone): (number | bigint)[] =>
  stored
    .map((each) => {
      if (scaling !== undefined) return Number(each) * scaling.scale + scaling.offset + 0;
      return typeof each === 'bigint' ? each : each + 0;
    })
    .sort((a, b) => Number(a > b) - Number(a < b));

const isFiniteValue = (value: number | bigint): boolean => typeof value === 'bigint' || Number.isFinite(value);

/** The exact scaled values, in units of 2^-400. */
const exactOf = ({ stored, scaling }: DataOfZone): bigint[] =>
  stored.map((each) => exact(each) * exact(scaling?.scale ?? 1) + (exact(scaling?.offset ?? 0) << UNIT));

const sumOf = (values: readonly bigint[]): bigint => values.reduce((sum, each) => sum + each, 0n);

/** Σ(x − mean)² / (n − less) as a fraction; undefined if there is none. */
function variance(zone: DataOfZone, less: number): readonly [bigint, bigint] | undefined {
  const n = BigInt(zone.stored.length);
  if (!zone.stored.every(isFiniteValue) || zone.stored.length <= less) return undefined;
  const [all, divisor] = [exactOf(zone), n - BigInt(less)];
  const sum = sumOf(all);
  return [sumOf(all.map((each) => (n * each - sum) ** 2n)), (n * n * divisor) << (4n * UNIT)];
}

/** The f64 nearest to the root of a fraction: its neighbours are not nearer. Of two that are as near, the even one. */
function root([numerator, denominator]: readonly [bigint, bigint]): number {
  let near = Math.sqrt(ratio(numerator, denominator));
  // Whether the root lies beyond the middle of both numbers; or in the middle, and `near` is odd.
  const isNearer = (other: number): boolean => {
    const sum = exactWide(near) + exactWide(other);
    const [square, wanted] = [sum * sum * denominator, numerator << (2n * (WIDE + 1n))];
    if (square === wanted) return new BigInt64Array(Float64Array.of(near).buffer)[0]! % 2n !== 0n;
    return other > near ? square < wanted : square > wanted;
  };
  while (isNearer(next(near, 1))) near = next(near, 1);
  while (near > 0 && isNearer(next(near, -1))) near = next(near, -1);
  return near;
}

/** Every f64 is a multiple of 2^-1074. */
const WIDE = 1074n;

function exactWide(value: number | bigint): bigint {
  if (typeof value === 'bigint') return value << WIDE;
  let [rest, bits] = [value, WIDE];
  while (!Number.isInteger(rest)) [rest, bits] = [rest * 2, bits - 1n];
  return BigInt(rest) << bits;
}

function next(value: number, step: 1 | -1): number {
  const bits = new BigInt64Array(Float64Array.of(value).buffer);
  bits[0]! += BigInt(step);
  return new Float64Array(bits.buffer)[0]!;
}

function infiniteSum({ stored, scaling }: DataOfZone): number | undefined {
  const infinite = stored.filter((each) => !isFiniteValue(each)).reduce<number>((sum, each) => sum + Number(each), 0);
  return infinite === 0 ? undefined : infinite * (scaling?.scale ?? 1);
}

/** Numbers of cells by value, ascending. */
function counts(zone: DataOfZone): [value: number | bigint, count: number][] {
  const found = new Map<number | bigint, number>();
  for (const value of scaledOf(zone)) found.set(value, (found.get(value) ?? 0) + 1);
  return [...found];
}

const SHARE = [37n, 100n] as const;

function quantile(zone: DataOfZone, [part, whole]: readonly [bigint, bigint]): number {
  const values = scaledOf(zone);
  const place = part * BigInt(values.length - 1);
  const [low, rest] = [Number(place / whole), place % whole];
  const [a, b] = [values[low]!, values[low + 1]!];
  if (rest === 0n || a === b) return Number(a);
  if (!isFiniteValue(a) || !isFiniteValue(b)) return Number(a) + Number(b);
  return ratio(exactWide(a) * (whole - rest) + exactWide(b) * rest, whole << WIDE);
}

/**
 * Each statistic once more, by its definition in plain integers, for zones with data. Families have the share 0.37.
 * Statistics of places are not here.
 */
export const BY_HAND: { readonly [name: string]: (zone: DataOfZone) => unknown } = {
  cells: ({ cells }) => BigInt(cells),
  count: ({ stored }) => BigInt(stored.length),
  nodata: ({ stored, cells }) => BigInt(cells - stored.length),
  min: (zone) => Number(scaledOf(zone)[0]),
  max: (zone) => Number(scaledOf(zone).at(-1)),
  mean: (zone) => infiniteSum(zone) ?? ratio(sumOf(exactOf(zone)), BigInt(zone.stored.length) << (2n * UNIT)),
  sum: (zone) => infiniteSum(zone) ?? ratio(sumOf(exactOf(zone)), 1n << (2n * UNIT)),
  variance: (zone) => ratioOr(variance(zone, 0)),
  stdev: (zone) => rootOr(variance(zone, 0)),
  variance_samp: (zone) => ratioOr(variance(zone, 1)),
  stdev_samp: (zone) => rootOr(variance(zone, 1)),
  median: (zone) => quantile(zone, [1n, 2n]),
  'quantile(0.37)': (zone) => quantile(zone, SHARE),
  'quantile_disc(0.37)': (zone) => Number(scaledOf(zone).find((_, i, { length }) => 100 * (i + 1) >= 37 * length)),
  mode: (zone) => Number(counts(zone).reduce((best, each) => (each[1] > best[1] ? each : best))[0]),
  minority: (zone) => Number(counts(zone).reduce((best, each) => (each[1] < best[1] ? each : best))[0]),
  variety: (zone) => BigInt(counts(zone).length),
  frac: (zone) => counts(zone).map(([value, count]) => [Number(value), count / zone.stored.length]),
};

const ratioOr = (found: readonly [bigint, bigint] | undefined): number =>
  found === undefined ? Number.NaN : ratio(...found);
const rootOr = (found: readonly [bigint, bigint] | undefined): number =>
  found === undefined || found[0] === 0n ? (found === undefined ? Number.NaN : 0) : root(found);
