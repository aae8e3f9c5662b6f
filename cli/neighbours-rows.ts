import type { HostColumn, HostTable } from '../algorithms/tables/host-table.ts';
import { isSet } from '../formats/tables/bits.ts';
import type { TableFile } from '../formats/tables/table-file.ts';
import { FormatError } from '../primitives/errors.ts';
import { gatherRows } from './gather-rows.ts';

/** A batch of points, all with finite coordinates. */
export interface PlacedRows {
  readonly count: number;
  /** Coordinates, point after point, not yet rounded to f32. */
  readonly coordinates: Float64Array;
  /** Row number of each point in the file. */
  readonly rows: Uint32Array;
  /** Names of the points; undefined if points are named by row numbers. */
  readonly names: HostColumn | undefined;
}

/** Which columns to read, and whether to skip rows with invalid coordinates. */
export interface PointRowsOptions {
  readonly columns: readonly string[];
  readonly id: string | undefined;
  readonly onBadRecord: 'stop' | 'skip';
  readonly signal: AbortSignal;
}

/** Number of skipped rows, and why the first one was skipped. */
export interface LeftOut {
  count: number;
  /** Message about what is wrong with the first skipped row. */
  first: string;
}

/** Maximum absolute value of a coordinate. With larger coordinates, differences could overflow f32. */
const MAX_COUNT: number = 2 ** 126;
const MAX_ROWS = 2 ** 32 - 1;

/**
 * Reads points in batches, in the order of the table. A row is invalid if a coordinate is null or NaN, or if the
 * absolute value of a coordinate exceeds {@link MAX_COUNT}. If `onBadRecord` is `skip`, invalid rows are skipped and
 * counted in `leftOut`.
 *
 * @throws FormatError `neighbours/no-place` at the first invalid row, if `onBadRecord` is `stop`;
 * `neighbours/too-many-rows`.
 */
export async function* pointRows(
  table: TableFile,
  { columns, id, onBadRecord, signal }: PointRowsOptions,
  leftOut: LeftOut,
): AsyncGenerator<PlacedRows, void, undefined> {
  const names = id === undefined ? columns : [...columns, id];
  for await (const batch of table.batches({ columns: names, signal })) {
    if (batch.first + batch.rows > MAX_ROWS) throw tooManyRows(table.file);
    const read = columns.map((name) => numbersOf(batch.columns[name]!, batch.rows));
    const places = new Uint32Array(batch.rows);
    let count = 0;
    for (let row = 0; row < batch.rows; row++) {
      const wrong = read.findIndex((numbers) => !isPlace(numbers[row]!));
      if (wrong < 0) {
        places[count++] = row;
        continue;
      }
      const fault = faultOf(batch.columns, columns[wrong]!, read[wrong]!, row);
      if (onBadRecord === 'stop') throw noPlace(table.file, batch.first + row, fault);
      if (leftOut.count++ === 0) leftOut.first = `Row ${batch.first + row}: ${fault}`;
    }
    yield {
      count,
      coordinates: interleaved(read, places, count),
      rows: places.subarray(0, count).map((row) => batch.first + row),
      names: id === undefined ? undefined : gatherRows(batch.columns[id]!, places, count),
    };
  }
}

/** Converts a column to f64; null becomes NaN. */
function numbersOf(column: HostColumn, rows: number): Float64Array {
  const numbers = new Float64Array(rows);
  // Never reached, because only numeric columns are read.
  if (column.type === 'string') return numbers;
  const { values, validity } = column;
  const unit = column.type === 'decimal' ? 10 ** column.scale : 1;
  for (let row = 0; row < rows; row++) numbers[row] = Number(values[row]) / unit;
  if (validity !== undefined) for (let row = 0; row < rows; row++) if (!isSet(validity, row)) numbers[row] = Number.NaN;
  return numbers;
}

function isPlace(coordinate: number): boolean {
  return Math.abs(coordinate) <= MAX_COUNT;
}

function interleaved(columns: readonly Float64Array[], places: Uint32Array, count: number): Float64Array {
  const coordinates = new Float64Array(columns.length * count);
  for (const [d, numbers] of columns.entries()) {
    for (let i = 0; i < count; i++) coordinates[i * columns.length + d] = numbers[places[i]!]!;
  }
  return coordinates;
}

function faultOf(columns: HostTable, name: string, numbers: Float64Array, row: number): string {
  const { validity } = columns[name]!;
  const isNull = validity !== undefined && !isSet(validity, row);
  const value = numbers[row]!;
  if (isNull || !Number.isFinite(value)) return `${name} is ${isNull ? 'null' : value}.`;
  return `${name} is ${value}, beyond ±${MAX_COUNT.toPrecision(2)}.`;
}

function noPlace(file: string, row: number, fault: string): FormatError {
  return new FormatError('neighbours/no-place', `A point has no valid coordinates: ${fault}`, {
    remedy: 'Correct the row, or skip such rows with --on-bad-record skip.',
    place: { file, record: row },
  });
}

function tooManyRows(file: string): FormatError {
  return new FormatError('neighbours/too-many-rows', 'The table has too many rows.', {
    expected: `at most ${MAX_ROWS}`,
    got: 'more',
    remedy: 'Split the file.',
    place: { file },
  });
}
