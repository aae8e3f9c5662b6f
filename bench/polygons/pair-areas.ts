import { cpus } from 'node:os';
import { regionsOn } from '../../algorithms/pixelbox/device-regions.ts';
import type { GridPolygons } from '../../algorithms/pixelbox/grid-polygons.ts';
import { type PairAreas, pairAreas } from '../../algorithms/pixelbox/pair-areas.ts';
import { type Regions, regionsOf } from '../../algorithms/pixelbox/regions.ts';
import { inTurns, spreadOf } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { polygonPairs } from './polygon-pairs.ts';
import { scanlineAreas } from './polygon-scanline.ts';

/**
 * Times the computation of areas of pairs of polygons, from vertices in memory to areas in memory. The synthetic
 * polygons have the statistics of pathology images. A backend and a bit-mask scanline in plain JavaScript on one thread
 * (`bench/polygons/polygon-scanline.ts`) take turns, and every area is compared. `--from` chooses whether the device
 * draws the regions from copied vertices or from edges that the host packs.
 *
 * node --import tsx bench/polygons/pair-areas.ts [--backend workers|webgpu] [--workers 2] [--pairs 619609] [--scale 1]
 *   [--tiles 40] [--method auto|masks|corners|sweep] [--from vertices|edges] [--rounds 7]
 *   [--passes 5]
 */
const options = programOptions({
  ...BACKEND_OPTIONS,
  ...{ pairs: 619609, tiles: 40, scale: 1, method: 'auto', from: 'vertices', rounds: 7, passes: 5 },
});

const started = performance.now();
const tiles = [...polygonPairs(options)];
const count = tiles.reduce((sum, { pairs }) => sum + pairs.p.length, 0);
const polygons = tiles.reduce((sum, { first, second }) => sum + polygonCount(first) + polygonCount(second), 0);
const vertices = tiles.reduce((sum, { first, second }) => sum + first.x.length + second.x.length, 0);
const { backend, passes } = options;
const context = await openNamed(options);

console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}`);
console.log(`pairs    ${count} of ${polygons} polygons with ${vertices} vertices, scale ${options.scale}`);
console.log(`made in  ${((performance.now() - started) / 1000).toFixed(1)} s`);

function polygonCount({ polygonRings }: GridPolygons): number {
  return polygonRings.length - 1;
}

async function regionsFor(polygons: GridPolygons): Promise<Regions> {
  return options.from === 'vertices' ? regionsOn(context, polygons) : regionsOf(polygons);
}

/**
 * The areas by the backend. Three tiles run at a time, so that the main thread prepares one tile while the device
 * computes the others.
 */
async function byBackend(): Promise<PairAreas[]> {
  const areas: PairAreas[] = [];
  const work = tiles.entries();
  const lane = async (): Promise<void> => {
    for (const [i, { first, second, pairs }] of work) {
      const method = options.method as 'auto';
      const [p, q] = await Promise.all([regionsFor(first), regionsFor(second)]);
      areas[i] = await pairAreas(context, p, q, pairs, { method });
      context.dispose(p, q);
    }
  };
  await Promise.all([lane(), lane(), lane()]);
  return areas;
}

const byScanline = (): ReturnType<typeof scanlineAreas>[] =>
  tiles.map(({ first, second, pairs }) => scanlineAreas(first, second, pairs));

/** Runs some work `passes` times; returns its last result. */
const again =
  <T>(run: () => T | Promise<T>) =>
  async (): Promise<T> => {
    for (let pass = 1; pass < passes; pass++) await run();
    return run();
  };

let scanned: ReturnType<typeof byScanline> = [];
const contestants = {
  scanline: again(() => (scanned = byScanline())),
  [backend]: again(byBackend),
};
const times = await inTurns<unknown>(contestants, { rounds: options.rounds, warmUps: 2 }, (found, name) => {
  if (name === backend) compare(scanned, found as PairAreas[]);
});
for (const [name, took] of times) {
  const { median, min, max } = spreadOf(took.map(({ wall }) => (1000 * wall) / passes));
  const processor = spreadOf(took.map((each) => (1000 * each.processor) / passes)).median.toFixed(0);
  console.log(
    `${name.padEnd(9)}${median.toFixed(0)} ms (${min.toFixed(0)} to ${max.toFixed(0)}), ` +
      `${(count / median / 1000).toFixed(2)} M pairs/s, ${processor} ms of processors`,
  );
}
await context.close();

function compare(expected: ReturnType<typeof byScanline>, got: PairAreas[]): void {
  for (const [tile, { intersection, p, q }] of expected.entries()) {
    for (let pair = 0; pair < p.length; pair++) {
      const { [tile]: found } = got;
      const same =
        Number(found!.intersection[pair]) === intersection[pair] &&
        Number(found!.p[pair]) === p[pair] &&
        Number(found!.q[pair]) === q[pair];
      if (!same) throw new Error(`pair ${pair} of tile ${tile} differs`);
    }
  }
}
