import type {
  ArrayBinding,
  Backend,
  DeviceBuffer,
  Length,
  MonoidProgram,
  Program,
  StateLeaf,
  Store,
} from '../contract/backend.ts';
import { Let, Var } from '../functors/control.ts';
import { u32 } from '../functors/functor.ts';
import { call, literal, record } from '../functors/recorder.ts';
import { ArrayValue, type U32, Value, type Variable } from '../functors/value.ts';
import { callPlain, linksTo } from '../functors/wrap-module.ts';
import { type Module, oneOf, type ScalarType } from '../ir/ir.ts';

type Values = Value<ScalarType>[];

/** A whole buffer, bound as an array of u32 words. */
export function wordsAt(buffer: DeviceBuffer, length: Length): BoundArray {
  return leafAt({ buffer, type: 'u32', offset: 0 }, length);
}

/** The stored values of a leaf (a scalar field of a state), bound as an array. */
export function leafAt({ buffer, type, offset }: StateLeaf, length: Length): BoundArray {
  return { type, binding: { buffer, storage: type === 'bool' ? 'u32' : type, offset, length } };
}

/** An array that a program reads, and the memory that is bound to this array. */
export interface BoundArray {
  readonly type: ScalarType;
  readonly binding: ArrayBinding;
}

/** Records a call of an inner program in the body under construction. Returns the results of the call. */
export type Called = (args: Values) => Values;

/** What {@link assemble} builds a program from. Uniforms are u32, and the parameters come after the index. */
export interface Given {
  readonly arrays?: { readonly [name: string]: BoundArray };
  readonly uniforms?: { readonly [name: string]: number };
  readonly programs?: { readonly [name: string]: Program };
  readonly parameters?: readonly ScalarType[];
}

/** Handles to the arrays, uniforms and inner programs, for use in the body of the program under construction. */
export interface Inside {
  readonly arrays: { readonly [name: string]: ArrayValue<ScalarType> };
  readonly uniforms: { readonly [name: string]: U32 };
  readonly programs: { readonly [name: string]: Called };
  readonly parameters: Values;
}

/** Where the module of a program is kept that takes long to record. */
export interface KeptModule {
  get(): Module | undefined;
  set(module: Module): void;
}

/**
 * Builds a program from a body, which may use arrays, uniforms and other programs. If a module is kept, the body is not
 * recorded again.
 */
export function assemble(
  name: string,
  results: readonly ScalarType[],
  { arrays = {}, uniforms = {}, programs = {}, parameters = [] }: Given,
  body: (index: U32, inside: Inside) => Values,
  kept?: KeptModule,
): Program {
  const bound = new Map(Object.entries(arrays).map(([key, { binding }]) => [key, binding]));
  const types = new Map(Object.entries(arrays).map(([key, { type }]) => [key, type]));
  const numbers = new Map<string, number | boolean>(Object.entries(uniforms));
  const numberTypes = new Map<string, ScalarType>(Object.keys(uniforms).map((key) => [key, 'u32']));
  const nameIn = (prefix: string) => (key: string) => `${prefix} ${key}`;
  for (const [prefix, { module, arrays, uniforms }] of Object.entries(programs)) {
    const named = nameIn(prefix);
    for (const [key, binding] of arrays) bound.set(named(key), binding);
    for (const [key, type] of module.arrays) types.set(named(key), type);
    for (const [key, value] of uniforms) numbers.set(named(key), value);
    for (const [key, type] of module.uniforms) numberTypes.set(named(key), type);
  }
  const known = kept?.get();
  if (known !== undefined) return { module: known, arrays: bound, uniforms: numbers };
  const signature = {
    name,
    parameters: ['u32' as const, ...parameters],
    results,
    arrays: types,
    uniforms: numberTypes,
  };
  const recorded = record(signature, (locals) => {
    const [index, ...rest] = locals.map((local) => new Value(local));
    const inside: Inside = {
      arrays: Object.fromEntries(Object.entries(arrays).map(([key, { type }]) => [key, new ArrayValue(key, type)])),
      uniforms: Object.fromEntries(
        Object.keys(uniforms).map((key) => [key, new Value<'u32'>({ kind: 'uniform', type: 'u32', name: key })]),
      ),
      programs: Object.fromEntries(
        Object.entries(programs).map(([prefix, { module }]) => [
          prefix,
          (args: Values) => {
            const operands = args.map(({ operand }) => operand);
            return call(module, linksTo(module, nameIn(prefix)), operands).map((local) => new Value(local));
          },
        ]),
      ),
      parameters: rest,
    };
    return body(index as U32, inside).map(({ operand }) => operand);
  });
  const module = oneOf(recorded);
  kept?.set(module);
  return { module, arrays: bound, uniforms: numbers };
}

/** Sets words of a buffer to zero. */
export function zeroWords(backend: Backend, extent: Length, at: Pick<Store, 'buffer' | 'offset' | 'capacity'>): void {
  const program = assemble('zeros', ['u32'], {}, () => [u32(0)]);
  backend.run({ kind: 'forEach', extent, program, stores: [{ ...at, value: 0 }] });
}

/** Runs commands that need memory of their own, which is released after them. */
export function withBuffers(
  backend: Pick<Backend, 'allocate' | 'release'>,
  run: (take: (words: number) => DeviceBuffer) => void,
): void {
  const taken: DeviceBuffer[] = [];
  try {
    run((words) => {
      taken.push(backend.allocate(words));
      return taken.at(-1)!;
    });
  } finally {
    for (const buffer of taken) backend.release(buffer);
  }
}

/** Variables with the identity of a monoid. */
export function neutral({ types, identity }: MonoidProgram): Variable<ScalarType>[] {
  return identity.map((leaf, k) => Var(new Value(literal(types[k]!, leaf))));
}

/** Combines the values of variables with further values, by a monoid. */
export function addTo(folded: readonly Variable<ScalarType>[], next: Values, { module }: MonoidProgram): void {
  const operands = [...folded.map(Let), ...next].map(({ operand }) => operand);
  const combined = callPlain(module, operands);
  for (const [k, leaf] of folded.entries()) leaf.set(new Value(combined[k]!) as never);
}
