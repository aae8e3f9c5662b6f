/**
 * Number of seconds in a unit of time; undefined if the unit is unknown. `unit` is the name that ImageJ or OME writes,
 * such as `sec`, `ms` or `µs`. Capital letters do not matter, except in symbols like `Ms`, which is a megasecond and no
 * millisecond, and counts as unknown.
 */
export function secondsIn(unit: string): number | undefined {
  return scaled(unit, TIME, 1, TIMES);
}

/** Number of micrometres in a unit of length, such as `micron`, `µm` or `inch`; like {@link secondsIn}. */
export function micrometresIn(unit: string): number | undefined {
  return scaled(unit, LENGTH, 1e6, LENGTHS);
}

/** Whether a unit names a pixel, or nothing. Lengths in pixels have no scale, and miss none. */
export function isPixelUnit(unit: string): boolean {
  return /^(|pixels?|px)$/i.test(plainUnit(unit));
}

const PREFIX = '(f|p|n|u|m|c|d|k|femto|pico|nano|micro|milli|centi|deci|kilo)?';
const TIME = new RegExp(`^${PREFIX}(?:s|secs?|seconds?)$`, 'i');
const LENGTH = new RegExp(`^${PREFIX}(?:m|met(?:er|re)s?)$`, 'i');
const BIG_PREFIX = /^[MGTPEZY][ms]$/;

/** By how much a prefix divides a unit. Divisors are powers of ten without a fraction where they can, which are exact. */
const DIVISORS: Readonly<Record<string, number>> = {
  ...{ '': 1, f: 1e15, p: 1e12, n: 1e9, u: 1e6, m: 1e3, c: 100, d: 10, k: 1e-3 },
  ...{ femto: 1e15, pico: 1e12, nano: 1e9, micro: 1e6, milli: 1e3, centi: 100, deci: 10, kilo: 1e-3 },
};

/** Seconds in units of time that have no prefixes. */
const TIMES: readonly (readonly [RegExp, number])[] = [
  [/^min(ute)?s?$/i, 60],
  [/^(h|hrs?|hours?)$/i, 3600],
  [/^(d|days?)$/i, 86_400],
];

/** Micrometres in units of length that have no prefixes. */
const LENGTHS: readonly (readonly [RegExp, number])[] = [
  [/^microns?$/i, 1],
  [/^(\u00c5|\u00e5|a\u030a|angstroms?|\u00e5ngstr\u00f6ms?)$/i, 1e-4],
  [/^(in|inch|inches|")$/i, 25_400],
  [/^(thou|mils?)$/i, 25.4],
  [/^(ft|foot|feet)$/i, 304_800],
];

/** `one` is the number of units of the result in the base unit, a second or a metre. */
function scaled(text: string, base: RegExp, one: number, others: typeof TIMES): number | undefined {
  const unit = plainUnit(text);
  if (BIG_PREFIX.test(unit)) return undefined;
  const match = base.exec(unit);
  if (match !== null) return one / DIVISORS[(match[1] ?? '').toLowerCase()]!;
  return others.find(([names]) => names.test(unit))?.[1];
}

/**
 * A unit without blanks and a last point, and with `u` for the micro sign. The sign has two code points, which are
 * written as Latin-1, as UTF-8 read as Latin-1, as an escape of Java (`\u00B5`) or as a reference of XML (`&#181;`).
 */
function plainUnit(unit: string): string {
  return unit
    .replace(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/&#x([0-9a-f]{1,4});/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/&#(\d{1,4});/g, (_, digits: string) => String.fromCharCode(Number(digits)))
    .replace(/\u00c3\u2026/g, '\u00c5')
    .replace(/\u00c2?\u00b5|\u00ce\u00bc|\u03bc/g, 'u')
    .replace(/\.$/, '')
    .trim();
}
