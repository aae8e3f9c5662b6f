import { afterAll, beforeAll, expect } from 'vitest';
import { nameOfMetric, recordOf } from '../../algorithms/neighbours/metrics.ts';
import { atOnce } from '../../algorithms/stretches.ts';
import type { Context } from '../../primitives/context/context.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { hostMetrics } from '../support/metrics.ts';
import { openReference } from '../support/reference-context.ts';
import { f64, neighboursOf, type Row, rowsOfCsv } from './neighbours-command-support.ts';

let context: Context;
beforeAll(() => {
  context = openReference();
});
afterAll(() => context.close());

const axis = fc.oneof(fc.integer({ min: -80, max: 80 }), fc.double({ min: -80, max: 80, noNaN: true }));
const points = fc.array(fc.tuple(axis, axis), { minLength: 1, maxLength: 40 });

test.prop([points, fc.constantFrom(...hostMetrics), fc.integer({ min: 1, max: 9 }), fc.nat()], {
  numRuns: caseCount(400),
})('all metrics find the neighbours that comparing all points on the host finds', async (points, metric, k, seed) => {
  const { spaceOf, rankingOf } = recordOf(metric);
  const coordinates = { dimensions: 2, values: Float64Array.from(points.flat()), rests: undefined };
  const placed = { coordinates, vectors: atOnce(spaceOf(coordinates).place(coordinates)).vectors };
  const { compare, distance } = rankingOf(placed, placed);
  const lists = [...points.keys()].map((query) =>
    [...points.keys()].sort((a, b) => compare(query, a, b) || a - b).map((id): Row => [query, id, distance(query, id)]),
  );
  const table = { x: f64(...points.map(([x]) => x)), y: f64(...points.map(([, y]) => y)) };
  const asked = async (...words: string[]) => {
    const all = ['--columns', 'x,y', '--metric', nameOfMetric(metric), '--with-self', ...words];
    return rowsOfCsv((await neighboursOf(context, { points: table }, all)).stdout.toString());
  };
  expect(await asked('-k', String(k))).toEqual(lists.flatMap((list) => list.slice(0, k)));
  const rows = lists.flat();
  const radius = rows[seed % rows.length]![2];
  const within = rows.filter(([, , distance]) => distance <= radius);
  expect(await asked('--radius', String(radius))).toEqual(within);
});
