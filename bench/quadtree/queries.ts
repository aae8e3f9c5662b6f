import { buildMaqTree, readMaqTree } from '../../algorithms/maq-tree/index.ts';
import { DOMAIN_BITS, decompose, placeInDomain, WORLD } from '../../algorithms/quadrants/index.ts';
import { placeWindows, polygonsOf, queryPolygons, queryWindows } from '../../algorithms/queries/index.ts';
import { inTurns, machine, median, spread } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { boxesOf, boxIndex } from './boxes.ts';
import { readParts } from './map-polygons.ts';
import { buildByHand, countByWalking, MAX_LEVELS } from './maq-builder.ts';
import { countPolygonsByWalking } from './walk-polygons.ts';

/**
 * Times queries to a MAQ-tree (multi-attribute quadtree) over the quadrants of a map's polygons. A backend is compared
 * with plain JavaScript on one thread (`bench/quadtree/maq-builder.ts`), and with flatbush, which finds bounding boxes
 * of polygons instead of quadrants. Query windows are centred on vertices of the map, because real queries are usually
 * near the data. Every polygon of the map is also a query for the polygons of the map with which it shares quadrants.
 * The trees of the backend and of plain JavaScript must be equal. Prints how many nodes or pairs each method finds.
 *
 * node --max-old-space-size=6144 --import tsx bench/quadtree/queries.ts --file map.geo.json [--levels 12] [--windows 100000]
 *   [--width 0.5] [--backend workers|webgpu] [--adapter hardware] [--workers 2] [--rounds 5] [--only build,nodes,polygons,all]
 */
const options = programOptions({
  ...{ file: undefined, levels: 12, windows: 100000, width: 0.5 },
  ...BACKEND_OPTIONS,
  ...{ rounds: 5, only: 'build,nodes,polygons,all' },
});
if (options.file === undefined) throw new Error('Name the polygons: --file map.geo.json');
const { levels, rounds } = options;
if (levels > MAX_LEVELS) throw new Error(`The plain JavaScript builder has at most ${MAX_LEVELS} levels.`);
const wanted = new Set(options.only.split(','));
const parts = await readParts(options.file);
await using context = await openNamed(options);
const quadrants = await decompose(context, placeInDomain(parts, WORLD), { levels });
const host = await context.read({ polygon: quadrants.polygon, code: quadrants.code.lo, level: quadrants.level });
console.log(`machine   ${machine()}`);
console.log(`backend   ${context.backend.name}, ${levels} levels`);
console.log(`quadrants ${host.polygon.length} of ${parts.polygonRings.length - 1} polygons`);

const byHand = buildByHand(host.polygon, host.code, host.level);
const tree = await buildMaqTree(context, [quadrants]);
await requireSameTree();
const windows = windowsAround(options.windows, options.width);
const placed = placeWindows(context, windows, WORLD);
const sides = await context.read(placed.sides);
const boxesOfPolygons = boxesOf(parts);
const boxes = boxIndex(boxesOfPolygons);
await compare('build', 'build', {
  'one thread': () => buildByHand(host.polygon, host.code, host.level).code.length,
  [options.backend]: async () => {
    const built = await buildMaqTree(context, [quadrants]);
    await context.sync();
    context.dispose(built);
    return built.nodes.level.length as number;
  },
});
await compare('nodes', `${placed.count} windows, nodes`, {
  'one thread': () => countByWalking(byHand, sides, DOMAIN_BITS),
  [options.backend]: async () => {
    const found = await queryWindows(context, tree, placed);
    const count = await context.count({ query: found.query });
    context.dispose(found);
    return count;
  },
});
await compare('polygons', `${placed.count} windows, polygons`, {
  'flatbush, boxes': () => {
    let met = 0;
    for (let i = 0; i < placed.count; i++) {
      met += boxes.search(windows.left[i]!, windows.bottom[i]!, windows.right[i]!, windows.top[i]!).length;
    }
    return met;
  },
  [options.backend]: async () => {
    const found = await queryWindows(context, tree, placed);
    const met = await polygonsOf(context, tree, found);
    const count = await context.count({ query: met.query });
    context.dispose(found, met);
    return count;
  },
});

const byPolygons = async (): Promise<number> => {
  const met = await queryPolygons(context, tree, quadrants);
  const count = await context.count({ query: met.query });
  context.dispose(met);
  return count;
};
await compare('all', 'all polygons as queries', {
  'one thread': () => countPolygonsByWalking(byHand, host),
  [options.backend]: byPolygons,
});
await compare('all', 'all polygons as queries', {
  'flatbush, boxes': () => boxesOfPolygons.reduce((met, box) => met + boxes.search(...box).length, 0),
  [options.backend]: byPolygons,
});

/**
 * Times the functions in `contestants`, which take turns in every round. Prints the seconds and the result of each
 * contestant, and the first contestant's median time divided by the second contestant's.
 */
async function compare(
  name: string,
  what: string,
  contestants: Record<string, () => number | Promise<number>>,
): Promise<void> {
  if (!wanted.has(name)) return;
  const found = new Map<string, number>();
  const times = await inTurns(contestants, { rounds }, (count, name) => found.set(name, count));
  const [first, last] = [...times.values()].map((took) => median(took.map(({ wall }) => wall))) as [number, number];
  console.log(`\n${what}`);
  for (const [name, took] of times) {
    const seconds = took.map(({ wall }) => wall);
    console.log(`  ${name.padEnd(16)}${spread(seconds, 4)} s, found ${found.get(name)}`);
  }
  console.log(`  ratio           ${(first / last).toFixed(2)}`);
}

async function requireSameTree(): Promise<void> {
  const { nodes, entries } = await readMaqTree(context, tree);
  const pairs: [Uint32Array, Uint32Array][] = [
    [nodes.code.lo, byHand.code],
    [nodes.level, byHand.level],
    [nodes.firstChild, byHand.firstChild],
    [nodes.childCount, byHand.childCount],
    [nodes.firstEntry, byHand.firstEntry],
    [nodes.entryCount, byHand.entryCount],
    [entries.polygon, byHand.polygon],
  ];
  for (const [got, expected] of pairs) {
    if (got.length !== expected.length || got.some((value, i) => value !== expected[i])) {
      throw new Error('The trees differ.');
    }
  }
}

function windowsAround(count: number, width: number) {
  const columns = { left: new Float64Array(count), bottom: new Float64Array(count) };
  const [right, top] = [new Float64Array(count), new Float64Array(count)];
  for (let i = 0; i < count; i++) {
    // Windows are spread over all vertices by the golden ratio. Their widths vary from a tenth of `width` to `width`.
    const vertex = Math.floor(((i * 0.6180339887498949) % 1) * parts.x.length);
    const half = (width * (1 + (i % 10))) / 20;
    columns.left[i] = parts.x[vertex]! - half;
    right[i] = parts.x[vertex]! + half;
    columns.bottom[i] = parts.y[vertex]! - half;
    top[i] = parts.y[vertex]! + half;
  }
  return { ...columns, right, top };
}
