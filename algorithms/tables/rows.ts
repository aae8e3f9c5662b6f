import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import type { Column } from '../../primitives/columns/column.ts';
import { array, bool, fn, u32 } from '../../primitives/functors/functor.ts';
import { gather } from '../../primitives/gather.ts';
import { map } from '../../primitives/map.ts';
import { filled, inStretches, piecewise, type Stretches } from '../stretches.ts';
import { aTable, someNames } from './argument-kinds.ts';
import type { DeviceTable, TableColumn } from './device-table.ts';
import type { HostColumn, HostTable } from './host-table.ts';
import { f32OfKey, f64OfWords } from './sortable.ts';
import { columnOf } from './table.ts';
import { settle } from './unsorted-strings.ts';

export interface ReadRowsOptions {
  /** The columns to read. Default: all. */
  readonly names?: readonly string[] | undefined;
}

const READ_ROWS: Kind = someOptions<ReadRowsOptions>({ names: optional(someNames) });

/**
 * Reads rows of a table to the host, given their indices. Columns have the same types as in the host table from which
 * the table was made. Indices beyond the last row are not allowed.
 *
 * - Work O(ids), span O(1). Deterministic. The number of indices may be known only on the device.
 *
 * @throws {@link TableError} `tables/unknown-column`.
 * @example
 * const table = createTable(ctx, { x: { type: 'u32', values: Uint32Array.of(1, 5, 9) } });
 * const { x } = await readRows(table, selectedIds(selectRows(table, greaterThan(column('x'), 2))));
 * x.values; // Uint32Array [5, 9]
 */
export async function readRows(
  table: DeviceTable,
  ids: Column<'u32'>,
  options: ReadRowsOptions = {},
): Promise<HostTable> {
  requireArguments('readRows', { table, ids, options }, { table: aTable, ids: aColumn('u32'), options: READ_ROWS });
  const { names = Object.keys(table.columns) } = options;
  const settling = inStretches(settle(table));
  if (settling instanceof Promise) await settling;
  const columns = names.map((name) => columnOf(table, name));
  const views = columns.map(({ words, validity }) => ({
    words: Object.fromEntries(words.map((each, i) => [i, gather(each as Column<'u32'>, ids)])),
    valid: validity === undefined ? {} : { bits: map(bitAt, { id: ids, words: validity }) },
  }));
  const read = await table.context.read(Object.fromEntries(views.map((each, i) => [i, each])));
  const entries: [string, HostColumn][] = [];
  for (const [i, column] of columns.entries()) {
    const { words, valid } = read[i] as {
      words: { [word: string]: Uint32Array | Int32Array };
      valid: { bits?: Uint8Array };
    };
    entries.push([column.name, await inStretches(hostColumn(column, Object.values(words), valid.bits))]);
  }
  return Object.fromEntries(entries);
}

const bitAt = fn('bitAt', { id: u32, words: array(u32) }, bool, ({ id, words }) =>
  words.at(id.shr(5)).shr(id.and(31)).and(1).ne(0),
);

/** Makes a host column from the integers that represent its values, and from flags of the valid rows. */
export function* hostColumn(
  { kind, dictionary, scale }: Pick<TableColumn, 'kind' | 'dictionary' | 'scale'>,
  [low, high]: readonly (Uint32Array | Int32Array)[],
  valid: Uint8Array | undefined,
): Stretches<HostColumn> {
  const bits = validityOf(valid);
  const some = low as Uint32Array;
  switch (kind) {
    case 'u32':
      return { type: kind, values: some, ...bits };
    case 'i32':
    case 'date':
      return { type: kind, values: low as Int32Array, ...bits };
    case 'bool':
      return { type: kind, values: new Uint8Array(some), ...bits };
    case 'f32':
      return { type: kind, values: yield* filled(new Float32Array(some.length), (i) => f32OfKey(low![i]!)), ...bits };
    case 'f64':
      return { type: kind, values: new Float64Array(yield* interleaved(some, high!, f64OfWords)), ...bits };
    case 'u64':
      return { type: kind, values: new BigUint64Array(yield* interleaved(some, high!)), ...bits };
    case 'i64':
      return { type: kind, values: new BigInt64Array(yield* interleaved(some, high!)), ...bits };
    case 'decimal': {
      const values = high === undefined ? (low as Int32Array) : new BigInt64Array(yield* interleaved(some, high));
      return { type: kind, values, scale, ...bits };
    }
    case 'string':
      return { type: kind, codes: some, dictionary, ...bits };
  }
}

/**
 * The validity of a column, from flags that are not 0 for valid rows. If all rows are valid, the result has no
 * validity.
 */
export function validityOf(flags: Uint8Array | Uint32Array | undefined): Pick<HostColumn, 'validity'> {
  if (flags === undefined || !flags.includes(0)) return {};
  const validity = new Uint32Array(Math.ceil(flags.length / 32));
  for (let i = 0; i < flags.length; i++) if (flags[i] !== 0) validity[i >> 5]! |= 1 << (i & 31);
  return { validity };
}

/**
 * Interleaves two words per integer, low word first, which is the memory layout of 64-bit numbers. `change` may change
 * them in place.
 */
function* interleaved(
  low: Uint32Array,
  high: Uint32Array | Int32Array,
  change?: (words: Int32Array, i: number) => void,
): Stretches<ArrayBuffer> {
  const words = new Int32Array(2 * low.length);
  yield* piecewise(0, low.length, (from, to) => {
    for (let i = from; i < to; i++) {
      words[2 * i] = low[i]!;
      words[2 * i + 1] = high[i]!;
      change?.(words, i);
    }
  });
  return words.buffer;
}
