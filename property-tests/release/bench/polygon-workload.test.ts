import { describe, expect } from 'vitest';
import { gridPolygons } from '../../../algorithms/pixelbox/snap-to-pixels.ts';
import { Geos } from '../../../bench/peers/geos-areas.ts';
import { boundariesText } from '../../../bench/polygons/polygon-files.ts';
import { PAPER, type PolygonPairTile, polygonPairs } from '../../../bench/polygons/polygon-pairs.ts';
import { scanlineAreas } from '../../../bench/polygons/polygon-scanline.ts';
import { parseBoundaries } from '../../../formats/result-sets/boundaries-text.ts';
import { caseCount, costlyCaseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { rectilinearPairs } from '../../support/arbitrary-rectilinear.ts';

const geos = await Geos.open();

const workload = fc.record({
  seed: fc.nat(),
  pairs: fc.integer({ min: 200, max: 600 }),
  tiles: fc.integer({ min: 1, max: 5 }),
  scale: fc.integer({ min: 1, max: 5 }),
});

describe('the workload of the benchmarks', () => {
  test.prop([workload], { numRuns: caseCount(20) })('has the requested counts', (workload) => {
    const tiles = [...polygonPairs(workload)];
    const total = (count: (tile: (typeof tiles)[number]) => number) =>
      tiles.reduce((sum, tile) => sum + count(tile), 0);
    expect(total(({ pairs }) => pairs.p.length)).toBe(workload.pairs);
    expect(total(({ first }) => first.polygonRings.length - 1)).toBe(
      Math.round((PAPER.first * workload.pairs) / PAPER.pairs),
    );
    expect(total(({ second }) => second.polygonRings.length - 1)).toBe(
      Math.round((PAPER.second * workload.pairs) / PAPER.pairs),
    );
  });

  test.prop([workload], { numRuns: costlyCaseCount(10, 2) })(
    'is the same for the same seed, and scales with its scale',
    (workload) => {
      const [scaled, plain] = [[...polygonPairs(workload)], [...polygonPairs({ ...workload, scale: 1 })]];
      scaled.forEach(({ first, pairs }, i) => {
        expect(first.x).toEqual(plain[i]!.first.x.map((x) => x * workload.scale));
        expect(pairs).toEqual(plain[i]!.pairs);
      });
    },
  );

  test.prop([workload], { numRuns: costlyCaseCount(5, 1) })(
    'pairs exactly the polygons whose boxes intersect',
    (workload) => {
      for (const { first, second, pairs } of polygonPairs(workload)) {
        const [a, b] = [boxesOf(first), boxesOf(second)];
        const meeting = a.flatMap((p, i) => b.flatMap((q, j) => (meet(p, q) ? [[i, j]] : [])));
        expect(meeting).toEqual(Array.from(pairs.p, (p, i) => [p, pairs.q[i]!]));
      }
    },
  );

  test.prop([workload], { numRuns: costlyCaseCount(5, 1) })('survives writing as text and parsing', (workload) => {
    for (const { first } of polygonPairs(workload)) {
      const { polygons, ids, notes } = parseBoundaries(boundariesText(first, 5), 'a.txt');
      const { moved, ...read } = gridPolygons(polygons);
      expect([read, moved, notes]).toEqual([first, 0, []]);
      expect(new TextDecoder().decode(ids.bytes.subarray(0, ids.starts[1]))).toBe('5');
    }
  });
});

describe('areas by scanlines', () => {
  test.prop([workload], { numRuns: costlyCaseCount(3) })('of the workload equal those of GEOS', ({ seed, scale }) => {
    const [{ first, second, pairs }] = [...polygonPairs({ seed, scale, pairs: 200 })] as [PolygonPairTile];
    const { intersection, p, q } = scanlineAreas(first, second, pairs);
    for (let i = 0; i < pairs.p.length; i++) {
      const expected = geos.areas(asFloats(first), pairs.p[i]!, asFloats(second), pairs.q[i]!);
      expect([intersection[i], p[i], q[i]]).toEqual([expected.intersection, expected.first, expected.second]);
    }
  });

  test.prop([rectilinearPairs({ extent: 400 })], { numRuns: caseCount(500) })(
    'equal the counts of drawn pixels',
    (drawn) => {
      const [first, second] = [gridPolygons(drawn.first), gridPolygons(drawn.second)];
      const all = Uint32Array.from(drawn.areas.keys());
      const { intersection, p, q } = scanlineAreas(first, second, { p: all, q: all });
      const found = Array.from(all, (i) => ({ first: p[i], second: q[i], intersection: intersection[i] }));
      expect(found).toEqual(
        drawn.areas.map(({ first, second, intersection }) => ({
          first: Number(first),
          second: Number(second),
          intersection: Number(intersection),
        })),
      );
    },
  );
});

type Columns = ReturnType<typeof gridPolygons>;
type Grid = Pick<Columns, 'polygonRings' | 'ringVertices' | 'x' | 'y'>;
type Box = readonly [number, number, number, number];

function asFloats({ polygonRings, ringVertices, x, y }: Grid) {
  return { polygonRings, ringVertices, x: Float64Array.from(x), y: Float64Array.from(y) };
}

function boxesOf({ polygonRings, ringVertices, x, y }: Grid): Box[] {
  return Array.from({ length: polygonRings.length - 1 }, (_, i): Box => {
    const [from, to] = [ringVertices[polygonRings[i]!]!, ringVertices[polygonRings[i + 1]!]!];
    const [columns, rows] = [x.subarray(from, to), y.subarray(from, to)];
    return [Math.min(...columns), Math.max(...columns), Math.min(...rows), Math.max(...rows)];
  });
}

/** Whether two boxes intersect or touch. The workload must not have boxes that only share an edge or a corner. */
function meet(a: Box, b: Box): boolean {
  return a[0] <= b[1] && b[0] <= a[1] && a[2] <= b[3] && b[2] <= a[3];
}
