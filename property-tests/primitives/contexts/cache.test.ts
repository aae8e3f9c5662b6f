import { describe, expect } from 'vitest';
import { createCache } from '../../../primitives/cache.ts';
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
