import { requireOptions, wrongArgument } from '../checks/arguments.ts';
import { ArgumentError } from '../checks/errors.ts';
import { isRecord, withArticle } from '../checks/given.ts';
import { anything, type FieldKinds } from '../checks/kinds.ts';
import type { Column, DeviceLength, Table } from '../columns/column.ts';
import { arrayOver, decodedArray, elementsPerWord, requireMemory } from '../columns/host-array.ts';
import { alive } from '../columns/program.ts';
import type { Backend, Storage, WordSink } from '../contract/backend.ts';
import type { ScalarType } from '../ir/ir.ts';

/** A typed array into which the elements of a column can be read. */
export type IntoArray = Uint32Array | Int32Array | Float32Array | Uint8Array | Int8Array | Uint16Array | Int16Array;

/**
 * The arrays into which a table can be read. They have the types of the arrays that `read` returns; bools are read into
 * a Uint8Array. A packed column can also be read into an array of its packed type.
 */
export type IntoTable<C extends Table> =
  C extends Column<infer T>
    ? IntoArrayOf<T>
    : { readonly [K in keyof C]: C[K] extends Table ? IntoTable<C[K]> : never };

export type IntoArrayOf<T extends ScalarType> = T extends 'f32'
  ? Float32Array
  : T extends 'i32'
    ? Int32Array | Int16Array | Int8Array
    : T extends 'bool'
      ? Uint8Array
      : Uint32Array | Uint16Array | Uint8Array;

/** Options of {@link Context.read}. */
export interface ReadOptions<I> {
  /**
   * Your own arrays, into which the elements are read. Each array must be at least as long as its column; elements past
   * the column's length keep their values. The result is the filled part of each array. Do not use the arrays until the
   * promise settles. If the promise rejects, some elements may have been overwritten.
   */
  readonly into?: I | undefined;
}

const OPTIONS: FieldKinds<ReadOptions<unknown>> = { into: anything };

/** The caller's arrays, in the order of the table's columns. Throws if an array is missing or has the wrong type. */
export function requireInto(
  table: Table,
  columns: readonly Column[],
  options: ReadOptions<unknown> | undefined,
): readonly (IntoArray | undefined)[] {
  requireOptions('read', OPTIONS, options);
  const into = options?.into;
  if (into === undefined) return columns.map(() => undefined);
  return arraysIn(table, into, 'the option into').map(({ array, path }, i) => requireArray(columns[i]!, array, path));
}

interface FoundArray {
  readonly array: unknown;
  readonly path: string;
}

/** The entries of the option `into`, in the order of the table's columns, with their paths for error messages. */
function arraysIn(table: Table, into: unknown, path: string): FoundArray[] {
  if (isColumn(table)) return [{ array: into, path }];
  if (!isRecord(into)) throw wrongArgument('read', path, into, 'a record of arrays', { code: 'read/into' });
  return Object.entries(table).flatMap(([name, field]) => arraysIn(field, into[name], `${path}.${name}`));
}

function isColumn(table: Table): table is Column {
  return !isRecord(table);
}

function requireArray({ type, length, source }: Column, given: unknown, path: string): IntoArray {
  const decoded = type === 'bool' ? Uint8Array : arrayOver(NO_BYTES, type).constructor;
  const packed =
    source.kind === 'stored' && type !== 'bool' ? arrayOver(NO_BYTES, source.storage).constructor : decoded;
  const classes = [...new Set([decoded, packed])];
  if (!classes.some((each) => given instanceof (each as typeof Uint8Array))) {
    const expected = classes.map(({ name }) => withArticle(name));
    throw wrongArgument('read', path, given, expected.join(' or '), { code: 'read/into' });
  }
  const array = given as IntoArray;
  requireMemory(array, path, 'read', 'read/into');
  if (typeof length === 'number') requireRoom(array, length, path);
  return array;
}

const NO_BYTES = new Uint8Array();

/** Requires that an array has room for `rows` elements. */
export function requireRoom(into: IntoArray, rows: number, path = 'the option into'): void {
  if (into.length >= rows) return;
  throw new ArgumentError('read/into-length', `read has more rows than fit into ${path}.`, {
    expected: `room for ${rows} elements`,
    got: `${into.length}`,
    remedy: 'Pass a longer array, or read a slice of the column.',
  });
}

/** Requires that an array still has room for `rows` elements at the end of a read. */
function requireKept(into: IntoArray, rows: number): void {
  if (into.length >= rows) return;
  throw new ArgumentError('read/into', 'The array of the option into was transferred or shrunk during the read.', {
    expected: `room for ${rows} elements until the promise settles`,
    got: `room for ${into.length}`,
    remedy: 'Await the read before you transfer the array or resize its buffer.',
  });
}

/** Reads a row count that only the device knows. */
export async function rowsIn(backend: Backend, length: DeviceLength): Promise<number> {
  const { memory, word, minus, limit } = length;
  const [count] = await backend.read(alive(memory).buffer, word, 1);
  return Math.min(limit, Math.max(0, count! - minus));
}

/** Reads the first `rows` elements of a stored column into `given`, or into a new array if `given` is undefined. */
export async function readElements(
  backend: Backend,
  column: Column,
  rows: number,
  given?: IntoArray,
): Promise<IntoArray> {
  const { source, type } = column;
  if (source.kind === 'view') throw new ArgumentError('column/view', 'A view cannot be read without storing it first.');
  if (given !== undefined) requireRoom(given, rows);
  const into = given ?? decodedArray(type, rows);
  if (rows > 0) {
    const { storage, offset, memory } = source;
    const perWord = elementsPerWord(storage);
    const first = Math.floor(offset / perWord);
    const words = Math.ceil((offset + rows) / perWord) - first;
    const take = sinkOf(into, storage, offset - first * perWord, rows);
    const rest = await backend.read(memory.buffer, first, words, take);
    // A backend that does not read in pieces returns all words instead of passing them to `take`.
    if (rest.length > 0) take(rest, 0);
  }
  if (given !== undefined) requireKept(given, rows);
  return into.length === rows ? into : into.subarray(0, rows);
}

/**
 * Makes a callback that receives words of a column, unpacks their elements and writes the elements to `into`. Over all
 * calls, the first `skipped` elements are left out, and at most `rows` elements are written.
 */
export function sinkOf(into: IntoArray, storage: Storage, skipped: number, rows: number): WordSink {
  const perWord = elementsPerWord(storage);
  return (words, at) => {
    const elements = arrayOver(words, storage);
    const first = at * perWord - skipped;
    const [from, end] = [Math.max(0, -first), Math.min(elements.length, rows - first)];
    // An array that was transferred or shrunk meanwhile takes nothing more; see `requireKept`.
    if (first + end <= into.length) into.set(elements.subarray(from, end), first + from);
  };
}
