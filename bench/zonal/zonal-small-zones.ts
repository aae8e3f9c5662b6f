import { readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeGeoTiff } from '../../formats/index.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import { builtPackage } from '../shared/built-package.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { machine, median, spread } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { type Run, timed } from '../shared/timed-process.ts';
import { inflateAlone } from './inflate-alone.ts';
import { terrain } from './terrain.ts';

/**
 * Times `quadrille zonal` on very many small zones beside a plain loop of GDAL and numpy, which counts a zone at a time:
 * polygons of 24 vertices with the area of some cells each, scattered over a GeoTIFF of u16. Both are new processes, take
 * turns, and must agree on the number of cells of nearly all zones, and on their sums. The loop may get a share of the
 * zones only; its time is then multiplied, which the table says. Also reports the time for inflating the raster alone.
 *
 * node --import tsx bench/zonal/zonal-small-zones.ts [--zones 100000] [--cells 180] [--side 10000] [--share 1]
 *   [--rounds 3] [--folder DIR] [--python /usr/bin/python3]
 *
 * Files that already exist in `--folder` are reused. Needs python3-gdal, numpy and /usr/bin/time.
 */
const options = programOptions({
  ...{ zones: 100_000, cells: 180, side: 10_000, share: 1, rounds: 3, folder: undefined },
  python: '/usr/bin/python3',
});

const tile = { columns: 256, rows: 256 };
const project = fileURLToPath(new URL('../..', import.meta.url));
await using scratch = await temporaryFolder('quadrille-small-zones-');
const work = scratch.path;
const { command } = await builtPackage(work);
const folder = resolve(options.folder ?? work);
const raster = join(folder, `small-${options.side}.tif`);
const all = join(folder, `small-${options.zones}-${options.cells}-${options.side}.geojson`);
const some = join(folder, `small-${options.zones}-${options.cells}-${options.side}-${options.share}.geojson`);
if (!(await exists(raster))) {
  const grid = { width: options.side, height: options.side, originX: 0, originY: 0, stepX: 1, stepY: -1 };
  const place = { ...grid, crs: 'EPSG:32631', geographic: false } as const;
  await writeGeoTiff(raster, { ...place, sample: 'u16', tile, compression: 'deflate' }, terrain);
}
if (!(await exists(all))) await writeFile(all, geojson(1));
if (!(await exists(some))) await writeFile(some, geojson(options.share));
console.log(`machine  ${machine()}`);
console.log(`raster   ${options.side} × ${options.side} u16, ${options.zones} zones of about ${options.cells} cells\n`);
const loops: Run[] = [];
const ours: Run[] = [];
for (let round = 0; round < options.rounds; round++) {
  loops.push(timed(options.python, loopArguments(), { GDAL_NUM_THREADS: '1' }));
  ours.push(timed(process.execPath, ourArguments()));
}
await requireAgreement();
printHead(
  `loop on 1 of ${1 / options.share} zones, s | command, s | loop ÷ command | processor time, the same | peak, MB | inflating, s`,
);
const ratios = (field: 'seconds' | 'cpuSeconds'): string =>
  spread(
    loops.map((loop, round) => loop[field] / options.share / ours[round]![field]),
    1,
  );
printRow([
  spread(loops.map(({ seconds }) => seconds)),
  spread(ours.map(({ seconds }) => seconds)),
  ratios('seconds'),
  ratios('cpuSeconds'),
  (largestOf(ours.map(({ bytes }) => bytes)) / 1e6).toFixed(0),
  median(await inflateAlone(raster, options.rounds)).toFixed(2),
]);

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}

/** A share of the zones as GeoJSON: of 100 zones, the first one with a share of 0.01. */
function geojson(share: number): string {
  const across = Math.ceil(Math.sqrt(options.zones));
  const step = options.side / across;
  const radius = Math.sqrt(options.cells / Math.PI);
  const features: string[] = [];
  for (let zone = 0; zone < options.zones; zone += 1 / share) {
    const [column, row] = [zone % across, Math.floor(zone / across)];
    const [x, y] = [(column + 0.3 + 0.4 * part(zone)) * step, (row + 0.3 + 0.4 * part(3 * zone + 1)) * step];
    const ring = Array.from({ length: 25 }, (_, at) => {
      const turn = ((at % 24) / 24) * 2 * Math.PI;
      const from = radius * (0.9 + 0.2 * part(24 * zone + (at % 24)));
      return `[${(x + from * Math.cos(turn)).toFixed(3)},${(-y + from * Math.sin(turn)).toFixed(3)}]`;
    });
    const geometry = `{"type":"Polygon","coordinates":[[${ring.join()}]]}`;
    features.push(`{"type":"Feature","properties":{"id":"${zone}"},"geometry":${geometry}}`);
  }
  const crs = '{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::32631"}}';
  return `{"type":"FeatureCollection","name":"zones","crs":${crs},"features":[\n${features.join(',\n')}\n]}\n`;
}

/** A number from 0 to 1 that is different for each whole number. */
function part(at: number): number {
  return (at * 0.6180339887) % 1;
}

function loopArguments(): string[] {
  return [join(project, 'bench/peers/zonal-loop.py'), raster, some, 'zones', join(work, 'loop.csv'), '--stats'];
}

function ourArguments(): string[] {
  const words = [command, 'zonal', '--zones', all, '--id', 'id', '--raster', raster, '--quiet'];
  return [...words, '--stats', join(work, 'stats.csv'), '--stat', 'count,min,max,mean,sum'];
}

/** Throws if the results of the last runs disagree; in a few zones a centre may lie on an edge. */
async function requireAgreement(): Promise<void> {
  const [own, theirs] = await Promise.all(['stats.csv', 'loop.csv'].map(rowsOf));
  let same = 0;
  for (const [zone, [cells, , min, max, , sum]] of theirs!) {
    const [ownCells, ownMin, ownMax, , ownSum] = own!.get(zone)!;
    if (ownCells !== cells) continue;
    if (ownMin !== min || ownMax !== max || ownSum !== sum) throw new Error(`Zone ${zone}: ${ownSum}, not ${sum}.`);
    same++;
  }
  if (same < 0.98 * theirs!.size) throw new Error(`Only ${same} of ${theirs!.size} zones have the same cells.`);
}

async function rowsOf(name: string): Promise<Map<string, number[]>> {
  const [, ...lines] = (await readFile(join(work, name), 'utf8')).trim().split('\n');
  return new Map(lines.map((line) => [line.split(',')[0]!, line.split(',').slice(1).map(Number)]));
}
