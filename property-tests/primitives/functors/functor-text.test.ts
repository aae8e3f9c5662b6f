import { readFile } from 'node:fs/promises';
import { describe, expect } from 'vitest';
import { FunctorError } from '../../../primitives/checks/errors.ts';
import { For, If, Return } from '../../../primitives/functors/control.ts';
import { array, bool, f32, fn, i32, u32, uniform } from '../../../primitives/functors/functor.ts';
import { mortonEncode } from '../../../primitives/functors/standard/morton.ts';
import { builtinNames } from '../../../primitives/functors/text/builtins.ts';
import { wgsl } from '../../../primitives/functors/text/wgsl.ts';
import { integer32, word } from '../../arbitraries/integers.ts';
import { fc, test } from '../../law-test.ts';
import { interpret, interpretFunctor } from '../../support/ir-interpreter.ts';

/**
 * Evaluates a functor text for the given arguments. Arguments and results are flat lists of values, whatever their
 * shapes.
 */
function evaluate(text: string, args: readonly (number | boolean)[], bindings = {}): (number | boolean)[] {
  return interpret(wgsl(text).module, args, bindings).map(({ value }) => value);
}

const morton = `
  // Spreads the low 16 bits.
  fn part1by1(a: u32) -> u32 {
    var v = a & 0xffffu;
    v = (v | (v << 8)) & 0x00ff00ff;
    v = (v | (v << 4)) & 0x0f0f0f0f;
    v = (v | (v << 2)) & 0x33333333;
    return (v | (v << 1)) & 0x55555555;
  }
  fn morton(x: u32, y: u32) -> u32 { return part1by1(x) | (part1by1(y) << 1u); }`;

test('the docstring of wgsl names all built-in functions', async () => {
  const source = await readFile(new URL('../../../primitives/functors/text/wgsl.ts', import.meta.url), 'utf8');
  const listed = source.replaceAll('\n * ', ' ').match(/built-in functions ([\w, ]+), arrayLength and bitcast/)![1]!;
  expect(listed.split(', ')).toEqual([...builtinNames].sort());
});

describe('numbers without a suffix', () => {
  // As Dawn computes them.
  test.each<readonly [expression: string, type: string, value: number]>([
    ['f32(3 << 30u)', 'f32', 3 * 2 ** 30],
    ['3 << 30u', 'u32', 3 * 2 ** 30],
    ['3 << (N + 15u)', 'u32', 3 * 2 ** 30],
    ['3 << u32(M)', 'u32', 3 * 2 ** 30],
    ['f32((1 << 40u) >> 8u)', 'f32', 2 ** 32],
    // A count that only the running program knows leaves an i32.
    ['f32(3 << n)', 'f32', -(2 ** 30)],
    ['f32(3 << bits)', 'f32', -(2 ** 30)],
    ['select(1, 2.5, n > 3u)', 'f32', 2.5],
    ['select(1.5, 2, n > 3u)', 'f32', 2],
    ['max(3, 2.5)', 'f32', 3],
    ['clamp(4, 1.5, 3)', 'f32', 3],
    ['sqrt(9)', 'f32', 3],
    ['floor(3)', 'f32', 3],
    ['abs(-3)', 'f32', 3],
    ['abs(-3)', 'u32', 3],
    ['abs(-2.5)', 'f32', 2.5],
  ])('%s is %s %d', (expression, type, value) => {
    const text = `const N = 15u; const M = 30;
      fn f(n: u32) -> ${type} { let bits = 30u; let result: ${type} = ${expression}; return result; }`;
    expect(evaluate(text, [30])).toEqual([value]);
  });

  test.each<readonly [expression: string, type: string]>([
    ['3 << n', 'u32'],
    ['max(3, 2.5)', 'i32'],
    ['select(1, 2, n > 3u)', 'f32'],
  ])('%s is no %s', (expression, type) => {
    const text = `fn f(n: u32) -> ${type} { let result: ${type} = ${expression}; return result; }`;
    expect(() => evaluate(text, [30])).toThrow(FunctorError);
  });

  test('steps of one are for integers', () => {
    expect(() => wgsl('fn f(x: f32) -> f32 { var y = x; y++; return y; }')).toThrow('Write += 1.');
  });
});

