import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Polygons } from '../../../algorithms/geometry/polygons.ts';
import { type PairAreas, pairAreas } from '../../../algorithms/pixelbox/pair-areas.ts';
import { regionsOf } from '../../../algorithms/pixelbox/regions.ts';
import { gridPolygons } from '../../../algorithms/pixelbox/snap-to-pixels.ts';
import { Geos } from '../../../bench/peers/geos-areas.ts';
import { onEveryBackend } from '../../backends.ts';
import { rectilinearPairs } from '../../support/arbitrary-rectilinear.ts';

const geos = await Geos.open();

/** For every i, the areas that GEOS computes for polygon i of `first` and polygon i of `second`. */
function areasByGeos(first: Polygons, second: Polygons): ReturnType<Geos['areas']>[] {
  return Array.from({ length: first.polygonRings.length - 1 }, (_, i) => geos.areas(first, i, second, i));
}

function polygonOf(ring: readonly (readonly [number, number])[]): Polygons {
  return {
    polygonRings: Uint32Array.of(0, 1),
    ringVertices: Uint32Array.of(0, ring.length),
    x: Float64Array.from(ring, ([x]) => x),
    y: Float64Array.from(ring, ([, y]) => y),
  };
}

function rowsOf({ intersection, p, q }: PairAreas): ReturnType<Geos['areas']>[] {
  return Array.from(intersection, (shared, i) => ({
    first: Number(p[i]),
    second: Number(q[i]),
    intersection: Number(shared),
    union: Number(p[i]! + q[i]! - shared),
  }));
}

onEveryBackend((opened, backend) => {
  const areasOf = async (first: Polygons, second: Polygons) => {
    const each = Uint32Array.from({ length: first.polygonRings.length - 1 }, (_, i) => i);
    const [p, q] = [first, second].map((polygons) => regionsOf(gridPolygons(polygons)));
    return rowsOf(await pairAreas(opened().context, p!, q!, { p: each, q: each }));
  };

  test('areas of ∩ and ∪ equal those of GEOS', { timeout: 300_000 }, async () => {
    const extent = fc.constantFrom(30, 300, 2 ** 26);
    const pairs = extent.chain((side) => rectilinearPairs({ extent: side, maxPairs: 60 }));
    await fc.assert(
      fc.asyncProperty(pairs, async ({ first, second }) => {
        expect(await areasOf(first, second)).toEqual(areasByGeos(first, second));
      }),
      { numRuns: 2 * backend.runs },
    );
  });

  test('areas of two simple rings that martinez-polygon-clipping gets wrong', async () => {
    const file = new URL('../../fixtures/result-sets/martinez-counterexample.json', import.meta.url);
    const { first, second, areas } = JSON.parse(await readFile(file, 'utf8'));
    const [p, q] = [first, second].map(polygonOf);
    const [found] = await areasOf(p!, q!);
    expect(found).toEqual({ ...areas, union: areas.first + areas.second - areas.intersection });
  });
});
