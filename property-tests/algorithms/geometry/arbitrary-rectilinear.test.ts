import { readFile } from 'node:fs/promises';
import { describe, test as example, expect } from 'vitest';
import type { Polygons } from '../../../algorithms/geometry/polygons.ts';
import { Geos } from '../../../bench/peers/geos-areas.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  pairColumns,
  type RectilinearPair,
  rectilinearPair,
  rectilinearPairs,
} from '../../support/arbitrary-rectilinear.ts';

const geos = await Geos.open();

/** Limits coordinates so that areas stay below 2^53, for which GEOS is exact. */
const exact = { extent: 2 ** 26 };

describe('rectilinear pairs', () => {
  test.prop([rectilinearPair(exact)], { numRuns: caseCount(1500) })(
    'have the areas that GEOS finds',
    ({ first, second, areas }) => {
      const found = geos.areas(first, 0, second, 0);
      expect(found).toEqual({
        first: Number(areas.first),
        second: Number(areas.second),
        intersection: Number(areas.intersection),
        union: Number(areas.first + areas.second - areas.intersection),
      });
    },
  );

  test.prop([rectilinearPair()])('have only horizontal and vertical edges', ({ first, second }) => {
    for (const polygons of [first, second])
      for (const [a, b] of edges(polygons)) expect(a[0] === b[0] || a[1] === b[1]).toBe(true);
  });

  test.prop([rectilinearPair()])('have integer coordinates within plus and minus 2^30', ({ first, second }) => {
    for (const value of [first.x, first.y, second.x, second.y].flatMap((column) => [...column]))
      expect(Number.isInteger(value) && Math.abs(value) <= 2 ** 30).toBe(true);
  });

  test.prop([rectilinearPairs()])(
    'have one polygon on each side, and pair columns of equal length',
    ({ first, second, areas }) => {
      for (const { polygonRings, ringVertices, x, y } of [first, second]) {
        expect(polygonRings.length).toBe(areas.length + 1);
        expect(polygonRings.at(-1)).toBe(ringVertices.length - 1);
        expect([x.length, y.length]).toEqual([ringVertices.at(-1), ringVertices.at(-1)]);
      }
    },
  );

  example('cover every degenerate kind that the area algorithms must handle', () => {
    const kinds = new Set(fc.sample(rectilinearPair(), { numRuns: 2000, seed: 1 }).flatMap(kindsOf));
    expect([...kinds].sort()).toEqual([...ALL_KINDS].sort());
  });

  example('of the fixed case have the areas that GEOS finds', async () => {
    const { first, second, areas } = await readFixedCase();
    expect(geos.areas(polygonOf(first), 0, polygonOf(second), 0)).toMatchObject(areas);
  });

  example('are columns of length 0 for no pairs', () => {
    expect(pairColumns([]).first).toEqual(pairColumns([]).second);
    expect(pairColumns([]).first.polygonRings).toEqual(Uint32Array.of(0));
  });
});

interface FixedCase {
  readonly first: readonly Position[];
  readonly second: readonly Position[];
  readonly areas: { readonly first: number; readonly second: number; readonly intersection: number };
}

async function readFixedCase(): Promise<FixedCase> {
  return JSON.parse(
    await readFile(new URL('../../fixtures/result-sets/martinez-counterexample.json', import.meta.url), 'utf8'),
  );
}

function polygonOf(ring: readonly Position[]): Polygons {
  return {
    polygonRings: Uint32Array.of(0, 1),
    ringVertices: Uint32Array.of(0, ring.length),
    x: Float64Array.from(ring, ([x]) => x),
    y: Float64Array.from(ring, ([, y]) => y),
  };
}

const ALL_KINDS = [
  'several rings',
  'no ring',
  'ring of one vertex',
  'ring meets itself',
  'repeated vertex',
  'collinear vertex',
  'runs either way',
  'equal',
  'apart',
  'contained',
  'area beyond 2^53',
  'tall',
  'wide',
  'at the limit',
];

function kindsOf({ first, second, areas }: RectilinearPair): string[] {
  const rings = [...ringsOf(first), ...ringsOf(second)];
  const spans = [first, second].map(({ x, y }) => [span(x), span(y)] as const);
  const has = (kind: string, is: boolean): string[] => (is ? [kind] : []);
  return [
    ...has('several rings', first.ringVertices.length > 2),
    ...has('no ring', first.ringVertices.length === 1),
    ...has(
      'ring of one vertex',
      rings.some((ring) => ring.length === 1),
    ),
    ...has('ring meets itself', rings.some(meetsItself)),
    ...has(
      'repeated vertex',
      edges(first).some(([a, b]) => a[0] === b[0] && a[1] === b[1]),
    ),
    ...has(
      'collinear vertex',
      rings.some((ring) => ring.some((at, i) => isWithinEdge(ring.at(i - 1)!, at, ring[(i + 1) % ring.length]!))),
    ),
    ...has('runs either way', new Set(rings.map((ring) => Math.sign(signedArea(ring)))).size > 1),
    ...has('equal', areas.first > 0n && areas.first === areas.second && areas.first === areas.intersection),
    ...has('apart', areas.first > 0n && areas.second > 0n && areas.intersection === 0n),
    ...has('contained', areas.intersection > 0n && areas.intersection === areas.second && areas.second < areas.first),
    ...has('area beyond 2^53', areas.first > 2n ** 53n),
    ...has(
      'tall',
      spans.some(([x, y]) => x > 0 && y > 1000 * x),
    ),
    ...has(
      'wide',
      spans.some(([x, y]) => y > 0 && x > 1000 * y),
    ),
    ...has(
      'at the limit',
      [...first.x].some((x) => Math.abs(x) === 2 ** 30),
    ),
  ];
}

type Position = readonly [number, number];

function ringsOf({ ringVertices, x, y }: Polygons): Position[][] {
  return Array.from(ringVertices.subarray(1), (end, ring) =>
    Array.from(
      { length: end - ringVertices[ring]! },
      (_, i): Position => [x[ringVertices[ring]! + i]!, y[ringVertices[ring]! + i]!],
    ),
  );
}

function edges(polygons: Polygons): [Position, Position][] {
  return ringsOf(polygons).flatMap((ring) =>
    ring.map((at, i): [Position, Position] => [at, ring[(i + 1) % ring.length]!]),
  );
}

function meetsItself(ring: readonly Position[]): boolean {
  const turns = ring.filter((at, i) => !isWithinEdge(ring.at(i - 1)!, at, ring[(i + 1) % ring.length]!));
  const distinct = turns.filter((at, i) => at[0] !== turns.at(i - 1)![0] || at[1] !== turns.at(i - 1)![1]);
  return new Set(distinct.map(String)).size < distinct.length;
}

function isWithinEdge(before: Position, at: Position, after: Position): boolean {
  const along = (axis: 0 | 1) => (at[axis] - before[axis]) * (after[axis] - at[axis]) > 0;
  return (before[0] === after[0] && along(1)) || (before[1] === after[1] && along(0));
}

function signedArea(ring: readonly Position[]): number {
  return ring.reduce((sum, [x, y], i) => {
    const [nextX, nextY] = ring[(i + 1) % ring.length]!;
    return sum + (x * nextY - nextX * y);
  }, 0);
}

function span(column: Float64Array): number {
  return column.length === 0 ? 0 : Math.max(...column) - Math.min(...column);
}
