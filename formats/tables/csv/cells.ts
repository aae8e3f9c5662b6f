import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { latin1Text } from '../../bytes/byte-arrays.ts';
import { numberEnd, readJsonNumber } from '../../polygons/json-number.ts';
import { bitWords, setBits } from '../bits.ts';
import type { StringDictionary } from '../string-dictionary.ts';
import type { TableField } from '../table-file.ts';
import { commaAsPoint, dropBlanks, NO_NUMBER, skipBlanks } from './infer.ts';
import { ESCAPED, type Fields, PLAIN, unescaped } from './scan.ts';
import { parseTime } from './times.ts';

/** A column to be read from a CSV. */
export interface CsvColumn {
  readonly field: TableField;
  readonly index: number;
  /** Whether numbers have a decimal comma. */
  readonly hasComma: boolean;
  readonly dictionary: StringDictionary | undefined;
}

/** Parses a cell, and stores the value for a row. Returns false if the cell is not valid for the column's type. */
type Store = (bytes: Uint8Array, from: number, to: number, row: number) => boolean;

/**
 * Parses the cells of a column.
 *
 * @param fault - Returns the error for a row whose cell is not valid for the type of the column.
 */
export function cellsOf(fields: Fields, column: CsvColumn, fault: (row: number) => Error): HostColumn {
  const { rows } = fields;
  const { host, store } = columnOf(column, rows);
  const validity = bitWords(rows);
  setBits(validity, 0, rows);
  const nulls =
    column.field.type === 'string'
      ? textCells(fields, column, store, validity, fault)
      : typedCells(fields, column, store, validity, fault);
  return nulls === 0 ? host : { ...host, validity };
}

function textCells(
  { bytes, rows, columns, starts, ends, kinds }: Fields,
  { index }: CsvColumn,
  store: Store,
  validity: Uint32Array,
  fault: (row: number) => Error,
): number {
  let nulls = 0;
  for (let row = 0, at = index; row < rows; row++, at += columns) {
    const [from, to, kind] = [starts[at]!, ends[at]!, kinds[at]!];
    if (from === to && kind === PLAIN) {
      clear(validity, row);
      nulls++;
      continue;
    }
    const text = kind === ESCAPED ? unescaped(bytes, from, to) : undefined;
    if (!(text === undefined ? store(bytes, from, to, row) : store(text, 0, text.length, row))) throw fault(row);
  }
  return nulls;
}

function typedCells(
  { bytes, rows, columns, starts, ends }: Fields,
  { index, field, hasComma }: CsvColumn,
  store: Store,
  validity: Uint32Array,
  fault: (row: number) => Error,
): number {
  const isSwapped = hasComma && field.type !== 'date' && field.type !== 'timestamp';
  let nulls = 0;
  for (let row = 0, at = index; row < rows; row++, at += columns) {
    const from = skipBlanks(bytes, starts[at]!, ends[at]!);
    const to = dropBlanks(bytes, from, ends[at]!);
    if (from === to) {
      clear(validity, row);
      nulls++;
      continue;
    }
    const swapped = isSwapped ? commaAsPoint(bytes, from, to) : undefined;
    const isStored = swapped === undefined ? store(bytes, from, to, row) : store(swapped, 0, swapped.length, row);
    if (!isStored) throw fault(row);
  }
  return nulls;
}

function clear(words: Uint32Array, bit: number): void {
  words[bit >>> 5]! &= ~(1 << (bit & 31));
}

