import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { isSet } from '../bits.ts';
import { type TableField, type TimestampUnit, UNIT_DIGITS } from '../table-file.ts';

/** Formats the cell at a row as text. The cell must not be null. */
export type CellText = (row: number) => string;

/** Returns a function that tells whether the cell at a row is null. */
export function nullsOf({ validity }: HostColumn): (row: number) => boolean {
  return validity === undefined ? () => false : (row) => !isSet(validity, row);
}

/**
 * Returns a function that formats the cells of a column. Numbers have as few digits as needed to restore the value.
 * Dates and times are written as in ISO 8601.
 */
export function cellText(field: TableField, column: HostColumn): CellText {
  if (column.type === 'string') return (row) => column.dictionary[column.codes[row]!]!;
  const { values } = column;
  if (column.type === 'bool') return (row) => (values[row] === 0 ? 'false' : 'true');
  if (column.type === 'date') return (row) => dateText(Number(values[row]));
  if (column.type === 'decimal') return (row) => decimalText(BigInt(values[row]!), column.scale);
  if (column.type === 'f32') return (row) => shortF32(Number(values[row]));
  if (column.type === 'f64') return (row) => realText(Number(values[row]));
  if (field.type === 'timestamp') return (row) => timeText(BigInt(values[row]!), field.unit, field.utc);
  if (field.type === 'time') return (row) => clockText(BigInt(values[row]!), field.unit);
  return (row) => String(values[row]);
}

function realText(value: number): string {
  return Object.is(value, -0) ? '-0.0' : String(value);
}

/** Formats an f32 number with as few digits as needed to distinguish it from all other f32 numbers. */
function shortF32(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return realText(value);
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return realText(short);
  }
  return realText(Number(value.toPrecision(9)));
}

function decimalText(units: bigint, scale: number): string {
  if (scale === 0) return String(units);
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/**
 * Formats a number of days since 1970-01-01 as a date of the Gregorian calendar. Years of more than four digits have a
 * sign, as in ISO 8601.
 */
function dateText(days: number): string {
  // Days are counted from 0000-03-01. If years begin in March, a leap day is the last day of a year (Hinnant,
  // chrono-compatible low-level date algorithms).
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const year = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const month = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * month + 2) / 5) + 1;
  const [calendarMonth, calendarYear] = [month < 10 ? month + 3 : month - 9, year + era * 400 + (month < 10 ? 0 : 1)];
  return `${yearText(calendarYear)}-${padded(calendarMonth, 2)}-${padded(day, 2)}`;
}

function yearText(year: number): string {
  if (year >= 0 && year <= 9999) return padded(year, 4);
  return `${year < 0 ? '-' : '+'}${padded(Math.abs(year), 6)}`;
}

function padded(value: number | bigint, digits: number): string {
  return String(value).padStart(digits, '0');
}

function timeText(time: bigint, unit: TimestampUnit, utc: boolean): string {
  const perDay = 86_400n * 10n ** BigInt(UNIT_DIGITS[unit]);
  const day = (time - (((time % perDay) + perDay) % perDay)) / perDay;
  return `${dateText(Number(day))}T${clockText(time - day * perDay, unit)}${utc ? 'Z' : ''}`;
}

/** Formats a time since midnight as `HH:MM:SS`, with as many decimals as it has. */
function clockText(time: bigint, unit: TimestampUnit): string {
  if (time < 0n) return `-${clockText(-time, unit)}`;
  const digits = UNIT_DIGITS[unit];
  const perSecond = 10n ** BigInt(digits);
  const seconds = time / perSecond;
  const fraction = digits === 0 ? '' : padded(time % perSecond, digits).replace(/0+$/, '');
  const clock = [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n].map((part) => padded(part, 2));
  return `${clock.join(':')}${fraction === '' ? '' : `.${fraction}`}`;
}
