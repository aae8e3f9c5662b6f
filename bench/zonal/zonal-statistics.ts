import { readFile, rm, stat } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cells, Window } from '../../algorithms/geometry/raster.ts';
import { type GeoTiffRaster, writeGeoTiff } from '../../formats/index.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import { builtPackage } from '../shared/built-package.ts';
import { median, spread } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { cpuOf, type Run, shown, timed } from '../shared/timed-process.ts';
import { inflateAlone } from './inflate-alone.ts';
import { gridOf, terrain } from './terrain.ts';

/**
 * Times two programs: `quadrille zonal` as published (compiled, without a TypeScript loader), and a plain Python loop
 * with GDAL and numpy (`bench/peers/zonal-loop.py`, one GDAL thread). The programs take turns, each time as a new
 * process, with the same GeoTIFFs and the US counties. The jobs are histograms of 257 bins, statistics, both together,
 * and both with the standard deviation and the median. If the programs count the same number of cells in a zone, their minima and maxima
 * must be equal, and their means and standard deviations must agree to 10⁻⁹, their medians to f32. For comparison, also reports the time for
 * only inflating all blocks, on all cores.
 *
 * node --import tsx bench/zonal/zonal-statistics.ts [--columns 20000] [--rows 10000] [--files i16,f32,f32-2,f32-3]
 *   [--jobs bins,bins+stats,bins+stats+stdev,bins+stats+stdev+median,stats] [--rounds 5] [--folder DIR] [--python /usr/bin/python3]
 *
 * Files that already exist in `--folder` are reused. Without `--folder`, the files are made in a temporary folder and
 * removed afterwards. Needs python3-gdal, numpy and /usr/bin/time.
 */
const options = programOptions({
  ...{ columns: 20000, rows: 10000, files: 'i16,f32,f32-2,f32-3' },
  jobs: 'bins,bins+stats,bins+stats+stdev,bins+stats+stdev+median,stats',
  ...{ rounds: 5, folder: undefined, python: '/usr/bin/python3' },
});

type Packing = Pick<GeoTiffRaster, 'sample' | 'predictor' | 'tile' | 'stripRows'>;

const tile = { columns: 256, rows: 256 };
const FILES: Readonly<Record<string, Packing>> = {
  i16: { sample: 'i16', tile },
  'i16-2': { sample: 'i16', predictor: 'difference', tile: { columns: 512, rows: 512 } },
  f32: { sample: 'f32', tile },
  'f32-2': { sample: 'f32', predictor: 'difference', tile },
  'f32-3': { sample: 'f32', predictor: 'float', tile },
  'f32-3-strips': { sample: 'f32', predictor: 'float', stripRows: 8 },
};
const [LOW, HIGH, WIDTH] = [-512, 3600, 16];
/** Words of jobs, and options of the loop. */
const STATISTICS = ['stats', 'stdev', 'median'];

