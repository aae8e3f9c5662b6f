import type { Column } from '../../primitives/columns/column.ts';
import type { HostArray } from '../../primitives/columns/host-array.ts';
import type { HostKind } from '../arbitraries/host-kinds.ts';
import type { Leaves, MonoidSample } from '../arbitraries/monoids.ts';
import type { HostTable } from './compare.ts';

export type HostColumns = { readonly [name: string]: HostArray };

export function rowsIn(columns: HostColumns): number {
  return Object.values(columns)[0]!.length;
}

/** Converts host columns to one list of numbers per row. Bools become 0 and 1. */
export function leavesOf(columns: HostColumns): Leaves[] {
  const arrays = Object.values(columns);
  return Array.from({ length: rowsIn(columns) }, (_, i) => arrays.map((array) => Number(array[i])));
}

/** Converts rows to columns, in the form in which `Context.read` returns a table of the monoid's shape. */
export function tableOf(sample: MonoidSample, rows: readonly Leaves[]): HostTable {
  const fields = Object.entries(sample.fields);
  const columns = fields.map(
    ([name, kind], leaf) =>
      [
        name,
        arrayOf(
          kind,
          rows.map((row) => row[leaf]!),
        ),
      ] as const,
  );
  return isScalarSample(sample) ? columns[0]![1] : Object.fromEntries(columns);
}

/** Converts values to the array type that `Context.read` returns for a column of the kind. */
function arrayOf(kind: HostKind, values: readonly number[]): ArrayLike<number> {
  switch (kind) {
    case 'f32':
    case 'normal':
    case 'calm':
    case 'sign':
      return Float32Array.from(values);
    case 'i32':
    case 'i8':
    case 'i16':
      return Int32Array.from(values);
    case 'bool':
      return Uint8Array.from(values);
    default:
      return Uint32Array.from(values);
  }
}

function isScalarSample({ fields }: MonoidSample): boolean {
  return 'value' in fields;
}

/**
 * The input of a primitive for a monoid: its single column if it is over scalars, otherwise a table of its fields. The
 * table has its fields in another order than the monoid, because primitives match fields by name.
 */
export function inputOf(sample: MonoidSample, table: { readonly [name: string]: Column }): never {
  const fields = Object.fromEntries(Object.keys(sample.fields).map((name) => [name, table[name]!]));
  return (isScalarSample(sample) ? fields.value : backwards(fields)) as never;
}

/** The fields of a record in reverse order. */
export function backwards<R extends object>(fields: R): R {
  return Object.fromEntries(Object.entries(fields).reverse()) as R;
}

/**
 * Gathers rows of host columns. The result has the form in which `Context.read` returns a table. Floats keep all their
 * bits.
 */
export function take(columns: HostColumns, rows: readonly number[]): { readonly [name: string]: HostTable } {
  return Object.fromEntries(Object.entries(columns).map(([name, array]) => [name, takeArray(array, rows)]));
}

export function takeArray(array: HostArray, rows: readonly number[]): ArrayLike<number> {
  if (array instanceof Float32Array) {
    const words = new Uint32Array(array.buffer, array.byteOffset, array.length);
    return new Float32Array(Uint32Array.from(rows, (row) => words[row]!).buffer);
  }
  if (Array.isArray(array)) return Uint8Array.from(rows, (row) => Number(array[row]));
  const signed = array instanceof Int32Array || array instanceof Int16Array || array instanceof Int8Array;
  const values = rows.map((row) => Number(array[row]));
  return signed ? Int32Array.from(values) : Uint32Array.from(values);
}
