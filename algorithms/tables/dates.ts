/**
 * Number of days from 1970-01-01 to a date `YYYY-MM-DD` of the Gregorian calendar. Years before 0000 and after 9999 have
 * a sign and at least six digits, as in ISO 8601. Undefined if there is no such day.
 */
export function dayOf(text: string): number | undefined {
  const match = /^([+-]\d{6,12}|\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return undefined;
  const days = daysOf(...(match.slice(1).map(Number) as [number, number, number]));
  return Number.isNaN(days) ? undefined : days;
}

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Days from 1970-01-01 to a date of the Gregorian calendar; NaN if the date does not exist. */
export function daysOf(year: number, month: number, day: number): number {
  const leaps = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const max = month === 2 && leaps ? 29 : (MONTH_DAYS[month - 1] ?? Number.NaN);
  if (!(day >= 1 && day <= max) || Number.isNaN(year)) return Number.NaN;
  // Years are counted from March, so that a leap day is the last day of a year (Hinnant, chrono-compatible low-level
  // date algorithms).
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const ofEra = shifted - era * 400;
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468;
}
