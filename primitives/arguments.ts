import { ArgumentError } from './errors.ts';
import { type FunctorDescription, isFunctor } from './functors/functor.ts';
import type { Module, ScalarType } from './functors/ir.ts';
import { flawOfShape, isScalarType, type Shape } from './functors/shapes.ts';
import { describeGiven, isPromise, isRecord } from './given.ts';
import type { FieldKinds, Flaw, Homes, Kind } from './kinds.ts';

/** The error of an argument that is not what it should be; of a promise it says so, whatever the code. */
export function wrongArgument(
  call: string,
  argument: string,
  given: unknown,
  expected: string,
  { code = 'argument/type', remedy }: { readonly code?: string | undefined; readonly remedy?: string | undefined } = {},
): ArgumentError {
  const got = describeGiven(given);
  if (isPromise(given)) return promiseGiven(call, argument, expected);
  return new ArgumentError(code, `${call} cannot take what it was given as ${argument}.`, { expected, got, remedy });
}

/** The error of a part of an argument that is not what it has to be. */
export function flawError(call: string, { path, part, expected, code, remedy, sentence }: Flaw): ArgumentError {
  if (sentence === undefined) return wrongArgument(call, path, part, expected, { code, remedy });
  const got = typeof part === 'string' ? part : describeGiven(part);
  return new ArgumentError(code!, sentence(call), { expected, got, remedy });
}

/** The error of a promise where what it resolves to is wanted. */
export function promiseGiven(call: string, argument: string, expected: string): ArgumentError {
  return new ArgumentError('argument/promise', `${call} was given a promise as ${argument}.`, {
    expected,
    got: 'a promise',
    remedy: 'An await is missing: write await before what makes it.',
  });
}

/** What {@link fn} or {@link wgsl} returned. */
export function requireFunctor(call: string, argument: string, given: unknown): asserts given is FunctorDescription {
  if (isFunctor(given)) return;
  throw wrongArgument(call, argument, given, 'a functor', {
    code: 'argument/functor',
    remedy: 'Write it with fn(…) or wgsl(…): a plain JavaScript function cannot run on a device.',
  });
}

/** A record of anything, which is looked into later. */
export function requireRecord(call: string, argument: string, given: unknown, expected = 'a record'): void {
  if (!isRecord(given)) throw wrongArgument(call, argument, given, expected);
}

/** Anything but a promise. */
export function requireNoPromise(call: string, argument: string, given: unknown): void {
  if (isPromise(given)) throw promiseGiven(call, argument, 'what it resolves to');
}

/** A function of JavaScript. */
export function requireFunction(call: string, argument: string, given: unknown): void {
  if (typeof given !== 'function') throw wrongArgument(call, argument, given, 'a function');
}

/** An array of anything. */
export function requireArray(
  call: string,
  argument: string,
  given: unknown,
  expected = 'an array',
  remedy?: string,
): void {
  if (Array.isArray(given)) return;
  throw wrongArgument(call, argument, given, expected, remedy === undefined ? {} : { remedy });
}

/** A finite number. */
export function requireNumber(call: string, argument: string, given: unknown): asserts given is number {
  if (!Number.isFinite(given)) throw wrongArgument(call, argument, given, 'a finite number');
}

/** One of several words. */
export function requireOneOf(
  call: string,
  argument: string,
  given: unknown,
  words: readonly string[],
  code?: string,
): void {
  if (typeof given === 'string' && words.includes(given)) return;
  throw wrongArgument(call, argument, given, words.join(', '), code === undefined ? {} : { code });
}

/** A scalar type, one of the given ones. */
export function requireScalar(call: string, argument: string, given: unknown, types: readonly ScalarType[]): void {
  if (isScalarType(given) && types.includes(given.type)) return;
  throw wrongArgument(call, argument, given, types.join(' or '), { code: 'argument/shape' });
}

/** A shape: a scalar type or a record of shapes. */
export function requireShape(call: string, argument: string, given: unknown): asserts given is Shape {
  const flaw = flawOfShape(given, argument);
  if (flaw === undefined) return;
  throw wrongArgument(call, flaw.path, flaw.part, 'u32, i32, f32, bool or a record of these', {
    code: 'argument/shape',
  });
}

/**
 * Ends with an error at the first argument that is not of its kind, and where columns and contexts do not belong together. Takes
 * the arguments of a call by their names; not for what is called for every row.
 */
export function requireArguments<A>(call: string, given: A, kinds: FieldKinds<A>): void {
  const homes: Homes = new Map();
  for (const [name, kind] of Object.entries<Kind>(kinds)) {
    const flaw = kind(given[name as keyof A], name, homes);
    if (flaw !== undefined) throw flawError(call, flaw);
  }
  const [first, ...others] = homes;
  const stranger = others.find(([, home]) => home !== first![1]);
  if (stranger === undefined) return;
  throw new ArgumentError('column/contexts', `${call} was given columns of different contexts.`, {
    expected: `${stranger[0]} in the context of ${first![0]}`,
    got: 'a column of another one',
    remedy: 'Move it with context.adopt(column).',
  });
}

/** The functions of a compiled functor, as backends take them. */
export function requireModule(call: string, argument: string, given: Module): void {
  const { functions, arrays, uniforms } = (given ?? {}) as Partial<Module>;
  const isModule = Array.isArray(functions) && functions.length > 0 && arrays instanceof Map && uniforms instanceof Map;
  if (isModule) return;
  throw wrongArgument(call, argument, given, 'the module of a functor', { remedy: 'Give functor.module.' });
}
