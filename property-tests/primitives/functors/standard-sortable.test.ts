import { describe, expect } from 'vitest';
import {
  f32BitsToSortable,
  f32ToSortable,
  i32ToSortable,
  i64ToSortable,
  sortableToF32,
  sortableToF32Bits,
  sortableToI32,
} from '../../../primitives/functors/standard/sortable.ts';
import { integer32, ofSigned, signed, unsigned, word, word64 } from '../../arbitraries/integers.ts';
import { fc, test } from '../../law-test.ts';
import { interpretFunctor } from '../../support/ir-interpreter.ts';

const float = fc.float({ noNaN: true });
/** Compares numbers by the total order of sortable keys, in which −0 is directly below +0. */
const rank = (x: number, y: number): number =>
  x === y ? Number(Object.is(y, -0)) - Number(Object.is(x, -0)) : x < y ? -1 : 1;

describe('sortable keys', () => {
  test.prop([float, float])('order f32 with −0 below +0', (x, y) => {
    const key = (value: number): number => interpretFunctor(f32ToSortable, { x: value });
    expect(Math.sign(key(x) - key(y)) || 0).toBe(rank(x, y));
  });

  test.prop([fc.constantFrom(-Infinity, -1, -(2 ** -149), -0, 0, 2 ** -149, 1, Infinity), float])(
    'order f32 at the limits',
    (x, y) => {
      const key = (value: number): number => interpretFunctor(f32ToSortable, { x: value });
      expect(Math.sign(key(x) - key(y)) || 0).toBe(rank(x, y));
    },
  );

  test.prop([float])('decode to the f32', (x) => {
    expect(interpretFunctor(sortableToF32, { key: interpretFunctor(f32ToSortable, { x }) })).toBe(x);
  });

  test.prop([word])('decode to every bit pattern of an f32, NaNs included', (bits) => {
    const key = interpretFunctor(f32BitsToSortable, { bits });
    expect(interpretFunctor(sortableToF32Bits, { key })).toBe(bits);
  });

  test('put NaNs at the ends, by their sign', () => {
    const key = (bits: number): number => interpretFunctor(f32BitsToSortable, { bits });
    expect(key(0x7fc00000)).toBeGreaterThan(key(0x7f800000));
    expect(key(0xffc00000)).toBeLessThan(key(0xff800000));
  });

  test.prop([integer32, integer32])('order i32 and decode to them', (x, y) => {
    const key = (value: number): number => interpretFunctor(i32ToSortable, { x: value });
    expect(Math.sign(key(x) - key(y))).toBe(Math.sign(x - y));
    expect(interpretFunctor(sortableToI32, { key: key(x) })).toBe(x);
  });

  test.prop([word64, word64])('order i64 and decode to them', (a, b) => {
    const [x, y] = [BigInt.asIntN(64, a), BigInt.asIntN(64, b)];
    const key = (value: bigint) => interpretFunctor(i64ToSortable, { x: ofSigned(value) });
    expect(unsigned(key(x)) < unsigned(key(y))).toBe(x < y);
    expect(signed(interpretFunctor(i64ToSortable, { x: key(x) }))).toBe(x);
  });
});
