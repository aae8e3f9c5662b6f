import { describe, expect } from 'vitest';
import { normalsOfWords, uniformOfWord } from '../../../primitives/functors/standard/distributions.ts';
import { philox4x32 } from '../../../primitives/functors/standard/philox.ts';
import { word } from '../../arbitraries/integers.ts';
import { fc, test } from '../../law-test.ts';
import { philoxByHand } from '../../laws/philox.ts';
import { normalByHand, unitsBetween } from '../../laws/random.ts';
import { interpretFunctor } from '../../support/ir-interpreter.ts';

type Words = readonly number[];

function philox(counter: Words, key: Words): number[] {
  const [a, b, c, d] = counter as [number, number, number, number];
  const [low, high] = key as [number, number];
  const given = { counter: { lo: { lo: a, hi: b }, hi: { lo: c, hi: d } }, key: { lo: low, hi: high } };
  const { lo, hi } = interpretFunctor(philox4x32, given);
  return [lo.lo, lo.hi, hi.lo, hi.hi];
}

const ones = 2 ** 32 - 1;

describe.each([
  ['the functor', philox],
  ['its model', philoxByHand],
] as const)('Philox4x32-10, %s', (_, of) => {
  // `philox 4x32 10` of tests/kat_vectors of Random123 1.14.
  test.each<[Words, Words, Words]>([
    [
      [0, 0, 0, 0],
      [0, 0],
      [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
    ],
    [
      [ones, ones, ones, ones],
      [ones, ones],
      [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
    ],
    [
      [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      [0xa4093822, 0x299f31d0],
      [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
    ],
  ])('gives the known answers of its authors', (counter, key, answer) => {
    expect(of(counter, key)).toEqual(answer);
  });

  test('gives the 10,000th number that C++26 asks of std::philox4x32', () => {
    expect(of([2499, 0, 0, 0], [20111115, 0])[3]).toBe(1955073260);
  });
});

test.prop([fc.array(word, { minLength: 4, maxLength: 4 }), fc.array(word, { minLength: 2, maxLength: 2 })])(
  'Philox4x32-10 equals its model',
  (counter, key) => {
    expect(philox(counter, key)).toEqual(philoxByHand(counter, key));
  },
);

describe('numbers of random words', () => {
  test.prop([word])('uniform ones are the upper 24 bits of the word', (each) => {
    expect(interpretFunctor(uniformOfWord, { word: each })).toBe(Math.floor(each / 256) / 2 ** 24);
  });

  test.prop([word, word])('normal ones are near those of Box and Muller, never 0, and bounded', (a, b) => {
    const found = interpretFunctor(normalsOfWords, { a, b });
    const exact = normalByHand(a, b);
    [found.a, found.b].forEach((number, i) => {
      expect(unitsBetween(number, exact[i]!)).toBeLessThanOrEqual(5);
      expect(Math.abs(number)).toBeGreaterThan(2e-13);
      expect(Math.abs(number)).toBeLessThanOrEqual(Math.fround(Math.sqrt(66 * Math.LN2)));
    });
  });
});
