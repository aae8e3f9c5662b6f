import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Coordinates } from '../../algorithms/neighbours/exact/coordinates.ts';
import { extremesOf } from '../../algorithms/neighbours/extremes.ts';
import { buildPointTree, nearest, nearestInTree, withinRadius } from '../../algorithms/neighbours/index.ts';
import { keyOfAxes } from '../../algorithms/neighbours/measures.ts';
import { type Metric, nameOfMetric, recordOf } from '../../algorithms/neighbours/metrics.ts';
import { pairsWithin } from '../../algorithms/neighbours/pairs-within.ts';
import { atOnce } from '../../algorithms/stretches.ts';
import type { Context } from '../../primitives/context/context.ts';
import { array, f32, fn, Let, map, sequence, u32 } from '../../primitives/index.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { assertSame } from '../laws/compare.ts';
import { hostMetrics, metrics } from '../support/metrics.ts';
import { clouds } from '../support/neighbours-clouds.ts';
import { openReference } from '../support/reference-context.ts';

let context: Context;
beforeAll(() => {
  context = openReference();
});
afterAll(() => context.close());

const numRuns = caseCount(80);
const named = (some: readonly Metric[]) => some.map((metric) => [nameOfMetric(metric), metric] as const);
const spread = clouds.filter(({ dimensions }) => dimensions === 2 || dimensions === 3);

/** Points with small whole coordinates, for which f32 is nearly exact. */
const lattice = fc
  .tuple(fc.constantFrom(2, 3, 5), fc.integer({ min: 1, max: 8 }))
  .chain(([dimensions, count]) =>
    fc
      .array(fc.integer({ min: -9, max: 9 }), { minLength: count * dimensions, maxLength: count * dimensions })
      .map((elements) => ({ dimensions, count, elements: Float32Array.from(elements) })),
  );

/** Distances of all pairs, by the metric as it is on the host. */
function distancesOnHost(metric: Parameters<typeof rankingOn>[0], points: Coordinates): number[] {
  const { ranking, count } = rankingOn(metric, points);
  return Array.from({ length: count ** 2 }, (_, i) => ranking.distance(Math.floor(i / count), i % count));
}

function rankingOn(metric: (typeof hostMetrics)[number], coordinates: Coordinates) {
  const { spaceOf, rankingOf } = recordOf(metric);
  const placed = { coordinates, vectors: atOnce(spaceOf(coordinates).place(coordinates)).vectors };
  return { ranking: rankingOf(placed, placed), count: coordinates.values.length / coordinates.dimensions };
}

