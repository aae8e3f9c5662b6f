import { readFile } from 'node:fs/promises';
import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import { buildMaqTree } from '../../algorithms/maq-tree/index.ts';
import { decompose, placeInDomain, WORLD } from '../../algorithms/quadrants/index.ts';
import { joinPolygons, queryPolygons } from '../../algorithms/queries/index.ts';
import { readPolygonLayer } from '../../formats/index.ts';
import { Geos } from '../peers/geos-areas.ts';
import { machine, spread } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { boxesOf, boxIndex } from './boxes.ts';
import { startsOf } from './map-polygons.ts';

/**
 * Joins a layer with itself: finds all pairs of polygons that share area. The result is compared with GEOS (geos-wasm),
 * which computes the shared area of every pair whose boxes intersect. The join must report every pair that shares more
 * than `--min` square degrees by GEOS. The join may also report pairs that share less. Prints the number of these
 * pairs, and the largest area that one of them shares.
 *
 * A layer is any file that `quadrille index` reads, or the imagery list of the iD editor: a JSON array whose entries
 * may have the rings of a polygon in the field `polygon`.
 *
 * node --max-old-space-size=6144 --import tsx bench/quadtree/join-layers.ts --layer imagery.json [--levels 12] [--min 1e-6]
 *   [--backend workers|webgpu] [--adapter hardware] [--workers 2] [--rounds 5] [--no-geos]
 */
const options = programOptions({
  ...{ layer: undefined, levels: 12, min: '1e-6' },
  ...BACKEND_OPTIONS,
  ...{ rounds: 5, geos: true },
});
if (options.layer === undefined) throw new Error('Name the layer: --layer imagery.json');
const polygons = await readLayer(options.layer);
const count = polygons.polygonRings.length - 1;
await using context = await openNamed(options);
console.log(`machine     ${machine()}`);
console.log(`backend     ${context.backend.name}, ${options.levels} levels`);
console.log(`polygons    ${count}, ${polygons.x.length} vertices`);

const { levels } = options;
const placed = placeInDomain(polygons, WORLD);
const quadrants = await decompose(context, placed, { levels, keepsEdges: true });
const tree = await buildMaqTree(context, [quadrants]);
await context.sync();
console.log(`quadrants   ${quadrants.polygon.length}`);
const filter = await timed('filter', () => queryPolygons(context, tree, quadrants));
const join = await timed('join', () => joinPolygons(context, tree, quadrants));
const boxPairs = pairsOfBoxes();
console.log(`boxes       ${boxPairs.length} pairs of different polygons`);
if (options.geos) await compareWithGeos();

async function readLayer(file: string): Promise<Polygons> {
  const text = await readFile(file, 'utf8');
  if (!text.startsWith('[')) return (await readPolygonLayer(file)).zones.polygons;
  const entries = JSON.parse(text) as { readonly polygon?: readonly (readonly [number, number])[][] }[];
  const shapes = entries.flatMap(({ polygon }) => (polygon === undefined ? [] : [polygon]));
  const rings = shapes.flat().map((ring) => ring.slice(0, -1));
  const [x, y] = [0, 1].map((axis) => Float64Array.from(rings.flat(), (position) => position[axis]!));
  return { polygonRings: startsOf(shapes), ringVertices: startsOf(rings), x: x!, y: y! };
}

/** Times a join. Returns its pairs of polygons with `first` < `second`, each as the key `first * count + second`. */
async function timed(name: string, ask: () => ReturnType<typeof joinPolygons>): Promise<Set<number>> {
  const times: number[] = [];
  for (let round = -1; ; round++) {
    const from = performance.now();
    const pairs = await ask();
    const { query, polygon } = await context.read({ ...pairs });
    if (round >= 0) times.push((performance.now() - from) / 1000);
    context.dispose(pairs);
    if (round + 1 < options.rounds) continue;
    const found = Array.from(query, (first, i) => [first, polygon[i]!] as const);
    const kept = new Set(found.filter(([a, b]) => a < b).map(([a, b]) => a * count + b));
    console.log(`${name.padEnd(12)}${spread(times, 4)} s, ${kept.size} pairs of different polygons`);
    return kept;
  }
}

function pairsOfBoxes(): number[] {
  const boxes = boxesOf(polygons);
  const index = boxIndex(boxes);
  return boxes.flatMap((box, a) =>
    index
      .search(...box)
      .filter((b) => a < b)
      .map((b) => a * count + b),
  );
}

async function compareWithGeos(): Promise<void> {
  const geos = await Geos.open();
  const from = performance.now();
  let [large, missed, extra, max] = [0, 0, 0, 0];
  for (const key of new Set([...boxPairs, ...join])) {
    const { intersection } = geos.areas(polygons, Math.floor(key / count), polygons, key % count);
    if (intersection > Number(options.min)) {
      large++;
      if (!join.has(key)) missed++;
    } else if (join.has(key)) {
      extra++;
      max = Math.max(max, intersection);
    }
  }
  const seconds = (performance.now() - from) / 1000;
  console.log(`GEOS        ${seconds.toFixed(1)} s, ${large} pairs share more than ${options.min} square degrees`);
  console.log(
    `            of these ${missed} are not joined, ${[...join].filter((key) => !filter.has(key)).length} not in`,
  );
  console.log(`            the filter; ${extra} are joined that share less, ${max} at most`);
  process.exitCode = missed === 0 ? 0 : 1;
}
