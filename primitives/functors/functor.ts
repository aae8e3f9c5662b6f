import type { FunctorError } from '../checks/errors.ts';
import { isRecord } from '../checks/given.ts';
import { remedyForName } from '../checks/suggest.ts';
import type { Module, Operand, ScalarType } from '../ir/ir.ts';
import { withMembers } from './members.ts';
import {
  type CellReading,
  type Neighbours,
  NeighboursParameter,
  noteReadings,
  passNeighbours,
  recordNeighbours,
} from './neighbours.ts';
import { OwnedParameter, OwnedValue } from './owned.ts';
import {
  call,
  functorError,
  type Links,
  literal,
  operate,
  record,
  withinStack,
  writtenAt,
  wrongInput,
} from './recorder.ts';
import { Records, RecordsParameter } from './records.ts';
import {
  assemble,
  flatten,
  type InputsOf,
  isScalarType,
  leafPaths,
  leafTypes,
  requireShapeOf,
  type Scalar,
  type Shape,
  shapeText,
  strangerIn,
  type ValuesOf,
} from './shapes.ts';
import { ArrayValue, type Input, operandOf, Value } from './value.ts';

function scalar<T extends ScalarType>(type: T): Scalar<T> {
  const convert = (value: Value<ScalarType> | number | boolean): Value<T> =>
    new Value<T>(
      value instanceof Value
        ? operate('convert', [value.operand], type)
        : literal(type, typeof value === 'boolean' && type !== 'bool' ? Number(value) : value),
    );
  return Object.assign(convert, { type });
}

/**
 * Unsigned 32-bit integers. `u32(x)` makes a literal or converts a value: f32 values are truncated and saturate at the
 * range of u32, and NaN gives 0.
 *
 * @example
 * await ctx.read(map(fn({ x: f32 }, u32, ({ x }) => u32(x)), { x: ctx.column(Float32Array.of(2.9, -1)) }));
 * // Uint32Array [2, 0]
 */
export const u32: Scalar<'u32'> = scalar('u32');
/**
 * Signed 32-bit integers. `i32(x)` makes a literal or converts a value: f32 values are truncated and saturate at the
 * range of i32, and NaN gives 0.
 *
 * @example
 * await ctx.read(map(fn({ x: f32 }, i32, ({ x }) => i32(x)), { x: ctx.column(Float32Array.of(-2.9)) }));
 * // Int32Array [-2]
 */
export const i32: Scalar<'i32'> = scalar('i32');
/**
 * 32-bit floating point numbers. `f32(x)` makes a literal or converts a value, rounding to nearest.
 *
 * @example
 * await ctx.read(map(fn({ x: u32 }, f32, ({ x }) => f32(x).div(2)), { x: ctx.column(Uint32Array.of(3)) }));
 * // Float32Array [1.5]
 */
export const f32: Scalar<'f32'> = scalar('f32');
/**
 * Booleans. `bool(x)` makes a literal or returns whether a value is not 0.
 *
 * @example
 * await ctx.read(map(fn({ x: u32 }, bool, ({ x }) => bool(x)), { x: ctx.column(Uint32Array.of(0, 5)) }));
 * // Uint8Array [0, 1]
 */
export const bool: Scalar<'bool'> = scalar('bool');

/** The shape of an unsigned 64-bit integer: a record of its low and its high 32-bit word. */
export const u64: { readonly lo: Scalar<'u32'>; readonly hi: Scalar<'u32'> } = { lo: u32, hi: u32 };

/** A parameter for a captured column, whose elements the functor can read at any index. */
export interface ArrayParameter<T extends ScalarType> {
  readonly array: Scalar<T>;
}

/** A parameter whose value is the same for all rows of a launch. A new value needs no new compilation. */
export interface UniformParameter<T extends ScalarType> {
  readonly uniform: Scalar<T>;
}

/**
 * Declares a parameter for a captured column. Its elements are read at any index by `at(index)`; `length()` is their
 * number.
 *
 * @example
 * const lookUp = fn({ i: u32, table: array(u32) }, u32, ({ i, table }) => table.at(i));
 * const table = ctx.column(Uint32Array.of(10, 20));
 * await ctx.read(map(lookUp, { i: ctx.column(Uint32Array.of(1, 0, 1)), table })); // Uint32Array [20, 10, 20]
 */
