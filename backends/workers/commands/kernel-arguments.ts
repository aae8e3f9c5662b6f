import { ArgumentError } from '../../../primitives/checks/errors.ts';
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
import { accessPatterns } from '../../../primitives/ir/access-patterns.ts';
import { wordOfValue } from '../../../primitives/ir/evaluate.ts';
import { entryOf, type Module, moduleNumber, type ScalarType } from '../../../primitives/ir/ir.ts';
import { type ArrayAccess, type Environment, scalarLocal, widthOf } from '../wasm/emit-wasm.ts';
import { Code } from '../wasm/wasm-code.ts';
import { I32, type ValueType } from '../wasm/wasm-encoder.ts';
import { type Int32, load, loadF32, parameter, type Scalar } from '../wasm/wasm-expressions.ts';
import { assign, type Int32Local, type ScalarLocal } from '../wasm/wasm-locals.ts';
import { lower, when } from '../wasm/wasm-statements.ts';
import type { Addresses, Launcher, Use } from './launch.ts';

/**
 * The parts of a kernel's arguments on which compiled code depends. The arguments are consecutive words of shared
 * memory. Every kernel function is called as `(arguments, chunk, worker)`, where `arguments` is the address of these
 * words:
 *
 * - words 0 … 2: the extent: the address of a count, the number to subtract from the count, and the limit; if the
 *   address is 0, the extent is the limit;
 * - word 3: the number of elements per chunk;
 * - the kernel-specific words;
 * - four words per array: its address, then its length, in three words like those of the extent;
 * - one word per uniform;
 * - two words per store: the address of its first element, and its capacity.
 *
 * Compiled code depends only on {@link KernelShape}, not on the values of these words.
 */
export interface KernelShape {
  readonly programs: readonly Program[];
  readonly stores: readonly Store[];
  /** Number of kernel-specific words. */
  readonly words: number;
  readonly layout: Layout;
}

export function shapeOf(programs: readonly Program[], words: number, stores: readonly Store[] = []): KernelShape {
  return { programs, stores, words, layout: layoutOf(programs) };
}

/**
 * The first parameter of every kernel function: the address of the arguments. The other two parameters are the number
 * of the chunk (`CHUNK`) and the number of the worker (`WORKER`).
 */
export const ARGUMENTS: Int32 = parameter(0);
export const CHUNK: Int32 = parameter(1);
export const WORKER: Int32 = parameter(2);
export const kernelParameters: readonly ValueType[] = [I32, I32, I32];

const HEADER_WORDS = 4;
const ARRAY_WORDS = 4;
const STORE_WORDS = 2;

/** The argument slots of the arrays and uniforms of several programs. Arrays with equal bindings share a slot. */
export interface Layout {
  readonly arrays: readonly { readonly binding: ArrayBinding }[];
  readonly uniforms: readonly { readonly type: ScalarType; readonly value: number | boolean }[];
  /** For each program, a map from the name of an array or uniform to its slot. */
  readonly arraySlots: readonly ReadonlyMap<string, number>[];
  readonly uniformSlots: readonly ReadonlyMap<string, number>[];
}