describe.each(named(metrics))('the metric %s', (_, metric) => {
  const { device, canBeNegative } = recordOf(metric);

  test.prop([spread], { numRuns })('has bounds of boxes that no point inside falls below', async (given) => {
    const { boundOf } = device;
    if (boundOf === undefined) return;
    const { dimensions, count, elements } = given;
    const axes = Array.from({ length: dimensions }, (_, d) => d);
    const sides = axes.map((d) =>
      elements.filter((x, i) => i % dimensions === d && i >= dimensions && !Number.isNaN(x)),
    );
    const boxes = [Math.min, Math.max].map((end) => sides.map((side) => end(...side)));
    const columns = {
      elements: context.column(elements),
      box: context.column(Float32Array.from(boxes.flat())),
      extremes: extremesOf(context, context.column(elements), dimensions),
    };
    const parameters = { i: u32, elements: array(f32), box: array(f32), extremes: array(u32) };
    const both = fn('boundAndKey', parameters, { bound: u32, key: u32 }, ({ i, elements, box, extremes }) => {
      const isExtreme = device.atAnyScale && Let(extremes.at(0).ne(0));
      const query = axes.map((d) => Let(elements.at(u32(d))));
      const point = axes.map((d) => Let(elements.at(i.mul(dimensions).add(d))));
      const [min, max] = [0, dimensions].map((first) => axes.map((d) => Let(box.at(u32(first + d)))));
      return {
        bound: boundOf(query, { min: min!, max: max! }, isExtreme),
        key: keyOfAxes(device, isExtreme, (change) => [query.map(change), point.map(change)]),
      };
    });
    const { bound, key } = await context.read(map(both, { i: sequence(count), ...columns }));
    for (let i = 1; i < count; i++) expect(bound[i]).toBeLessThanOrEqual(key[i]!);
    context.dispose(columns);
  });

  test.prop([lattice], { numRuns })('is the same on the host, but for rounding', async ({ dimensions, elements }) => {
    const points = { elements: context.column(elements), dimensions };
    const found = pairsWithin(context, points, points, { radius: Number.POSITIVE_INFINITY, metric });
    const { distance } = await context.read({ ...found });
    const values = Float64Array.from(elements);
    for (const [i, exact] of distancesOnHost(metric, { dimensions, values, rests: undefined }).entries()) {
      const given = device.areSquares ? Math.sqrt(distance[i]!) : distance[i]!;
      expect(Math.abs(given - exact)).toBeLessThanOrEqual(2 ** -20 * Math.max(1, Math.abs(exact)));
      expect(canBeNegative || exact >= 0).toBe(true);
    }
    context.dispose(points, found);
  });

  test.prop([lattice, fc.integer({ min: -99, max: 99 })], { numRuns })(
    'finds the pairs within a radius',
    async (given, tenths) => {
      const { dimensions, elements } = given;
      const radius = canBeNegative ? tenths / 10 : Math.abs(tenths) / 10;
      const points = { elements: context.column(elements), dimensions };
      const all = pairsWithin(context, points, points, { radius: Number.POSITIVE_INFINITY, metric });
      const some = pairsWithin(context, points, points, { radius, metric });
      const { all: every, some: found } = await context.read({ all: { ...all }, some: { ...some } });
      const limit = device.areSquares ? Math.fround(Math.fround(radius) ** 2) : Math.fround(radius);
      expect([...found.distance]).toEqual([...every.distance].filter((distance) => distance <= limit));
      context.dispose(points, all, some);
    },
  );

  test.prop([spread, fc.integer({ min: 1, max: 5 })], { numRuns })(
    'is taken by trees only with bounds',
    async (given, k) => {
      const { dimensions, count, elements } = given;
      const points = { elements: context.column(elements), dimensions };
      const tree = buildPointTree(context, points);
      const search = () => nearestInTree(context, tree, points, { k, metric });
      const collect = (radius: number) => withinRadius(context, tree, points, { radius, metric, sorted: true });
      const refusal = expect.objectContaining({ code: 'neighbours/metric' });
      if (device.boundOf === undefined) {
        expect(search).toThrow(refusal);
        await expect(collect(1)).rejects.toEqual(refusal);
      } else {
        const lists = await context.read({ ...nearest(context, points, points, { k: count, metric }) });
        const first = (_: unknown, i: number) => i % count < k;
        const cut = { ids: lists.ids.filter(first), distances: lists.distances.filter(first) };
        if (k <= count) assertSame(await context.read({ ...search() }), cut);
        const { ids, distances } = await collect(Number.POSITIVE_INFINITY);
        assertSame(await context.read({ ids, distances }), lists);
      }
      context.dispose(points, tree);
    },
  );
});

describe.each(hostMetrics.map((metric) => [nameOfMetric(metric), metric] as const))('on the host, %s', (_, metric) => {
  test.prop([lattice], { numRuns })('ranks by its distances', ({ elements }) => {
    const values = Float64Array.from(elements.subarray(0, elements.length & ~1));
    const { ranking, count } = rankingOn(metric, { dimensions: 2, values, rests: undefined });
    for (let a = 0; a < count; a++) {
      const distance = ranking.distance(0, a);
      ranking.approximate(0, a);
      expect(Math.abs(ranking.found.value - distance)).toBeLessThanOrEqual(
        ranking.found.error + 1e-12 * Math.abs(distance),
      );
      for (let b = 0; b < count; b++) {
        const between = distance - ranking.distance(0, b);
        if (Math.abs(between) > 1e-12 * Math.abs(distance))
          expect(Math.sign(ranking.compare(0, a, b))).toBe(Math.sign(between));
      }
    }
  });
});
