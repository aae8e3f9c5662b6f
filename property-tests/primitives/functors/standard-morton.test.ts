import { describe, expect } from 'vitest';
import {
  mortonDecode,
  mortonDecode64,
  mortonEncode,
  mortonEncode64,
  spreadBits,
  squeezeBits,
} from '../../../primitives/functors/standard/morton.ts';
import { ofUnsigned, unsigned, word, word64 } from '../../arbitraries/integers.ts';
import { fc, test } from '../../law-test.ts';
import { interpretFunctor } from '../../support/ir-interpreter.ts';

const word16 = fc.oneof(fc.constantFrom(0, 1, 0x7fff, 0x8000, 0xffff), fc.integer({ min: 0, max: 0xffff }));

/** Interleaves the bits of x and y, one bit at a time: bit i of x becomes bit 2i, and bit i of y becomes bit 2i + 1. */
function interleave(x: number, y: number, bits: number): bigint {
  let code = 0n;
  for (let i = 0; i < bits; i++) {
    code |= BigInt((x >>> i) & 1) << BigInt(2 * i);
    code |= BigInt((y >>> i) & 1) << BigInt(2 * i + 1);
  }
  return code;
}

describe('Morton codes', () => {
  test.prop([word, word])('interleave the low 16 bits of both numbers', (x, y) => {
    expect(interpretFunctor(mortonEncode, { x, y })).toBe(Number(interleave(x, y, 16)));
  });

  test.prop([word, word])('interleave all 32 bits of both numbers into 64', (x, y) => {
    expect(unsigned(interpretFunctor(mortonEncode64, { x, y }))).toBe(interleave(x, y, 32));
  });

  test.prop([word])('decode to the encoded numbers', (code) => {
    expect(interpretFunctor(mortonEncode, interpretFunctor(mortonDecode, { code }))).toBe(code);
  });

  test.prop([word64])('of 64 bits decode to the encoded numbers', (bits) => {
    const code = ofUnsigned(bits);
    expect(interpretFunctor(mortonEncode64, interpretFunctor(mortonDecode64, { code }))).toEqual(code);
  });

  test.prop([word16, word16, word16])('increase with each coordinate', (a, b, other) => {
    const code = (x: number, y: number): number => interpretFunctor(mortonEncode, { x, y });
    expect(Math.sign(code(a, other) - code(b, other))).toBe(Math.sign(a - b));
    expect(Math.sign(code(other, a) - code(other, b))).toBe(Math.sign(a - b));
  });

  test.prop([word])('squeezeBits undoes spreadBits', (a) => {
    expect(interpretFunctor(squeezeBits, { a: interpretFunctor(spreadBits, { a }) })).toBe(a & 0xffff);
  });
});
