import { wrongArgument } from '../checks/arguments.ts';
import type { Storage } from '../contract/backend.ts';
import type { ScalarType } from '../ir/ir.ts';

/** Host data that can be copied into a column. Elements of 8 or 16 bits become u32 or i32 when read. */
export type HostArray =
  | Uint32Array
  | Int32Array
  | Float32Array
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | readonly boolean[];

type TypedArray = Exclude<HostArray, readonly boolean[]>;

/** The scalar type of a column made from a host array. */
export type ColumnTypeOf<A extends HostArray> = A extends Float32Array
  ? 'f32'
  : A extends Int32Array | Int8Array | Int16Array
    ? 'i32'
    : A extends readonly boolean[]
      ? 'bool'
      : 'u32';

/** The typed array that `read` returns for a column. Bools are returned as bytes, 0 and 1. */
export type HostArrayOf<T extends ScalarType> = T extends 'f32'
  ? Float32Array
  : T extends 'i32'
    ? Int32Array
    : T extends 'bool'
      ? Uint8Array
      : Uint32Array;

/** Host data as 32-bit words, with the element type and the storage format. */
export interface EncodedArray {
  readonly type: ScalarType;
  readonly storage: Storage;
  readonly words: Uint32Array;
}

/**
 * Requires that the memory of an array still exists. An array has length 0 once its buffer was transferred, or was
 * resized so that the array reaches beyond its end.
 */
export function requireMemory(array: unknown, argument: string, call: string, code: string): void {
  if (!ArrayBuffer.isView(array) || array.byteLength > 0) return;
  try {
    // Methods of typed arrays throw for an array without memory. An empty array is no error.
    (array as Uint8Array).indexOf(0);
  } catch {
    throw wrongArgument(call, argument, array, 'an array whose buffer was neither transferred nor shrunk', {
      code,
      remedy: 'Transfer a copy (array.slice()), or make a new array.',
    });
  }
}

export function encode(data: HostArray): EncodedArray {
  requireMemory(data, 'data', 'column', 'column/host-type');
  const storage = STORAGES.find((each) => data instanceof CLASSES[each]);
  if (storage !== undefined) return { type: scalarOf(storage), storage, words: wordsUnder(data as TypedArray) };
  if (Array.isArray(data) && data.every((value) => typeof value === 'boolean')) {
    return { type: 'bool', storage: 'u32', words: Uint32Array.from(data, Number) };
  }
  const expected = 'a typed array of 8-, 16- or 32-bit elements, or an array of booleans';
  throw wrongArgument('column', 'data', data, expected, {
    code: 'column/host-type',
    remedy: 'Split 64-bit integers with column64(…); round f64 with Float32Array.from(…).',
  });
}

/** The bytes of a typed array as 32-bit words. The data is copied unless it starts and ends on a word boundary. */
function wordsUnder(data: TypedArray): Uint32Array {
  if (data.byteOffset % 4 === 0 && data.byteLength % 4 === 0) {
    return new Uint32Array(data.buffer, data.byteOffset, data.byteLength / 4);
  }
  const bytes = new Uint8Array(Math.ceil(data.byteLength / 4) * 4);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return new Uint32Array(bytes.buffer);
}

/** The typed array that holds elements of a storage format. */
export type StoredArrayOf<S extends Storage> = {
  readonly u32: Uint32Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly u8: Uint8Array;
  readonly i8: Int8Array;
  readonly u16: Uint16Array;
  readonly i16: Int16Array;
}[S];

/** A typed array of the storage's element type over the given memory, without a copy. */
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

export const STORAGES: readonly Storage[] = Object.keys(CLASSES) as Storage[];

/** Number of bytes of an element in a storage format. */
export function bytesOf(storage: Storage): number {
  return CLASSES[storage].BYTES_PER_ELEMENT;
}

/** Number of elements that one 32-bit word holds in a storage format. */
export function elementsPerWord(storage: Storage): 1 | 2 | 4 {
  return (4 / bytesOf(storage)) as 1 | 2 | 4;
}

/** The type as which elements of a storage format are read. */
export function scalarOf(storage: Storage): 'u32' | 'i32' | 'f32' {
  return storage === 'f32' ? 'f32' : storage.startsWith('i') ? 'i32' : 'u32';
}

/** The typed arrays that reads return. Bools are unpacked to bytes, and packed integers are widened to 32 bits. */
export type Decoded = Uint32Array | Int32Array | Float32Array | Uint8Array;

/** A new typed array for `length` decoded elements of a scalar type. */
export function decodedArray(type: ScalarType, length: number): Decoded {
  return type === 'bool' ? new Uint8Array(length) : (new CLASSES[type](length) as Decoded);
}

/**
 * Converts the result of `read` to an array from which a column of the same type can be made: for bools, an array of
 * booleans.
 */
export function asHostArray(type: ScalarType, data: Decoded): HostArray {
  return type === 'bool' ? Array.from(data, (value) => value !== 0) : data;
}
