import { isRecord } from '../../checks/given.ts';
import type { ScalarType } from '../../ir/ir.ts';
import {
  type Functor,
  type FunctorOptions,
  functorOf,
  type Parameter,
  type Parameters,
  requireFunctorOptions,
  requireParameters,
} from '../functor.ts';
import { callerPlace } from '../place.ts';
import { wrongInput } from '../recorder.ts';
import { RecordsParameter } from '../records.ts';
import { isScalar, requireShapeOf, type Scalar, type Shape } from '../shapes.ts';
import { type CompiledFunction, type CompiledText, compileText } from './program.ts';
import { errorAt, type SourceText } from './source.ts';
import { shapeOf, type TextType } from './values.ts';

export interface TextOptions<P extends Parameters, R extends Shape> extends FunctorOptions {
  /** The file name in error messages; `wgsl` by default. */
  readonly name?: string;
  /** Name of the function that becomes the functor; by default, the last function of the text. */
  readonly entry?: string;
  /** The types of the functor's parameters, for `tsc`. They are checked against the text. */
  readonly parameters?: P;
  /** The type of the functor's result, for `tsc`. It is checked against the text. */
  readonly result?: R;
}

/**
 * Makes a functor from text in a subset of WGSL: an alternative to {@link fn} for long numeric bodies and for existing
 * code.
 *
 * The subset has the scalars u32, i32, f32 and bool, the vectors vec2f, vec3f and vec4f (also written `vec2<f32>` and so
 * on), structs of these, functions with a result, `let`, `var`, `const`, all operators, `if`, `for`, `while`, `loop` with
 * `continuing` and `break if`, and the built-in functions abs, acos, asin, atan, atan2, cbrt, ceil, clamp, cos, cosh,
 * countLeadingZeros, countOneBits, countTrailingZeros, cross, distance, dot, exp, exp2, expm1, floor, fma, fract, hypot,
 * length, log, log1p, log2, max, min, mix, normalize, pow, remainder, reverseBits, round, select, sign, sin, sinh, sqrt,
 * tan, tanh, trunc, arrayLength and bitcast. A function may have arrays of scalars, vectors or structs, such as
 * `var a: array<u32, 8>;` and `var b = array<f32, 2>(x, y);`, whose elements are read and written by index, as those of
 * `LocalArray`. Outside the functions, `var<storage> name: array<u32>;` captures a column, an array of vectors or structs a table, and `var<uniform> name:
 * u32;` a uniform. There are no matrices, pointers or side effects, so `&&` and `||` evaluate both sides. Whatever WGSL leaves
 * undefined (overflow of constants, division by zero, shifts by 32 or more, indices out of range) has the same result as
 * in a functor that is made by {@link fn}. `%` of f32 is exact, as `remainder`.
 *
 * Structs and vectors are records, and so are the rows of their columns: those of a vec3f have the fields x, y and z.
 * Vectors are made, read, assigned and computed as in WGSL: `vec3f(v.xy, 1)`, `v.zyx`, `v.x += 1`, `2 * v + w`,
 * `mix(v, w, 0.5)`. Each component is computed as an f32. `dot` adds the products from x on, `length(v)` is
 * `sqrt(dot(v, v))`, `distance(v, w)` is `length(v - w)`, and `normalize(v)` is `v / length(v)`, with the limits of `length`.
 * Of numbers, `length(a)` is `abs(a)`. A `const` takes all operators, and functions but those of f32 that are made of
 * several operations, such as `sin` and `mix`.
 *
 * If `wgsl` is used as a template tag, errors name the line in the author's file. If it is called as a function, errors
 * name `options.name` and the line in the text. The whole text is checked immediately.
 *
 * @throws FunctorError at the position in the text: `functor/syntax`, `functor/type`, `functor/literal`,
 * `functor/unresolved`, `functor/declaration`, `functor/assignment`, `functor/arguments`, `functor/constant`,
 * `functor/no-return`, `functor/outside-loop`, `functor/recursion`, `functor/signature`.
 * @example
 * const collatz = wgsl(
 *   `fn collatz(start: u32) -> u32 {
 *      var n = start;
 *      var steps = 0u;
 *      while n > 1u {
 *        n = select(n / 2u, 3u * n + 1u, (n & 1u) == 1u);
 *        steps++;
 *      }
 *      return steps;
 *    }`,
 *   { parameters: { start: u32 }, result: u32 },
 * );
 * await ctx.read(map(collatz, { start: ctx.column(Uint32Array.of(1, 6, 27)) })); // Uint32Array [0, 8, 111]
 *
 * const mirrored = wgsl(
 *   `fn mirrored(ray: vec2f, normal: vec2f) -> vec2f {
 *      let n = normalize(normal);
 *      return ray - 2 * dot(ray, n) * n;
 *    }`,
 *   { parameters: { ray: vec2f, normal: vec2f }, result: vec2f },
 * );
 * const ray = { x: ctx.column(Float32Array.of(3)), y: ctx.column(Float32Array.of(-1)) };
 * const normal = { x: ctx.column(Float32Array.of(0)), y: ctx.column(Float32Array.of(4)) };
 * await ctx.read(map(mirrored, { ray, normal })); // { x: Float32Array [3], y: Float32Array [1] }
 */
