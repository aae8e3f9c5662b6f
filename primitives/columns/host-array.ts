import { wrongArgument } from '../arguments.ts';
import type { Storage } from '../contract/backend.ts';
import type { ScalarType } from '../ir/ir.ts';
import type { Column, Table } from './column.ts';

/** Host data that becomes a column; packed types are read as u32 or i32. */
export type HostArray =
  | Uint32Array
  | Int32Array
  | Float32Array
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | readonly boolean[];

/** The column type of a host array. */
export type ColumnTypeOf<A extends HostArray> = A extends Float32Array
  ? 'f32'
  : A extends Int32Array | Int8Array | Int16Array
    ? 'i32'
    : A extends readonly boolean[]
      ? 'bool'
      : 'u32';

/** The array that `read` returns for a column; bools are bytes, 0 and 1. */
export type HostArrayOf<T extends ScalarType> = T extends 'f32'
  ? Float32Array
  : T extends 'i32'
    ? Int32Array
    : T extends 'bool'
      ? Uint8Array
      : Uint32Array;

/** The arrays that `read` returns for a table. */
export type HostTableOf<C extends Table> =
  C extends Column<infer T>
    ? HostArrayOf<T>
    : { readonly [K in keyof C]: C[K] extends Table ? HostTableOf<C[K]> : never };

/** Host data as words, with their type and storage. */
export interface EncodedArray {
  readonly type: ScalarType;
  readonly storage: Storage;
  readonly words: Uint32Array;
}

export function encode(data: HostArray): EncodedArray {
  if (data instanceof Float32Array) return { type: 'f32', storage: 'f32', words: wordsUnder(data) };
  if (data instanceof Int32Array) return { type: 'i32', storage: 'i32', words: wordsUnder(data) };
  if (data instanceof Uint32Array) return { type: 'u32', storage: 'u32', words: data };
  if (data instanceof Uint8Array) return { type: 'u32', storage: 'u8', words: wordsUnder(data) };
  if (data instanceof Uint16Array) return { type: 'u32', storage: 'u16', words: wordsUnder(data) };
  if (data instanceof Int8Array) return { type: 'i32', storage: 'i8', words: wordsUnder(data) };
  if (data instanceof Int16Array) return { type: 'i32', storage: 'i16', words: wordsUnder(data) };
  if (Array.isArray(data) && data.every((value) => typeof value === 'boolean')) {
    return { type: 'bool', storage: 'u32', words: Uint32Array.from(data, Number) };
  }
  const expected = 'a typed array of 8-, 16- or 32-bit elements, or an array of booleans';
  throw wrongArgument('column', 'data', data, expected, {
    code: 'column/host-type',
    remedy: 'Split 64-bit integers with column64(…); round f64 with Float32Array.from(…).',
  });
}

/** The words of a typed array; copied if it does not start and end at whole words. */
function wordsUnder(data: Exclude<HostArray, readonly boolean[]>): Uint32Array {
  if (data.byteOffset % 4 === 0 && data.byteLength % 4 === 0) {
    return new Uint32Array(data.buffer, data.byteOffset, data.byteLength / 4);
  }
  const bytes = new Uint8Array(Math.ceil(data.byteLength / 4) * 4);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return new Uint32Array(bytes.buffer);
}

/** The typed array for elements of a storage. */
export type StoredArrayOf<S extends Storage> = {
  readonly u32: Uint32Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly u8: Uint8Array;
  readonly i8: Int8Array;
  readonly u16: Uint16Array;
  readonly i16: Int16Array;
}[S];

/** The elements in bytes, as a typed array over the same memory. */
export function arrayOver<S extends Storage>(bytes: Uint8Array | Uint32Array, storage: S): StoredArrayOf<S> {
  const Elements = CLASSES[storage];
  const { buffer, byteOffset, byteLength } = bytes;
  const length = byteLength / Elements.BYTES_PER_ELEMENT;
  return new Elements(buffer as ArrayBuffer, byteOffset, length) as StoredArrayOf<S>;
}

const CLASSES = {
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
} as const;

/** Number of elements of a storage in one word. */
export function elementsPerWord(storage: Storage): 1 | 2 | 4 {
  return storage === 'u8' || storage === 'i8' ? 4 : storage === 'u16' || storage === 'i16' ? 2 : 1;
}

/** The arrays that words are decoded to: bools become bytes, packed integers are widened. */
export type Decoded = Uint32Array | Int32Array | Float32Array | Uint8Array;

/** A new array for decoded elements of a type. */
export function decodedArray(type: ScalarType, length: number): Decoded {
  return type === 'bool' ? new Uint8Array(length) : (new CLASSES[type](length) as Decoded);
}

/** The result of `read`, as data that becomes a column of the same type. */
export function asHostArray(type: ScalarType, data: Decoded): HostArray {
  return type === 'bool' ? Array.from(data, (value) => value !== 0) : data;
}
