import { type FunctorDescription, isFunctor } from '../functors/functor.ts';
import { OwnedParameter } from '../functors/owned.ts';
import { flawOfShape, isScalarType, type Shape } from '../functors/shapes.ts';
import type { Module, ScalarType } from '../ir/ir.ts';
import { ArgumentError } from './errors.ts';
import { describeGiven, isPromise, isRecord } from './given.ts';
import { type FieldKinds, type Flaw, flawOfOptions, type Homes, type Kind } from './kinds.ts';

/** The error for an invalid argument. If the argument is a promise, the error says so and has the code for promises. */
export function wrongArgument(
  call: string,
  argument: string,
  given: unknown,
  expected: string,
  { code = 'argument/type', remedy }: { readonly code?: string | undefined; readonly remedy?: string | undefined } = {},
): ArgumentError {
  const got = describeGiven(given);
  if (isPromise(given)) return promiseGiven(call, argument, expected);
  return new ArgumentError(code, `Argument ${argument} of ${call} is invalid.`, { expected, got, remedy });
}

/** The error for an argument that contains an invalid part, such as a field or an element. */
function flawError(call: string, { path, part, expected, code, remedy, sentence }: Flaw): ArgumentError {
  if (sentence === undefined) return wrongArgument(call, path, part, expected, { code, remedy });
  const got = typeof part === 'string' ? part : describeGiven(part);
  return new ArgumentError(code!, sentence(call), { expected, got, remedy });
}

/** The error for a promise passed as an argument instead of the value to which it resolves. */
export function promiseGiven(call: string, argument: string, expected: string): ArgumentError {
  return new ArgumentError('argument/promise', `${call} was given a promise as ${argument}.`, {
    expected,
    got: 'a promise',
    remedy: 'An await is missing: await the value before you pass it.',
  });
}

/** Requires that the argument is a functor, as {@link fn} and {@link wgsl} return it; otherwise throws. */
export function requireFunctor(call: string, argument: string, given: unknown): asserts given is FunctorDescription {
  requireAnyFunctor(call, argument, given);
  const name = ownedIn(given);
  if (name === undefined) return;
  throw new ArgumentError(
    'functor/owned',
    `Functor ${given.functorName} writes ${name}, which ${call} does not allow.`,
    {
      expected: 'a functor without owned(…) parameters',
      got: `${name}: owned(…)`,
      remedy: 'Run it with forEachStrip.',
    },
  );
}

/** As {@link requireFunctor}, but the functor may also write owned columns. */
export function requireAnyFunctor(call: string, argument: string, given: unknown): asserts given is FunctorDescription {
  if (isFunctor(given)) return;
  throw wrongArgument(call, argument, given, 'a functor', {
    code: 'argument/functor',
    remedy: 'Write it with fn(…) or wgsl(…): a plain JavaScript function cannot run on a device.',
  });
}

function ownedIn({ parameters }: FunctorDescription): string | undefined {
  for (const name in parameters) if (parameters[name] instanceof OwnedParameter) return name;
  return undefined;
}

/** Requires that the argument is a record. The caller checks its fields. */
export function requireRecord(call: string, argument: string, given: unknown, expected = 'a record'): void {
  if (!isRecord(given)) throw wrongArgument(call, argument, given, expected);
}

/** Throws if the argument is a promise, for example because `await` was forgotten. */
export function requireNoPromise(call: string, argument: string, given: unknown): void {
  if (isPromise(given)) throw promiseGiven(call, argument, 'the value it resolves to');
}

/** Requires that the argument is a JavaScript function. */
export function requireFunction(call: string, argument: string, given: unknown): void {
  if (typeof given !== 'function') throw wrongArgument(call, argument, given, 'a function');
}

/** Requires that the argument is an array, with elements of any kind. */
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

/** Requires that the argument is a finite number. */
export function requireNumber(call: string, argument: string, given: unknown): asserts given is number {
  if (!Number.isFinite(given)) throw wrongArgument(call, argument, given, 'a finite number');
}

/** Requires that the argument is one of the given words. The error message lists them. */
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

/** Requires that the argument is one of the given scalar types, such as `u32`. */
export function requireScalar(call: string, argument: string, given: unknown, types: readonly ScalarType[]): void {
  if (isScalarType(given) && types.includes(given.type)) return;
  throw wrongArgument(call, argument, given, types.join(' or '), { code: 'argument/shape' });
}

/** Requires that the argument is a shape: a scalar type, or a record of shapes. */
export function requireShape(call: string, argument: string, given: unknown): asserts given is Shape {
  const flaw = flawOfShape(given, argument);
  if (flaw === undefined) return;
  throw wrongArgument(call, flaw.path, flaw.part, 'u32, i32, f32, bool or a record of these', {
    code: 'argument/shape',
  });
}

/**
 * Checks every argument of a call against its kind. Throws at the first invalid argument, or if the arguments belong to
 * different contexts. Too slow for functions that are called for every row.
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
    got: 'a column of another context',
    remedy: 'Move it with context.adopt(column).',
  });
}

/** Requires that the argument is an IR module with at least one function, such as `functor.module`. */
export function requireModule(call: string, argument: string, given: Module): void {
  const { functions, arrays, uniforms } = (given ?? {}) as Partial<Module>;
  const isModule = Array.isArray(functions) && functions.length > 0 && arrays instanceof Map && uniforms instanceof Map;
  if (isModule) return;
  throw wrongArgument(call, argument, given, 'the module of a functor', { remedy: 'Give functor.module.' });
}

/**
 * Requires that all given options are known and have values of the right kind. Unknown options are an error, because a
 * misspelt option would otherwise be ignored silently. Every option may be omitted.
 */
export function requireOptions<O extends object>(
  call: string,
  kinds: FieldKinds<O>,
  given: O | undefined,
  unknownCode?: string,
  argument = 'options',
): void {
  const flaw = given === undefined ? undefined : flawOfOptions(kinds, given, argument, new Map(), unknownCode);
  if (flaw !== undefined) throw flawError(call, flaw);
}

/**
 * Requires a JavaScript number or boolean that a scalar type can represent; otherwise throws an error with the given
 * code and sentence.
 */
export function requireValue(
  type: ScalarType,
  given: unknown,
  code: string,
  sentence: string,
  remedy?: string,
): number | boolean {
  if (isValueOf(type, given)) return given;
  throw new ArgumentError(code, sentence, {
    expected: type === 'bool' ? 'a boolean' : type === 'f32' ? 'a number' : 'a whole number of 32 bits',
    got: describeGiven(given),
    remedy: isPromise(given) ? 'An await is missing: await the value before you pass it.' : remedy,
  });
}

/** Whether a scalar type can represent a JavaScript value. */
export function isValueOf(type: ScalarType, given: unknown): given is number | boolean {
  if (type === 'bool') return typeof given === 'boolean';
  if (typeof given !== 'number') return false;
  return type === 'f32' || (Number.isInteger(given) && given >= -(2 ** 31) && given < 2 ** 32);
}