function layoutOf(programs: readonly Program[]): Layout {
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

/**
 * Assigns slots to the uniforms of a program. Two uniforms of one program get separate slots even if their values are
 * equal, so that compiled code does not depend on the values.
 */
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

/** The cache key of compiled code. Launches with equal keys can share the code. */
export function shapeKey({ programs, stores, layout: { arrays, arraySlots, uniformSlots } }: KernelShape): string {
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

/**
 * A length as three argument words: the address of a count, the number to subtract from the count, and the limit. If
 * the address is 0, the length is the limit.
 */
export function lengthWords(length: Length, addresses: Addresses): readonly [number, number, number] {
  if (typeof length === 'number') return [0, 0, length];
  return [addresses.of(length, 1), length.minus, length.limit];
}

/** The argument words of a launch, in the order that {@link KernelShape} describes. */
export function argumentWords(
  { layout, stores }: KernelShape,
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
  for (const { buffer, offset, capacity } of stores) {
    all.push(addresses.of({ buffer, word: offset }, capacity), capacity);
  }
  return all;
}

function wordOfUniform(type: ScalarType, value: number | boolean | SymbolicUniform, addresses: Addresses): number {
  return value instanceof SymbolicUniform ? addresses.ofUniform!(value) : wordOfValue(type, value);
}

/**
 * Returns the ranges of memory that a launch reads and writes: arrays, stores, the counts to which lengths refer, and
 * the words in `written`.
 */
export function usesOf(shape: KernelShape, addresses: Addresses, extent: Length, written: readonly Cell[]): Use[] {
  const { layout } = shape;
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

/**
 * A store whose address and capacity are in locals. `value`, `index` and `guard` are positions in the program's
 * results.
 */
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
  readonly shape: KernelShape;
  readonly extent: Int32Local;
  readonly environments: readonly Environment[];
  readonly arrays: readonly ArrayAccess[];
  readonly uniforms: readonly ScalarLocal[];
  readonly stores: readonly StoreTarget[];
}

/**
 * Emits code that loads the arguments into locals. `results` lists the types of the results, to which the stores refer
 * by position.
 */
export function emitInputs(code: Code, shape: KernelShape, results: readonly ScalarType[] = []): KernelInputs {
  const { programs, stores, words, layout } = shape;
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
  return { shape, extent: emitLength(code, 0), environments, arrays, uniforms, stores: targets };
}

/** Begins the code of a kernel function, without inputs. */
export function kernelCode(): Code {
  return new Code(kernelParameters, WORKER);
}

/** Begins the code of a kernel function. */
export function beginKernel(
  shape: KernelShape,
  results?: readonly ScalarType[],
): { readonly code: Code; readonly inputs: KernelInputs } {
  const code = kernelCode();
  return { code, inputs: emitInputs(code, shape, results) };
}

/** The result types of a program. Stores refer to results by position. */
export function resultsOf({ module }: Program): readonly ScalarType[] {
  return entryOf(module).results;
}

/** Loads a kernel-specific argument word into a new local. */
export function emitOwnWord(code: Code, word: number): Int32Local {
  return emitWord(code, HEADER_WORDS + word);
}

/** A kernel-specific argument word as an expression, which loads the word at every use. */
export function ownWord(word: number): Int32 {
  return load(ARGUMENTS, ownWordOffset(word));
}

/**
 * Takes private memory of `bytes` bytes for each thread, and returns three kernel-specific words for
 * {@link emitOwnMemory}: its address, `bytes`, and whether there are fewer chunks than threads. If so, the memory
 * belongs to chunks instead of threads.
 */
export function takeOwnMemory({ workers, scratch }: Launcher, bytes: number, chunks: number): number[] {
  return [scratch(bytes * Math.max(1, Math.min(workers, chunks))), bytes, Number(chunks < workers)];
}

/**
 * Loads the address of the private memory for the current chunk into a local. `word` is the index of the first of the
 * three kernel-specific words of {@link takeOwnMemory}.
 */
export function emitOwnMemory(code: Code, word: number): Int32Local {
  const [memory, bytes, byChunk] = [emitOwnWord(code, word), emitOwnWord(code, word + 1), emitOwnWord(code, word + 2)];
  memory.set(memory.add(bytes.mul(byChunk.select(CHUNK, WORKER))));
  for (const local of [bytes, byChunk]) code.release(local);
  return memory;
}

/** Byte offset of a kernel-specific word from the start of the arguments. */
export function ownWordOffset(word: number): number {
  return 4 * (HEADER_WORDS + word);
}

/** Argument word 3: the number of elements per chunk. */
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

/** Loads a length into a local. `word` is the number of the first of its three argument words. */
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

/** Loads a length into a local. `word` is the index of the first of its three kernel-specific words. */
export function emitOwnLength(code: Code, word: number): Int32Local {
  return emitLength(code, HEADER_WORDS + word);
}

/** `max(0, count − minus)` for unsigned operands: the part of a count that remains after `minus` is subtracted. */
export function restOf(count: Int32, minus: Int32): Int32 {
  return count.gtU(minus).select(count.sub(minus), 0);
}

/** The range of indices of the current chunk, as locals. `to` is exclusive. */
export function emitChunk(code: Code, extent: Int32): { readonly from: Int32Local; readonly to: Int32Local } {
  const from = code.local(I32);
  const to = code.local(I32);
  from.set(to.tee(CHUNK_SIZE).mul(CHUNK));
  lower(code, from, extent);
  lower(code, to, extent.sub(from));
  to.set(from.add(to));
  return { from, to };
}

/** The range of the items `0 … size − 1` that the current chunk of `chunkSize` items processes. `to` is exclusive. */
export function emitRange(
  code: Code,
  size: Int32,
  chunkSize: Int32 | number,
): { readonly from: Int32; readonly to: Int32 } {
  const [from, to] = [code.local(I32), code.local(I32)];
  to.set(from.tee(CHUNK.mul(chunkSize)).add(chunkSize));
  lower(code, to, size);
  return { from, to };
}

/** Returns an expression that loads a scalar from `address + offset`, where `offset` is in bytes. */
export function loadScalar(type: ScalarType, address: Int32, offset = 0): Scalar {
  return type === 'f32' ? loadF32(address, offset) : load(address, offset);
}
