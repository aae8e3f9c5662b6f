import type { MonoidProgram, Program, Store } from '../../primitives/contract/backend.ts';
import { entryOf, type Module } from '../../primitives/ir/ir.ts';
import { combinations } from '../common/atomic-combinations.ts';
import { type Bindings, compileLoop, type PlainValue } from './emit-javascript.ts';
import type { HostMemory } from './memory.ts';
import { readersOf } from './programs.ts';

/** What a loop reads beside the programs that it calls, by name. */
type Values = { readonly [name: string]: unknown };

/**
 * A value of a monoid, or the results of a program: a scalar if there is one leaf (component), else an array. Rows by
 * the million take a fifth of the memory this way.
 */
export type State = PlainValue | readonly PlainValue[];

/**
 * Runs the body of a function, written as JavaScript, which calls the entries of `programs` by their names and reads
 * `values` by theirs. An entry returns an array of results.
 */
export function runLoop(
  memory: HostMemory,
  programs: { readonly [entry: string]: Program | MonoidProgram },
  values: Values,
  body: string,
): unknown {
  const modules: { [entry: string]: Module } = {};
  const bindings: { [entry: string]: Bindings } = {};
  for (const [name, program] of Object.entries(programs)) {
    modules[name] = program.module;
    bindings[name] =
      'arrays' in program
        ? { arrays: readersOf(memory, program), uniforms: program.uniforms }
        : { arrays: new Map(), uniforms: new Map() };
  }
  return compileLoop(modules, Object.keys(values), body)(bindings, values);
}

/** The names of the leaves of a value, as arguments: `names('e', 2)` is `e0, e1`. */
export function names(prefix: string, leaves: number): string {
  return Array.from({ length: leaves }, (_, leaf) => `${prefix}${leaf}`).join(', ');
}

/** The same as one `State`, to take it apart or make it: `[e0, e1]`, or `e0` if it is alone. */
export function state(prefix: string, leaves: number): string {
  return leaves === 1 ? `${prefix}0` : `[${names(prefix, leaves)}]`;
}

/** A function that combines two values of a monoid. */
export function combinerOf(memory: HostMemory, monoid: MonoidProgram): (left: State, right: State) => State {
  const leaves = monoid.types.length;
  const body = `return (${state('a', leaves)}, ${state('b', leaves)}) => {
  const [${names('c', leaves)}] = combine(${names('a', leaves)}, ${names('b', leaves)});
  return ${state('c', leaves)};
};`;
  return runLoop(memory, { combine: monoid }, {}, body) as (left: State, right: State) => State;
}

/** The leaves of a value. */
export function leavesOf(value: State): readonly PlainValue[] {
  return typeof value === 'object' ? value : [value];
}

/** A value as a `State`. */
export function stateOf(leaves: readonly PlainValue[]): State {
  return leaves.length === 1 ? leaves[0]! : leaves;
}

/** Statements that store `results`, an array, for row `i`. They read {@link targetsOf}. */
export function storing(program: Program, stores: readonly Store[]): string {
  const types = entryOf(program.module).results;
  const statements = stores.map(({ value, index, guard, combine }, k) => {
    const target = `target${k}`;
    const row = index === undefined ? 'i' : `results[${index}]`;
    const guarded = guard === undefined ? '' : `results[${guard}] && `;
    const word = types[value] === 'f32' ? `bitsOfF32(results[${value}])` : `(results[${value}] >>> 0)`;
    const stored = `${target}.words[${target}.offset + ${row}]`;
    const next = combine === undefined ? word : `combinations.${combine}(${stored}, ${word})`;
    return `if (${guarded}${row} < ${target}.capacity) ${stored} = ${next};`;
  });
  return statements.join('\n');
}

/** What the text of {@link storing} reads. */
export function targetsOf(memory: HostMemory, stores: readonly Store[]): Values {
  const targets = stores.map(({ buffer, offset, capacity }, k) => [
    `target${k}`,
    { words: memory.resolve(buffer).views.u32, offset, capacity },
  ]);
  return { combinations, ...Object.fromEntries(targets) };
}