export function array<T extends ScalarType>(type: Scalar<T>): ArrayParameter<T>;
/**
 * Declares a parameter for a captured table: a record of columns of the same length. `at(index)` reads all columns and
 * returns a record of values.
 *
 * @example
 * const between = fn({ i: u32, points: array({ x: f32, y: f32 }) }, f32, ({ i, points }) => {
 *   const [a, b] = [points.at(i), points.at(i.add(1))];
 *   return b.x.sub(a.x).mul(b.y.sub(a.y));
 * });
 * const points = { x: ctx.column(Float32Array.of(0, 2)), y: ctx.column(Float32Array.of(0, 3)) };
 * await ctx.read(map(between, { i: ctx.column(Uint32Array.of(0)), points })); // Float32Array [6]
 */
export function array<const S extends { readonly [field: string]: Shape }>(shape: S): RecordsParameter<S>;
export function array(shape: Shape): ArrayParameter<ScalarType> | RecordsParameter<Shape> {
  if (isScalarType(shape)) return { array: shape };
  const expected = 'u32, i32, f32, bool or a record of these';
  if (!isRecord(shape)) throw wrongInput('array', 'type', shape, expected);
  requireShapeOf('array', 'type', shape);
  if (leafTypes(shape).length === 0) throw wrongInput('array', 'type', shape, `${expected}, with a field`);
  return new RecordsParameter(shape);
}

/**
 * Declares a uniform parameter: a number that the host passes and that is the same for all rows. To pass a number that
 * is only on the device, such as the result of `reduce`, use an {@link array} of one element.
 *
 * @example
 * const scale = fn({ x: u32, by: uniform(u32) }, u32, ({ x, by }) => x.mul(by));
 * await ctx.read(map(scale, { x: ctx.column(Uint32Array.of(1, 2)), by: 5 })); // Uint32Array [5, 10]
 */
export function uniform<T extends ScalarType>(type: Scalar<T>): UniformParameter<T> {
  if (!isScalarType(type)) throw wrongInput('uniform', 'type', type, 'u32, i32, f32 or bool');
  return { uniform: type };
}

export type Parameter =
  | Shape
  | ArrayParameter<ScalarType>
  | RecordsParameter<Shape>
  | UniformParameter<ScalarType>
  | NeighboursParameter<Shape>
  | OwnedParameter<ScalarType>;
export type Parameters = { readonly [name: string]: Parameter };

/** The arguments that a functor's body receives, by parameter name. */
export type ArgumentsOf<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends ArrayParameter<infer T>
    ? ArrayValue<T>
    : P[K] extends UniformParameter<infer T>
      ? Value<T>
      : P[K] extends NeighboursParameter<infer S>
        ? Neighbours<S>
        : P[K] extends RecordsParameter<infer S>
          ? Records<S>
          : P[K] extends OwnedParameter<infer T>
            ? OwnedValue<T>
            : P[K] extends Shape
              ? ValuesOf<P[K]>
              : never;
};

/** The arguments of a call of a functor inside another functor, by parameter name. */
export type CallArguments<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends ArrayParameter<infer T>
    ? ArrayValue<T>
    : P[K] extends UniformParameter<infer T>
      ? Input<T>
      : P[K] extends NeighboursParameter<infer S>
        ? Neighbours<S>
        : P[K] extends RecordsParameter<infer S>
          ? Records<S>
          : P[K] extends OwnedParameter<infer T>
            ? OwnedValue<T>
            : P[K] extends Shape
              ? InputsOf<P[K]>
              : never;
};

/** A {@link Functor} without the static types of its parameters and its result. */
export interface FunctorDescription {
  readonly functorName: string;
  readonly parameters: Parameters;
  readonly result: Shape;
  /** The functor in the intermediate representation. The body is recorded at the first access. */
  readonly module: Module;
}

/**
 * A function that is written once and runs on every backend. If it is called inside another functor, its code becomes
 * part of that functor. If it is passed to a primitive, it is evaluated for every row.
 */
