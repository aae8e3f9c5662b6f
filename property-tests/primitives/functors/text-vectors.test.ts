import { afterAll, beforeAll, describe, expect } from 'vitest';
import { FunctorError } from '../../../primitives/checks/errors.ts';
import { wgsl } from '../../../primitives/functors/text/wgsl.ts';
import {
  array,
  byComponent,
  type Column,
  type Context,
  ceil,
  cross,
  distance,
  dot,
  type F32,
  type Functor,
  f32,
  floor,
  fma,
  fn,
  fract,
  length,
  map,
  mix,
  normalize,
  remainder,
  round,
  type Shape,
  select,
  sign,
  sqrt,
  trunc,
  u32,
  vec2f,
  vec3f,
  vec4f,
} from '../../../primitives/index.ts';
import { everything } from '../../arbitraries/functor-sketch.ts';
import { textOfSketch, withoutConstants } from '../../arbitraries/functor-sketch-text.ts';
import { fuzzCases } from '../../arbitraries/functors.ts';
import { testOnEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openWgslCompiler, type WgslCompiler } from '../../support/compile-wgsl.ts';
import { fuzz, fuzzTimeout } from '../../support/functor-comparison.ts';
import { interpretFunctor } from '../../support/ir-interpreter.ts';

let compiler: WgslCompiler;
beforeAll(async () => {
  compiler = await openWgslCompiler();
}, 60_000);
afterAll(() => compiler.close());

/** A function of vectors with the given body, after the declarations of `before`. */
function textOf(result: string, body: string, before = ''): string {
  return `${before}\nfn f(a: vec2f, b: vec3<f32>, c: vec4f, s: f32, n: u32) -> ${result} {\n  ${body}\n}`;
}

const given = { a: { x: 1, y: 2 }, b: { x: 3, y: 4, z: 5 }, c: { x: 6, y: 7, z: 8, w: 9 }, s: 8, n: 11 };

const vectorOf = (components: readonly number[]): Record<string, number> =>
  Object.fromEntries(components.map((each, at) => ['xyzw'[at]!, Math.fround(each)]));

type AnyFunctor = Functor<{ readonly [name: string]: Shape }, Shape>;

