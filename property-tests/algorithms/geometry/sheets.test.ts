import { describe, expect } from 'vitest';
import { edgesOfPart } from '../../../algorithms/geometry/part-edges.ts';
import { partsOverlap } from '../../../algorithms/geometry/parts-overlap.ts';
import { sheetsOf } from '../../../algorithms/geometry/sheets.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  movedParts,
  type Parts,
  partedPolygons,
  shareArea,
  simplePart,
  wildPart,
} from '../../support/parted-support.ts';
import { box, type Rings } from '../../support/zonal-support.ts';

/** Whether two parts of one polygon overlap, according to the library. */
function overlap(a: Rings, b: Rings): boolean {
  const polygons = partedPolygons([[a, b]]);
  const rings = (part: number): number[] =>
    [...polygons.ringParts.keys()].filter((ring) => polygons.ringParts[ring] === part);
  const [one, two] = [edgesOfPart(polygons, rings(0)), edgesOfPart(polygons, rings(1))];
  return one !== undefined && two !== undefined && partsOverlap(one, two);
}

describe('the overlap test of two parts', () => {
  test.prop([simplePart, simplePart], { numRuns: caseCount(3000) })(
    'is true exactly when they share area, in either order',
    (a, b) => {
      const expected = shareArea(a, b);
      expect(overlap(a, b)).toBe(expected);
      expect(overlap(b, a)).toBe(expected);
    },
  );

  test.prop([wildPart, wildPart], { numRuns: caseCount(3000) })(
    'is true for self-intersecting parts that share area',
    (a, b) => {
      if (shareArea(a, b)) expect(overlap(a, b)).toBe(true);
    },
  );

  test.prop(
    [simplePart, simplePart, fc.integer({ min: 2 ** 36, max: 2 ** 46 }), fc.integer({ min: -(2 ** 48), max: 2 ** 48 })],
    {
      numRuns: caseCount(1000),
    },
  )('does not depend on scale and position', (a, b, scale, by) => {
    const [far, away] = movedParts([a, b], (x, y) => [x * scale + by, y * scale - by]);
    expect(overlap(far!, away!)).toBe(overlap(a, b));
  });

  test.prop([simplePart, simplePart, fc.integer({ min: 1, max: 2 ** 40 })], { numRuns: caseCount(1000) })(
    'does not change when the plane is sheared',
    (a, b, lean) => {
      const [one, two] = movedParts([a, b], (x, y) => [x + lean * y, y * 3]);
      expect(overlap(one!, two!)).toBe(overlap(a, b));
    },
  );

  const hole: Rings = [box(0, 0, 9, 9), box(2, 2, 7, 7)];
  test.each<[string, Rings, Rings, boolean]>([
    ['nested', [box(0, 0, 9, 9)], [box(3, 3, 6, 6)], true],
    ['side by side', [box(0, 0, 4, 9)], [box(4, 0, 9, 9)], false],
    ['side by side, with a vertex on a side', [box(0, 0, 4, 9)], [box(4, 3, 9, 5)], false],
    ['corner to corner', [box(0, 0, 4, 4)], [box(4, 4, 9, 9)], false],
    ['identical', [box(0, 0, 4, 4)], [box(0, 0, 4, 4)], true],
    [
      'identical, with another first vertex and the opposite direction',
      [box(0, 0, 4, 4)],
      [[...box(0, 0, 4, 4).slice(2), ...box(0, 0, 4, 4).slice(0, 2)].reverse()],
      true,
    ],
    ['one in the hole of the other', hole, [box(3, 3, 5, 5)], false],
    ['one filling the hole of the other', hole, [box(2, 2, 7, 7)], false],
    ['one extending beyond the hole', hole, [box(3, 3, 8, 5)], true],
    ['one wider than the hole', hole, [box(1, 1, 8, 8)], true],
    ['one around both rings', hole, [box(-1, -1, 10, 10)], true],
    ['one with the same hole', hole, [box(-1, -1, 10, 10), box(2, 2, 7, 7)], true],
    ['sharing one corner and two sides', [box(0, 0, 9, 9)], [box(0, 0, 4, 4)], true],
    ['without area', [box(0, 0, 9, 9)], [box(3, 3, 3, 6)], false],
    ['the same ring twice, which cancels out', [box(0, 0, 9, 9), box(0, 0, 9, 9)], [box(1, 1, 5, 5)], false],
  ])('%s', (_, a, b, expected) => {
    expect(overlap(a, b)).toBe(expected);
    expect(overlap(b, a)).toBe(expected);
  });
});