function columnOf(
  { field, dictionary }: CsvColumn,
  rows: number,
): { readonly host: HostColumn; readonly store: Store } {
  switch (field.type) {
    case 'string': {
      const codes = new Uint32Array(rows);
      const store: Store = (bytes, from, to, row) => {
        const code = dictionary!.codeOf(bytes, from, to);
        codes[row] = code;
        return code >= 0;
      };
      return { host: { type: 'string', codes, dictionary: dictionary!.strings }, store };
    }
    case 'bool': {
      const values = new Uint8Array(rows);
      return { host: { type: 'bool', values }, store: (...cell) => storeFlag(values, ...cell) };
    }
    case 'date': {
      const values = new Int32Array(rows);
      return { host: { type: 'date', values }, store: (...cell) => storeDate(values, ...cell) };
    }
    case 'f32':
    case 'f64': {
      const values = field.type === 'f32' ? new Float32Array(rows) : new Float64Array(rows);
      return { host: { type: field.type, values } as HostColumn, store: (...cell) => storeReal(values, ...cell) };
    }
    case 'i32':
    case 'u32': {
      const values = field.type === 'i32' ? new Int32Array(rows) : new Uint32Array(rows);
      return { host: { type: field.type, values } as HostColumn, store: (...cell) => storeNarrow(values, ...cell) };
    }
    case 'u64': {
      const values = new BigUint64Array(rows);
      return { host: { type: 'u64', values }, store: (...cell) => storeWide(values, 0, ...cell) };
    }
    case 'i64': {
      const values = new BigInt64Array(rows);
      return { host: { type: 'i64', values }, store: (...cell) => storeWide(values, 0, ...cell) };
    }
    case 'decimal': {
      const values = new BigInt64Array(rows);
      const { scale } = field;
      return { host: { type: 'decimal', values, scale }, store: (...cell) => storeWide(values, scale, ...cell) };
    }
    case 'time':
    case 'timestamp': {
      const values = new BigInt64Array(rows);
      return { host: { type: 'i64', values }, store: (...cell) => storeTime(values, ...cell) };
    }
  }
}

function storeFlag(values: Uint8Array, bytes: Uint8Array, from: number, to: number, row: number): boolean {
  const text = latin1Text(bytes, from, Math.min(to, from + 6)).toLowerCase();
  values[row] = text === 'true' ? 1 : 0;
  return text === 'true' || text === 'false';
}

function storeDate(values: Int32Array, bytes: Uint8Array, from: number, to: number, row: number): boolean {
  const time = parseTime(bytes, from, to);
  values[row] = time?.days ?? 0;
  return time?.isDate === true;
}

const MICROSECONDS = 86_400_000_000n;

function storeTime(values: BigInt64Array, bytes: Uint8Array, from: number, to: number, row: number): boolean {
  const time = parseTime(bytes, from, to);
  if (time === undefined) return false;
  values[row] = BigInt(time.days) * MICROSECONDS + BigInt(time.micros);
  return true;
}

function storeReal(
  values: Float64Array | Float32Array,
  bytes: Uint8Array,
  from: number,
  to: number,
  row: number,
): boolean {
  const value = readJsonNumber(bytes, from);
  if (Number.isFinite(value) && numberEnd === to) {
    values[row] = value;
    return true;
  }
  const text = latin1Text(bytes, from, to);
  if (NO_NUMBER.test(text)) {
    values[row] = /n$/i.test(text)
      ? Number.NaN
      : text.startsWith('-')
        ? Number.NEGATIVE_INFINITY
        : Number.POSITIVE_INFINITY;
    return true;
  }
  const number = Number(text);
  // A number beyond f64 becomes an infinity, as IEEE 754 rounds it.
  values[row] = number;
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
}

function storeNarrow(
  values: Int32Array | Uint32Array,
  bytes: Uint8Array,
  from: number,
  to: number,
  row: number,
): boolean {
  const sign = bytes[from];
  let value = 0;
  const start = sign === 45 || sign === 43 ? from + 1 : from;
  if (start === to || to - start > 15) return false;
  for (let at = start; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (!(digit >= 0 && digit <= 9)) return false;
    value = value * 10 + digit;
  }
  if (sign === 45) value = -value;
  values[row] = value;
  return values[row] === value;
}

const SAFE_DIGITS = 15;

/** Parses and stores a 64-bit integer, or a decimal with `scale` digits after the point. */
function storeWide(
  values: BigInt64Array | BigUint64Array,
  scale: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  row: number,
): boolean {
  const sign = bytes[from];
  const start = sign === 45 || sign === 43 ? from + 1 : from;
  let [value, digits, point] = [0, 0, -1];
  for (let at = start; at < to; at++) {
    const digit = bytes[at]! - 48;
    if (digit >= 0 && digit <= 9) {
      value = value * 10 + digit;
      digits++;
    } else if (bytes[at] === 46 && point < 0 && scale > 0) point = at;
    else return false;
  }
  const fraction = point < 0 ? 0 : to - point - 1;
  if (digits === 0 || fraction > scale) return false;
  let whole: bigint;
  if (digits <= SAFE_DIGITS) whole = BigInt(value);
  else whole = BigInt(latin1Text(bytes, start, to).replace('.', ''));
  if (scale > fraction) whole *= 10n ** BigInt(scale - fraction);
  if (sign === 45) whole = -whole;
  values[row] = whole;
  return values[row] === whole;
}