describe('WGSL text', () => {
  test.prop([word, word])('computes the same as with the builder', (x, y) => {
    expect(evaluate(morton, [x, y])).toEqual([interpretFunctor(mortonEncode, { x, y })]);
  });

  test.prop([fc.array(word, { maxLength: 8 }), fc.integer({ min: 0, max: 12 }), word])(
    'captures columns and uniforms as with the builder',
    (xs, n, wanted) => {
      const search = fn('search', { wanted: u32, xs: array(u32), n: uniform(u32) }, u32, (v) => {
        For(0, v.n, (i) => {
          If(v.xs.at(i).eq(v.wanted), () => Return(i));
        });
        return v.xs.length().add(100);
      });
      const text = wgsl(
        `@group(0) @binding(0) var<storage, read> xs: array<u32>;
         var<uniform> n: u32;
         fn search(wanted: u32) -> u32 {
           for (var i = 0u; i < n; i++) {
             if xs[i] == wanted { return i; }
           }
           return arrayLength(&xs) + 100u;
         }`,
        { parameters: { wanted: u32, xs: array(u32), n: uniform(u32) }, result: u32 },
      );
      const bindings = { arrays: { xs }, uniforms: { n } };
      expect(interpretFunctor(text, { wanted }, bindings)).toBe(interpretFunctor(search, { wanted }, bindings));
    },
  );

  test.prop([word, word])('has while, compound assignments and helper functions', (a, b) => {
    const [g] = evaluate(
      `fn step(a: u32, b: u32) -> u32 { return a % b; }
       fn gcd(x: u32, y: u32) -> u32 {
         var a = x; var b = y;
         while (b != 0) { let r = step(a, b); a = b; b = r; }
         a *= 1u; a += 0; a -= 0u; a /= 1; a <<= 0u; a |= 0;
         return a;
       }`,
      [a, b],
    );
    const gcd = (p: number, q: number): number => (q === 0 ? p : gcd(q, p % q));
    expect(g).toBe(gcd(a, b));
  });

  test.prop([fc.integer({ min: 0, max: 40 })])('runs continuing at every continue, and break if after it', (n) => {
    const [odd, rounds] = evaluate(
      `struct Sum { odd: u32, rounds: u32 }
       fn sum(n: u32) -> Sum {
         var s = Sum();
         var i = 0u;
         loop {
           if i >= n { break; }
           let step = 1u;
           if (i & 1u) == 0u { continue; }
           s.odd += i;
           continuing { i += step; s.rounds++; break if s.rounds == 30u; }
         }
         return s;
       }`,
      [n],
    ) as [number, number];
    let expected = 0;
    for (let i = 0; i < Math.min(n, 30); i++) if (i % 2 === 1) expected += i;
    expect([odd, rounds]).toEqual([expected, Math.min(n, 30)]);
  });

  test.prop([integer32, integer32])('reads and constructs structs', (x, y) => {
    const functor = wgsl(
      `struct Point { x: i32, y: i32, }
       struct Box { low: Point, high: Point }
       fn box(a: Point, b: Point) -> Box {
         var p = a;
         p = Point(p.y, p.x);
         let swapped = p;
         p.x = 0;
         return Box(Point(min(swapped.x, b.x), swapped.y), p);
       }`,
      { parameters: { a: { x: i32, y: i32 }, b: { x: i32, y: i32 } } },
    );
    expect(interpretFunctor(functor, { a: { x, y }, b: { x: y, y: x } })).toEqual({
      low: { x: y, y: x },
      high: { x: 0, y: x },
    });
  });

  test.each([
    ['1 + 2 * 3', 'u32', 7],
    ['-7 / 2', 'i32', -3],
    ['1 << 31', 'u32', 0x80000000],
    ['0xffffffff - 1', 'u32', 4294967294],
    ['~0u', 'u32', 4294967295],
    ['-(3 - 5)', 'i32', 2],
    ['7.5 / 2', 'f32', 3.75],
    ['1e3', 'f32', 1000],
    ['.5f', 'f32', 0.5],
    ['3f', 'f32', 3],
    ['f32(7) % 1.0 == 0.0', 'bool', true],
    ['min(3, 2) + max(1u, 5)', 'u32', 7],
    ['clamp(9, 1, 4)', 'i32', 4],
    ['abs(-3)', 'i32', 3],
    ['floor(-1.5) + ceil(1.25) + trunc(-1.75) + round(2.5) + sqrt(16.0)', 'f32', 5],
    ['countLeadingZeros(1u) + countTrailingZeros(8u) + countOneBits(255u)', 'u32', 42],
    ['select(1u, 2, 3 > 2)', 'u32', 2],
    ['bitcast<u32>(1.0)', 'u32', 0x3f800000],
    ['bitcast<f32>(0x40000000)', 'f32', 2],
    ['u32(-1i)', 'u32', 4294967295],
    ['i32(3.99)', 'i32', 3],
    ['bool(1e-50)', 'bool', true],
    ['bool(3000000000)', 'bool', true],
    ['bool(-0.0)', 'bool', false],
    ['u32(true) + u32(bool(2))', 'u32', 2],
    ['f32()', 'f32', 0],
    ['true && !false || false', 'bool', undefined],
    ['(true && !false) || false', 'bool', true],
    ['true & false | true', 'bool', undefined],
    ['1 < 2 == true', 'bool', undefined],
    ['(1 < 2) == true', 'bool', true],
    ['5u / 0u + 5u % 0u', 'u32', 5],
    ['N * 2u', 'u32', 8],
    ['M', 'f32', 8],
  ])('%s is a %s of %s', (expression, type, value) => {
    const text = `const N = 4u; const M: f32 = 2 * 4; fn f() -> ${type} { const a = ${expression}; return a; }`;
    if (value === undefined) expect(() => evaluate(text, [])).toThrow(FunctorError);
    else expect(evaluate(text, [])).toEqual([value]);
  });

  test('gives zero for reads out of range, negative indices included', () => {
    const text = 'var<storage> xs: array<i32>; fn f(i: i32) -> i32 { return xs[i]; }';
    expect([-1, 0, 1, 2].map((i) => evaluate(text, [i], { arrays: { xs: [7, 8] } })[0])).toEqual([0, 7, 8, 0]);
  });

  test('arrays of a function are read and written, by elements and by fields', () => {
    const text = `
      struct Q { far: f32, at: u32 }
      struct P { x: u32, q: Q, y: bool }
      const N = 3;
      fn f(i: i32, v: u32) -> u32 {
        var a = array<u32, 3>(1u, v, 3);
        var b: array<P, N>;
        var c: array<i32, 2> = array(4, 5);
        var d: array<f32, 2> = array<f32, 2>();
        a[i] += 10u;
        b[i].q.at = a[1];
        b[i].x++;
        b[1] = P(a[0], Q(1.5, b[i].q.at), true);
        c[i] = -c[0];
        d[1] = b[1].q.far;
        return a[i] * 1000u + b[1].x * 100u + b[u32(i)].q.at * 10u + u32(c[i]) + u32(d[1] * 2) + u32(b[1].y);
      }`;
    // The first factors: the element i, the first element, the middle one, the negated first of c, and 3 + 1.
    const expected = [
      [0, 11, 11, 6, -4],
      [1, 16, 1, 16, -4],
      [2, 13, 1, 6, 0],
      [3, 0, 1, 0, 0],
      [-1, 0, 1, 0, 0],
    ].map(([, own, first, at, negated]) => (own! * 1000 + first! * 100 + at! * 10 + negated! + 4) >>> 0);
    expect([0, 1, 2, 3, -1].map((i) => evaluate(text, [i, 6])[0])).toEqual(expected);
  });

  test('let keeps the value of a variable', () => {
    expect(evaluate('fn f(x: u32) -> u32 { var v = x; let old = v; v = 5u; return old * 10u + v; }', [3])).toEqual([
      35,
    ]);
  });

  test('inner names shadow outer ones', () => {
    const text =
      'fn f(x: u32) -> u32 { let a = x; { let a = a + 1u; if true { let a = 7u; _ = a; } _ = a; } return a; }';
    expect(evaluate(text, [3])).toEqual([3]);
  });

  test('selects the entry by name, else the last function', () => {
    const text = 'fn a() -> u32 { return 1u; } fn b() -> u32 { return 2u; }';
    expect([wgsl(text).functorName, wgsl(text, { entry: 'a' }).functorName]).toEqual(['b', 'a']);
    expect(interpretFunctor(wgsl(text, { entry: 'a' }), {})).toBe(1);
  });

  test('can be called by other functors', () => {
    const square = wgsl('fn square(x: f32) -> f32 { return x * x; }', { parameters: { x: f32 }, result: f32 });
    const far = fn('far', { x: f32, y: f32 }, bool, ({ x, y }) =>
      square({ x })
        .add(square({ x: y }))
        .gt(25),
    );
    expect([interpretFunctor(far, { x: 3, y: 4 }), interpretFunctor(far, { x: 3, y: 4.5 })]).toEqual([false, true]);
  });

  test('accepts numbers in a template', () => {
    const times = (factor: number) => wgsl`fn times(x: u32) -> u32 { return x * ${factor}u; }`;
    expect(interpret(times(6).module, [7])[0]!.value).toBe(42);
  });
});
