import type { ArrayBinding, DeviceBuffer, Length, Program, StateLeaf } from '../contract/backend.ts';
import { call, record } from '../functors/recorder.ts';
import { ArrayValue, type U32, Value } from '../functors/value.ts';
import { type Operand, oneOf, type ScalarType } from '../ir/ir.ts';

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

/** The arrays, uniforms and inner programs from which {@link assemble} builds a program. */
export interface Given {
  readonly arrays?: { readonly [name: string]: BoundArray };
  readonly uniforms?: { readonly [name: string]: ScalarType };
  readonly programs?: { readonly [name: string]: Program };
}

/** Handles to the arrays, uniforms and inner programs, for use in the body of the program under construction. */
export interface Inside {
  readonly arrays: { readonly [name: string]: ArrayValue<ScalarType> };
  readonly uniforms: { readonly [name: string]: U32 };
  readonly programs: { readonly [name: string]: Called };
  readonly parameters: Values;
}

/**
 * Builds a program from a body, which may use arrays, uniforms and other programs. The caller sets the values of the
 * uniforms later.
 */
export function assemble(
  name: string,
  results: readonly ScalarType[],
  { arrays = {}, uniforms = {}, programs = {} }: Given,
  body: (index: U32, inside: Inside) => Values,
  parameters: readonly ScalarType[] = [],
): Program {
  const bound = new Map(Object.entries(arrays).map(([key, { binding }]) => [key, binding]));
  const types = new Map(Object.entries(arrays).map(([key, { type }]) => [key, type]));
  const numbers = new Map<string, number | boolean>();
  const numberTypes = new Map(Object.entries(uniforms));
  const links = new Map<string, Parameters<typeof call>[1]>();
  for (const [prefix, { module, arrays, uniforms }] of Object.entries(programs)) {
    const named = (key: string): string => `${prefix} ${key}`;
    for (const [key, binding] of arrays) bound.set(named(key), binding);
    for (const [key, type] of module.arrays) types.set(named(key), type);
    for (const [key, value] of uniforms) numbers.set(named(key), value);
    for (const [key, type] of module.uniforms) numberTypes.set(named(key), type);
    links.set(prefix, {
      arrays: new Map([...module.arrays.keys()].map((key) => [key, named(key)])),
      uniforms: new Map(
        [...module.uniforms].map(([key, type]): [string, Operand] => [
          key,
          { kind: 'uniform', type, name: named(key) },
        ]),
      ),
    });
  }
  const signature = {
    name,
    parameters: ['u32' as const, ...parameters],
    results,
    arrays: types,
    uniforms: numberTypes,
  };
  const module = record(signature, (locals) => {
    const [index, ...rest] = locals.map((local) => new Value(local));
    const inside: Inside = {
      arrays: Object.fromEntries(Object.entries(arrays).map(([key, { type }]) => [key, new ArrayValue(key, type)])),
      uniforms: Object.fromEntries(
        Object.entries(uniforms).map(([key, type]) => [key, new Value({ kind: 'uniform', type, name: key }) as U32]),
      ),
      programs: Object.fromEntries(
        Object.entries(programs).map(([prefix, { module }]) => [
          prefix,
          (args: Values) =>
            call(
              module,
              links.get(prefix)!,
              args.map(({ operand }) => operand),
            ).map((local) => new Value(local)),
        ]),
      ),
      parameters: rest,
    };
    return body(index as U32, inside).map(({ operand }) => operand);
  });
  return { module: oneOf(module), arrays: bound, uniforms: numbers };
}
