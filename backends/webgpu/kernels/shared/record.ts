import type { MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { entryOf, moduleNumber, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { noSlots } from '../../../analyses/straight-line.ts';
import { fromWord, type LinkedProgram, toWord } from '../../launches/link.ts';
import { emitModule, resultOf, type Shader, type WgslEnvironment } from '../../wgsl/emit-wgsl.ts';
import { emitLiteral } from '../../wgsl/wgsl-operations.ts';

/**
 * WGSL of a monoid: the struct `S` of its states, with a field for every leaf (scalar component), and the functions
 * `combine(a, b)` and `identity()`.
 */
export function emitMonoid({ module, types, identity }: MonoidProgram, shader: Shader): string {
  const functions = emitModule(module, { ...shader, prefix: 'm_', ...noCaptures });
  const fields = (of: string): string => types.map((_, leaf) => `${of}.a${leaf}`).join(', ');
  const literals = types.map((type, leaf) => emitLiteral({ kind: 'literal', type, value: identity[leaf]! }));
  return `struct S { ${types.map((type, leaf) => `a${leaf}: ${type}`).join(', ')} }
${functions}
fn combine(a: S, b: S) -> S { let r = m_entry(${fields('a')}, ${fields('b')}); return ${stateOf('r', types)}; }
fn identity() -> S { return S(${literals.join(', ')}); }`;
}

/** The captures of a monoid's functions, which are none. */
export const noCaptures: Pick<WgslEnvironment, 'read' | 'length' | 'uniform'> = {
  read: noSlots.array,
  length: noSlots.array,
  uniform: noSlots.uniform,
};

export function monoidKey({ module, identity }: MonoidProgram): string {
  return `${moduleNumber(module)}[${identity.map((value) => (Object.is(value, -0) ? '-0' : value)).join()}]`;
}

/** WGSL that builds a state from the results of a function call. */
function stateOf(results: string, types: readonly ScalarType[]): string {
  return `S(${types.map((_, leaf) => resultOf(results, leaf, types.length)).join(', ')})`;
}

/** WGSL of `evaluate(i) -> S`, which calls the entry of a program. */
export function emitEvaluation({ prefix, module }: LinkedProgram): string {
  const { results } = entryOf(module);
  return `fn evaluate(i: u32) -> S { let r = ${prefix}entry(i); return ${stateOf('r', results)}; }`;
}

/**
 * WGSL of a function `name(i) -> S` that reads state `i`, whose leaves (scalar components) are `stride` words apart.
 */
export function emitStateLoad(name: string, slot: number, stride: string, types: readonly ScalarType[]): string {
  const leaves = types.map((type, leaf) => fromWord(type, `load_${slot}(i + ${leaf}u * ${stride})`));
  return `fn ${name}(i: u32) -> S { return S(${leaves.join(', ')}); }`;
}

/** WGSL of a function `name(i, s)` that writes state `i`, whose leaves (scalar components) are `stride` words apart. */
export function emitStateStore(name: string, slot: number, stride: string, types: readonly ScalarType[]): string {
  const leaves = types.map((type, leaf) => `store_${slot}(i + ${leaf}u * ${stride}, ${toWord(type, `s.a${leaf}`)});`);
  return `fn ${name}(i: u32, s: S) { ${leaves.join(' ')} }`;
}

/**
 * WGSL of a workgroup array of states, with `put(t, s)` and `take(t)`. With a name, they are `put_name` and `take_name`.
 */
export function emitSharedStates(types: readonly ScalarType[], size: number, name = ''): string {
  const [end, array] = [name === '' ? '' : `_${name}`, `w${name}`];
  const arrays = types.map((type, leaf) => `var<workgroup> ${array}${leaf}: array<${type}, ${size}>;`);
  const put = types.map((_, leaf) => `${array}${leaf}[t] = s.a${leaf};`);
  const take = types.map((_, leaf) => `${array}${leaf}[t]`);
  return `${arrays.join('\n')}
fn put${end}(t: u32, s: S) { ${put.join(' ')} }
fn take${end}(t: u32) -> S { return S(${take.join(', ')}); }`;
}
