import { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import { capacityOf, type Length } from '../../../primitives/contract/backend.ts';
import { wordOfValue } from '../../../primitives/ir/evaluate.ts';
import type { ScalarType } from '../../../primitives/ir/ir.ts';
import type { Memory, MemoryPool } from '../memory/memory.ts';
import { TracedUniform, type UniformWord } from './traced-uniform.ts';

/** Indices of the three kernel parameters that determine a length: `min(limit, max(0, raw − minus))`. */
export interface LengthWords {
  readonly raw: number;
  readonly minus: number;
  readonly limit: number;
}

/** A kernel parameter whose value is a word of device memory. */
export interface DeviceWord {
  readonly memory: Memory;
  readonly word: number;
  /**
   * Index of the parameter to which the word is copied before a launch. If the kernel reads the word from a binding
   * instead, the parameter is the word's index in that binding.
   */
  readonly to: number;
}

/**
 * Only on a tape (recorded launches of a prepared pipeline): an addition to a parameter. Each call of the pipeline
 * passes a list of values, and element `value` of the list is added to parameter `at`.
 */
export interface Patch {
  readonly at: number;
  readonly value: number;
}

/**
 * The kernel parameters of one command: offsets, lengths and uniforms, one word each. They are passed in uniform
 * memory, so compiled code does not depend on their values.
 */
export interface Parameters {
  /** The memory of the command's buffers. */
  readonly pool: MemoryPool;
  readonly words: readonly number[];
  readonly deviceWords: readonly DeviceWord[];
  /** Only if the command is traced: the parameters that are values of uniforms. */
  readonly uniforms: readonly UniformWord[];
  /** Only on a tape (recorded launches): the parameters that each call changes by adding one of its values. */
  readonly patches: readonly Patch[];
  /** Adds a parameter and returns its index. */
  word(value: number | boolean): number;
  /** Adds the value of a uniform and returns the parameter's index. An f32 is passed by its bits. */
  uniform(type: ScalarType, value: number | boolean | TracedUniform | SymbolicUniform): number;
  /** Adds the offset of an array (the index of its first element in a memory). Returns the parameter's index. */
  offset(memory: Memory, value: number): number;
  /** Adds a word of device memory, unless the word was added before. Returns the parameter's index. */
  cell(memory: Memory, word: number): number;
  length(length: Length): LengthWords;
  /** Changes a parameter between launches. */
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
    pool,
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

/**
 * Parameter indices from `CELLS` on denote words of device memory. A command always has fewer than `CELLS` other
 * parameters.
 */
const CELLS = 2 ** 16;

/** WGSL expression of a kernel parameter. */
export function parameter(at: number): string {
  if (at >= CELLS) return `cell_${at - CELLS}()`;
  return `P[${at >> 2}].${'xyzw'[at & 3]}`;
}

/** WGSL expression of a length: `min(limit, max(0, raw − minus))`. */
export function lengthExpression({ raw, minus, limit }: LengthWords): string {
  return `min(${parameter(limit)}, max(${parameter(raw)}, ${parameter(minus)}) - ${parameter(minus)})`;
}

/**
 * WGSL declarations of the parameters of the command (`P`) and of the dispatch (`D`). For each word of device memory
 * that is read from a binding, `bound` gives the number of the binding. The words of `D` are: the index of the first
 * workgroup, the grid's width and height, a zero that the compiler cannot know, and up to four words of the kernel.
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
 * WGSL expressions: the number of a workgroup across all dispatches of a launch (`GROUP_NUMBER`), a zero that the
 * compiler cannot know (`OPAQUE_ZERO`), and word `at` of the kernel's four own words (`dispatchWord`).
 */
export const GROUP_NUMBER = '(D[0].x + wg.x + D[0].y * (wg.y + D[0].z * wg.z))';
export const OPAQUE_ZERO = 'D[0].w';
export function dispatchWord(at: number): string {
  return `D[1].${'xyzw'[at]}`;
}
