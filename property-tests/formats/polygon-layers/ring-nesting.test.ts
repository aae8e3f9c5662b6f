import { describe, expect } from 'vitest';
import { partsByDirection } from '../../../formats/polygons/ring-nesting.ts';
import { fc, test } from '../../law-test.ts';
import { box, type Rings } from '../../support/zonal-support.ts';

/** Makes an outline. Outlines are clockwise; holes are counterclockwise. */
const outline = (...corners: Parameters<typeof box>): Rings[number] => [...box(...corners)].reverse();
const hole = box;

function partsOf(rings: Rings, comesRound = false): number[] {
  const vertices = rings.flat();
  const starts = [0];
  for (const { length } of rings) starts.push(starts.at(-1)! + length);
  return partsByDirection(
    { x: Float64Array.from(vertices, ([x]) => x), y: Float64Array.from(vertices, ([, y]) => y) },
    starts,
    comesRound,
  );
}

describe('parts of a Shapefile', () => {
  test.each<[string, Rings, number[]]>([
    ['one outline with holes', [outline(0, 0, 9, 9), hole(1, 1, 2, 2), hole(4, 4, 5, 5)], [0, 0, 0]],
    ['two outlines', [outline(0, 0, 9, 9), outline(20, 0, 29, 9)], [0, 1]],
    ['two outlines that overlap', [outline(0, 0, 9, 9), outline(5, 5, 14, 14)], [0, 1]],
    ['holes before their outlines', [hole(21, 1, 22, 2), outline(0, 0, 9, 9), outline(20, 0, 29, 9)], [1, 0, 1]],
    [
      'an island in a hole, with a hole of its own',
      [outline(0, 0, 20, 20), hole(2, 2, 18, 18), outline(4, 4, 16, 16), hole(6, 6, 8, 8)],
      [0, 0, 1, 1],
    ],
    [
      'a hole that shares corners with its outline',
      [outline(0, 0, 9, 9), outline(20, 0, 29, 9), hole(0, 0, 4, 9)],
      [0, 1, 0],
    ],
    ['a hole outside every outline', [outline(0, 0, 9, 9), outline(20, 0, 29, 9), hole(40, 0, 41, 1)], [0, 1, 2]],
    ['a hole a turn beside its outline', [outline(0, 0, 9, 9), outline(20, 0, 29, 9), hole(381, 1, 382, 2)], [0, 1, 2]],
    ['rings with all directions reversed', [hole(0, 0, 9, 9), hole(20, 0, 29, 9)], [0, 0]],
    ['no rings', [], []],
  ])('%s', (_, rings, parts) => {
    expect(partsOf(rings)).toEqual(parts);
    const isTurned = rings.flat().some(([x]) => x > 360);
    expect(partsOf(rings, true)).toEqual(isTurned ? [0, 1, 1] : parts);
  });

  test.prop([fc.integer({ min: 2, max: 9 }), fc.integer({ min: -1e7, max: 1e7 })])(
    'adjacent outlines keep their own holes, far from the origin too',
    (count, far) => {
      const rings = Array.from({ length: count }, (_, i) => [
        outline(far + 10 * i, far, far + 10 * i + 9, far + 9),
        hole(far + 10 * i + 1, far + 1, far + 10 * i + 2, far + 2),
      ]).flat();
      expect(partsOf(rings)).toEqual(rings.map((_, ring) => ring >> 1));
    },
  );
});