describe('what a text computes of vectors is WGSL', () => {
  const point = 'struct P { at: vec2f, by: f32 }';
  const turn = 'fn turn(v: vec2f) -> vec2f { return vec2f(-v.y, v.x); }';
  const constants = 'const half = vec2f(0.5);\nconst one: vec2<f32> = half * 2;';
  const cases: readonly (readonly [body: string, expected: readonly number[], before?: string])[] = [
    ['return vec2f(s, 1);', [8, 1]],
    ['return vec4f(a, b.xy);', [1, 2, 3, 4]],
    ['return vec4<f32>(s, a, 0.5);', [8, 1, 2, 0.5]],
    ['return vec4f(1, b);', [1, 3, 4, 5]],
    ['return vec3f(2);', [2, 2, 2]],
    ['return vec3<f32>();', [0, 0, 0]],
    ['return vec3f(b);', [3, 4, 5]],
    ['return vec2(s, 1);', [8, 1]],
    ['return vec4(b, 0.5);', [3, 4, 5, 0.5]],
    ['return vec3(s);', [8, 8, 8]],
    ['return c.wzyx;', [9, 8, 7, 6]],
    ['return c.bgr + b.zzz.xxx * vec3f(c.a);', [53, 52, 51]],
    ['return a.xxyy;', [1, 1, 2, 2]],
    ['var v = b; v.y = s; v.b += 1; v.r *= 2; return v;', [6, 8, 6]],
    ['var v = b; v += b; v *= 2; v -= vec3f(1); v /= 2; v %= vec3f(4); return v;', [1.5, 3.5, 1.5]],
    ['return 2 * a + a * 0.5 - a / s + s / a - 1 + (1 + -a);', [9.375, 6.75]],
    ['return vec2f(-7.5, 5) % a + 7 % a + a % 2;', [0.5, 2]],
    ['var v = a; v = v.yx; v = vec2f(v.y, v.x) * v; return v;', [2, 2]],
    ['var v = a; let w = v; v.x = 9; v.y = v.x; return w;', [1, 2]],
    ['var p = P(a, 3); p.at.x += p.by; p.at = p.at.yx; return p.at * p.by;', [6, 12], point],
    ['var p: array<P, 2>; p[n - 10] = P(a, 3); p[1].at.g -= p[1].by; return p[1].at;', [1, -1], point],
    ['var v = array<vec2<f32>, 2>(a, a.yx); v[n - 10].y -= 1; v[0] += v[1] * 2; return v[0];', [5, 2]],
    ['var v: array<vec3f, 2>; v[1].g = 1; return v[1] + v[0];', [0, 1, 0]],
    ['return turn(turn(a)) + turn(2 * a);', [-5, 0], turn],
    ['const k = one + vec2f(1, 2).yx; return a * k;', [3, 4], constants],
    ['return min(b, b.zyx) + max(b, vec3f(4)) * 10;', [43, 44, 53]],
    ['return clamp(c, vec4f(7), vec4f(8));', [7, 7, 8, 8]],
    ['return mix(a, a.yx, 0.25);', [1.25, 1.75]],
    ['return mix(a, a.yx, vec2f(0, 1));', [1, 1]],
    ['return select(a, -a, n > 3u);', [-1, -2]],
    ['return fma(a, a, a.yx);', [3, 5]],
    ['return abs(-a) + floor(a * 0.75) + ceil(a * 0.75) + trunc(-a * 0.75);', [2, 4]],
    ['return round(a * 0.75) + sqrt(a * a) + sign(-a) + fract(a * 0.75);', [1.75, 3.5]],
    ['return pow(a, vec2f(2)) + atan2(vec2f(), a) + exp2(a);', [3, 8]],
    ['return vec4f(dot(b, b), length(vec2f(3, 4)), distance(a, a + vec2f(6, 8)), 0);', [50, 5, 10, 0]],
    ['return normalize(vec3f(0, -2, 0)) + cross(b, b.yzx);', [-13, 10, -1]],
    ['return vec4f(length(-s), distance(s, 10), length(-2.5), distance(1, 3));', [8, 2, 2.5, 2]],
    ['const k = length(-3f); const l = distance(1, 3f); return vec2f(k, l);', [3, 2]],
    ['const k = 5.5f % 2; const l = -7f % 4; return vec2f(k, l);', [1.5, -3]],
    ['return vec4f(min(-0.0, 0.0), min(0.0, -0.0), max(-0.0, 0.0), max(0.0, -0.0));', [-0, -0, 0, 0]],
    ['let v: vec2<f32>= a; return v;', [1, 2]],
    ['let vec2 = s; return select(a, -a, vec2 < 9) * vec2f(vec2 * 2);', [-16, -32]],
    ['return vec2f(dot(a), vec4u(s).x);', [1, 8], 'struct vec4u { x: f32 }\nfn dot(v: vec2f) -> f32 { return v.x; }'],
    ['var v = b; v.zx = a; v.yx += a; v.xy = v.yx; v.rb *= 2; return v;', [10, 4, 2]],
    ['var v: array<vec3f, 2>; v[1].zx = a; v[1].xyz = v[1].yzx + 1; v[1].xy.y += 1; return v[1];', [1, 3, 3]],
    ['if n > 3u { var v = a; for (; v.x < 9; ) { v *= 2; } return v; } return a;', [16, 32]],
  ];
  test.each(cases.map(([body, expected, before = '']) => ({ body, expected, before })))('$body', async (row) => {
    const { body, expected, before } = row;
    const text = textOf(`vec${expected.length}f`, body, before);
    expect(interpretFunctor(wgsl(text) as AnyFunctor, given)).toEqual(vectorOf(expected));
    expect(await compiler.errorsIn(text)).toEqual([]);
  });

  const fractions = fc.oneof(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.double({ min: -5e9, max: 5e9 }));
  test.prop([fractions, fc.constantFrom('u32' as const, 'i32' as const)], {
    numRuns: caseCount(30),
    examples: [
      [16777217.9, 'u32'],
      [4294967240.5, 'u32'],
      [3e9, 'i32'],
    ],
  })('and of conversions of numbers without a suffix', async (number, type) => {
    const given = /[.e]/.test(`${number}`) ? `${number}` : `${number}.0`;
    const functor = wgsl(`fn f(x: u32) -> ${type} { return ${type}(${given}); }`) as AnyFunctor;
    const converted = interpretFunctor(functor, { x: 0 });
    const [least, greatest] = type === 'u32' ? [0, 2 ** 32 - 1] : [-(2 ** 31), 2 ** 31 - 1];
    expect(converted).toBe(Math.trunc(Math.min(Math.max(number, least!), greatest!)) + 0);
    expect(await compiler.errorsIn(`const_assert ${type}(${given}) == ${type}(${converted});`)).toEqual([]);
  });

  test('a text may declare a struct under the name of a vector', () => {
    const text = 'struct A { v: vec2f } struct vec2f { x: u32, y: u32 } fn f(v: vec2f) -> u32 { return v.y; }';
    expect(() => wgsl(text)).toThrow(FunctorError);
    const own = wgsl(text.replace('struct A { v: vec2f }', '')) as AnyFunctor;
    expect(interpretFunctor(own, { v: { x: 1, y: 2 } })).toBe(2);
  });

  test.prop([fuzzCases({ ...everything, vectors: true, boolCaptures: false }, 1)], fuzz(500))(
    'in random texts',
    async ({ sketch }) => {
      const text = textOfSketch(sketch);
      expect(wgsl(text).functorName).toBe('entry');
      expect(await compiler.errorsIn(withoutConstants(text))).toEqual([]);
    },
    fuzzTimeout,
  );
});