const project = fileURLToPath(new URL('../..', import.meta.url));
const zones = join(project, 'node_modules/us-atlas/counties-10m.json');
await using scratch = await temporaryFolder('quadrille-statistics-');
const work = scratch.path;
const { command } = await builtPackage(work);
console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}`);
console.log(`raster   ${options.columns} × ${options.rows}, 3,231 counties; seconds: median (min … max)\n`);
console.log(
  '| file | file, MB | job | Python, s | Python: processor s | quadrille, s | quadrille: processor s | Python ÷ quadrille | quadrille: peak memory, MB | inflating only, s |',
);
console.log('| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
for (const name of options.files.split(',')) await measureFile(name, command);

async function measureFile(name: string, command: string): Promise<void> {
  const raster = join(resolve(options.folder ?? work), `${name}.tif`);
  if ((await stat(raster).catch(() => undefined)) === undefined) await writeRaster(raster, FILES[name]!);
  const megabytes = ((await stat(raster)).size / 1e6).toFixed(0);
  const inflating = await inflateAlone(raster, options.rounds);
  for (const job of options.jobs.split(',')) {
    const ours: Run[] = [];
    const loop: Run[] = [];
    for (let round = 0; round < options.rounds; round++) {
      loop.push(timed(options.python, loopArguments(raster, job), { GDAL_NUM_THREADS: '1' }));
      ours.push(timed(process.execPath, ourArguments(command, raster, job)));
    }
    if (job !== 'bins') await requireAgreement(job);
    const ratios = loop.map(({ seconds }, round) => seconds / ours[round]!.seconds);
    const peak = largestOf(ours.map(({ bytes }) => bytes)) / 1e6;
    const both = [shown(loop), cpuOf(loop), shown(ours), cpuOf(ours), spread(ratios)];
    const columns = [name, megabytes, job, ...both, peak.toFixed(0), median(inflating).toFixed(2)];
    console.log(`| ${columns.join(' | ')} |`);
  }
  if (options.folder === undefined) await rm(raster);
}

function writeRaster(file: string, packing: Packing): Promise<void> {
  const grid = { ...gridOf(options.columns, options.rows), crs: 'EPSG:4326' };
  const nodata = packing.sample === 'f32' ? -9999 : -32768;
  return writeGeoTiff(file, { ...grid, ...packing, nodata, compression: 'deflate' }, (window) =>
    heights(window, packing.sample === 'f32'),
  );
}

/** The relief in metres, from −512 to 3,584. If `isFloat`, every height also has noise of less than 1/16 m. */
function heights(window: Window, isFloat: boolean): Cells {
  const relief = terrain(window);
  if (!isFloat) return Int16Array.from(relief, (height) => (height - 8192) >> 4);
  const first = window.row * window.columns;
  return Float32Array.from(relief, (height, at) => (height + noise(first + at)) / 16 - 512);
}

function noise(at: number): number {
  const hash = Math.imul(at ^ (at >>> 15), 0x2c1b3c6d) ^ Math.imul(at, 0x9e3779b1);
  return ((hash ^ (hash >>> 12)) >>> 0) / 2 ** 32;
}

function loopArguments(raster: string, job: string): string[] {
  const bins = job.includes('bins') ? [LOW, HIGH, (HIGH - LOW) / WIDTH].map(String) : [];
  const stats = STATISTICS.filter((name) => job.includes(name)).map((name) => `--${name}`);
  return [
    join(project, 'bench/peers/zonal-loop.py'),
    raster,
    zones,
    'counties',
    join(work, 'loop.csv'),
    ...bins,
    ...stats,
  ];
}

function ourArguments(command: string, raster: string, job: string): string[] {
  const bins = job.includes('bins') ? [`--bins=${LOW}:${HIGH}:${WIDTH}`, '--out', join(work, 'bins.csv')] : [];
  const further = STATISTICS.slice(1).filter((name) => job.includes(name));
  const list = ['cells', 'nodata', 'min', 'max', 'mean', 'sum', ...further].join();
  const stats = job.includes('stats') ? ['--stats', join(work, 'stats.csv'), '--stat', list] : [];
  return [command, 'zonal', '--zones', zones, '--layer', 'counties', '--raster', raster, ...bins, ...stats, '--quiet'];
}

/**
 * Throws if the results of the last runs disagree. Zones with different cell counts are skipped: the programs may
 * assign a cell to different zones if its centre is exactly on an edge. Only a few zones may be skipped.
 */
async function requireAgreement(job: string): Promise<void> {
  const ours = await rowsOf('stats.csv');
  const theirs = await rowsOf('loop.csv');
  let same = 0;
  for (const [zone, [cells, , ...statistics]] of theirs) {
    const [ownCells, nodata, ...own] = ours.get(zone)!;
    if (ownCells! - nodata! !== cells || cells === 0) continue;
    const [min, max, ...others] = own.map((value, i) => Math.abs(value - statistics[i]!));
    const isMedian = (at: number): boolean => job.includes('median') && at === own.length - 1;
    const agrees = others.every((off, i) => off <= (isMedian(i + 2) ? 2 ** -23 : 1e-9) * Math.abs(own[i + 2]!) + 1e-9);
    if (min !== 0 || max !== 0 || !agrees) {
      throw new Error(`Zone ${zone}: ${own.join(', ')}, not ${statistics.join(', ')}.`);
    }
    same++;
  }
  if (same < 0.95 * theirs.size) throw new Error(`Only ${same} of ${theirs.size} zones have the same cells.`);
}

async function rowsOf(name: string): Promise<Map<string, number[]>> {
  const [, ...lines] = (await readFile(join(work, name), 'utf8')).trim().split('\n');
  return new Map(lines.map((line) => [line.split(',')[0]!, line.split(',').slice(1).map(Number)]));
}
