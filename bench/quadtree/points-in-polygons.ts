import { readFile } from 'node:fs/promises';
import { buildMaqTree } from '../../algorithms/maq-tree/index.ts';
import { DOMAIN_STEPS, decompose, placeInDomain, WORLD } from '../../algorithms/quadrants/index.ts';
import { placePoints, queryPoints } from '../../algorithms/queries/index.ts';
import { machine, median, spread } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { boxesOf, boxIndex } from './boxes.ts';
import { readParts } from './map-polygons.ts';
import { GeosPolygons } from './points-geos.ts';
import { flips } from './serial-edges.ts';

/**
 * Finds the polygons that contain each of many points. The pairs of a point and a polygon are compared with those of
 * two other methods. An exact even-odd test of all edges in integers must give the same pairs. GEOS (geos-wasm) uses
 * the original coordinates; its pairs may differ only for points within √2 grid steps of an edge. Both of these methods
 * run on one thread, and test only polygons whose boxes contain the point (found by flatbush).
 *
 * Points are lines of a tab-separated table, with latitude and longitude in the fields 4 and 5 (counted from 0), as in
 * GeoNames.
 *
 * node --max-old-space-size=6144 --import tsx bench/quadtree/points-in-polygons.ts --polygons admin1.json --points cities500.txt
 *   [--levels 12] [--backend workers|webgpu] [--adapter hardware] [--workers 2] [--rounds 5] [--no-geos]
 */
const options = programOptions({
  ...{ polygons: undefined, points: undefined, levels: 12 },
  ...BACKEND_OPTIONS,
  ...{ rounds: 5, geos: true },
});
if (options.polygons === undefined || options.points === undefined) {
  throw new Error('Name the polygons and the points: --polygons map.geo.json --points cities500.txt');
}
const parts = await readParts(options.polygons);
const placed = placeInDomain(parts, WORLD);
const points = await readPoints(options.points);
await using context = await openNamed(options);
console.log(`machine   ${machine()}`);
console.log(`backend   ${context.backend.name}, ${options.levels} levels`);
console.log(`polygons  ${parts.polygonRings.length - 1}, ${parts.x.length} vertices; ${points.x.length} points`);

const { levels } = options;
const buildFrom = performance.now();
const quadrants = await decompose(context, placed, { levels, keepsEdges: true });
const tree = await buildMaqTree(context, [quadrants]);
await context.sync();
console.log(`build     ${((performance.now() - buildFrom) / 1000).toFixed(3)} s, with compilation`);
const asked = placePoints(context, points, WORLD);
const { times, found } = await ask();
console.log(`query     ${spread(times, 4)} s, ${found.point.length} pairs`);

const steps = await context.read({ ...asked });
const boxes = boxIndex(boxesOf(placed));
const exactFrom = performance.now();
const exact = heldExactly();
const exactSeconds = (performance.now() - exactFrom) / 1000;
const own = new Set(Array.from(found.point, (point, i) => pairKey(point, found.polygon[i]!)));
console.log(`even-odd  ${exactSeconds.toFixed(3)} s, ${exact.size} pairs, ${differing(own, exact).length} differ`);
console.log(`          ${(exactSeconds / median(times)).toFixed(1)} times as long`);

const far = options.geos ? await compareWithGeos() : 0;
process.exitCode = differing(own, exact).length + far === 0 ? 0 : 1;

/**
 * Compares our pairs of a point and a polygon with those of GEOS. Returns the number of differing pairs whose point is
 * more than √2 grid steps from the polygon's boundary.
 */
async function compareWithGeos(): Promise<number> {
  const geos = await GeosPolygons.open(parts);
  const from = performance.now();
  const held = heldBy(geos);
  const seconds = (performance.now() - from) / 1000;
  const apart = differing(own, held);
  // Snapping to the grid moves both vertices and points by at most half a grid step along each axis. The distance
  // between an edge and a point thus changes by at most √2 steps.
  const step = WORLD.size / DOMAIN_STEPS;
  const far = apart.filter((key) => {
    const [point, polygon] = pairOf(key);
    return geos.distanceToBoundary(polygon, points.x[point]!, points.y[point]!) > Math.SQRT2 * step;
  });
  console.log(`GEOS      ${seconds.toFixed(3)} s, ${held.size} pairs, ${apart.length} differ, ${far.length} of them`);
  console.log(`          farther than a step from the boundary; ${(seconds / median(times)).toFixed(1)} times as long`);
  return far.length;
}

async function readPoints(file: string): Promise<{ x: Float64Array; y: Float64Array }> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  const field = (at: number): Float64Array => Float64Array.from(lines, (line) => Number(line.split('\t')[at]));
  return { x: field(5), y: field(4) };
}

async function ask() {
  const times: number[] = [];
  for (let round = -1; ; round++) {
    const from = performance.now();
    const pairs = await queryPoints(context, tree, asked);
    const answer = await context.read({ ...pairs });
    if (round >= 0) times.push((performance.now() - from) / 1000);
    context.dispose(pairs);
    if (round + 1 === options.rounds) return { times, found: answer };
  }
}

function pairKey(point: number, polygon: number): number {
  return point * 2 ** 22 + polygon;
}

function pairOf(key: number): [point: number, polygon: number] {
  return [Math.floor(key / 2 ** 22), key % 2 ** 22];
}

function heldExactly(): Set<number> {
  const held = new Set<number>();
  for (let point = 0; point < steps.x.length; point++) {
    const [x, y] = [steps.x[point]!, steps.y[point]!];
    for (const polygon of boxes.search(x, y, x, y)) if (holds(polygon, x, y)) held.add(pairKey(point, polygon));
  }
  return held;
}

/**
 * Even-odd test with a ray to the left. Points on a left or bottom edge are inside, points on a right or top edge
 * outside.
 */
function holds(polygon: number, px: number, py: number): boolean {
  const { polygonRings, ringVertices, x, y } = placed;
  let inside = false;
  for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
    const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    for (let v = start, u = end - 1; v < end; u = v++) {
      if (flips(x[u]! - px, y[u]! - py, x[v]! - px, y[v]! - py)) inside = !inside;
    }
  }
  return inside;
}

function heldBy(geos: GeosPolygons): Set<number> {
  const held = new Set<number>();
  for (let point = 0; point < steps.x.length; point++) {
    for (const polygon of boxes.search(steps.x[point]!, steps.y[point]!, steps.x[point]!, steps.y[point]!)) {
      if (geos.holds(polygon, points.x[point]!, points.y[point]!)) held.add(pairKey(point, polygon));
    }
  }
  return held;
}

function differing(a: Set<number>, b: Set<number>): number[] {
  return [...[...a].filter((key) => !b.has(key)), ...[...b].filter((key) => !a.has(key))];
}
