import { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import {
  type ArrayBinding,
  type AtomicCombination,
  type Cell,
  capacityOf,
  type Length,
  type Program,
  type Storage,
  type Store,
} from '../../../primitives/contract/backend.ts';
import { ArgumentError } from '../../../primitives/errors.ts';
import { accessPatterns } from '../../../primitives/ir/access-patterns.ts';
import { entryOf, type Module, moduleNumber, type ScalarType } from '../../../primitives/ir/ir.ts';
import { wordOfValue } from '../../../primitives/ir/semantics.ts';
import { type ArrayAccess, type Environment, scalarLocal, widthOf } from '../wasm/emit-wasm.ts';
import type { Code } from '../wasm/wasm-code.ts';
import { I32, type ValueType } from '../wasm/wasm-encoder.ts';
import { type Int32, load, loadF32, parameter, type Scalar } from '../wasm/wasm-expressions.ts';
import { assign, type Int32Local, type ScalarLocal } from '../wasm/wasm-locals.ts';
import { lower, when } from '../wasm/wasm-statements.ts';
import type { Addresses, Use } from './launch.ts';

/**
 * The arguments of a kernel, as words of shared memory. Every kernel function is called as `(arguments, chunk,
 * worker)`:
 *
 * - words 0 … 2: the extent, as the address of a count (or 0), the number to subtract, and the limit;
 * - word 3: elements a chunk;
 * - then the kernel's own words;
 * - four words per array: its address, and its length as above;
 * - one word per uniform;
 * - two words per store: the address of its first element, and its capacity.
 *
 * Only the parts in {@link KernelShape} affect compiled code.
 */
export interface KernelShape {
  readonly programs: readonly Program[];
  readonly stores: readonly Store[];
  /** Number of the kernel's own words. */
  readonly words: number;
}

/** Parameters of every kernel function. */
export const ARGUMENTS: Int32 = parameter(0);
export const CHUNK: Int32 = parameter(1);
export const WORKER: Int32 = parameter(2);
export const kernelParameters: readonly ValueType[] = [I32, I32, I32];

const HEADER_WORDS = 4;
const ARRAY_WORDS = 4;
const STORE_WORDS = 2;

/** The slots of the arrays and uniforms of several programs; equal arrays share a slot. */
export interface Layout {
  readonly arrays: readonly { readonly binding: ArrayBinding }[];
  readonly uniforms: readonly { readonly type: ScalarType; readonly value: number | boolean }[];
  /** For every program, the slot of each array or uniform, by name. */
  readonly arraySlots: readonly ReadonlyMap<string, number>[];
  readonly uniformSlots: readonly ReadonlyMap<string, number>[];
}

export function layoutOf(programs: readonly Program[]): Layout {
  const arrays: { binding: ArrayBinding }[] = [];
  const uniforms: { type: ScalarType; value: number | boolean; program: number }[] = [];
  const arraySlots: Map<string, number>[] = [];
  const uniformSlots: Map<string, number>[] = [];
  for (const [program, { module, arrays: bindings, uniforms: values }] of programs.entries()) {
    const slots = new Map<string, number>();
    for (const [name, type] of module.arrays) {
      const binding = bindings.get(name)!;
      if (type === 'f32' && widthOf(binding.storage) < 2) throw packedF32(name, binding.storage);
      const known = arrays.findIndex((other) => sameBinding(other.binding, binding));
      slots.set(name, known >= 0 ? known : arrays.push({ binding }) - 1);
    }
    arraySlots.push(slots);
    uniformSlots.push(uniformSlotsOf(module, values, program, uniforms));
  }
  return { arrays, uniforms, arraySlots, uniformSlots };
}

/** Uniforms of one program never share a slot, so that their values do not affect code. */
function uniformSlotsOf(
  module: Module,
  values: Program['uniforms'],
  program: number,
  uniforms: { type: ScalarType; value: number | boolean; program: number }[],
): Map<string, number> {
  const slots = new Map<string, number>();
  for (const [name, type] of module.uniforms) {
    const value = values.get(name)!;
    const known = uniforms.findIndex(
      (other) => other.program !== program && other.type === type && Object.is(other.value, value),
    );
    slots.set(name, known >= 0 ? known : uniforms.push({ type, value, program }) - 1);
  }
  return slots;
}

function packedF32(name: string, storage: Storage): ArgumentError {
  return new ArgumentError('program/storage', `Array ${name} holds f32, which cannot be packed.`, {
    expected: 'a storage of whole words',
    got: storage,
  });
}

function sameBinding(a: ArrayBinding, b: ArrayBinding): boolean {
  return a.buffer === b.buffer && a.storage === b.storage && a.offset === b.offset && sameLength(a.length, b.length);
}

function sameLength(a: Length, b: Length): boolean {
  if (typeof a === 'number' || typeof b === 'number') return a === b;
  return a.buffer === b.buffer && a.word === b.word && a.minus === b.minus && a.limit === b.limit;
}

/** Equal for launches that can share compiled code. */
export function shapeKey({ programs, stores }: KernelShape, { arrays, arraySlots, uniformSlots }: Layout): string {
  let key = '';
  for (const [i, { module }] of programs.entries()) {
    key += `${moduleNumber(module)}:`;
    for (const slot of arraySlots[i]!.values()) key += `${slot},`;
    for (const slot of uniformSlots[i]!.values()) key += `${slot},`;
    key += '|';
  }
  for (const { binding } of arrays) key += `${binding.storage},`;
  for (const { value, index, guard, combine } of stores) {
    key += `;${value},${index ?? ''},${guard ?? ''},${combine ?? ''}`;
  }
  return key;
}

/** A length as three words. */
export function lengthWords(length: Length, addresses: Addresses): readonly [number, number, number] {
  if (typeof length === 'number') return [0, 0, length];
  return [addresses.of(length, 1), length.minus, length.limit];
}

/** The words that a launch passes. */
export function argumentWords(
  shape: KernelShape,
  layout: Layout,
  addresses: Addresses,
  extent: readonly [number, number, number],
  chunkSize: number,
  words: readonly number[],
): number[] {
  const all = [extent[0], extent[1], extent[2], chunkSize, ...words];
  for (const { binding } of layout.arrays) {
    const [count, minus, limit] = lengthWords(binding.length, addresses);
    all.push(addresses.ofArray(binding, 2 ** widthOf(binding.storage)), count, minus, limit);
  }
  for (const { type, value } of layout.uniforms) all.push(wordOfUniform(type, value, addresses));
  for (const { buffer, offset, capacity } of shape.stores) {
    all.push(addresses.of({ buffer, word: offset }, capacity), capacity);
  }
  return all;
}

function wordOfUniform(type: ScalarType, value: number | boolean | SymbolicUniform, addresses: Addresses): number {
  return value instanceof SymbolicUniform ? addresses.ofUniform!(value) : wordOfValue(type, value);
}

/** The memory that a launch of that shape uses, including cells that it writes besides its stores. */
export function usesOf(
  shape: KernelShape,
  layout: Layout,
  addresses: Addresses,
  extent: Length,
  written: readonly Cell[],
): Use[] {
  const inPlace = shape.programs.map(
    ({ module }) => new Map([...accessPatterns(module)].map(([name, { kind }]) => [name, kind === 'index'])),
  );
  const cells = (length: Length): Use[] => (typeof length === 'number' ? [] : [cellUse(length, addresses, false)]);
  const arrays = layout.arrays.flatMap(({ binding }, slot) => {
    const { storage, length } = binding;
    const bytes = 2 ** widthOf(storage);
    const from = addresses.ofArray(binding, bytes);
    const readInPlace = inPlace.every((known, program) =>
      [...layout.arraySlots[program]!].every(([name, at]) => at !== slot || known.get(name)),
    );
    const to = from + capacityOf(length) * bytes;
    const word = HEADER_WORDS + shape.words + ARRAY_WORDS * slot;
    const read = { from, to, writes: false, inPlace: bytes === 4 && readInPlace, whole: false, word };
    return [read, ...cells(length)];
  });
  const firstStore = HEADER_WORDS + shape.words + ARRAY_WORDS * layout.arrays.length + layout.uniforms.length;
  const stores = shape.stores.map(({ buffer, offset, capacity, index, guard, combine }, k): Use => {
    const from = addresses.of({ buffer, word: offset }, capacity);
    const inPlace = index === undefined && combine === undefined;
    const whole = inPlace && guard === undefined;
    return { from, to: from + 4 * capacity, writes: true, inPlace, whole, word: firstStore + STORE_WORDS * k };
  });
  return [...arrays, ...stores, ...cells(extent), ...written.map((cell) => cellUse(cell, addresses, true))];
}

function cellUse(cell: Cell, addresses: Addresses, writes: boolean): Use {
  const from = addresses.of(cell, 1);
  return { from, to: from + 4, writes, inPlace: false, whole: false, word: undefined };
}

/** A store in the form that kernels use. */
export interface StoreTarget {
  readonly address: Int32Local;
  readonly capacity: Int32Local;
  readonly type: ScalarType;
  readonly value: number;
  readonly index: number | undefined;
  readonly guard: number | undefined;
  readonly combine: AtomicCombination | undefined;
}

/** The locals that hold a kernel's arguments. */
export interface KernelInputs {
  readonly extent: Int32Local;
  readonly environments: readonly Environment[];
  readonly arrays: readonly ArrayAccess[];
  readonly uniforms: readonly ScalarLocal[];
  readonly stores: readonly StoreTarget[];
}

/** Reads the arguments into locals. `results` are the types of the results that stores refer to. */
export function emitInputs(
  code: Code,
  { programs, stores, words }: KernelShape,
  layout: Layout,
  results: readonly ScalarType[],
): KernelInputs {
  let word = HEADER_WORDS + words;
  const next = (count: number): number => {
    word += count;
    return word - count;
  };
  const arrays = layout.arrays.map(({ binding: { storage } }): ArrayAccess => {
    const first = next(ARRAY_WORDS);
    return { storage, address: emitWord(code, first), length: emitLength(code, first + 1) };
  });
  const uniforms = layout.uniforms.map(({ type }) => emitUniform(code, next(1), type));
  const targets = stores.map(({ value, index, guard, combine }): StoreTarget => {
    const first = next(STORE_WORDS);
    const chosen = { type: results[value]!, value, index, guard, combine };
    return { address: emitWord(code, first), capacity: emitWord(code, first + 1), ...chosen };
  });
  const environments = programs.map(({ module }, i): Environment => {
    const named = <T>(slots: ReadonlyMap<string, number>, from: readonly T[]): Map<string, T> =>
      new Map([...slots].map(([name, slot]) => [name, from[slot]!]));
    return {
      module,
      arrays: named(layout.arraySlots[i]!, arrays),
      uniforms: named(layout.uniformSlots[i]!, uniforms),
    };
  });
  return { extent: emitLength(code, 0), environments, arrays, uniforms, stores: targets };
}

/** The types of the results of a program, which stores refer to. */
export function resultsOf({ module }: Program): readonly ScalarType[] {
  return entryOf(module).results;
}

/** Reads one of the kernel's own words into a local. */
export function emitOwnWord(code: Code, word: number): Int32Local {
  return emitWord(code, HEADER_WORDS + word);
}

/** The same word, read where the expression is used. */
export function ownWord(word: number): Int32 {
  return load(ARGUMENTS, ownWordOffset(word));
}

/** Words that locate the memory of the thread or chunk. */
export interface OwnMemoryWords {
  /** The address of the threads' own memory, and the bytes of each thread. */
  readonly own: number;
  readonly ownBytes: number;
  /** Whether there are fewer chunks than threads; then memory is assigned by chunk. */
  readonly byChunk: number;
}

/** The address of the own memory for this chunk. */
export function emitOwnMemory(code: Code, words: OwnMemoryWords): Int32Local {
  const memory = emitOwnWord(code, words.own);
  const bytes = emitOwnWord(code, words.ownBytes);
  const byChunk = emitOwnWord(code, words.byChunk);
  memory.set(memory.add(bytes.mul(byChunk.select(CHUNK, WORKER))));
  for (const local of [bytes, byChunk]) code.release(local);
  return memory;
}

/** Byte offset of one of the kernel's own words in the arguments. */
export function ownWordOffset(word: number): number {
  return 4 * (HEADER_WORDS + word);
}

/** The elements of a chunk. */
export const CHUNK_SIZE: Int32 = load(ARGUMENTS, 12);

function emitWord(code: Code, word: number): Int32Local {
  const local = code.local(I32);
  local.set(load(ARGUMENTS, 4 * word));
  return local;
}

function emitUniform(code: Code, word: number, type: ScalarType): ScalarLocal {
  const local = scalarLocal(code, type);
  assign(local, loadScalar(type, ARGUMENTS, 4 * word));
  return local;
}

/** Reads the length that starts at a word of the arguments into a local. */
function emitLength(code: Code, word: number): Int32Local {
  const length = emitWord(code, word + 2);
  const count = code.local(I32);
  const minus = code.local(I32);
  when(code, count.tee(load(ARGUMENTS, 4 * word)), () => {
    count.set(load(count));
    minus.set(load(ARGUMENTS, 4 * (word + 1)));
    lower(code, length, restOf(count, minus));
  });
  code.release(count);
  code.release(minus);
  return length;
}

/** `max(0, count − minus)`; both are unsigned. */
export function restOf(count: Int32, minus: Int32): Int32 {
  return count.gtU(minus).select(count.sub(minus), 0);
}

/** The chunk's range of indices: locals of the first index and of the end. */
export function emitChunk(code: Code, extent: Int32): { readonly from: Int32Local; readonly to: Int32Local } {
  const from = code.local(I32);
  const to = code.local(I32);
  from.set(to.tee(CHUNK_SIZE).mul(CHUNK));
  lower(code, from, extent);
  lower(code, to, extent.sub(from));
  to.set(from.add(to));
  return { from, to };
}

/** A scalar from a word `offset` bytes behind an address. */
export function loadScalar(type: ScalarType, address: Int32, offset = 0): Scalar {
  return type === 'f32' ? loadF32(address, offset) : load(address, offset);
}
