import { describe, expect } from 'vitest';
import { array, f32, fn, u32 } from '../../../primitives/functors/index.ts';
import { type Module, moduleKey, moduleNumber, oneOf } from '../../../primitives/ir/ir.ts';
import { fc, test } from '../../law-test.ts';

describe('modules', () => {
  test('of the same structure have the same key, and others different keys', () => {
    const make = (k: number) => fn('f', { x: f32 }, f32, ({ x }) => x.mul(k));
    expect(moduleKey(make(2).module)).toBe(moduleKey(make(2).module));
    expect(moduleKey(make(0).module)).not.toBe(moduleKey(make(-0).module));
    expect(moduleKey(make(Infinity).module)).not.toBe(moduleKey(make(NaN).module));
  });

  /** Names that consist of characters which also separate the parts of cache keys. */
  const name = fc.string({ unit: fc.constantFrom(...'01:;,>{}% "au32 '), minLength: 1, maxLength: 6 });
  const names = fc.uniqueArray(name, { minLength: 2, maxLength: 4 });

  test.prop([names, names])('with other names have another key', (some, others) => {
    const taking = (arrays: readonly string[]): Module =>
      fn('f', Object.fromEntries(arrays.map((each) => [each, array(u32)])), u32, (given) =>
        Object.values(given).reduce((sum, each) => sum.add(each.at(0)), u32(0)),
      ).module;
    // A JavaScript record lists names that look like integers first, in ascending order. So different lists of names
    // may give the same order of parameters.
    const order = (arrays: readonly string[]): string => JSON.stringify([...taking(arrays).arrays]);
    expect(moduleKey(taking(some)) === moduleKey(taking(others))).toBe(order(some) === order(others));
  });

  test('are numbered by their structure', () => {
    const sum = (k: number) => fn('f', { x: u32 }, u32, ({ x }) => x.add(k)).module;
    expect(moduleNumber(sum(1))).toBe(moduleNumber(sum(1)));
    expect(moduleNumber(sum(1))).not.toBe(moduleNumber(sum(2)));
  });

  test('of equal structure are shared, within the size limit of the cache', () => {
    const long = (k: number, statements: number): Module =>
      fn('f', { x: u32 }, u32, ({ x }) => {
        let sum = x;
        for (let i = 0; i < statements; i++) sum = sum.add(i).xor(k);
        return sum;
      }).module;
    const first = oneOf(long(0, 2));
    expect(oneOf(long(0, 2))).toBe(first);
    for (let k = 1; k <= 80; k++) oneOf(long(k, 500));
    expect(oneOf(long(0, 2))).not.toBe(first);
  });
});