describe('what a text must not do with vectors is an error with its place', () => {
  const captured = '@group(0) @binding(0) var<storage> w: array<vec2<f32>>;';
  const neither = false;
  const onlyWgsl = true;
  const cases: readonly (readonly [code: string, body: string, isWgsl: boolean, says: string, before?: string])[] = [
    ['type', 'let v = a ‸+ b.xyz;', neither, 'Name components of one, such as v.xy.'],
    ['type', 'let v = a ‸* n;', neither, 'Expected vec2f or f32, got u32.'],
    ['type', 'let v = P() ‸* a;', neither, 'Expected vec2f or f32, got P.', 'struct P { x: f32, y: f32 }'],
    ['type', 'let v = a ‸& a;', neither, 'is not defined for vec2f and vec2f.'],
    ['type', 'let v = a ‸<< 1u;', neither, 'is not defined for vec2f and u32.'],
    ['type', 'let v = a ‸&& a;', neither, 'is not defined for vec2f and vec2f.'],
    ['type', 'let v = ‸!a;', neither, 'is not defined for vec2f.'],
    ['type', 'let v = ‸~a;', neither, 'is not defined for vec2f.'],
    ['type', 'let v = a ‸== a;', onlyWgsl, 'Compare components, as in a.x == b.x && a.y == b.y.'],
    ['type', 'let v = a ‸< a.yx;', onlyWgsl, 'Compare components, as in a.x == b.x && a.y == b.y.'],
    ['type', 'let v = vec3f(‸n, s, s);', neither, 'Convert with f32(…).'],
    ['arguments', 'let v = ‸vec3f(a);', neither, 'Expected 3, or one for all, got 2.'],
    ['arguments', 'let v = ‸vec3f(a, a);', neither, 'Name components of a longer vector, such as v.xy.'],
    ['arguments', 'let v = ‸vec2f(b);', neither, 'Name components of a longer vector, such as v.xy.'],
    ['type', 'let v: vec2f = ‸s;', neither, 'Construct one with vec2f(…).'],
    ['type', 'let v: vec2f = ‸1;', neither, 'Construct one with vec2f(…).'],
    ['type', 'let v = ‸vec2f;', neither, 'vec2f is a type.'],
    ['type', 'let v = ‸vec2(0.1, 2) * s;', onlyWgsl, 'Write vec2f(…).'],
    ['type', 'let v = vec2(‸n, n);', onlyWgsl, 'Convert with f32(…).'],
    ['unresolved', 'let v = a‸.z;', neither, 'Expected one to four letters of xy, or of rg, got z.'],
    ['unresolved', 'let v = c‸.xr;', neither, 'Expected one to four letters of xyzw, or of rgba, got xr.'],
    ['unresolved', 'let v = a‸.xyxyx;', neither, 'Expected one to four letters of xy, or of rg, got xyxyx.'],
    ['unresolved', 'let v = a‸.length;', neither, 'Expected one to four letters of xy, or of rg, got length.'],
    ['type', 'let v = a.x‸.x;', neither, 'Structs and vectors have.'],
    ['type', 'let v = ‸a[0];', onlyWgsl, 'Components of vectors have names, such as v.x.'],
    ['type', 'let v = a‸.xy[n];', onlyWgsl, 'Components of vectors have names, such as v.x.'],
    ['type', 'var v = a; ‸v[0] = 1;', onlyWgsl, 'Components of vectors have names, such as v.x.'],
    ['assignment', 'var v = b; v‸.xx = a;', neither, 'Name each component once.'],
    ['assignment', 'var v = b; v‸.yxy += a.xxx;', neither, 'Name each component once.'],
    ['assignment', '‸a.x = 1;', neither, 'Copy a into a var.'],
    ['type', 'var v = a; v.x = ‸n;', neither, 'Convert with f32(…).'],
    ['type', 'var v = a; v = ‸1;', neither, 'Construct one with vec2f(…).'],
    ['type', 'var v = s; v *= ‸a;', neither, 'Name a component or a field, such as v.x.'],
    ['type', 'var v = a; v ‸+= b;', neither, 'Name components of one, such as v.xy.'],
    ['type', 'var v = a; v‸++;', neither, 'Write += 1.'],
    ['type', 'var v: array<vec2f, 2>; v[0]‸--;', neither, 'Write -= 1.'],
    ['assignment', 'var v: array<vec2f, 2>; v[0]‸.yy = a;', neither, 'Name each component once.'],
    ['assignment', '‸a.xy = a;', neither, 'Copy a into a var.'],
    ['type', 'let v = min(a, ‸0);', neither, 'Construct one with vec2f(…).'],
    ['type', 'let v = max(‸s, a);', neither, 'Construct one with vec2f(…).'],
    ['type', 'let v = clamp(a, vec2f(), ‸b);', neither, 'Construct one with vec2f(x, y).'],
    ['type', 'let v = mix(a, ‸s, 0.5);', neither, 'Construct one with vec2f(…).'],
    ['type', 'let v = mix(a, a, ‸b);', neither, 'Construct one with vec2f(x, y).'],
    ['type', 'let v = mix(a, a, ‸n);', neither, 'Convert with f32(…).'],
    ['type', 'let v = select(a, a, ‸n);', neither, 'Convert with bool(…).'],
    ['type', 'let v = select(a, ‸s, true);', neither, 'Construct one with vec2f(…).'],
    ['type', 'let v = select(a, a, a ‸< a);', onlyWgsl, 'Compare components'],
    ['type', 'let v = ‸countOneBits(a);', neither, 'Function countOneBits is not defined for f32.'],
    ['arguments', 'let v = ‸min(a);', neither, 'Expected 2, got 1.'],
    ['arguments', 'let v = ‸dot(a);', neither, 'Expected 2, got 1.'],
    ['type', 'let v = dot(a, ‸b);', neither, 'Construct one with vec2f(x, y).'],
    ['type', 'let v = dot(‸s, s);', neither, 'Expected vec2f, vec3f, vec4f, got f32.'],
    ['type', 'let v = cross(‸a, a);', neither, 'Expected vec3f, got vec2f.'],
    ['type', 'let v = normalize(‸s);', neither, 'got f32.'],
    ['type', 'let v = length(‸n);', neither, 'got u32.'],
    ['type', 'let v = distance(s, ‸a);', neither, 'Expected f32, got vec2f.'],
    ['type', 'let v = distance(a, ‸1);', neither, 'Construct one with vec2f(…).'],
    ['arguments', 'let v = ‸distance(s);', neither, 'Expected 2, got 1.'],
    ['type', 'let v = f32(‸a);', neither, 'Expected a scalar, got vec2f.'],
    ['type', 'let v = bitcast<f32>(‸a);', neither, 'Expected a scalar, got vec2f.'],
    ['type', 'let v = ‸vec2u(n);', onlyWgsl, 'Expected vec2f, got vec2u. Use a struct for other types.'],
    ['type', 'let v = ‸vec3<i32>(1);', onlyWgsl, 'Expected vec3f, got vec3<i32>. Use a struct for other types.'],
    ['type', 'var v: ‸vec4<bool>;', onlyWgsl, 'Expected vec4f, got vec4<bool>. Use a struct for other types.'],
    ['type', 'var v: ‸vec2;', neither, 'Expected vec2f, got vec2.'],
    ['type', 'let v = ‸mat2x2f(a, a);', onlyWgsl, 'Use a vector for each column.'],
    ['type', 'let v = ‸mat2x2<f32>(a, a);', onlyWgsl, 'Use a vector for each column.'],
    ['type', 'var v: ‸mat4x4<f32>;', onlyWgsl, 'Use a vector for each column.'],
    ['type', 'if a ‸< a { }', neither, 'Compare components'],
    ['constant', 'const v = a ‸* 2;', neither, 'Use let'],
    ['assignment', 'w‸[0].x += 1;', neither, 'Return the value', captured],
    ['type', 'let v: vec3f = w‸[0];', neither, 'Expected vec3f, got vec2f.', captured],
    ['type', '', neither, 'vector or struct of these', 'struct B { is: bool }\nvar<storage> w: array<‸B>;'],
    ['type', '', onlyWgsl, 'Declare one for each scalar.', '@group(0) @binding(0) var<uniform> w: ‸vec4f;'],
    ['constant', '', onlyWgsl, 'Use let', 'const k = ‸sin(vec2f(1));'],
    ['constant', '', onlyWgsl, 'Use let', 'const k = ‸mix(1, 2f, 0.5);'],
  ];
  test.each(
    cases.map(([code, body, isWgsl, says, before = '']) => ({
      code,
      body,
      isWgsl,
      says,
      before,
      shown: body || before,
    })),
  )('functor/$code: $shown', async ({ code, body, isWgsl, says, before }) => {
    const marked = textOf('f32', `${body}\n  return s;`, before);
    const lines = marked.slice(0, marked.indexOf('‸')).split('\n');
    const text = marked.replace('‸', '');
    const place = { file: 'lib/my.wgsl', line: lines.length, column: lines.at(-1)!.length + 1 };
    const message = expect.stringContaining(says);
    const error = expect.objectContaining({ code: `functor/${code}`, message, place });
    expect(() => wgsl(text, { name: 'lib/my.wgsl' })).toThrow(error);
    expect((await compiler.errorsIn(text)).length === 0).toBe(isWgsl);
  });
});

