import { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import { capacityOf, type Length } from '../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../primitives/ir/ir.ts';
import { wordOfValue } from '../../../primitives/ir/semantics.ts';
import type { Memory, MemoryPool } from '../memory/memory.ts';
import { TracedUniform, type UniformWord } from './traced-uniform.ts';

/** The parameters that a length is computed from: the raw count, what is taken off, and the limit. */
export interface LengthWords {
  readonly raw: number;
  readonly minus: number;
  readonly limit: number;
}

/** A word of device memory among the parameters. */
export interface DeviceWord {
  readonly memory: Memory;
  readonly word: number;
  /** The parameter that it is copied to before a launch, or that says where a kernel reads it. */
  readonly to: number;
}

/** On a tape: a word to which one of the values of a call is added. */
export interface Patch {
  readonly at: number;
  readonly value: number;
}

/**
 * The words that travel with the launches of one command: offsets, lengths, uniforms. Kernels see them as uniform
 * memory, so that none of them shapes compiled code.
 */
export interface Parameters {
  readonly words: readonly number[];
  readonly deviceWords: readonly DeviceWord[];
  /** The words that are uniforms of a command that is traced. */
  readonly uniforms: readonly UniformWord[];
  /** Words to which a value of each call is added. */
  readonly patches: readonly Patch[];
  /** Adds a word and says where it lies. */
  word(value: number | boolean): number;
  /** Adds the value of a uniform, an f32 by its bits. */
  uniform(type: ScalarType, value: number | boolean | TracedUniform | SymbolicUniform): number;
  /** The first element of an array in a memory. */
  offset(memory: Memory, value: number): number;
  /** A word that the device holds: one, however often it is asked for. */
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

/** Where the numbers of device words begin; other parameters are fewer. */
const CELLS = 2 ** 16;

/** A parameter word in WGSL. */
export function parameter(at: number): string {
  if (at >= CELLS) return `cell_${at - CELLS}()`;
  return `P[${at >> 2}].${'xyzw'[at & 3]}`;
}

/** `min(limit, max(0, raw − minus))` in WGSL. */
export function lengthExpression({ raw, minus, limit }: LengthWords): string {
  return `min(${parameter(limit)}, max(${parameter(raw)}, ${parameter(minus)}) - ${parameter(minus)})`;
}

/**
 * WGSL declarations of the parameters of the command, of whose device words some are read from a binding, and of the
 * dispatch. The dispatch has, first, the number of its
 * first workgroup, the grid's width and height, and a zero that no compiler can know; then words of the kernel's own.
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

/** The dispatch's number of a workgroup in WGSL, and its word `at` of four. */
export const GROUP_NUMBER = '(D[0].x + wg.x + D[0].y * (wg.y + D[0].z * wg.z))';
export const OPAQUE_ZERO = 'D[0].w';
export function dispatchWord(at: number): string {
  return `D[1].${'xyzw'[at]}`;
}
