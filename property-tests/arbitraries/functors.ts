import fc from 'fast-check';
import type { ScalarType } from '../../primitives/ir/ir.ts';
import { toF32 } from '../../primitives/ir/semantics.ts';
import { everything, type Sketch, type SketchOptions } from './functor-sketch.ts';
import { type Draw, drawFrom, drawSketch } from './functor-sketch-draw.ts';
import { textOfSketch } from './functor-sketch-text.ts';

/** Random programs without type errors; they shrink to shorter programs. */
export function sketches(options: SketchOptions = everything): fc.Arbitrary<Sketch> {
  return fc
    .uint32Array({ minLength: 300, maxLength: 1200, size: 'max' })
    .map((tape) => drawSketch(drawFrom(tape), options));
}

/** For each type, the values for which wrong implementations of operations are most likely to fail. */
const edges: Record<ScalarType, readonly (number | boolean)[]> = {
  u32: [0, 1, 2, 7, 31, 32, 33, 0xffff, 0x10000, 16777217, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff],
  i32: [0, 1, -1, 2, 7, -7, 31, 32, 65535, -65536, 16777217, 2147483647, -2147483647, -2147483648],
  f32: [
    0,
    -0,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    2.5,
    3,
    0.1,
    -0.3333333,
    1e-10,
    1e10,
    -1e20,
    16777216,
    16777217,
    8388608.5,
    4294967040,
    4294967296,
    -2147483648,
    2147483520,
    3.4028234663852886e38,
    1.1754943508222875e-38,
    1e-40,
    Infinity,
    -Infinity,
    NaN,
  ].map(toF32),
  bool: [false, true],
};

/** Edge cases of f32 that keep arithmetic within range. Compilers simplify operations on these numbers. */
const calmEdges: readonly number[] = [0, -0, 1, -1, 0.5, 2];

/**
 * Draws one value of a type: an edge case, a small number, or 32 random bits. f32 values cover all exponents.
 *
 * With `calm`, the f32 edge cases are zeros and small powers of two, and exponents are small. Arithmetic then stays
 * within range.
 */
export function drawValue(draw: Draw, type: ScalarType, calm = false): number | boolean {
  const choice = calm && type === 'f32' ? [0, 1, 1, 3, 3, 3][draw(6)]! : draw(4);
  if (type === 'bool') return draw(2) === 1;
  const edge = calm && type === 'f32' ? calmEdges : edges[type];
  if (choice === 0) return edge[draw(edge.length)]!;
  if (type === 'f32') return drawFloat(draw, choice);
  const bits = choice === 1 ? draw(16) : draw(2 ** 32);
  return type === 'u32' ? bits : bits | 0;
}

function drawFloat(draw: Draw, choice: number): number {
  const sign = draw(2) === 0 ? 1 : -1;
  if (choice === 1) return sign * (draw(4096) / 16);
  const exponent = choice === 2 ? draw(253) - 126 : draw(24) - 12;
  return sign * toF32((1 + draw(2 ** 23) / 2 ** 23) * 2 ** exponent);
}

/** An endless source of draws; equal seeds give equal draws. Generator: mulberry32 (Tommy Ettinger, 2017). */
export function drawForever(seed: number): Draw {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) % bound;
  };
}

/** The inputs of a sketch: a row of arguments for each evaluation, the captured arrays, and the uniforms. */
export interface Inputs {
  readonly rows: readonly (readonly (number | boolean)[])[];
  readonly arrays: { readonly [name: string]: readonly (number | boolean)[] };
  readonly uniforms: { readonly [name: string]: number | boolean };
}

function drawInputs(draw: Draw, { functions, arrays, uniforms }: Sketch, count: number, calm = false): Inputs {
  const { parameters } = functions.at(-1)!;
  const value = (type: ScalarType): number | boolean => drawValue(draw, type, calm);
  return {
    rows: Array.from({ length: count }, () => parameters.map(({ type }) => value(type))),
    arrays: Object.fromEntries(
      arrays.map(({ name, type }) => [name, Array.from({ length: draw(10) }, () => value(type))]),
    ),
    uniforms: Object.fromEntries(uniforms.map(({ name, type }) => [name, value(type)])),
  };
}

/** A random program and its inputs. */
export interface FuzzCase {
  readonly sketch: Sketch;
  readonly inputs: Inputs;
}

export function fuzzCases(options: SketchOptions = everything, count = 27): fc.Arbitrary<FuzzCase> {
  return fc.tuple(sketches(options), fc.integer()).map(([sketch, seed]) => {
    const inputs = drawInputs(drawForever(seed), sketch, count, options.floats === 'mostly');
    return { sketch, inputs, [fc.toStringMethod]: () => `${textOfSketch(sketch)}\n${fc.stringify(inputs)}` };
  });
}