describe('sheets (sets of parts that do not overlap)', () => {
  const polygons = fc.array(fc.array(simplePart, { maxLength: 6 }), { maxLength: 4 });

  test.prop([polygons], { numRuns: caseCount(500) })('hold no two parts that overlap', (all) => {
    const sheets = sheetsOf(partedPolygons(all));
    const overlapping = all.flatMap((parts, polygon) =>
      parts.some((a, i) => parts.some((b, j) => i < j && shareArea(a, b))) ? [polygon] : [],
    );
    expect([...(sheets?.overlapping ?? [])]).toEqual(overlapping);
    if (sheets === undefined) return;
    let ring = 0;
    all.forEach((parts, polygon) => {
      const sheetOf = parts.map((rings) => {
        const own = new Set(rings.map(() => sheets.ringSheets[ring++]!));
        expect(own.size).toBe(1);
        return [...own][0]!;
      });
      for (const sheet of sheetOf)
        expect(sheet < all.length ? sheet : sheets.furtherOf[sheet - all.length]).toBe(polygon);
      parts.forEach((a, i) => {
        parts.forEach((b, j) => {
          if (i < j && sheetOf[i] === sheetOf[j]) expect(shareArea(a, b)).toBe(false);
        });
      });
    });
  });

  test('are made only for polygons with overlapping parts, and as few as necessary', () => {
    const island = [box(100, 0, 101, 1)];
    const row = (count: number): Parts => Array.from({ length: count }, (_, i) => [box(2 * i, 0, 2 * i + 3, 1)]);
    expect(sheetsOf(partedPolygons([[island], row(1), [island, row(1)[0]!]]))).toBeUndefined();
    const sheets = sheetsOf(partedPolygons([[island], [...row(5), island], [island]]))!;
    expect([...sheets.ringSheets]).toEqual([0, 1, 3, 1, 3, 1, 1, 2]);
    expect([...sheets.furtherOf]).toEqual([1]);
  });

  test('are not made when ringParts is missing', () => {
    const { ringParts: _, ...rest } = partedPolygons([[[box(0, 0, 4, 4)], [box(1, 1, 2, 2)]]]);
    expect(sheetsOf(rest)).toBeUndefined();
  });

  test.prop([simplePart, simplePart, fc.integer({ min: -2, max: 2 }), fc.integer({ min: -30, max: 30 })], {
    numRuns: caseCount(500),
  })('treat x as periodic when a turn is given', (a, b, turns, by) => {
    const placed = movedParts([b], (x, y) => [x + 40 * turns, y])[0]!;
    const moved = movedParts([a, placed], (x, y) => [x + by, y]);
    expect(sheetsOf(partedPolygons([moved]), { turn: 40 }) !== undefined).toBe(shareArea(a, b));
  });

  test('a part that crosses the end of a turn overlaps parts at the start', () => {
    const far = [box(35, 0, 45, 4)];
    expect(sheetsOf(partedPolygons([[far, [box(0, 0, 3, 4)]]]), { turn: 40 })?.overlapping).toHaveLength(1);
    expect(sheetsOf(partedPolygons([[far, [box(5, 0, 8, 4)]]]), { turn: 40 })).toBeUndefined();
    expect(sheetsOf(partedPolygons([[far, [box(85, 0, 90, 4)]]]), { turn: 40 })).toBeUndefined();
    expect(sheetsOf(partedPolygons([[far, [box(84, 0, 90, 4)]]]), { turn: 40 })?.overlapping).toHaveLength(1);
  });

  test('are found quickly for many islands inside the box of a mainland', () => {
    const coast: [number, number][] = Array.from({ length: 40_000 }, (_, i) => [
      i < 20_000 ? i * 8 : (40_000 - i) * 8,
      (i < 20_000 ? 1000 : 0) + (i % 2) * 4000,
    ]);
    const islands: Rings[] = Array.from({ length: 4000 }, (_, i) => [box(40 * i + 6, 5400, 40 * i + 9, 5600)]);
    const started = performance.now();
    expect(sheetsOf(partedPolygons([[[coast], ...islands]]))).toBeUndefined();
    expect(sheetsOf(partedPolygons([[[coast], ...islands, [box(1, 5000, 170_000, 5500)]]]))?.overlapping).toHaveLength(
      1,
    );
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
