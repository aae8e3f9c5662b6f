import { describe, expect } from 'vitest';
import { FunctorError } from '../../../primitives/checks/errors.ts';
import { bool, f32, fn, i32, u32, u64 } from '../../../primitives/functors/functor.ts';
import {
  bitsToF32,
  bitsToI32,
  bitsToU32,
  clz,
  ctz,
  mulhi,
  popcount,
  reverseBits,
} from '../../../primitives/functors/standard/bits.ts';
import { clamp, max, min, select } from '../../../primitives/functors/standard/choose.ts';
import { dotOfHalves, packHalves } from '../../../primitives/functors/standard/halves.ts';
import { ceil, floor, round, sqrt, trunc } from '../../../primitives/functors/standard/rounding.ts';
import { integer32, word } from '../../arbitraries/integers.ts';
import { fc, test } from '../../law-test.ts';
import { interpretFunctor } from '../../support/ir-interpreter.ts';

const number = fc.float({ noNaN: true });
const anyFloat = fc.float();

describe('bits', () => {
  const counts = fn('counts', { x: u32 }, { clz: u32, ctz: u32, popcount: u32, reversed: u32 }, ({ x }) => ({
    clz: clz(x),
    ctz: ctz(x),
    popcount: popcount(x),
    reversed: reverseBits(x),
  }));

  test.prop([word])('are counted as in the binary digits', (x) => {
    const digits = x.toString(2).padStart(32, '0');
    expect(interpretFunctor(counts, { x })).toEqual({
      clz: digits.indexOf('1') < 0 ? 32 : digits.indexOf('1'),
      ctz: digits.indexOf('1') < 0 ? 32 : 31 - digits.lastIndexOf('1'),
      popcount: digits.replaceAll('0', '').length,
      reversed: Number.parseInt([...digits].reverse().join(''), 2),
    });
  });

  test.prop([word, word])('mulhi is the high word of the product', (a, b) => {
    const high = fn('high', { a: u32, b: u32 }, u32, (v) => mulhi(v.a, v.b));
    expect(interpretFunctor(high, { a, b })).toBe(Number((BigInt(a) * BigInt(b)) >> 32n));
  });

  test.prop([word, word])('dotOfHalves multiplies halves of words as i16 and sums, packHalves packs them', (a, b) => {
    const dot = fn('dot', { a: u32, b: u32 }, i32, (v) => dotOfHalves(v.a, v.b));
    const halves = (each: number): readonly [number, number] => [(each << 16) >> 16, each >> 16];
    const [[p, q], [r, s]] = [halves(a), halves(b)];
    expect(interpretFunctor(dot, { a, b })).toBe((p * r + q * s) | 0);
    const packed = fn('packed', { low: i32, high: i32 }, u32, ({ low, high }) => packHalves(low, high));
    expect(interpretFunctor(packed, { low: p, high: q })).toBe(a);
    expect(interpretFunctor(packed, { low: a | 0, high: b | 0 })).toBe(((a & 0xffff) | (b << 16)) >>> 0);
  });

  test.prop([number])('of an f32 converted to integers and back are unchanged', (x) => {
    const roundTrip = fn('roundTrip', { x: f32 }, { x: f32, u: u32, i: i32 }, (v) => ({
      x: bitsToF32(bitsToI32(bitsToU32(v.x))),
      u: bitsToU32(v.x),
      i: bitsToI32(v.x),
    }));
    const bits = new Uint32Array(Float32Array.of(x).buffer)[0]!;
    expect(interpretFunctor(roundTrip, { x })).toEqual({ x, u: bits, i: bits | 0 });
  });
});

describe('selection', () => {
  const chosen = fn('chosen', { a: u64, b: u64, c: bool }, u64, ({ a, b, c }) => select(a, b, c));

  test.prop([word, word, word, word, fc.boolean()])(
    'select takes all fields of a record from one side',
    (p, q, r, s, c) => {
      const [a, b] = [
        { lo: p, hi: q },
        { lo: r, hi: s },
      ];
      expect(interpretFunctor(chosen, { a, b, c })).toEqual(c ? b : a);
    },
  );

  test('select accepts a literal on either side', () => {
    const left = fn('left', { x: i32, c: bool }, i32, ({ x, c }) => select(-1, x, c));
    const right = fn('right', { x: i32, c: bool }, i32, ({ x, c }) => select(x, 7, c));
    expect([interpretFunctor(left, { x: 5, c: false }), interpretFunctor(left, { x: 5, c: true })]).toEqual([-1, 5]);
    expect([interpretFunctor(right, { x: 5, c: false }), interpretFunctor(right, { x: 5, c: true })]).toEqual([5, 7]);
  });

  test('select refuses records of different fields', () => {
    const broken = fn('broken', { c: bool }, u32, ({ c }) => {
      select({ x: u32(1) }, { y: u32(1) } as never, c);
      return u32(0);
    });
    expect(() => broken.module).toThrow(FunctorError);
  });

  test.prop([integer32, integer32, integer32])('clamp limits a number to the bounds', (x, p, q) => {
    const held = fn('held', { x: i32, low: i32, high: i32 }, i32, (v) => clamp(v.x, v.low, v.high));
    const [low, high] = [Math.min(p, q), Math.max(p, q)];
    const result = interpretFunctor(held, { x, low, high });
    expect(result).toBeGreaterThanOrEqual(low);
    expect(result).toBeLessThanOrEqual(high);
    if (x >= low && x <= high) expect(result).toBe(x);
  });

  test.prop([anyFloat, anyFloat, anyFloat])('min and max of f32 ignore NaNs', (x, y, z) => {
    const extremes = fn('extremes', { x: f32, y: f32, z: f32 }, { min: f32, max: f32 }, (v) => ({
      min: min(v.x, v.y, v.z),
      max: max(v.x, v.y, v.z),
    }));
    const numbers = [x, y, z].filter((value) => !Number.isNaN(value));
    const expected =
      numbers.length === 0 ? { min: NaN, max: NaN } : { min: Math.min(...numbers), max: Math.max(...numbers) };
    expect(interpretFunctor(extremes, { x, y, z })).toEqual(expected);
  });
});

describe('rounding', () => {
  const roundings = fn('roundings', { x: f32 }, { floor: f32, ceil: f32, trunc: f32, round: f32 }, ({ x }) => ({
    floor: floor(x),
    ceil: ceil(x),
    trunc: trunc(x),
    round: round(x),
  }));

  test.prop([
    fc.oneof(
      fc.integer({ min: -20, max: 20 }).map((n) => n / 4),
      number,
    ),
  ])('floor, ceil, trunc and round give the neighbouring integer', (x) => {
    const got = interpretFunctor(roundings, { x });
    expect(got.floor).toBe(Math.floor(x));
    expect(got.ceil).toBe(Math.ceil(x));
    expect(got.trunc).toBe(Math.trunc(x));
    const below = Math.abs(x - got.floor);
    const above = Math.abs(got.ceil - x);
    const even = got.floor % 2 === 0 ? got.floor : got.ceil;
    const nearest = !Number.isFinite(x) || below < above ? got.floor : above < below ? got.ceil : even;
    expect(got.round).toBe(nearest === 0 && (x < 0 || Object.is(x, -0)) ? -0 : nearest);
  });

  test.prop([number])('sqrt is rounded to nearest', (x) => {
    const root = fn('root', { x: f32 }, f32, (v) => sqrt(v.x));
    const got = interpretFunctor(root, { x });
    expect(got).toBe(x < 0 ? Number.NaN : Math.fround(Math.sqrt(x)));
  });
});
