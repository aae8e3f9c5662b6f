import { GraphError } from '../../primitives/checks/errors.ts';

/** Version of the wire form. Both sides of a queue must have the same version. */
export const WIRE_VERSION = 2;

/** First byte of each value in the wire form. A change of these numbers needs a new {@link WIRE_VERSION}. */
export const TAGS = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  number: 4,
  bigint: 5,
  utf8: 6,
  /** A text with lone surrogates, which UTF-8 cannot hold, as UTF-16 code units. */
  utf16: 7,
  array: 8,
  object: 9,
  /** An object without a prototype. */
  bareObject: 10,
  map: 11,
  set: 12,
  buffer: 13,
  typedArray: 14,
  column: 15,
  /** An object that was written before in the same value. */
  known: 16,
  /** The shape of a grid, its rows and its columns, before the column that has it. */
  grid: 17,
} as const;

/** The names of the typed arrays. The position of a name is the number of the type in the wire form. */
const TYPED_ARRAYS = [
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
  'Float16Array',
] as const;

export interface TypedArrayClass {
  readonly BYTES_PER_ELEMENT: number;
  readonly prototype: object;
  new (buffer: ArrayBuffer): ArrayBufferView;
}

/** The classes of the typed arrays by number. A platform may lack some. */
export const typedArrayClasses: readonly (TypedArrayClass | undefined)[] = TYPED_ARRAYS.map(
  (name) => (globalThis as unknown as Record<string, TypedArrayClass | undefined>)[name],
);

export const typedArrayName = (kind: number): string => TYPED_ARRAYS[kind] ?? `typed array ${kind}`;

/** The types of columns. The position of a type is its number in the wire form. */
export const COLUMN_TYPES = ['f32', 'i32', 'u32', 'bool'] as const;

/** Maximum number of objects and arrays inside one another. */
export const MAX_DEPTH = 500;
/** Maximum number of hexadecimal digits of a bigint. */
export const MAX_DIGITS: number = 2 ** 20;

/** The error for bytes that are not a value in the wire form. */
export function badBytes(reason: string, byte: number): GraphError {
  return new GraphError('graph/remote-bytes', `A message between processes is damaged: ${reason}.`, {
    remedy: 'Run the same version of the package in all processes, and check the store that messages pass through.',
    place: { byte },
  });
}