type OfFloats = (x: F32, y: F32, s: F32) => F32;
type OfNumbers = (x: number, y: number, s: number) => number;
const to = Math.fround;
const even = (x: number): number => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));
const weighed = (x: number, y: number, t: number): number => to(to(x * to(1 - t)) + to(y * t));
const less = (x: number): number => to(x * to(0.3));

/** Expressions of two vectors and a scalar, and what each component is in the builder and in JavaScript. */
const expressions: readonly (readonly [text: string, OfFloats, OfNumbers])[] = [
  ['a + b * s', (x, y, s) => x.add(y.mul(s)), (x, y, s) => to(x + to(y * s))],
  ['s - a', (x, _, s) => s.sub(x), (x, _, s) => to(s - x)],
  ['a / b', (x, y) => x.div(y), (x, y) => to(x / y)],
  ['-a', (x) => x.neg(), (x) => -x],
  ['min(a, b)', (x, y) => x.min(y), (x, y) => Math.min(x, y)],
  ['max(a, b)', (x, y) => x.max(y), (x, y) => Math.max(x, y)],
  [
    'clamp(a, min(b, vec3f(s)), max(b, vec3f(s)))',
    (x, y, s) => x.max(y.min(s)).min(y.max(s)),
    (x, y, s) => Math.min(Math.max(x, Math.min(y, s)), Math.max(y, s)),
  ],
  ['mix(a, b, s)', (x, y, s) => mix(x, y, s), weighed],
  ['mix(a, b, b)', (x, y) => mix(x, y, y), (x, y) => weighed(x, y, y)],
  ['abs(a)', (x) => x.abs(), (x) => Math.abs(x)],
  ['floor(a * 0.3)', (x) => floor(x.mul(0.3)), (x) => Math.floor(less(x))],
  ['ceil(a * 0.3)', (x) => ceil(x.mul(0.3)), (x) => Math.ceil(less(x))],
  ['trunc(a * 0.3)', (x) => trunc(x.mul(0.3)), (x) => Math.trunc(less(x))],
  ['round(a * 0.5)', (x) => round(x.mul(0.5)), (x) => even(x * 0.5)],
  ['fract(a * 0.3)', (x) => fract(x.mul(0.3)), (x) => to(less(x) - Math.floor(less(x)))],
  ['sqrt(abs(a))', (x) => sqrt(x.abs()), (x) => to(Math.sqrt(Math.abs(x)))],
  ['sign(a)', (x) => sign(x), (x) => Math.sign(x)],
  ['select(a, b, s < 0)', (x, y, s) => select(x, y, s.lt(0)), (x, y, s) => (s < 0 ? y : x)],
];

