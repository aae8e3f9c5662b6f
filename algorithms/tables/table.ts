import { aContext } from '../../primitives/argument-kinds.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import type { Column } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context.ts';
import { aHostTable, aTable } from './argument-kinds.ts';
import { type Bounds, boundsOfHighWords, boundsOfWords, I64 } from './bounds.ts';
import { sortedDictionary } from './dictionary.ts';
import { tableError } from './errors.ts';
import { type ColumnKind, type HostColumn, type HostTable, rowsOf } from './host-table.ts';
import { keysOfF32, keysOfF64, pairsOf, smallestMagnitude } from './sortable.ts';

/** Integer type of the keys in a column. A key is an integer that stands for a value; keys compare like the values. */
export type KeyType = 'u32' | 'i32' | 'u64' | 'i64';

/**
 * A column on a device. The values are stored as integer keys, which compare like the values; see {@link createTable}.
 */
export interface TableColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly key: KeyType;
  /** The words of the keys: one column for 32-bit keys, or two columns for 64-bit keys, low words first. */
  readonly words: readonly Column<'u32' | 'i32'>[];
  /** Which rows are valid (not null), one bit per row. Undefined if all rows are valid. */
  readonly validity: Column<'u32'> | undefined;
  /** Bounds of the keys of all rows. For 64-bit keys, the bounds may be wider than the minimum and maximum. */
  readonly bounds: Bounds;
  /** Only for f32: the bits of the smallest magnitude that is not zero, if known. */
  readonly smallestMagnitude?: number | undefined;
  /** For string columns, the sorted strings, to which the keys are indices. Empty for columns of other types. */
  readonly dictionary: readonly string[];
  /** For decimals, the number of decimal places. */
  readonly scale: number;
}

/** Columns of equal length on a device, by name. All columns belong to one context. */
export interface DeviceTable {
  readonly context: Context;
  readonly rows: number;
  readonly columns: { readonly [name: string]: TableColumn };
}

/**
 * Uploads a table to a device.
 *
 * Every column is stored as integer keys, in one or two words. Keys compare like the values of the column. For f32 and
 * f64, a key has the bits of the number; if the number is negative, all bits except the sign are inverted. All NaNs
 * have the same key, which is the largest, and both zeros have the same key. For strings, keys are indices into the
 * sorted dictionary. So the same code compares, selects by rank, groups and joins values of all types, exactly and on
 * all backends.
 *
 * - The table belongs to the current scope, like all columns. {@link disposeTable} frees it.
 *
 * @throws {@link TableError} `tables/length` if columns differ in length, `tables/validity` if a validity is too short,
 * `tables/dictionary` if a code has no string or a string has two codes.
 * @example
 * const table = createTable(ctx, { fare: { type: 'f32', values: Float32Array.of(2.5, 10) } });
 * await countSelected(selectRows(table, greaterThan(column('fare'), 3))); // 1
 */
export function createTable(context: Context, host: HostTable): DeviceTable {
  requireArguments('createTable', { context, host }, { context: aContext, host: aHostTable });
  const entries = Object.entries(host);
  const rows = entries.length === 0 ? 0 : rowsOf(entries[0]![1]);
  for (const [name, given] of entries) requireRows(name, given, rows);
  const keys = entries.map(([name, given]) => keysOf(name, given));
  const columns = entries.map(([name, given], i): [string, TableColumn] => [
    name,
    upload(context, name, given, keys[i]!, rows),
  ]);
  return { context, rows, columns: Object.fromEntries(columns) };
}

/**
 * Frees the columns of a table.
 *
 * @example
 * const table = createTable(ctx, { x: { type: 'u32', values: Uint32Array.of(1, 5) } });
 * const count = await countSelected(selectRows(table, equalTo(column('x'), 5)));
 * disposeTable(table);
 * count; // 1
 */
export function disposeTable(table: DeviceTable): void {
  requireArguments('disposeTable', { table }, { table: aTable });
  const { context, columns } = table;
  for (const { words, validity } of Object.values(columns)) {
    context.dispose(...words, ...(validity === undefined ? [] : [validity]));
  }
}

/** Returns the column with the given name. If no column has the name, throws an error that lists the existing names. */
export function columnOf({ columns }: DeviceTable, name: string): TableColumn {
  if (Object.hasOwn(columns, name)) return columns[name]!;
  throw tableError('unknown-column', `The table has no column '${name}'.`, {
    expected: Object.keys(columns),
    got: name,
  });
}

function requireRows(name: string, given: HostColumn, rows: number): void {
  if (rowsOf(given) !== rows) {
    throw tableError('length', `Column '${name}' must be as long as the first column.`, {
      expected: rows,
      got: rowsOf(given),
    });
  }
  const { validity } = given;
  if (validity === undefined || validity.length >= Math.ceil(rows / 32)) return;
  throw tableError('validity', `The validity of column '${name}' is too short.`, {
    expected: `${Math.ceil(rows / 32)} words`,
    got: validity.length,
  });
}

function upload(context: Context, name: string, given: HostColumn, keys: Keys, rows: number): TableColumn {
  const { key, words, bounds, smallestMagnitude, dictionary = [], scale = 0 } = keys;
  return {
    ...{ name, kind: given.type, key, bounds, smallestMagnitude, dictionary, scale },
    words: words.map((each) => context.column(each)) as Column<'u32' | 'i32'>[],
    validity: given.validity && context.column(given.validity.subarray(0, Math.ceil(rows / 32))),
  };
}

type Words = Uint32Array | Int32Array | Uint16Array | Int16Array | Uint8Array | Int8Array;

/** The keys of a column on the host, before they are uploaded. */
interface Keys {
  readonly key: KeyType;
  readonly words: readonly Words[];
  readonly bounds: Bounds;
  readonly smallestMagnitude?: number;
  readonly dictionary?: readonly string[];
  readonly scale?: number;
}

function keysOf(name: string, given: HostColumn): Keys {
  switch (given.type) {
    case 'u32':
      return { key: 'u32', words: [given.values], bounds: boundsOfWords(given.values) };
    case 'i32':
    case 'date':
      return { key: 'i32', words: [given.values], bounds: boundsOfWords(given.values) };
    case 'bool': {
      const flags = given.values.map((each) => Number(each !== 0));
      return { key: 'u32', words: [flags], bounds: { min: 0n, max: 1n } };
    }
    case 'f32': {
      const keys = keysOfF32(given.values);
      return {
        key: 'i32',
        words: [keys],
        bounds: boundsOfWords(keys),
        smallestMagnitude: smallestMagnitude(given.values),
      };
    }
    case 'f64': {
      const { lo, hi } = keysOfF64(given.values);
      return { key: 'i64', words: [lo, hi], bounds: I64 };
    }
    case 'u64': {
      const { lo, hi } = pairsOf(given.values);
      return { key: 'u64', words: [lo, hi], bounds: boundsOfHighWords(hi) };
    }
    case 'i64':
      return signedPairs(given.values);
    case 'decimal': {
      const { values, scale } = given;
      if (values instanceof BigInt64Array) return { ...signedPairs(values), scale };
      return { key: 'i32', words: [values], bounds: boundsOfWords(values), scale };
    }
    case 'string': {
      const { codes, dictionary } = sortedDictionary(name, given);
      return { key: 'u32', words: [codes], bounds: boundsOfWords(codes), dictionary };
    }
  }
}

function signedPairs(values: BigInt64Array): Keys {
  const { lo, hi } = pairsOf(values);
  const high = new Int32Array(hi.buffer);
  return { key: 'i64', words: [lo, high], bounds: boundsOfHighWords(high) };
}
