import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import type { Column } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context/context.ts';
import { atOnce } from '../stretches.ts';
import { aHostTable, aTable } from './argument-kinds.ts';
import { type Bounds, boundsOfHighWords, boundsOfWords, I64 } from './bounds.ts';
import type { DeviceTable, KeyType, TableColumn } from './device-table.ts';
import { requireStrings, type StringColumn, sortedDictionary } from './dictionary.ts';
import { tableError } from './errors.ts';
import { type HostColumn, type HostTable, rowsOf } from './host-table.ts';
import { keysOfF32, keysOfF64, pairsOf, smallestMagnitude } from './sortable.ts';
import { sortedLater, storedOf } from './unsorted-strings.ts';

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
 * - A dictionary of more than 4,096 strings is sorted later, some 0.5 µs for each string. The first awaited question
 *   does so in stretches of at most 20 ms or so, between which the event loop turns. Where something that the order
 *   determines is needed before, such as for the condition of `selectRows`, it is sorted at once. Do not change or remove
 *   its strings until then.
 *
 * @throws {@link TableError} `tables/length` if columns differ in length, `tables/validity` if a validity is too short,
 * `tables/dictionary` if a code has no string or a string has two codes. Where the dictionary is sorted later, two equal
 * strings are found then.
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
  for (const column of Object.values(columns)) {
    const { words, validity } = storedOf(column);
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

function upload(context: Context, name: string, given: HostColumn, keys: Keys | undefined, rows: number): TableColumn {
  const validity = given.validity && context.column(given.validity.subarray(0, Math.ceil(rows / 32)));
  if (keys === undefined) {
    const words = [context.stored('u32', rows)] as const;
    return sortedLater({ name, kind: 'string', key: 'u32', words, validity, scale: 0 }, given as StringColumn);
  }
  const { key, words, bounds, smallestMagnitude, dictionary = [], scale = 0 } = keys;
  return {
    ...{ name, kind: given.type, key, bounds, smallestMagnitude, dictionary, scale, validity },
    words: words.map((each) => context.column(each)) as Column<'u32' | 'i32'>[],
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

/** Dictionaries of more strings are sorted later. */
const MAX_SORTED = 2 ** 12;

/** The keys of a column. Undefined for strings that are sorted later. */
function keysOf(name: string, given: HostColumn): Keys | undefined {
  switch (given.type) {
    case 'u32':
      return { key: 'u32', words: [given.values], bounds: boundsOfWords(given.values) };
    case 'i32':
    case 'date':
      return { key: 'i32', words: [given.values], bounds: boundsOfWords(given.values) };
    case 'bool': {
      const flags = new Uint8Array(given.values.length);
      for (let row = 0; row < flags.length; row++) flags[row] = Number(given.values[row] !== 0);
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
      requireStrings(name, given);
      if (given.dictionary.length > MAX_SORTED) return undefined;
      const { codes, dictionary } = atOnce(sortedDictionary(name, given));
      return { key: 'u32', words: [codes], bounds: boundsOfWords(codes), dictionary };
    }
  }
}

function signedPairs(values: BigInt64Array): Keys {
  const { lo, hi } = pairsOf(values);
  const high = new Int32Array(hi.buffer);
  return { key: 'i64', words: [lo, high], bounds: boundsOfHighWords(high) };
}
