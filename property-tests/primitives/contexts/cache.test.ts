import { describe, expect } from 'vitest';
import { createCache } from '../../../primitives/host/cache.ts';
import { createVariants } from '../../../primitives/ir/memo.ts';
import { fc, test } from '../../law-test.ts';

describe('a cache', () => {
  type Use = readonly [key: number, weight: number];
  const uses = fc.array(fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 8 })), { maxLength: 300 });

  test.prop([uses, fc.integer({ min: 16, max: 64 })])(
    'holds at most its bound, and every entry used since half of the bound was added',
    (list: readonly Use[], max) => {
      const forgotten: { readonly weight: number }[] = [];
      const cache = createCache<number, { readonly key: number; readonly weight: number }>({
        max,
        weigh: ({ weight }) => weight,
        onForget: (values) => forgotten.push(...values),
      });
      const made: { readonly weight: number }[] = [];
      for (const [at, [key, weight]] of list.entries()) {
        const found = cache.get(key);
        if (found === undefined) {
          const value = { key, weight };
          made.push(value);
          cache.set(key, value);
        } else {
          expect(found.key).toBe(key);
          expect(forgotten).not.toContain(found);
        }
        // The most recently used keys, without repetitions, newest first. Together, the weights of their values are at
        // most half of the cache's bound.
        const lately = new Map<number, number>();
        let sum = 0;
        for (let i = at; i >= 0 && sum <= max / 2 - 8; i--) {
          const [recent, weighs] = list[i]!;
          if (lately.has(recent)) continue;
          lately.set(recent, weighs);
          // If a value was created again, its weight may have changed, so the maximum weight is assumed.
          sum += 8;
        }
        if (sum <= max / 2) for (const recent of lately.keys()) expect(cache.get(recent)?.key).toBe(recent);
      }
      const sum = (values: readonly { readonly weight: number }[]): number =>
        values.reduce((total, { weight }) => total + weight, 0);
      // The cache may exceed half of the bound by the last value that it keeps.
      expect(sum(made) - sum(forgotten)).toBeLessThanOrEqual(max + 2 * 8);
    },
  );

  test('reports each evicted entry once, and no entry that it still has', () => {
    const forgotten: number[] = [];
    const cache = createCache<number, number>({ max: 10, onForget: (values) => forgotten.push(...values) });
    for (let k = 0; k < 1000; k++) {
      cache.set(k, k);
      cache.get(0);
    }
    expect(new Set(forgotten).size).toBe(forgotten.length);
    expect(cache.get(0)).toBe(0);
    expect(forgotten).not.toContain(0);
    expect(cache.size).toBeLessThanOrEqual(11);
    expect(forgotten.length + cache.size).toBe(1000);
  });
});

describe('variants of objects', () => {
  const objects = [{}, {}, {}];
  const uses = fc.array(fc.tuple(fc.nat(objects.length - 1), fc.nat(40)), { maxLength: 200 });

  test.prop([uses, fc.integer({ min: 2, max: 16 })])('are made again only if many others were used', (list, max) => {
    const variant = createVariants<object, { readonly of: object; readonly key: string }>(max);
    const last = new Map<string, { readonly at: number; readonly made: object }>();
    for (const [at, [number, key]] of list.entries()) {
      const of = objects[number]!;
      const found = variant(of, `${key}`, () => ({ of, key: `${key}` }));
      expect(found).toEqual({ of, key: `${key}` });
      expect(found.of).toBe(of);
      const before = last.get(`${number} ${key}`);
      const since = list.slice((before?.at ?? at) + 1, at).filter(([other]) => other === number);
      const isFirst = list.find(([other]) => other === number)![1] === key;
      if (before !== undefined && (isFirst || new Set(since.map(([, other]) => other)).size < max / 2 - 1)) {
        expect(found).toBe(before.made);
      }
      last.set(`${number} ${key}`, { at, made: found });
    }
  });
});
