import { describe, expect } from 'vitest';
import { type Boxes, filterPairs, indexBoxes } from '../../../algorithms/cross-compare/filter.ts';
import { fc, test } from '../../law-test.ts';

type Box = readonly [left: number, top: number, right: number, bottom: number];

const column = (boxes: readonly Box[], side: number): Int32Array => Int32Array.from(boxes, (box) => box[side]!);
const columns = (boxes: readonly Box[]): Boxes => ({
  left: column(boxes, 0),
  top: column(boxes, 1),
  right: column(boxes, 2),
  bottom: column(boxes, 3),
});

/** Boxes in a small field, where many boxes touch or coincide, or boxes anywhere on the grid. */
const box = (min: number, max: number, side: number): fc.Arbitrary<Box> =>
  fc
    .tuple(
      fc.integer({ min, max }),
      fc.integer({ min, max }),
      fc.integer({ min: 1, max: side }),
      fc.integer({ min: 1, max: side }),
    )
    .map(([left, top, width, height]): Box => [left, top, Math.min(max, left + width), Math.min(max, top + height)])
    .filter(([left, top, right, bottom]) => left < right && top < bottom);
const boxes = fc.oneof(
  fc.array(box(-8, 8, 6), { maxLength: 60 }),
  fc.array(box(-(2 ** 30), 2 ** 30, 2 ** 31 - 1), { maxLength: 30 }),
);

const overlap = (a: Box, b: Box): Box => [
  Math.max(a[0], b[0]),
  Math.max(a[1], b[1]),
  Math.min(a[2], b[2]),
  Math.min(a[3], b[3]),
];
const pairsWhere = (p: readonly Box[], q: readonly Box[], holds: (common: Box) => boolean): [number, number][] =>
  p.flatMap((a, i) => q.flatMap((b, j) => (holds(overlap(a, b)) ? [[i, j] as [number, number]] : [])));

describe('filterPairs', () => {
  test.prop([boxes, boxes])('finds the same pairs as brute force, in the same order', (p, q) => {
    const found = filterPairs(columns(p), indexBoxes(columns(q)));
    const withArea = pairsWhere(p, q, ([left, top, right, bottom]) => left < right && top < bottom);
    expect(Array.from(found.p, (i, pair) => [i, found.q[pair]])).toEqual(withArea);
  });

  test.prop([boxes, boxes])('counts every pair of boxes that touch or overlap', (p, q) => {
    const touching = pairsWhere(p, q, ([left, top, right, bottom]) => left <= right && top <= bottom);
    expect(filterPairs(columns(p), indexBoxes(columns(q))).meeting).toBe(touching.length);
  });

  test.prop([boxes, boxes])('finds the same pairs with the sides swapped', (p, q) => {
    const [there, back] = [
      filterPairs(columns(p), indexBoxes(columns(q))),
      filterPairs(columns(q), indexBoxes(columns(p))),
    ];
    const pairs = (a: Uint32Array, b: Uint32Array): string[] => Array.from(a, (i, pair) => `${i} ${b[pair]}`).sort();
    expect(pairs(there.p, there.q)).toEqual(pairs(back.q, back.p));
    expect(there.meeting).toBe(back.meeting);
  });

  test('boxes that only share an edge or a corner count as meeting, but are no candidates', () => {
    const { p, meeting } = filterPairs(
      columns([[0, 0, 2, 2]]),
      indexBoxes(
        columns([
          [2, 0, 4, 2],
          [2, 2, 3, 3],
          [0, 2, 2, 3],
        ]),
      ),
    );
    expect([p.length, meeting]).toEqual([0, 3]);
  });

  test.prop([boxes, boxes])('skips boxes without area', (p, q) => {
    const flat: Box[] = [
      [0, 0, 0, 0],
      [-3, 2, 5, 2],
    ];
    const without = filterPairs(columns(p), indexBoxes(columns(q)));
    const withFlat = filterPairs(columns([...p, ...flat]), indexBoxes(columns([...q, ...flat])));
    expect(withFlat).toEqual(without);
  });
});
