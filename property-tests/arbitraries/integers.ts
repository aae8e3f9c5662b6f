import fc from 'fast-check';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aBigint, aRecord, aWhole, type Kind } from '../../primitives/checks/kinds.ts';

/** Words that reveal mistakes in carries, signs and shifts. */
export const edgeWords: readonly number[] = [
  0, 1, 2, 3, 31, 32, 33, 0xffff, 0x10000, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff,
];

/** A u32 that is often a limit of its type or a small number. */
export const word: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(...edgeWords),
  fc.integer({ min: 0, max: 0xffffffff }),
  fc.integer({ min: 0, max: 16 }),
);

/** An i32 that is often a limit of its type or a small number. */
export const integer32: fc.Arbitrary<number> = word.map((x) => x | 0);

/** An i32 within ±(2³⁰−1), often a limit of this range. The difference of two such numbers is always below 2³¹. */
export const coordinate32: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, 1, -1, 2 ** 30 - 1, -(2 ** 30 - 1), 2 ** 30 - 2),
  fc.integer({ min: -(2 ** 30 - 1), max: 2 ** 30 - 1 }),
  fc.integer({ min: -4, max: 4 }),
);

/** A 64-bit integer; each of its two words is often a limit of u32. */
export const word64: fc.Arbitrary<bigint> = fc.tuple(word, word).map(([lo, hi]) => BigInt(lo) | (BigInt(hi) << 32n));

interface Words {
  readonly lo: number;
  readonly hi: number;
}

const someWords: Kind = aRecord<Words>({ lo: aWhole(), hi: aWhole() });

/**
 * The words of an unsigned 64-bit integer.
 *
 * @example
 * ofUnsigned(2n ** 32n + 5n); // { lo: 5, hi: 1 }
 */
export const ofUnsigned = (x: bigint): Words => {
  requireArguments('ofUnsigned', { x }, { x: aBigint });
  return {
    lo: Number(BigInt.asUintN(32, x)),
    hi: Number(BigInt.asUintN(32, x >> 32n)),
  };
};
/**
 * The words of a two's complement 64-bit integer.
 *
 * @example
 * ofSigned(-1n); // { lo: 4294967295, hi: 4294967295 }
 */
export const ofSigned = (x: bigint): Words => {
  requireArguments('ofSigned', { x }, { x: aBigint });
  return ofUnsigned(BigInt.asUintN(64, x));
};
/**
 * The unsigned 64-bit integer of two words: the inverse of {@link ofUnsigned}.
 *
 * @example
 * unsigned({ lo: 5, hi: 1 }); // 4294967301n
 */
export const unsigned = (words: Words): bigint => {
  requireArguments('unsigned', { words }, { words: someWords });
  return BigInt(words.lo) | (BigInt(words.hi) << 32n);
};
/**
 * The two's complement 64-bit integer of two words: the inverse of {@link ofSigned}.
 *
 * @example
 * signed({ lo: 4294967295, hi: 4294967295 }); // -1n
 */
export const signed = (words: Words): bigint => {
  requireArguments('signed', { words }, { words: someWords });
  return BigInt.asIntN(64, unsigned(words));
};