export function wgsl<
  T extends string | TemplateStringsArray,
  P extends Parameters = Parameters,
  R extends Shape = Shape,
>(
  text: T,
  ...rest: T extends string ? [options?: TextOptions<P, R>] : readonly (number | bigint | string)[]
): Functor<P, R>;
export function wgsl(text: string | TemplateStringsArray, ...rest: readonly unknown[]): unknown {
  if (typeof text !== 'string') return functorOfText(ofTemplate(text, rest), {});
  requireTextOptions(rest[0]);
  const options = (rest[0] ?? {}) as TextOptions<Parameters, Shape>;
  return functorOfText({ text, file: options.name ?? 'wgsl', firstLine: 1 }, options);
}

function ofTemplate(strings: TemplateStringsArray, values: readonly unknown[]): SourceText {
  const isTemplate = Array.isArray(strings) && strings.length > 0 && strings.every((part) => typeof part === 'string');
  if (!isTemplate) throw wrongInput('wgsl', 'text', strings, 'a text');
  for (const value of values) requirePart(value);
  let text = strings[0]!;
  const places = values.map((value, i): [number, number] => {
    const from = text.length;
    text += value;
    const to = text.length;
    text += strings[i + 1];
    return [from, to];
  });
  const place = callerPlace();
  return { text, file: place?.file ?? 'wgsl', firstLine: place?.line ?? 1, values: places };
}

function requirePart(value: unknown): void {
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string') return;
  throw wrongInput('wgsl', 'a part of its text', value, 'a number or a text');
}

function requireTextOptions(given: unknown): void {
  if (given === undefined) return;
  if (!isRecord(given)) throw wrongInput('wgsl', 'options', given, 'a record of options');
  const { name, entry, parameters, result } = given;
  for (const [option, value] of Object.entries({ name, entry })) {
    if (value !== undefined && typeof value !== 'string')
      throw wrongInput('wgsl', `the option ${option}`, value, 'a text');
  }
  if (parameters !== undefined) requireParameters('wgsl', parameters);
  if (result !== undefined) requireShapeOf('wgsl', 'the option result', result);
  requireFunctorOptions('wgsl', given, ['name', 'entry', 'parameters', 'result']);
}

function functorOfText(source: SourceText, options: TextOptions<Parameters, Shape>): Functor<Parameters, Shape> {
  const compiled = compileText(source, options.fast ?? false);
  const [name, entry] = entryOf(source, compiled, options.entry);
  const parameters = parametersOf(compiled, entry);
  const result = shapeOf(entry.result);
  requireSignature(entry, options, parameters, result);
  return functorOf(name, parameters, result, () => compiled.moduleOf(name));
}

function entryOf(
  source: SourceText,
  { functions }: CompiledText,
  wanted: string | undefined,
): [string, CompiledFunction] {
  const found = [...functions].findLast(([name]) => wanted === undefined || name === wanted);
  if (found !== undefined) return found;
  const sentence = wanted === undefined ? 'The text has no function.' : `The text has no function ${wanted}.`;
  throw errorAt({ source, at: 0 }, 'unresolved', sentence);
}

function parametersOf({ arrays, uniforms }: CompiledText, entry: CompiledFunction): Parameters {
  const captured = [
    ...[...arrays].map(([name, type]): [string, Parameter] => [name, arrayOf(type)]),
    ...[...uniforms].map(([name, type]): [string, Parameter] => [name, { uniform: scalarOf(type) }]),
  ];
  const double = entry.parameters.find(({ name }) => arrays.has(name) || uniforms.has(name));
  if (double !== undefined) {
    throw errorAt(entry.position, 'declaration', `${double.name} is both a parameter and a capture.`);
  }
  const values = entry.parameters.map(({ name, type }): [string, Parameter] => [name, shapeOf(type)]);
  return Object.fromEntries([...values, ...captured]);
}

function arrayOf(type: TextType): Parameter {
  return typeof type === 'string' ? { array: scalarOf(type) } : new RecordsParameter(shapeOf(type));
}

const scalarOf = (type: ScalarType): Scalar<ScalarType> => shapeOf(type) as Scalar<ScalarType>;

function requireSignature(
  entry: CompiledFunction,
  stated: TextOptions<Parameters, Shape>,
  parameters: Parameters,
  result: Shape,
): void {
  const compare = (what: string, expected: Parameter | undefined, got: Parameter): void => {
    if (expected === undefined || describe(expected) === describe(got)) return;
    throw errorAt(entry.position, 'signature', `The ${what} of the text differ from those in the options.`, {
      expected: describe(expected),
      got: describe(got),
    });
  };
  compare('parameters', stated.parameters as Parameter | undefined, parameters as Parameter);
  compare('results', stated.result, result);
}

/**
 * A text that is equal for two parameters if and only if they have equal types; the order of fields does not matter.
 */
function describe(shape: Parameter): string {
  if (isScalar(shape as Shape)) return (shape as Scalar<ScalarType>).type;
  const fields = Object.entries(shape as { readonly [name: string]: Shape });
  return `{ ${fields
    .map(([name, field]) => `${name}: ${describe(field)}`)
    .sort()
    .join(', ')} }`;
}
