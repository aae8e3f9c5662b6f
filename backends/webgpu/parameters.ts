import { capacityOf, type Length } from '../../primitives/backend.ts';
import { bitsOfF32 } from '../../primitives/functors/semantics.ts';
import type { Memory, MemoryPool } from './memory.ts';

/** Where the three words lie that a length is computed from: the raw count, what is taken off, and the limit. */
export interface LengthWords {
  readonly raw: number;
  readonly minus: number;
  readonly limit: number;
}

/** A word of device memory that is copied into the parameters before the launch. */
export interface CopiedWord {
  readonly memory: Memory;
  readonly word: number;
  readonly to: number;
}

/**
 * The words that travel with the launches of one command: offsets, lengths, uniforms. Kernels see them as uniform
 * memory, so that none of them shapes compiled code, and counts that only the device knows cost no storage binding.
 */
export interface Parameters {
  readonly words: readonly number[];
  readonly copies: readonly CopiedWord[];
  /** Adds a word and says where it lies. */
  word(value: number | boolean): number;
  /** Adds an f32 by its bits. */
  float(value: number): number;
  /** A word that the device holds; copied once a command, however often it is asked for. */
  cell(memory: Memory, word: number): number;
  length(length: Length): LengthWords;
  /** Changes a word between launches. */
  set(at: number, value: number): void;
}

export function createParameters(pool: MemoryPool): Parameters {
  const words: number[] = [];
  const copies: CopiedWord[] = [];
  const word = (value: number | boolean): number => words.push(Number(value) >>> 0) - 1;
  const cell = (memory: Memory, from: number): number => {
    const copied = copies.find((copy) => copy.memory === memory && copy.word === from);
    if (copied !== undefined) return copied.to;
    const to = word(0);
    copies.push({ memory, word: from, to });
    return to;
  };
  return {
    words,
    copies,
    word,
    cell,
    float: (value) => word(bitsOfF32(value)),
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

/** A parameter word in WGSL. */
export function parameter(at: number): string {
  return `P[${at >> 2}].${'xyzw'[at & 3]}`;
}

/** `min(limit, max(0, raw − minus))` in WGSL. */
export function lengthExpression({ raw, minus, limit }: LengthWords): string {
  return `min(${parameter(limit)}, max(${parameter(raw)}, ${parameter(minus)}) - ${parameter(minus)})`;
}

/**
 * WGSL declarations of the parameters of the command and of the dispatch. The dispatch has, first, the number of its
 * first workgroup, the grid's width and height, and a zero that no compiler can know; then words of the kernel's own.
 */
export function parameterDeclarations({ words }: Parameters): string {
  return `@group(0) @binding(0) var<uniform> P: array<vec4<u32>, ${Math.max(1, Math.ceil(words.length / 4))}>;
@group(0) @binding(1) var<uniform> D: array<vec4<u32>, 2>;`;
}

/** The dispatch's number of a workgroup in WGSL, and its word `at` of four. */
export const GROUP_NUMBER = '(D[0].x + wg.x + D[0].y * (wg.y + D[0].z * wg.z))';
export const OPAQUE_ZERO = 'D[0].w';
export function dispatchWord(at: number): string {
  return `D[1].${'xyzw'[at]}`;
}
