import { daysOf } from '../../../algorithms/tables/dates.ts';
import { latin1Text } from '../../bytes/byte-arrays.ts';

/** A date or time in a cell. */
export interface Time {
  /** Days since 1970-01-01. */
  readonly days: number;
  /**
   * Microseconds since midnight. The number may be negative or exceed a day, because an offset from UTC has been
   * subtracted.
   */
  readonly micros: number;
  readonly isDate: boolean;
  /** Whether the text states an offset from UTC. If so, the offset has been subtracted. */
  readonly isUtc: boolean;
}

/**
 * Parses a date `YYYY-MM-DD`, or a time `YYYY-MM-DDTHH:MM`. Seconds are optional and may have six decimals; `Z` or an
 * offset such as `+01:00` is optional, too. A blank may replace the `T`.
 *
 * @returns undefined if the text is not a date or time.
 */
export function parseTime(bytes: Uint8Array, from: number, to: number): Time | undefined {
  const length = to - from;
  if (length < 10 || bytes[from + 4] !== 45 || bytes[from + 7] !== 45) return undefined;
  const days = daysOf(digitsAt(bytes, from, 4), digitsAt(bytes, from + 5, 2), digitsAt(bytes, from + 8, 2));
  if (Number.isNaN(days)) return undefined;
  if (length === 10) return { days, micros: 0, isDate: true, isUtc: false };
  const between = bytes[from + 10];
  if (length < 16 || (between !== 84 && between !== 32) || bytes[from + 13] !== 58) return undefined;
  const [hour, minute] = [digitsAt(bytes, from + 11, 2), digitsAt(bytes, from + 14, 2)];
  let [at, second, fraction] = [from + 16, 0, 0];
  if (at < to && bytes[at] === 58) {
    second = digitsAt(bytes, at + 1, 2);
    at += 3;
    if (at < to && bytes[at] === 46) {
      let unit = 100_000;
      for (at++; at < to && bytes[at]! >= 48 && bytes[at]! <= 57; at++) {
        if (unit < 1) return undefined;
        fraction += (bytes[at]! - 48) * unit;
        unit /= 10;
      }
      if (unit === 100_000) return undefined;
    }
  }
  if (at > to || !(hour < 24 && minute < 60 && second < 60)) return undefined;
  const offset = at === to ? 0 : offsetOf(bytes, at, to);
  if (offset === undefined) return undefined;
  const micros = ((hour * 60 + minute - offset) * 60 + second) * 1e6 + fraction;
  return { days, micros, isDate: false, isUtc: at < to };
}

const CLOCK = /^(?:([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?|24:00(?::00(?:\.0{1,9})?)?)$/;

/**
 * Parses a time of day `HH:MM`, `HH:MM:SS` or `HH:MM:SS.f`, up to `24:00`, as nanoseconds since midnight. Undefined if
 * the text is none.
 */
export function parseClock(text: string): bigint | undefined {
  const match = CLOCK.exec(text);
  if (match === null) return undefined;
  const [, hour = 24, minute = 0, second = 0, fraction = ''] = match;
  const seconds = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
  return BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
}

/**
 * Parses an offset from UTC such as `+01:00` or `Z`. Returns the offset in minutes, which is positive if local time is
 * ahead of UTC. Returns undefined if the text is not an offset.
 */
function offsetOf(bytes: Uint8Array, from: number, to: number): number | undefined {
  if (bytes[from] === 90) return to === from + 1 ? 0 : undefined;
  const found = /^([+-])([01]\d|2[0-3])(?::?([0-5]\d))?$/.exec(latin1Text(bytes, from, Math.min(to, from + 8)));
  if (found === null || to - from > 6) return undefined;
  const minutes = Number(found[2]) * 60 + Number(found[3] ?? 0);
  return found[1] === '-' ? -minutes : minutes;
}

/** Parses `count` digits as a number; NaN if one of the bytes is not a digit. */
function digitsAt(bytes: Uint8Array, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at++) {
    const digit = bytes[at]! - 48;
    value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN;
  }
  return value;
}
