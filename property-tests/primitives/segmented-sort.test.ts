import { expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { segmentedSortLaws } from '../laws/segmented-sort.ts';
import { openReference } from '../support/reference-context.ts';

testLaws(segmentedSortLaws);

test('segments that overlap need a capacity', async () => {
  const context = openReference();
  const keys = context.column(Uint32Array.of(5, 4, 3, 2, 1));
  const segments = { first: context.column(Uint32Array.of(0, 1)), end: context.column(Uint32Array.of(4, 5)) };
  const outgrown = { code: 'capacity/outgrown', got: 8 };
  await expect(context.read(q.segmentedSort(keys, segments))).rejects.toMatchObject(outgrown);
  await expect(context.read(q.segmentedQuantiles(keys, segments, [0.5]))).rejects.toMatchObject(outgrown);
  const capacity = 8;
  expect([...(await context.read(q.segmentedSort(keys, segments, { capacity })))]).toEqual([2, 1, 2, 3, 4]);
  expect([...(await context.read(q.segmentedQuantiles(keys, segments, [0.5], { capacity })))]).toEqual([3, 2]);
});

test('segments are sorted by several keys, each in its own direction', async () => {
  const context = openReference();
  const [a, b] = [context.column(Uint32Array.of(1, 0, 1, 1, 0)), context.column(Float32Array.of(5, 2, 7, 1, 3))];
  const segments = context.column(Uint32Array.of(0, 3, 5));
  const options = { descending: [false, true] };
  expect([...(await context.read(q.segmentedSortPermutation([a, b], segments, options)))]).toEqual([1, 2, 0, 4, 3]);
  const [first, second] = q.segmentedSort([a, b], segments, options) as [q.Column<'u32'>, q.Column<'f32'>];
  const sorted = await context.read({ first, second });
  expect([...sorted.first]).toEqual([0, 1, 1, 0, 1]);
  expect([...sorted.second]).toEqual([2, 7, 5, 3, 1]);
});

test('a single segment is sorted by several keys, with values, and the other rows stay', async () => {
  const context = openReference();
  const [a, b] = [context.column(Uint32Array.of(1, 1, 0, 1, 1, 0)), context.column(Float32Array.of(9, 5, 2, 7, 1, 3))];
  const segments = context.column(Uint32Array.of(1, 5));
  const options = { descending: [false, true] };
  const { keys, values } = q.segmentedSortByKey([a, b], q.sequence(6), segments, options);
  const [first, second] = keys as [q.Column<'u32'>, q.Column<'f32'>];
  const sorted = await context.read({ first, second, values });
  expect([...sorted.first]).toEqual([1, 0, 1, 1, 1, 0]);
  expect([...sorted.second]).toEqual([9, 2, 7, 5, 1, 3]);
  expect([...sorted.values]).toEqual([0, 2, 3, 1, 4, 5]);
});

test('the words of 64-bit keys may have any order, in one segment and in several', async () => {
  const context = openReference();
  const [hi, lo] = [context.column(Uint32Array.of(0, 1, 0)), context.column(Uint32Array.of(9, 4, 5))];
  for (const offsets of [
    [0, 3],
    [0, 3, 3],
  ]) {
    for (const keys of [
      { hi, lo },
      { lo, hi },
    ]) {
      const sorted = q.segmentedSort(keys, context.column(Uint32Array.from(offsets)));
      expect(await context.read(sorted)).toEqual({ hi: Uint32Array.of(0, 0, 1), lo: Uint32Array.of(5, 9, 4) });
      expect(Object.keys(q.sort(keys))).toEqual(Object.keys(keys));
    }
  }
});
