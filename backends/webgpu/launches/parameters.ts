import { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import { capacityOf, type Length } from '../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../primitives/ir/ir.ts';
import { wordOfValue } from '../../../primitives/ir/semantics.ts';
import type { Memory, MemoryPool } from '../memory/memory.ts';
import { TracedUniform, type UniformWord } from './traced-uniform.ts';

/** Indices of the parameters that a length is computed from: the raw count, the number to subtract, and the limit. */
export interface LengthWords {
  readonly raw: number;
  readonly minus: number;
  readonly limit: number;
}

/** A parameter that is a word of device memory. */
export interface DeviceWord {
  readonly memory: Memory;
  readonly word: number;
  /**
   * Index of the parameter that it is copied to before a launch, or, if a kernel reads it from a binding, that holds
   * its place.
   */
  readonly to: number;
}

/** Only on a tape: adds one of the call's values to a word. */
export interface Patch {
  readonly at: number;
  readonly value: number;
}

/**
 * The words passed to the launches of one command: offsets, lengths, uniforms. Kernels see them as uniform memory, so
 * none of them affects compiled code.
 */
export interface Parameters {
  readonly words: readonly number[];
  readonly deviceWords: readonly DeviceWord[];
  /** If the command is traced: the words that are uniforms. */
  readonly uniforms: readonly UniformWord[];
  /** Words to which a value of each call is added. */
  readonly patches: readonly Patch[];
  /** Adds a word; returns its index. */
  word(value: number | boolean): number;
  /** Adds the value of a uniform; an f32 by its bits. */
  uniform(type: ScalarType, value: number | boolean | TracedUniform | SymbolicUniform): number;
  /** Adds the index of the first element of an array in a memory. */
  offset(memory: Memory, value: number): number;
  /** Adds a word of device memory; the same word is added only once. */
  cell(memory: Memory, word: number): number;
  length(length: Length): LengthWords;
  /** Changes a word between launches. */
  set(at: number, value: number): void;
}

export function createParameters(pool: MemoryPool): Parameters {
  const words: number[] = [];
  const deviceWords: DeviceWord[] = [];
  const uniforms: UniformWord[] = [];
  const patches: Patch[] = [];
  const word = (value: number | boolean): number => words.push(Number(value) >>> 0) - 1;
  const addPatch = (at: number, value: number): number => {
    patches.push({ at, value });
    return at;
  };
  const offset = ({ offsetValue }: Memory, value: number): number =>
    offsetValue === undefined ? word(value) : addPatch(word(value), offsetValue);
  const patched = (value: number): number =>
    patches.find((patch) => patch.value === value)?.at ?? addPatch(word(0), value);
  const cell = (memory: Memory, from: number): number => {
    if (memory.valuesFrom !== undefined) return patched(memory.valuesFrom + from);
    const known = deviceWords.findIndex((each) => each.memory === memory && each.word === from);
    return CELLS + (known < 0 ? deviceWords.push({ memory, word: from, to: offset(memory, 0) }) - 1 : known);
  };
  return {
    words,
    deviceWords,
    uniforms,
    patches,
    word,
    offset,
    cell,
    uniform(type, given) {
      if (given instanceof SymbolicUniform) return patched(given.word);
      const value = given instanceof TracedUniform ? given.value : given;
      const at = word(wordOfValue(type, value));
      if (given instanceof TracedUniform) uniforms.push({ at, uniform: given.uniform, type });
      return at;
    },
    length(length) {
      const device = typeof length !== 'number';
      const raw = device ? cell(pool.resolve(length.buffer), length.word) : word(length);
      return { raw, minus: word(device ? length.minus : 0), limit: word(capacityOf(length)) };
    },
    set(at, value) {
      words[at] = value >>> 0;
    },
  };
}

/** Indices from here on are device words; there are fewer other parameters. */
const CELLS = 2 ** 16;

/** The WGSL expression for a parameter word. */
export function parameter(at: number): string {
  if (at >= CELLS) return `cell_${at - CELLS}()`;
  return `P[${at >> 2}].${'xyzw'[at & 3]}`;
}

/** The WGSL expression `min(limit, max(0, raw − minus))`. */
export function lengthExpression({ raw, minus, limit }: LengthWords): string {
  return `min(${parameter(limit)}, max(${parameter(raw)}, ${parameter(minus)}) - ${parameter(minus)})`;
}

/**
 * WGSL declarations of the command's parameters, some of whose device words are read from a binding, and of the
 * dispatch's. The dispatch's words are the index of its first workgroup, the grid's width and height, and a zero that
 * the compiler cannot know; the kernel's own words follow.
 */
export function parameterDeclarations(
  { words, deviceWords }: Parameters,
  bound: readonly (number | undefined)[],
): string {
  const cells = deviceWords.map(({ to }, k) => {
    const value = bound[k] === undefined ? parameter(to) : `load_${bound[k]}(${parameter(to)})`;
    return `\nfn cell_${k}() -> u32 { return ${value}; }`;
  });
  return `@group(0) @binding(0) var<uniform> P: array<vec4<u32>, ${Math.max(1, Math.ceil(words.length / 4))}>;
@group(0) @binding(1) var<uniform> D: array<vec4<u32>, 2>;${cells.join('')}`;
}

/**
 * The WGSL expressions for a workgroup's index across dispatches, for the opaque zero, and for word `at` of the
 * kernel's own four.
 */
export const GROUP_NUMBER = '(D[0].x + wg.x + D[0].y * (wg.y + D[0].z * wg.z))';
export const OPAQUE_ZERO = 'D[0].w';
export function dispatchWord(at: number): string {
  return `D[1].${'xyzw'[at]}`;
}
