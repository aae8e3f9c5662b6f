import type { ArrayBinding, Backend, DeviceBuffer, Program, Storage } from '../../primitives/contract/backend.ts';
import type { Module } from '../../primitives/ir/ir.ts';
import { bitsOfF32 } from '../../primitives/ir/semantics.ts';

/** An array that a program reads: its words in memory, and how they are stored. */
export interface Capture {
  readonly words: Uint32Array;
  readonly storage?: Storage;
  readonly offset?: number;
  readonly length: number;
}

/** Makes a program of a module whose first parameter is the index, and uploads the arrays that it reads. */
export function bind(
  backend: Backend,
  module: Module,
  arrays: { readonly [name: string]: Capture } = {},
  uniforms: { readonly [name: string]: number | boolean } = {},
): Program {
  const bindings = Object.entries(arrays).map(([name, capture]): [string, ArrayBinding] => {
    const { storage = 'u32', offset = 0, length, words } = capture;
    return [name, { buffer: upload(backend, words), storage, offset, length }];
  });
  return { module, arrays: new Map(bindings), uniforms: new Map(Object.entries(uniforms)) };
}

export function upload(backend: Backend, words: Uint32Array): DeviceBuffer {
  const buffer = backend.allocate(Math.max(1, words.length));
  backend.write(buffer, 0, words);
  return buffer;
}

/** Converts f32 values to words. */
export function wordsOfF32(values: Iterable<number>): Uint32Array {
  return Uint32Array.from(values, bitsOfF32);
}

/** Pseudorandom words by Marsaglia's xorshift; equal seeds give equal words. */
export function randomWords(length: number, seed = 1): Uint32Array {
  let state = (seed * 2654435769) >>> 0 || 1;
  return Uint32Array.from({ length }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  });
}