export interface Functor<P extends Parameters, R extends Shape> extends FunctorDescription {
  (args: CallArguments<P>): ValuesOf<R>;
  readonly parameters: P;
  readonly result: R;
}

export interface FunctorOptions {
  /**
   * Allows the device to contract and approximate f32 operations, and to take its own functions, such as `sin`, in place
   * of those called here. This is faster, but the results may differ between devices.
   */
  readonly fast?: boolean;
}

/** Options of functors of the library. `device` is a function of WGSL that fast functors call in their place. */
interface OwnOptions extends FunctorOptions {
  readonly device?: string;
}

/**
 * Makes a functor without a name. One with options has a name.
 *
 * @example
 * const halves = map(fn({ n: u32 }, u32, ({ n }) => n.shr(1)), { n: ctx.column(Uint32Array.of(7, 8)) });
 * await ctx.read(halves); // Uint32Array [3, 4]
 */
export function fn<const P extends Parameters, R extends Shape>(
  parameters: P,
  result: R,
  body: (args: ArgumentsOf<P>) => InputsOf<NoInfer<R>> | undefined | void,
): Functor<P, R>;
/**
 * Makes a functor: a function that is written once and runs on every backend.
 *
 * @param name - the functor's name in errors and in generated code.
 * @param parameters - scalars, records, `array(…)`, `uniform(…)`, `neighbours(…)` and `owned(…)`, by name.
 * @param result - the shape of the functor's result; `{}` if some parameters are `owned(…)`.
 * @param body - computes the result from its arguments. It may call plain TypeScript helpers and other functors, whose
 * code becomes part of the functor.
 * @throws FunctorError when the functor is first used, if its types do not fit. The error names the line of the
 * author's code.
 * @example
 * const squaredLength = fn('squaredLength', { x: f32, y: f32 }, f32, ({ x, y }) => x.mul(x).add(y.mul(y)));
 * const points = { x: ctx.column(Float32Array.of(3, 1)), y: ctx.column(Float32Array.of(4, 2)) };
 * await ctx.read(map(squaredLength, points)); // Float32Array [25, 5]
 */
// No call fits both overloads by its number of arguments, so the compiler reports an error where it is.
export function fn<const P extends Parameters, R extends Shape>(
  name: string,
  parameters: P,
  result: R,
  body: (args: ArgumentsOf<P>) => InputsOf<NoInfer<R>> | undefined | void,
  options?: FunctorOptions,
): Functor<P, R>;
export function fn(...args: readonly unknown[]): unknown {
  const [name, parameters, result, body, options] = typeof args[0] === 'string' ? args : ['functor', ...args];
  requireDefinition(parameters, result, body, options);
  return defineFunctor(
    name as string,
    parameters as Parameters,
    result as Shape,
    body as (args: object) => unknown,
    (options ?? {}) as FunctorOptions,
  );
}

/**
 * Makes a functor of f32. Fast functors that call it take the function of WGSL with its name on WebGPU.
 *
 * @internal
 */
export function deviceFunction<const P extends Parameters>(
  name: string,
  parameters: P,
  body: (args: ArgumentsOf<P>) => InputsOf<Scalar<'f32'>> | undefined | void,
): Functor<P, Scalar<'f32'>> {
  const options: OwnOptions = { device: name };
  return defineFunctor(name, parameters, f32, body as (args: object) => unknown, options) as never;
}

/** Maximum number of scalar parameters of a functor: WGSL's limit for the parameters of a function. */
export const MAX_PARAMETERS = 255;
/**
 * Maximum number of scalar results of a functor: WGSL's limit for the members of a struct, in which a function returns
 * its results.
 */
export const MAX_RESULTS = 1023;

