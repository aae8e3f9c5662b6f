import type { Local, Module, Operand, ScalarType } from '../ir/ir.ts';
import { createVariants } from '../ir/memo.ts';
import { call, type Links, record } from './recorder.ts';

/** Maximum number of cached variants of a module. Each monoid that folds the module's results needs one variant. */
const MAX_VARIANTS = 64;

/** Returns the variant of a module for a key. `make` is called only if the variant is not in the cache. */
export const variantOf: (module: Module, key: string, make: () => Module) => Module = createVariants(MAX_VARIANTS);

/**
 * A function that is put around a module's entry function. The arrays and uniforms of the module keep their names; the
 * wrapping function may add its own.
 */
export interface Wrapping {
  readonly name: string;
  readonly parameters: readonly ScalarType[];
  readonly results: readonly ScalarType[];
  readonly arrays?: ReadonlyMap<string, ScalarType>;
  readonly uniforms?: ReadonlyMap<string, ScalarType>;
  readonly body: (parameters: readonly Local[], entry: (args: readonly Operand[]) => Local[]) => readonly Operand[];
}

export function wrapModule(module: Module, { name, parameters, results, arrays, uniforms, body }: Wrapping): Module {
  const signature = {
    name,
    parameters,
    results,
    arrays: new Map([...module.arrays, ...(arrays ?? [])]),
    uniforms: new Map([...module.uniforms, ...(uniforms ?? [])]),
  };
  const links = linksTo(module);
  return record(signature, (locals) => body(locals, (args) => call(module, links, args)));
}

/** Links the arrays and uniforms of a module to those of its caller that have the same names, or names made of them. */
export function linksTo({ arrays, uniforms }: Module, nameOf: (name: string) => string = (name) => name): Links {
  const operands = [...uniforms].map(([name, type]): [string, Operand] => [
    name,
    { kind: 'uniform', type, name: nameOf(name) },
  ]);
  return { arrays: new Map([...arrays.keys()].map((name) => [name, nameOf(name)])), uniforms: new Map(operands) };
}

/** Records a call of a module that has no arrays or uniforms. */
export function callPlain(module: Module, args: readonly Operand[]): Local[] {
  return call(module, { arrays: new Map(), uniforms: new Map() }, args);
}