/** Expressions that devices take long to compile, so that they are compared without backends. */
const longer: typeof expressions = [
  ['a % b', (x, y) => remainder(x, y), (x, y) => x % y],
  ['fma(a, b, a)', (x, y) => fma(x, y, x), (x, y) => to(x * y + x)],
];

const parameters = { a: vec3f, b: vec3f, s: f32 };
const whole = { cross: vec3f, unit: vec3f, swapped: vec2f, four: vec4f, dots: f32, size: f32, far: f32 };
type Result = typeof whole & Readonly<Record<`r${number}`, typeof vec3f>>;
const resultOf = (list: typeof expressions): Result => ({
  ...whole,
  ...Object.fromEntries(list.map((_, k) => [`r${k}`, vec3f])),
});

function textOfExpressions(list: typeof expressions): Functor<typeof parameters, Result> {
  const text = `struct Results {
    cross: vec3f, unit: vec3f, swapped: vec2f, four: vec4f, dots: f32, size: f32, far: f32,
    ${list.map((_, k) => `r${k}: vec3f`).join(', ')}
  }
  fn f(a: vec3f, b: vec3f, s: f32) -> Results {
    var r: Results;
    r.cross = cross(a, b);
    r.unit = normalize(a);
    r.swapped = a.xy; r.swapped = r.swapped.yx; r.swapped.y += s; r.swapped *= 2;
    r.four = vec4f(s, b.zyx) - vec4f(a.xy, b.xy);
    r.dots = dot(a, b) + dot(a.xy, b.yz);
    r.size = length(a);
    r.far = distance(a, b);
    ${list.map(([each], k) => `r.r${k} = ${each};`).join('\n')}
    return r;
  }`;
  return wgsl(text, { parameters, result: resultOf(list) });
}