function requireDefinition(parameters: unknown, result: unknown, body: unknown, options: unknown): void {
  requireParameters('fn', parameters);
  requireShapeOf('fn', 'result', result);
  if (typeof body !== 'function') throw wrongInput('fn', 'body', body, 'a function of the arguments');
  requireFunctorOptions('fn', options);
  const { values, owned } = splitParameters(parameters as Parameters);
  if (owned.size > 0 && leafTypes(result as Shape).length > 0) throw ownedWithResult([...owned.keys()]);
  const remedy = 'Capture data that rows share with array(…) or uniform(…).';
  requireAtMost('parameters', MAX_PARAMETERS, leafTypes(values).length, remedy);
  requireAtMost('result', MAX_RESULTS, leafTypes(result as Shape).length);
}

function ownedWithResult(owned: readonly string[]): FunctorError {
  const sentence = `fn was given a result beside the owned ${owned.length > 1 ? 'columns' : 'column'} ${owned.join(', ')}.`;
  return functorError('owned-result', sentence, 'Write {} as the result: such a functor returns nothing, it writes.');
}

function requireAtMost(argument: string, max: number, scalars: number, remedy?: string): void {
  if (scalars <= max) return;
  throw functorError('parameters', `fn was given ${scalars} scalars as ${argument}: there may be ${max}.`, remedy);
}

/** Requires that an argument is a record of parameter types. */
export function requireParameters(call: string, parameters: unknown): void {
  if (!isRecord(parameters)) {
    throw wrongInput(call, 'parameters', parameters, 'a record of types', 'Write { x: u32 }.');
  }
  for (const [name, parameter] of Object.entries(parameters)) requireParameter(call, name, parameter);
}

/** The kinds of parameters that are neither shapes nor plain records. */
const SPECIAL = [NeighboursParameter, RecordsParameter, OwnedParameter];

function requireParameter(call: string, name: string, parameter: unknown): void {
  const isCapture =
    isRecord(parameter) && (isArrayParameter(parameter as never) || isUniformParameter(parameter as never));
  if (isCapture || SPECIAL.some((kind) => parameter instanceof kind)) return;
  requireShapeOf(call, `parameters.${name}`, parameter);
}

/** Requires that the options of a functor are valid. */
export function requireFunctorOptions(call: string, options: unknown, others: readonly string[] = []): void {
  if (options === undefined) return;
  if (!isRecord(options)) throw wrongInput(call, 'options', options, 'a record of options');
  const { fast } = options;
  const known = [...others, 'fast'];
  const stranger = Object.keys(options).find((name) => !known.includes(name));
  if (stranger !== undefined) {
    const remedy = remedyForName(stranger, known) ?? `Options are: ${known.join(', ')}.`;
    throw functorError('option', `${call} has no option '${stranger}'.`, remedy);
  }
  if (fast !== undefined && typeof fast !== 'boolean') throw wrongInput(call, 'the option fast', fast, 'a boolean');
}

function defineFunctor(
  name: string,
  parameters: Parameters,
  result: Shape,
  body: (args: object) => unknown,
  options: OwnOptions,
): Functor<Parameters, Shape> {
  const written = new Error();
  let module: Module | undefined;
  let recording = false;
  const build = (): Module => {
    if (recording) throw functorError('recursion', `Functor ${name} must not call itself.`, 'Use While or For.');
    recording = true;
    try {
      return withinStack(`Functor ${name}`, () =>
        recordFunctor(name, parameters, result, (args) => withMembers(name, body, args), options, written),
      );
    } finally {
      recording = false;
    }
  };
  return functorOf(name, parameters, result, () => (module ??= build()));
}

/** Makes a functor from a module, whether recorded from TypeScript or compiled from text. */
export function functorOf<P extends Parameters, R extends Shape>(
  name: string,
  parameters: P,
  result: R,
  module: () => Module,
): Functor<P, R> {
  const invoke = (args: CallArguments<P>): ValuesOf<R> =>
    callFunctor(name, parameters, result, module(), args as object);
  Object.defineProperty(invoke, 'module', { get: module });
  return Object.assign(invoke, { functorName: name, parameters, result }) as unknown as Functor<P, R>;
}

