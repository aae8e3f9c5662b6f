import { describeGiven, isRecord } from '../checks/given.ts';
import type { LocalArray as Declared, Operand, ScalarType } from '../ir/ir.ts';
import { declareArray, functorError, literal, operate, readLocal, writeLocal, wrongInput } from './recorder.ts';
import { type I32, type Input, operandOf, requireOperand, type U32, Value } from './value.ts';
import type { InputsFor, RecordOfValues } from './variables.ts';

/** Maximum length of a local array: one element for each value of a byte. */
export const MAX_LENGTH = 256;

/** What selects an element of a local array: a number that is known when the functor is recorded, or a u32 or i32. */
export type LocalIndex = number | U32 | I32;

/** What {@link LocalArray} returns: an array of values, or of records of values. */
export type LocalArrayOf<V> = V extends Value<infer T> ? LocalValues<T> : LocalRecords<V>;

/** An array of values inside a functor. */
export class LocalValues<T extends ScalarType> {
  readonly length: number;
  readonly #array: Declared;

  constructor(array: Declared) {
    this.#array = array;
    this.length = array.length;
  }

  /** The element at `index` as it is now; zero or false if the index is not below the length. */
  at(index: LocalIndex): Value<T> {
    return new Value<T>(readLocal(this.#array, placeOf(index, this.length)));
  }

  /** Writes the element at `index`. Writes nothing if the index is not below the length. */
  set(index: LocalIndex, value: Input<T>): void {
    writeLocal(this.#array, placeOf(index, this.length), operandOf(this.#array.type, value));
  }
}

/** An array of records of values inside a functor. */
export class LocalRecords<R> {
  readonly length: number;
  readonly #fields: Fields;

  constructor(length: number, fields: Fields) {
    this.length = length;
    this.#fields = fields;
  }

  /** The record at `index` as it is now; zero or false in every field if the index is not below the length. */
  at(index: LocalIndex): ReadOf<R> {
    return readFields(this.#fields, index) as ReadOf<R>;
  }

  /** Writes the record at `index`. Writes nothing if the index is not below the length. */
  set(index: LocalIndex, values: InputsFor<R>): void {
    writeFields(this.#fields, index, values, '');
  }
}

/** A record as `at` reads it: its fields are values, whatever they were made of. */
export type ReadOf<R> = { readonly [K in keyof R]: R[K] extends Value<infer T> ? Value<T> : ReadOf<R[K]> };

/**
 * An array of fixed length inside a functor, of values or of records of values. Each row has its own. All elements begin
 * with `value`; `at(index)` reads and `set(index, value)` writes an element. An index may be any u32 or i32. If it is not
 * below the length, or is negative, a read gives zero (or false) and a write does nothing, on every backend.
 *
 * Where all indices of an array are numbers that are known when the functor is recorded, as in loops of JavaScript, its
 * elements are variables: they are kept in registers and run in vectors. Computed indices cost about a read of a column
 * each, on GPUs more, where such an array lies in memory: keep it short.
 *
 * @param length - the number of elements: a whole number from 1 to 256. All local arrays of a functor have at most 1024
 * elements together; a record counts as one for each field.
 * @param value - what all elements begin with: a value of the functor, such as `f32(Infinity)`, or a record of these.
 * @throws FunctorError `functor/argument` if the length is not such a number or the value has no type,
 * `functor/size` if there are more elements, `functor/index` if an index is a number that the array does not have,
 * `functor/type` if a value or index is of another type.
 * @example
 * // The three least of each row's numbers, by insertion into a sorted array.
 * const leastThree = fn({ row: u32, x: array(f32) }, { a: f32, b: f32, c: f32 }, ({ row, x }) => {
 *   const least = LocalArray(3, f32(Infinity));
 *   For(0, 5, (column) => {
 *     const rest = Var(x.at(row.mul(5).add(column)));
 *     for (let k = 0; k < 3; k++) {
 *       const kept = least.at(k);
 *       least.set(k, kept.min(rest));
 *       rest.set(kept.max(rest));
 *     }
 *   });
 *   return { a: least.at(0), b: least.at(1), c: least.at(2) };
 * });
 * const x = ctx.column(Float32Array.of(5, 3, 9, 1, 4, 2, 2, 8, 7, 6));
 * await ctx.read(map(leastThree, { row: sequence(2), x }));
 * // { a: Float32Array [1, 2], b: Float32Array [3, 2], c: Float32Array [4, 6] }
 *
 * // The most frequent of five digits, by a small histogram: indices are computed.
 * const mode = fn({ row: u32, digits: array(u32) }, u32, ({ row, digits }) => {
 *   const counts = LocalArray(10, u32(0));
 *   const best = Var(u32(0));
 *   For(0, 5, (k) => {
 *     const digit = digits.at(row.mul(5).add(k));
 *     counts.set(digit, counts.at(digit).add(1));
 *     If(counts.at(digit).gt(counts.at(best)), () => best.set(digit));
 *   });
 *   return best;
 * });
 * const digits = ctx.column(Uint32Array.of(3, 1, 3, 2, 1, 7, 9, 9, 7, 9));
 * await ctx.read(map(mode, { row: sequence(2), digits })); // Uint32Array [3, 9]
 */
export function LocalArray<V extends Value<ScalarType> | RecordOfValues>(length: number, value: V): LocalArrayOf<V>;
export function LocalArray(length: number, value: unknown): LocalValues<ScalarType> | LocalRecords<unknown> {
  if (!Number.isInteger(length) || length < 1 || length > MAX_LENGTH) {
    const remedy = 'The length must be a number that is known when the functor is recorded.';
    throw wrongInput('LocalArray', 'length', length, `a whole number from 1 to ${MAX_LENGTH}`, remedy);
  }
  if (value instanceof Value || !isRecord(value)) return valuesOf(length, value, 'value');
  if (Object.keys(value).length === 0) {
    throw wrongInput('LocalArray', 'value', value, 'a value of the functor, or a record of these with a field');
  }
  return new LocalRecords(length, fieldsOf(length, value, 'value'));
}

type Fields = { readonly [field: string]: LocalValues<ScalarType> | Fields };

function valuesOf(length: number, value: unknown, path: string): LocalValues<ScalarType> {
  return new LocalValues(declareArray(length, requireOperand('LocalArray', path, value)));
}

function fieldsOf(length: number, record: object, path: string): Fields {
  const fields = Object.entries(record).map(([name, field]) => {
    const own = `${path}.${name}`;
    const isNested = !(field instanceof Value) && isRecord(field);
    return [name, isNested ? fieldsOf(length, field, own) : valuesOf(length, field, own)];
  });
  return Object.fromEntries(fields);
}

function readFields(fields: Fields, index: LocalIndex): RecordOfValues {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      field instanceof LocalValues ? field.at(index) : readFields(field, index),
    ]),
  );
}

function writeFields(fields: Fields, index: LocalIndex, values: unknown, path: string): void {
  const given = isRecord(values) && !(values instanceof Value) ? values : {};
  const stranger = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
  if (stranger !== undefined) {
    throw functorError('extra-field', `The array has no field ${path}${stranger}.`, 'Leave it out.');
  }
  for (const [name, field] of Object.entries(fields)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined) {
      const remedy = 'Give every field. The others are those of at(index).';
      throw functorError('missing-field', `set is missing the value of ${path}${name}.`, remedy);
    }
    if (field instanceof LocalValues) field.set(index, value as Input<ScalarType>);
    else writeFields(field, index, value, `${path}${name}.`);
  }
}

/** The index of an element as a u32. Negative numbers become numbers that no array has. */
function placeOf(index: unknown, length: number): Operand {
  if (typeof index === 'number') {
    if (Number.isInteger(index) && index >= 0 && index < length) return literal('u32', index);
    const remedy = `Its elements are at(0) to at(${length - 1}).`;
    throw functorError('index', `A local array of ${length} has no element at ${index}.`, remedy);
  }
  const operand = index instanceof Value ? index.operand : undefined;
  if (operand?.type === 'u32') return operand;
  if (operand?.type === 'i32') return operate('bits', [operand], 'u32');
  const got = operand?.type ?? describeGiven(index);
  throw functorError('type', `Expected u32 or i32 as an index, got ${got}.`, 'Convert with u32(…).');
}
