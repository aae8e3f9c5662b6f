import type { MonoidProgram, Program } from '../../primitives/contract/backend.ts';
import { type CompiledEntry, compileJavaScript, type PlainValue } from './emit-javascript.ts';
import type { HostMemory } from './memory.ts';

/** A value of a monoid, as one scalar per leaf (component). */
export type State = readonly PlainValue[];

/** Compiles a program into a function that takes arguments, such as the launch index, and returns the results. */
export function bind(memory: HostMemory, { module, arrays, uniforms }: Program): CompiledEntry {
  const readers = [...module.arrays].map(([name, type]) => [name, memory.reader(arrays.get(name)!, type)] as const);
  return compileJavaScript(module)(new Map(readers), uniforms);
}

/** Compiles a monoid into a function that combines two values. */
export function combinerOf(monoid: MonoidProgram): (left: State, right: State) => State {
  const entry = compileJavaScript(monoid.module)(new Map(), new Map());
  return (left, right) => entry(...left, ...right);
}