function recordFunctor(
  name: string,
  parameters: Parameters,
  result: Shape,
  body: (args: object) => unknown,
  options: OwnOptions,
  written: Error,
): Module {
  const toOperands = (values: unknown): Operand[] => {
    requireNoExtra(name, result, values);
    return operandsOf(name, result, values);
  };
  const kinds = splitParameters(parameters);
  const signature = {
    name,
    parameters: leafTypes(kinds.values),
    results: leafTypes(result),
    arrays: new Map([...kinds.arrays, ...kinds.owned]),
    uniforms: kinds.uniforms,
    fast: options.fast ?? false,
    device: options.device,
    written,
    toOperands,
  };
  let readings: CellReading[] = [];
  const module = record(signature, (locals) => {
    readings = [];
    const values = assemble(
      kinds.values,
      locals.map((local) => new Value(local)),
    ) as Record<string, unknown>;
    const arrays = [...kinds.arrays].map(([key, type]) => [key, new ArrayValue(key, type)]);
    const uniforms = [...kinds.uniforms].map(([key, type]) => [key, new Value({ kind: 'uniform', type, name: key })]);
    const around = [...kinds.neighbours].map(([key, shape]) => [key, recordNeighbours(key, shape, readings)]);
    const records = [...kinds.records].map(([key, shape]) => [key, new Records(shape, key)]);
    const strips = [...kinds.owned].map(([key, type]) => [key, new OwnedValue(key, type)]);
    const captures = Object.fromEntries([...arrays, ...uniforms, ...around, ...records, ...strips]);
    const returned = body({ ...values, ...captures });
    return returned === undefined ? undefined : writtenAt(written, () => toOperands(returned));
  });
  return noteReadings(module, readings);
}

/**
 * Splits parameters by kind: values (scalars and records), arrays, records, uniforms, neighbours and owned columns.
 * Values keep their order. The columns of records are arrays too.
 */
export function splitParameters(parameters: Parameters): {
  readonly values: { readonly [name: string]: Shape };
  readonly arrays: ReadonlyMap<string, ScalarType>;
  readonly records: ReadonlyMap<string, Shape>;
  readonly uniforms: ReadonlyMap<string, ScalarType>;
  readonly neighbours: ReadonlyMap<string, Shape>;
  readonly owned: ReadonlyMap<string, ScalarType>;
} {
  const records = new Map<string, Shape>();
  const neighbours = new Map<string, Shape>();
  const values: Record<string, Shape> = {};
  const arrays = new Map<string, ScalarType>();
  const uniforms = new Map<string, ScalarType>();
  const owned = new Map<string, ScalarType>();
  for (const [name, parameter] of Object.entries(parameters)) {
    if (parameter instanceof NeighboursParameter) neighbours.set(name, parameter.neighbourhood);
    else if (parameter instanceof RecordsParameter) records.set(name, parameter.records);
    else if (parameter instanceof OwnedParameter) owned.set(name, parameter.owned.type);
    else if (isArrayParameter(parameter)) arrays.set(name, parameter.array.type);
    else if (isUniformParameter(parameter)) uniforms.set(name, parameter.uniform.type);
    else values[name] = parameter;
  }
  for (const [name, shape] of records) {
    for (const array of new Records(shape, name).arrays) {
      if (arrays.has(array.name)) {
        throw functorError('parameters', `Two parameters have the name ${array.name}.`, 'Rename one.');
      }
      arrays.set(array.name, array.type);
    }
  }
  return { values, arrays, records, uniforms, neighbours, owned };
}

function isArrayParameter(parameter: Parameter): parameter is ArrayParameter<ScalarType> {
  return (
    typeof parameter === 'object' &&
    isScalarType((parameter as { array?: unknown }).array) &&
    Object.keys(parameter).length === 1
  );
}

export function isUniformParameter(parameter: Parameter): parameter is UniformParameter<ScalarType> {
  return (
    typeof parameter === 'object' &&
    isScalarType((parameter as { uniform?: unknown }).uniform) &&
    Object.keys(parameter).length === 1
  );
}

/**
 * The operands in a tree of inputs, in the order of a shape's fields. Literals are converted to the types of the shape.
 */
function operandsOf(name: string, shape: Shape, inputs: unknown): Operand[] {
  const leaves = flatten<Input<ScalarType>>(shape, inputs as Input<ScalarType>, (path) => {
    throw functorError(
      'missing-field',
      `Functor ${name} is missing the value of ${path}.`,
      'Return every field of the record.',
    );
  });
  return leafTypes(shape).map((type, leaf) => operandOf(type, leaves[leaf]!));
}

