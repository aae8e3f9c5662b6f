import type { GridPolygons } from '../../algorithms/pixelbox/grid-polygons.ts';
import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';
import { programOptions } from '../shared/program-options.ts';
import { polygonPairs } from './polygon-pairs.ts';

/**
 * Prints statistics of the synthetic polygons of `bench/polygons/polygon-pairs.ts`.
 *
 * node --import tsx bench/polygons/polygon-statistics.ts [--pairs 619609] [--tiles 400] [--scale 1] [--seed 1]
 */
const options = programOptions({ pairs: 619609, tiles: 400, scale: 1, seed: 1 });

interface Tally {
  polygons: number;
  vertices: number;
  holes: number;
  touching: number;
  wide: number;
  area: number;
  squares: number;
}

const tallies = { first: emptyTally(), second: emptyTally() };
const began = performance.now();
let [tiles, pairs] = [0, 0];
for (const tile of polygonPairs(options)) {
  tiles++;
  pairs += tile.pairs.p.length;
  for (const side of ['first', 'second'] as const) {
    tallies[side].touching += tile.touching[side];
    addPolygons(tallies[side], tile[side]);
  }
}
console.log(
  `made     ${((performance.now() - began) / 1000).toFixed(1)} s, ${tiles} tiles, ${pairs} pairs whose boxes intersect`,
);
for (const side of ['first', 'second'] as const) console.log(`${side.padEnd(8)} ${describe(tallies[side])}`);

function emptyTally(): Tally {
  return { polygons: 0, vertices: 0, holes: 0, touching: 0, wide: 0, area: 0, squares: 0 };
}

function addPolygons(tally: Tally, { polygonRings, ringVertices, x, y }: GridPolygons): void {
  for (let polygon = 0; polygon + 1 < polygonRings.length; polygon++) {
    const [start, end] = [ringVertices[polygonRings[polygon]!]!, ringVertices[polygonRings[polygon + 1]!]!];
    const area = Math.abs(signedArea(polygonRings, ringVertices, polygon, x, y));
    const columns = x.subarray(start, end);
    tally.polygons++;
    tally.vertices += end - start;
    tally.holes += polygonRings[polygon + 1]! - polygonRings[polygon]! - 1;
    tally.wide += largestOf(columns) - smallestOf(columns) > 32 ? 1 : 0;
    tally.area += area;
    tally.squares += area * area;
  }
}

/** The signed area of a ring. Holes have the opposite orientation, so their areas are subtracted. */
function signedArea(
  polygonRings: Uint32Array,
  ringVertices: Uint32Array,
  polygon: number,
  x: Int32Array,
  y: Int32Array,
): number {
  let area = 0;
  for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
    const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    for (let i = start, before = end - 1; i < end; before = i++) area += x[i]! * (y[i]! - y[before]!);
  }
  return area;
}

function describe({ polygons, vertices, holes, touching, wide, area, squares }: Tally): string {
  const mean = area / polygons;
  const deviation = Math.sqrt(squares / polygons - mean * mean);
  const share = (count: number): string => `${((100 * count) / polygons).toFixed(1)} %`;
  return [
    `${polygons} polygons`,
    `area ${mean.toFixed(1)} ± ${deviation.toFixed(1)}`,
    `${(vertices / polygons).toFixed(1)} vertices`,
    `${share(touching)} touch themselves`,
    `${(holes / polygons).toFixed(2)} holes`,
    `${share(wide)} wider than 32`,
  ].join(', ');
}
