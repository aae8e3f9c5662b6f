import type { PointTable } from '../formats/polygons/point-layer.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import { UsageError } from '../formats/usage-error.ts';
import { nearestName, remedyFor } from '../primitives/checks/suggest.ts';
import { parseColumns } from './table-text/questions.ts';

/** The columns of a table that contain the coordinates. */
export interface CoordinateColumns {
  readonly names: readonly string[];
  /** Whether the columns include a longitude and a latitude, according to their names. */
  readonly areDegrees: boolean;
}

/** The option that names columns, and its value. */
export interface ColumnsOption {
  readonly option: '--columns' | '--query-columns';
  readonly given: string | undefined;
}

/**
 * Finds the coordinate columns: the columns that the option names or, without the option, the columns with usual names
 * such as x and y.
 *
 * @throws UsageError `usage/unknown-column`, `usage/no-coordinates`, `usage/not-numbers`, `usage/repeated-column`. The
 * message lists the numeric columns of the table.
 */
export function coordinateColumns(table: PointTable, { option, given }: ColumnsOption): CoordinateColumns {
  const names = given === undefined ? usualColumns(table, option) : namedColumns(table, option, given);
  for (const [i, name] of names.entries()) {
    if (names.indexOf(name) < i) {
      throw new UsageError('usage/repeated-column', `${option} names the column "${name}" twice.`, {
        remedy: 'Name each coordinate once.',
      });
    }
    requireNumbers(table, option, name);
  }
  return { names, areDegrees: names.some(isLongitude) && names.some(isLatitude) };
}

/**
 * Throws if the column with the names of points does not exist.
 *
 * @throws UsageError `usage/unknown-column`.
 */
export function requireIdColumn({ file, fields }: PointTable, option: string, name: string): void {
  const names = fields.map((field) => field.name);
  if (names.includes(name)) return;
  throw new UsageError('usage/unknown-column', `${option}: ${file} has no column "${name}".`, {
    remedy: remedyFor(nearestName(name, names), `It has ${listed(names)}.`),
  });
}

/**
 * Throws if the columns of a search on the sphere are not two, or if their names say that the latitude comes first.
 *
 * @throws UsageError `usage/sphere`.
 */
export function requireDegrees(names: readonly string[], option: ColumnsOption['option']): void {
  if (names.length !== 2) {
    throw new UsageError('usage/sphere', '--metric sphere takes a longitude and a latitude.', {
      expected: '2 columns',
      got: names.join(', '),
      remedy: `Name these two with ${option}.`,
    });
  }
  const [first, second] = names as [string, string];
  if (!isLatitude(first) || !isLongitude(second)) return;
  throw new UsageError('usage/sphere', '--metric sphere takes the longitude first, then the latitude.', {
    got: names.join(', '),
    remedy: `Use ${option} ${second},${first}.`,
  });
}

/** The words of a column's name in lower case: `pickup_lon` and `pickupLon` both have the words pickup and lon. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
}

const isLongitude = (name: string): boolean => wordsOf(name).some((word) => /^(lon|lng|long|.*longitude)$/.test(word));

const isLatitude = (name: string): boolean => wordsOf(name).some((word) => /^(lat|.*latitude)$/.test(word));

const PLANE = [['x', 'y']];
const DEGREES = [
  ['lon', 'lat'],
  ['longitude', 'latitude'],
];

function isOneOf(pairs: readonly (readonly string[])[], names: readonly string[]): boolean {
  return pairs.some((pair) => pair.every((name, i) => names[i]?.toLowerCase() === name));
}

function usualColumns(table: PointTable, option: string): string[] {
  for (const pair of [...PLANE, ...DEGREES]) {
    const found = pair.map((name) => columnCalled(table, name));
    if (!found.every((name) => name !== undefined)) continue;
    const height = isOneOf(PLANE, pair) ? columnCalled(table, 'z') : undefined;
    return height === undefined ? found : [...found, height];
  }
  const numbers = numericNames(table);
  const likely = likelyColumns(numbers);
  throw new UsageError(
    'usage/no-coordinates',
    `${table.file} has no columns x and y, lon and lat, or longitude and latitude; its columns of numbers: ${listed(numbers)}.`,
    { remedy: remedyOf(option, likely) },
  );
}

function remedyOf(option: string, likely: readonly string[] | undefined): string {
  if (likely === undefined) return `Name the columns of the coordinates with ${option}.`;
  return `Did you mean ${option} ${likely.join(',')}?`;
}

/** Finds a column by name, ignoring case. An exact match takes precedence. */
function columnCalled({ fields, unread }: PointTable, name: string): string | undefined {
  const names = [...fields, ...unread].map((field) => field.name);
  return names.includes(name) ? name : names.find((each) => each.toLowerCase() === name);
}

const LIKELY: readonly (readonly [first: RegExp, second: RegExp])[] = [
  [/lon|lng/i, /lat/i],
  [/(^|[^a-z])x($|[^a-z])|east/i, /(^|[^a-z])y($|[^a-z])|north/i],
];

/** Finds two columns whose names look like names of coordinates. An error message suggests these columns. */
function likelyColumns(names: readonly string[]): string[] | undefined {
  for (const pair of LIKELY) {
    const found = pair.map((pattern) => names.find((name) => pattern.test(name)));
    if (found.every((name) => name !== undefined)) return found;
  }
  return undefined;
}

/** Splits a list of column names. Names are separated by commas, and may be in double quotes. */
function namedColumns(table: PointTable, option: string, given: string): string[] {
  const all = [...table.fields, ...table.unread].map(({ name }) => name);
  const plain = given.split(',').map((name) => name.trim());
  return plain.every((name) => all.includes(name)) ? plain : parseColumns({ option, text: given }, all);
}

/** Types of columns that have numbers. */
export const NUMBERS: ReadonlySet<TableField['type']> = new Set(['u32', 'i32', 'f32', 'u64', 'i64', 'f64', 'decimal']);

function numericNames({ fields }: PointTable): string[] {
  return fields.filter(({ type }) => NUMBERS.has(type)).map(({ name }) => name);
}

function requireNumbers(table: PointTable, option: string, name: string): void {
  // The types of columns cannot be detected in a CSV without rows.
  if (table.rows === 0) return;
  const type = table.fields.find((field) => field.name === name)?.type;
  if (type !== undefined && NUMBERS.has(type)) return;
  const what = type ?? table.unread.find((field) => field.name === name)?.what;
  throw new UsageError('usage/not-numbers', `The column "${name}" of ${table.file} does not hold numbers.`, {
    expected: `one of its columns of numbers: ${listed(numericNames(table))}`,
    got: what,
    remedy: `Choose columns with ${option}.`,
  });
}

const SHOWN = 24;

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  return names.slice(0, SHOWN).join(', ') + (names.length > SHOWN ? ', …' : '');
}
