import { describe, expect } from 'vitest';
import { fn, i32, u32, u64 } from '../../../primitives/functors/functor.ts';
import * as wide from '../../../primitives/functors/standard/wide.ts';
import * as products from '../../../primitives/functors/standard/wide-products.ts';
import { integer32, ofSigned, ofUnsigned, signed, unsigned, word, word64 } from '../../arbitraries/integers.ts';
import { fc, test } from '../../law-test.ts';
import { interpretFunctor } from '../../support/ir-interpreter.ts';

const sign = (x: bigint): number => (x > 0n ? 1 : x < 0n ? -1 : 0);
const min = (a: bigint, b: bigint): bigint => (sign(a - b) < 0 ? a : b);
const max = (a: bigint, b: bigint): bigint => (sign(a - b) < 0 ? b : a);

describe('64-bit integers of two words', () => {
  test.prop([word64, word64])('add, subtract and negate modulo 2⁶⁴', (a, b) => {
    const args = { a: ofUnsigned(a), b: ofUnsigned(b) };
    expect(unsigned(interpretFunctor(wide.add64, args))).toBe(BigInt.asUintN(64, a + b));
    expect(unsigned(interpretFunctor(wide.sub64, args))).toBe(BigInt.asUintN(64, a - b));
    expect(unsigned(interpretFunctor(wide.neg64, { a: args.a }))).toBe(BigInt.asUintN(64, -a));
  });

  test.prop([word64, word64])('compare as unsigned numbers', (a, b) => {
    const args = { a: ofUnsigned(a), b: ofUnsigned(b) };
    expect(interpretFunctor(wide.ltU64, args)).toBe(a < b);
    expect(interpretFunctor(wide.eq64, args)).toBe(a === b);
    expect(interpretFunctor(wide.compareU64, args)).toBe(sign(a - b));
    expect(unsigned(interpretFunctor(wide.minU64, args))).toBe(min(a, b));
    expect(unsigned(interpretFunctor(wide.maxU64, args))).toBe(max(a, b));
  });

  test.prop([word64, word64])('compare as two’s complement numbers', (x, y) => {
    const [a, b] = [BigInt.asIntN(64, x), BigInt.asIntN(64, y)];
    const args = { a: ofSigned(a), b: ofSigned(b) };
    expect(interpretFunctor(wide.ltI64, args)).toBe(a < b);
    expect(interpretFunctor(wide.compareI64, args)).toBe(sign(a - b));
    expect(signed(interpretFunctor(wide.minI64, args))).toBe(min(a, b));
    expect(signed(interpretFunctor(wide.maxI64, args))).toBe(max(a, b));
    expect(interpretFunctor(wide.signI64, { a: args.a })).toBe(sign(a));
    expect(unsigned(interpretFunctor(wide.absI64, { a: args.a }))).toBe(a < 0n ? -a : a);
  });

  test.prop([word64])('equal themselves', (a) => {
    const args = { a: ofUnsigned(a), b: ofUnsigned(a) };
    expect(interpretFunctor(wide.eq64, args)).toBe(true);
    expect(interpretFunctor(wide.compareU64, args)).toBe(0);
    expect(interpretFunctor(wide.compareI64, args)).toBe(0);
  });

  test.prop([word64, fc.oneof(fc.integer({ min: 0, max: 64 }), word)])('shift by counts modulo 64', (a, count) => {
    const args = { a: ofUnsigned(a), count };
    const by = BigInt(count % 64);
    expect(unsigned(interpretFunctor(wide.shl64, args))).toBe(BigInt.asUintN(64, a << by));
    expect(unsigned(interpretFunctor(wide.shrU64, args))).toBe(a >> by);
    expect(signed(interpretFunctor(wide.shrI64, args))).toBe(BigInt.asIntN(64, a) >> by);
  });

  test.prop([word, integer32])('are made from words by zero or sign extension', (a, b) => {
    const extend = fn('extend', { a: u32, b: i32 }, { a: u64, b: u64 }, (v) => ({
      a: wide.u64OfU32(v.a),
      b: wide.i64OfI32(v.b),
    }));
    const both = interpretFunctor(extend, { a, b });
    expect([unsigned(both.a), signed(both.b)]).toEqual([BigInt(a), BigInt(b)]);
  });
});

describe('full-width products', () => {
  const unsigned128 = (x: { lo: { lo: number; hi: number }; hi: { lo: number; hi: number } }): bigint =>
    unsigned(x.lo) | (unsigned(x.hi) << 64n);

  test.prop([word, word])('of u32 equal the u64 of BigInt', (a, b) => {
    expect(unsigned(interpretFunctor(products.mulU32, { a, b }))).toBe(BigInt(a) * BigInt(b));
  });

  test.prop([integer32, integer32])('of i32 equal the i64 of BigInt', (a, b) => {
    expect(signed(interpretFunctor(products.mulI32, { a, b }))).toBe(BigInt(a) * BigInt(b));
  });

  test.prop([word64, word64])('of u64 equal the 128 bits of BigInt, and their low half', (a, b) => {
    const args = { a: ofUnsigned(a), b: ofUnsigned(b) };
    expect(unsigned128(interpretFunctor(products.mulU64, args))).toBe(a * b);
    expect(unsigned(interpretFunctor(products.mul64, args))).toBe(BigInt.asUintN(64, a * b));
  });

  test.prop([word64, word64])('of i64 equal the 128 bits of BigInt', (x, y) => {
    const [a, b] = [BigInt.asIntN(64, x), BigInt.asIntN(64, y)];
    const product = unsigned128(interpretFunctor(products.mulI64, { a: ofSigned(a), b: ofSigned(b) }));
    expect(BigInt.asIntN(128, product)).toBe(a * b);
  });

  test.prop([word64, word64, word64, word64, fc.boolean()])(
    'of 128 bits compare as BigInt',
    (a0, a1, b0, b1, alike) => {
      const [a, b] = [a0 | (a1 << 64n), b0 | ((alike ? a1 : b1) << 64n)].map((x) => BigInt.asIntN(128, x)) as [
        bigint,
        bigint,
      ];
      const args = {
        a: { lo: ofUnsigned(a0), hi: ofUnsigned(a1) },
        b: { lo: ofUnsigned(b0), hi: ofUnsigned(alike ? a1 : b1) },
      };
      expect(interpretFunctor(products.compareI128, args)).toBe(sign(a - b));
      expect(interpretFunctor(products.compareI128, { a: args.a, b: args.a })).toBe(0);
    },
  );
});
