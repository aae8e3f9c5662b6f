import { wrongArgument } from '../arguments.ts';
import type { Storage } from '../backend.ts';
import type { ScalarType } from '../functors/ir.ts';
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

/** The column type that a host array becomes. */
export type ColumnTypeOf<A extends HostArray> = A extends Float32Array
  ? 'f32'
  : A extends Int32Array | Int8Array | Int16Array
    ? 'i32'
    : A extends readonly boolean[]
      ? 'bool'
      : 'u32';

/** What `read` returns for a column of a type; bools are bytes, 0 and 1. */
export type HostArrayOf<T extends ScalarType> = T extends 'f32'
  ? Float32Array
  : T extends 'i32'
    ? Int32Array
    : T extends 'bool'
      ? Uint8Array
      : Uint32Array;

/** What `read` returns for a table. */
export type HostTableOf<C extends Table> =
  C extends Column<infer T>
    ? HostArrayOf<T>
    : { readonly [K in keyof C]: C[K] extends Table ? HostTableOf<C[K]> : never };

/** Host data as words, and how they are to be read. */
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

/** The words under a typed array; copied where it does not lie on whole words. */
function wordsUnder(data: Exclude<HostArray, readonly boolean[]>): Uint32Array {
  if (data.byteOffset % 4 === 0 && data.byteLength % 4 === 0) {
    return new Uint32Array(data.buffer, data.byteOffset, data.byteLength / 4);
  }
  const bytes = new Uint8Array(Math.ceil(data.byteLength / 4) * 4);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return new Uint32Array(bytes.buffer);
}

/** Elements of a storage that lie in one word. */
export function elementsPerWord(storage: Storage): 1 | 2 | 4 {
  return storage === 'u8' || storage === 'i8' ? 4 : storage === 'u16' || storage === 'i16' ? 2 : 1;
}

/** What words are decoded to: bools are bytes, packed integers are widened. */
export type Decoded = Uint32Array | Int32Array | Float32Array | Uint8Array;

/** Words as the elements that are stored in them. */
export function decode(words: Uint32Array, storage: Storage, type: ScalarType): Decoded {
  const { buffer, byteOffset: at, byteLength: bytes } = words;
  switch (storage) {
    case 'f32':
      return new Float32Array(buffer, at, words.length);
    case 'i32':
      return new Int32Array(buffer, at, words.length);
    case 'u8':
      return Uint32Array.from(new Uint8Array(buffer, at, bytes));
    case 'u16':
      return Uint32Array.from(new Uint16Array(buffer, at, bytes / 2));
    case 'i8':
      return Int32Array.from(new Int8Array(buffer, at, bytes));
    case 'i16':
      return Int32Array.from(new Int16Array(buffer, at, bytes / 2));
    case 'u32':
      return type === 'bool' ? Uint8Array.from(words) : words;
  }
}

/** What `read` returned, as data that becomes a column of the same type. */
export function asHostArray(type: ScalarType, data: Decoded): HostArray {
  return type === 'bool' ? Array.from(data, (value) => value !== 0) : data;
}