const builtOf = (list: typeof expressions): Functor<typeof parameters, Result> =>
  fn(parameters, resultOf(list), ({ a, b, s }) => ({
    cross: cross(a, b),
    unit: normalize(a),
    swapped: { x: a.y.mul(2), y: a.x.add(s).mul(2) },
    four: { x: s.sub(a.x), y: b.z.sub(a.y), z: b.y.sub(b.x), w: b.x.sub(b.y) },
    dots: dot(a, b).add(dot({ x: a.x, y: a.y }, { x: b.y, y: b.z })),
    size: length(a),
    far: distance(a, b),
    ...Object.fromEntries(list.map(([, each], k) => [`r${k}`, byComponent((x, y) => each(x, y, s), a, b)])),
  }));

type Numbers = readonly number[];
const dotOf = (p: Numbers, q: Numbers): number => p.map((x, i) => to(x * q[i]!)).reduce((sum, x) => to(sum + x));
const sizeOf = (p: Numbers): number => to(Math.sqrt(dotOf(p, p)));

/** What both compute of a row, by JavaScript. */
function byHand(list: typeof expressions, [a, b, s]: Row): unknown {
  const across = (p: number, q: number): number => to(to(a[p]! * b[q]!) - to(a[q]! * b[p]!));
  return {
    cross: vectorOf([across(1, 2), across(2, 0), across(0, 1)]),
    unit: vectorOf(a.map((x) => to(x / sizeOf(a)))),
    swapped: vectorOf([to(a[1]! * 2), to(to(a[0]! + s) * 2)]),
    four: vectorOf([to(s - a[0]!), to(b[2]! - a[1]!), to(b[1]! - b[0]!), to(b[0]! - b[1]!)]),
    dots: to(dotOf(a, b) + dotOf(a.slice(0, 2), b.slice(1))),
    size: sizeOf(a),
    far: sizeOf(a.map((x, i) => to(x - b[i]!))),
    ...Object.fromEntries(list.map(([, , each], k) => [`r${k}`, vectorOf(a.map((x, i) => each(x, b[i]!, s)))])),
  };
}

