import { daysOf } from '../../algorithms/tables/dates.ts';
import type { LiteralValue } from '../../algorithms/tables/index.ts';
import { type TimestampUnit, UNIT_DIGITS } from '../../formats/tables/table-file.ts';

/** A time that was parsed from a literal. */
export interface ParsedTime {
  /** The time since 1970-01-01, in a unit: a whole number of units, or a decimal if the literal has finer digits. */
  in(unit: TimestampUnit): LiteralValue;
  /** Whether the text states an offset from UTC. If so, the offset has been subtracted. */
  readonly isUtc: boolean;
}

const PATTERN =
  /^([+-]\d{6,12}|\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,99}))?)?(?:(Z)|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?)?$/;

/**
 * Parses a date or a time, as `quadrille table` prints them: `2001-01-31`, or `2001-01-31T09:30:00.123456789Z`. A blank
 * may replace the `T`, and the seconds, their decimals, and the offset from UTC are optional. Years before 0000 and after
 * 9999 have a sign and at least six digits. Undefined if the text is no time.
 */
export function timeOf(text: string): ParsedTime | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((each) => (each === undefined ? undefined : Number(each))) as [number, number, number, ...number[]];
  const [, , , , , , , fraction = '', zulu, sign, hours = '0', minutes = '0'] = match;
  const days = daysOf(year, month, day);
  if (Number.isNaN(days) || !(hour < 24 && minute < 60 && second < 60)) return undefined;
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  const seconds = BigInt(days) * 86_400n + BigInt((hour * 60 + minute - offset) * 60 + second);
  const units = seconds * 10n ** BigInt(fraction.length) + BigInt(`0${fraction}`);
  return {
    in(unit) {
      const finer = fraction.length - UNIT_DIGITS[unit];
      return finer > 0 ? { units, scale: finer } : units * 10n ** BigInt(-finer);
    },
    isUtc: zulu !== undefined || sign !== undefined,
  };
}
