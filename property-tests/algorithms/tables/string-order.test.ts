import { describe, expect } from 'vitest';
import { atOnce } from '../../../algorithms/stretches.ts';
import { orderOfStrings, placesIn, stringsAt } from '../../../algorithms/tables/string-order.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

/** Characters where orders differ: the end of a string beside zeros, and surrogates beside the units above them. */
const units = ['\0', '\x01', 'a', 'b', 'ÿ', 'Ā', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}'];
const narrow = fc.string({ unit: fc.constantFrom(...units.slice(0, 5)), maxLength: 20 });
const wide = fc.string({ unit: fc.constantFrom(...units), maxLength: 9 });
const prefixed = fc
  .tuple(fc.constantFrom('', 'same beginning ', '😀'), fc.oneof(narrow, wide))
  .map((parts) => parts.join(''));
const lists = fc.oneof(
  fc.array(prefixed, { maxLength: 100, size: 'max' }),
  fc.array(narrow, { maxLength: 100, size: 'max' }),
  fc.nat(60).map((length) => Array.from({ length }, (_, i) => 'a'.repeat((i * 37) % 61))),
);

const codePoints = (text: string): number[] => Array.from(text, (each) => each.codePointAt(0)!);

function plainOrder(texts: readonly string[]): number[] {
  const points = texts.map(codePoints);
  const compare = (a: readonly number[], b: readonly number[]): number => {
    const at = a.findIndex((each, i) => each !== b[i]);
    return at < 0 ? a.length - b.length : at < b.length ? a[at]! - b[at]! : 1;
  };
  return points.map((_, i) => i).sort((a, b) => compare(points[a]!, points[b]!));
}

describe('strings in order', () => {
  test.prop([lists], { numRuns: caseCount(2000) })('are in the order of their code points', (texts) => {
    const { order, areDistinct } = atOnce(orderOfStrings(texts));
    expect([...order]).toEqual(plainOrder(texts));
    expect(areDistinct).toBe(new Set(texts).size === texts.length);
    const sorted = atOnce(stringsAt(texts, order));
    expect([...atOnce(placesIn(order))].map((place) => sorted[place])).toEqual(texts);
    expect([...atOnce(orderOfStrings(sorted)).order]).toEqual([...order.keys()]);
  });

  test('are read a few times each, however many they are', () => {
    const given = Array.from({ length: 5000 }, (_, i) => `name ${Math.imul(i, 2654435761) >>> 0}`);
    let reads = 0;
    const counted = new Proxy(given, {
      get(target, key) {
        if (key !== 'length') reads++;
        return Reflect.get(target, key);
      },
    });
    expect(atOnce(orderOfStrings(counted)).areDistinct).toBe(true);
    expect(reads).toBeLessThan(6 * given.length);
  });
});
