import { type Cache, createCache } from '../../primitives/cache.ts';
import type { Local, Module, Operand, ScalarType } from '../../primitives/functors/ir.ts';
import { call, record } from '../../primitives/functors/recorder.ts';

const known = new WeakMap<Module, Cache<string, Module>>();

/** Variants of a module that are remembered: there is one for every monoid that its results are folded with. */
const MOST_VARIANTS = 64;

/** What a module is made into, made once for every key that is used again soon. */
export function variantOf(module: Module, key: string, make: () => Module): Module {
  const made = known.get(module) ?? createCache<string, Module>({ most: MOST_VARIANTS });
  known.set(module, made);
  const found = made.get(key);
  if (found !== undefined) return found;
  const variant = make();
  made.set(key, variant);
  return variant;
}

/** A function around the entry of a module, with its arrays and uniforms under their names and some more. */
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
  const links = {
    arrays: new Map([...module.arrays.keys()].map((array) => [array, array])),
    uniforms: new Map(
      [...module.uniforms].map(([uniform, type]): [string, Operand] => [
        uniform,
        { kind: 'uniform', type, name: uniform },
      ]),
    ),
  };
  return record(signature, (locals) => body(locals, (args) => call(module, links, args)));
}

/** Calls a module that captures nothing. */
export function callPlain(module: Module, args: readonly Operand[]): Local[] {
  return call(module, { arrays: new Map(), uniforms: new Map() }, args);
}