/** Numbers of which neither products nor quotients are subnormal. */
const number = fc.integer({ min: -(2 ** 12), max: 2 ** 12 });
const triple = fc.tuple(number, number, number);
const row = fc.tuple(triple, triple, number);
type Row = readonly [Numbers, Numbers, number];

const all = [...expressions, ...longer];
const [text, built] = [textOfExpressions(all), builtOf(all)];

test.prop([row], { numRuns: caseCount(1000) })(
  'vectors in text are those of the builder and of JavaScript',
  ([a, b, s]) => {
    const given = { a: vectorOf(a), b: vectorOf(b), s } as never;
    const computed = interpretFunctor(text, given);
    expect(computed).toEqual(interpretFunctor(built, given));
    expect(computed).toEqual(byHand(all, [a, b, s]));
  },
);

const light = textOfExpressions(expressions);

testOnEveryBackend('vectors in text are those of JavaScript', async ({ context }) => {
  const property = fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 9 }), async (rows) => {
    const column = (of: (row: Row) => number) => context.column(Float32Array.from(rows, of));
    const vector = (side: 0 | 1) => ({
      x: column((each) => each[side][0]!),
      y: column((each) => each[side][1]!),
      z: column((each) => each[side][2]!),
    });
    const got = await context.read(map(light, { a: vector(0), b: vector(1), s: column((each) => each[2]) }));
    expect(rows.map((_, at) => atRow(got, at))).toEqual(rows.map((each) => byHand(expressions, each)));
  });
  await fc.assert(property, { numRuns: caseCount(100) });
});

const moved = { at: vec3f, times: u32 };
const path = wgsl(
  `struct Move { at: vec3f, times: u32 }
  var<storage> moves: array<Move>;
  @group(0) @binding(1) var<storage, read> ends: array<vec2<f32>>;
  fn step(p: vec3f, i: u32) -> vec3f {
    let by = moves[i];
    return p + by.at * f32(by.times);
  }
  fn path(start: vec3f) -> vec4f {
    var p = start;
    for (var i = 0u; i < arrayLength(&moves); i++) { p = step(p, i); }
    return vec4f(p.x, p.zy + ends[moves[0].times].yx, ends[arrayLength(&ends)].x);
  }`,
  { parameters: { start: vec3f, moves: array(moved), ends: array(vec2f) }, result: vec4f },
);
const move = fc.tuple(triple, fc.integer({ min: 0, max: 4 }));
const columnOf = (context: Context, numbers: Numbers): Column<'f32'> => context.column(Float32Array.from(numbers));

testOnEveryBackend('arrays of vectors and structs in text are captured tables', async ({ context }) => {
  const lists = fc.tuple(fc.array(move, { maxLength: 5 }), fc.array(triple, { maxLength: 5 }), triple);
  const property = fc.asyncProperty(lists, async ([moves, ends, start]) => {
    const vector = (list: readonly Numbers[]) => ({
      x: columnOf(
        context,
        list.map(([x]) => x!),
      ),
      y: columnOf(
        context,
        list.map(([, y]) => y!),
      ),
      z: columnOf(
        context,
        list.map(([, , z]) => z!),
      ),
    });
    const { x, y } = vector(ends);
    const times = context.column(Uint32Array.from(moves, ([, count]) => count));
    const table = { at: vector(moves.map(([at]) => at)), times };
    const got = await context.read(map(path, { start: vector([start]), moves: table, ends: { x, y } }));
    const [px, py, pz] = moves.reduce((p, [at, count]) => p.map((each, k) => each + at[k]! * count), start as Numbers);
    const [ex, ey] = ends[moves[0]?.[1] ?? 0] ?? [0, 0];
    expect(atRow(got, 0)).toEqual(vectorOf([px! + 0, pz! + ey! + 0, py! + ex! + 0, 0]));
  });
  await fc.assert(property, { numRuns: caseCount(50) });
});

/** One row of a table, with a number in place of each column. */
function atRow(table: object, at: number): unknown {
  if (table instanceof Float32Array) return table[at];
  return Object.fromEntries(Object.entries(table).map(([name, each]) => [name, atRow(each, at)]));
}
