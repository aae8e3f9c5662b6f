import type { Program } from '../../primitives/contract/backend.ts';
import { type ArrayReader, type CompiledEntry, compileJavaScript } from './emit-javascript.ts';
import type { HostMemory } from './memory.ts';

/** Compiles a program into a function that takes arguments, such as the launch index, and returns the results. */
export function bind(memory: HostMemory, program: Program): CompiledEntry {
  return compileJavaScript(program.module)(readersOf(memory, program), program.uniforms);
}

/** The arrays of a program in the form that compiled code reads. */
export function readersOf(memory: HostMemory, { module, arrays }: Program): Map<string, ArrayReader> {
  return new Map([...module.arrays].map(([name, type]) => [name, memory.reader(arrays.get(name)!, type)]));
}