/** Requires that a functor returned nothing that its result does not have: it would be lost. */
function requireNoExtra(name: string, result: Shape, returned: unknown): void {
  const stranger = strangerIn(result, returned);
  if (stranger === undefined) return;
  const sentence = `Functor ${name} returned ${stranger}, which its result ${shapeText(result)} does not have.`;
  throw functorError('extra-field', sentence, 'Leave it out, or add it to the result.');
}

function callFunctor<R extends Shape>(
  name: string,
  parameters: Parameters,
  result: R,
  module: Module,
  args: object,
): ValuesOf<R> {
  if (!isRecord(args)) throw wrongInput(`Functor ${name}`, 'arguments', args, 'a record of values, by parameter');
  const kinds = splitParameters(parameters);
  const given = args as Record<string, unknown>;
  const rows = [...kinds.records].flatMap(([key, shape]) => columnsOfRecords(name, key, shape, given[key]));
  const passed = { ...given, ...Object.fromEntries(rows) };
  const arrays = [...kinds.arrays].map(([key, type]): [string, string] => [
    key,
    arrayArgument(name, key, type, passed[key]),
  ]);
  const owned = [...kinds.owned].map(([key, type]): [string, string] => [
    key,
    ownedArgument(name, key, type, given[key]),
  ]);
  const uniforms = [...kinds.uniforms].map(([key, type]): [string, Operand] => [
    key,
    uniformArgument(name, key, type, given[key]),
  ]);
  const links: Links = { arrays: new Map([...arrays, ...owned]), uniforms: new Map(uniforms) };
  const around = passNeighbours(name, module, kinds.neighbours, given);
  const results = call(module, links, [...operandsOf(name, kinds.values, args), ...around]);
  return assemble(
    result,
    results.map((local) => new Value(local)),
  ) as unknown as ValuesOf<R>;
}

function arrayArgument(name: string, key: string, type: ScalarType, given: unknown): string {
  if (given instanceof ArrayValue && given.type === type) return given.name;
  throw functorError(
    'type',
    `Parameter ${key} of functor ${name} must be an array of ${type}.`,
    'Pass an array parameter.',
  );
}

/** The arrays of a captured table that a functor passes to another one, by the names under which that one reads them. */
function columnsOfRecords(name: string, key: string, shape: Shape, given: unknown): [string, ArrayValue<ScalarType>][] {
  if (given instanceof Records && shapeText(given.shape) === shapeText(shape)) {
    const { arrays } = new Records(shape, key);
    const byPath = new Map(leafPaths(given.shape).map((path, leaf) => [path, given.arrays[leaf]!]));
    return leafPaths(shape).map((path, leaf) => [arrays[leaf]!.name, byPath.get(path)!]);
  }
  throw functorError(
    'type',
    `Parameter ${key} of functor ${name} must be an array of ${shapeText(shape)}.`,
    'Pass an array parameter of this record.',
  );
}

function ownedArgument(name: string, key: string, type: ScalarType, given: unknown): string {
  if (given instanceof OwnedValue && given.type === type) return given.name;
  const sentence = `Parameter ${key} of functor ${name} must be an owned column of ${type}.`;
  throw functorError('type', sentence, 'Pass an owned parameter.');
}

function uniformArgument(name: string, key: string, type: ScalarType, given: unknown): Operand {
  const operand = operandOf(type, given as Input<ScalarType>);
  if (operand.kind !== 'local') return operand;
  throw functorError('type', `Parameter ${key} of functor ${name} must be a uniform.`, 'Pass a literal or a uniform.');
}

/**
 * Whether a value is a functor, as {@link fn} and {@link wgsl} return it.
 *
 * @example
 * [isFunctor(mortonEncode), isFunctor((x) => x)]; // [true, false]
 */
export function isFunctor(thing: unknown): thing is Functor<Parameters, Shape> {
  return typeof thing === 'function' && 'functorName' in thing && 'module' in thing;
}
