import type { Coordinates } from '../algorithms/neighbours/exact/coordinates.ts';
import { numberOf } from '../algorithms/tables/decimals.ts';
import type { HostColumn, HostTable } from '../algorithms/tables/host-table.ts';
import type { PointTable } from '../formats/polygons/point-layer.ts';
import { isSet } from '../formats/tables/bits.ts';
import { FormatError } from '../primitives/checks/errors.ts';
import { columnAt } from './gather-rows.ts';

/** A batch of points, all with finite coordinates. */
export interface PlacedRows {
  readonly count: number;
  readonly coordinates: Coordinates;
  /** Row number of each point in the file. */
  readonly rows: Uint32Array;
  /** Names of the points; undefined if points are named by row numbers. */
  readonly names: HostColumn | undefined;
}

/** Which columns to read, and whether to skip rows with invalid coordinates. */
export interface PointRowsOptions {
  readonly columns: readonly string[];
  readonly id: string | undefined;
  /** Whether the columns are a longitude and a latitude in degrees. */
  readonly areDegrees: boolean;
  readonly onBadRecord: 'stop' | 'skip';
  readonly signal: AbortSignal;
}

/** Number of skipped rows, and why the first one was skipped. */
export interface LeftOut {
  count: number;
  /** Message about what is wrong with the first skipped row. */
  first: string;
}

/** Maximum absolute value of a coordinate. With larger coordinates, sums of differences could overflow f64. */
const MAX_COUNT: number = 2 ** 1000;
const MAX_LATITUDE = 90;
const MAX_ROWS = 2 ** 32 - 1;

/**
 * Reads points in batches, in the order of the table. A row is invalid if a coordinate is null or NaN, or if the
 * absolute value of a coordinate exceeds {@link MAX_COUNT}, or that of a latitude on the sphere 90. If `onBadRecord` is `skip`, invalid rows are skipped and
 * counted in `leftOut`.
 *
 * @throws FormatError `neighbours/no-place` at the first invalid row, if `onBadRecord` is `stop`;
 * `neighbours/too-many-rows`.
 */
export async function* pointRows(
  table: PointTable,
  { columns, id, areDegrees, onBadRecord, signal }: PointRowsOptions,
  leftOut: LeftOut,
): AsyncGenerator<PlacedRows, void, undefined> {
  const names = id === undefined ? columns : [...columns, id];
  const maxOf = (d: number): number => (areDegrees && d === 1 ? MAX_LATITUDE : MAX_COUNT);
  for await (const batch of table.batches({ columns: names, signal })) {
    if (batch.first + batch.rows > MAX_ROWS) throw tooManyRows(table.file);
    const read = columns.map((name) => numbersOf(batch.columns[name]!, batch.rows));
    const places = new Uint32Array(batch.rows);
    let count = 0;
    for (let row = 0; row < batch.rows; row++) {
      const wrong = read.findIndex(({ values }, d) => !(Math.abs(values[row]!) <= maxOf(d)));
      if (wrong < 0) {
        places[count++] = row;
        continue;
      }
      const fault = faultOf(batch.columns, columns[wrong]!, read[wrong]!.values, row, maxOf(wrong));
      if (onBadRecord === 'stop') throw noPlace(table.file, batch.first + row, fault);
      if (leftOut.count++ === 0) leftOut.first = `Row ${batch.first + row}: ${fault}`;
    }
    yield {
      count,
      coordinates: interleaved(read, places, count),
      rows: places.subarray(0, count).map((row) => batch.first + row),
      names: id === undefined ? undefined : columnAt(batch.columns[id]!, places.subarray(0, count)),
    };
  }
}

/** Powers of ten up to this one are exact in f64. */
const MAX_EXACT_SCALE = 22;

/** The numbers of a column in f64, and what f64 lacks of them. */
interface Numbers {
  readonly values: Float64Array;
  /** Undefined if all rests are 0. */
  readonly rests: Float64Array | undefined;
}

/** Converts a column to f64; null becomes NaN. Integers beyond 2^53 have rests. Decimals are the nearest f64. */
export function numbersOf(column: HostColumn, rows: number): Numbers {
  const numbers = new Float64Array(rows);
  // Never reached, because only numeric columns are read.
  if (column.type === 'string') return { values: numbers, rests: undefined };
  const { values, validity } = column;
  const scale = column.type === 'decimal' ? column.scale : 0;
  const unit = 10 ** scale;
  for (let row = 0; row < rows; row++) {
    const number = Number(values[row]);
    // The quotient of two numbers that f64 holds exactly is rounded only once.
    const isExact = scale === 0 || (scale <= MAX_EXACT_SCALE && Number.isSafeInteger(number));
    numbers[row] = isExact ? number / unit : numberOf({ units: BigInt(values[row]!), scale });
  }
  const isWide = column.type === 'i64' || column.type === 'u64' || (column.type === 'decimal' && column.scale === 0);
  const rests = isWide ? restsOf(values as BigInt64Array, numbers) : undefined;
  if (validity !== undefined) for (let row = 0; row < rows; row++) if (!isSet(validity, row)) numbers[row] = Number.NaN;
  return { values: numbers, rests };
}

function restsOf(values: BigInt64Array, numbers: Float64Array): Float64Array | undefined {
  let rests: Float64Array | undefined;
  for (const [row, number] of numbers.entries()) {
    if (Number.isSafeInteger(number)) continue;
    const rest = Number(BigInt(values[row]!) - BigInt(number));
    if (rest === 0) continue;
    rests ??= new Float64Array(numbers.length);
    rests[row] = rest;
  }
  return rests;
}

function interleaved(columns: readonly Numbers[], places: Uint32Array, count: number): Coordinates {
  const dimensions = columns.length;
  const values = new Float64Array(dimensions * count);
  const rests = columns.some((column) => column.rests !== undefined) ? new Float64Array(values.length) : undefined;
  for (const [d, column] of columns.entries()) {
    for (let i = 0; i < count; i++) values[i * dimensions + d] = column.values[places[i]!]!;
    if (column.rests === undefined) continue;
    for (let i = 0; i < count; i++) rests![i * dimensions + d] = column.rests[places[i]!]!;
  }
  return { dimensions, values, rests };
}

function faultOf(columns: HostTable, name: string, numbers: Float64Array, row: number, max: number): string {
  const { validity } = columns[name]!;
  const isNull = validity !== undefined && !isSet(validity, row);
  const value = numbers[row]!;
  if (isNull || !Number.isFinite(value)) return `${name} is ${isNull ? 'null' : value}.`;
  return `${name} is ${value}, beyond ±${max === MAX_LATITUDE ? `${max} degrees` : max.toPrecision(2)}.`;
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
