import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cells, RasterSource, Window } from '../../algorithms/geometry/raster.ts';
import { type GeoTiffRaster, writeGeoTiff } from '../../formats/index.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import { builtPackage } from '../shared/built-package.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { machine, spread, timed as timedHere } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { type Run, timed } from '../shared/timed-process.ts';
import { inflateAlone } from './inflate-alone.ts';
import { gridOf, terrain } from './terrain.ts';

/**
 * Times `quadrille zonal` on several GeoTIFFs of one grid, with the US counties as zones, beside the physical limit: what
 * it takes to decode the same files with the reader of the package, whole, and to inflate their blocks with zlib. The
 * jobs are means alone, and bins with the standard deviation. Everything takes turns. The command runs as published, each
 * time as a new process, and is also timed on the first raster alone. With `--peers`, a plain loop of GDAL and numpy counts
 * each raster, and `exactextract` all of them, too (`--exactextract PATH`).
 *
 * node --import tsx bench/zonal/zonal-rasters.ts [--rasters 10] [--columns 8000] [--rows 5000] [--files i16,f32-2]
 *   [--jobs mean,bins+stdev] [--rounds 5] [--folder DIR] [--peers] [--python /usr/bin/python3] [--exactextract PATH]
 *
 * Files that already exist in `--folder` are reused. Without it, they are made in a temporary folder and removed
 * afterwards. Needs /usr/bin/time; for the peers python3-gdal and numpy, or exactextract.
 */
const options = programOptions({
  ...{ rasters: 10, columns: 8000, rows: 5000, files: 'i16,f32-2', jobs: 'mean,bins+stdev', rounds: 5 },
  ...{ folder: undefined, peers: false, python: '/usr/bin/python3', exactextract: undefined },
});

const tile = { columns: 256, rows: 256 };
const FILES: Readonly<Record<string, Pick<GeoTiffRaster, 'sample' | 'predictor' | 'tile'>>> = {
  i16: { sample: 'i16', tile },
  'i16-2': { sample: 'i16', predictor: 'difference', tile },
  f32: { sample: 'f32', tile },
  'f32-2': { sample: 'f32', predictor: 'difference', tile },
};
const JOBS: Readonly<Record<string, readonly string[]>> = {
  mean: ['--stat', 'mean'],
  'bins+stdev': ['--stat', 'mean,stdev', '--bins', '-512:3600:16'],
};
/** Cells of the windows in which files are decoded, about as many as the command has. */
const WINDOW = 2 ** 23;

const project = fileURLToPath(new URL('../..', import.meta.url));
const zones = join(project, 'node_modules/us-atlas/counties-10m.json');
await using scratch = await temporaryFolder('quadrille-rasters-');
const work = scratch.path;
const { command, load } = await builtPackage(work);
const { openGeoTiff } = await load<typeof import('../../formats/index.ts')>('formats/index.ts');
console.log(`machine  ${machine()}`);
console.log(
  `rasters  ${options.rasters} of ${options.columns} × ${options.rows}, 3,231 counties; median (least–most)\n`,
);
printHead(
  'file | job | decoding, s | inflating, s | command, s | one raster, s | command ÷ decoding | processor time, the same | peers ÷ command | peak, MB',
);
for (const name of options.files.split(',')) await measureFiles(name);

async function measureFiles(name: string): Promise<void> {
  const files = Array.from({ length: options.rasters }, (_, at) =>
    join(resolve(options.folder ?? work), `${name}-${at}.tif`),
  );
  for (const [at, file] of files.entries())
    if ((await stat(file).catch(() => undefined)) === undefined) await writeRaster(file, at, name);
  for (const job of options.jobs.split(',')) {
    const all: Run[] = [];
    const one: Run[] = [];
    const decoding: { wall: number; processor: number }[] = [];
    const inflating: number[] = [];
    const peers: Run[] = [];
    for (let round = 0; round < options.rounds; round++) {
      decoding.push(await timedHere(() => decodeAll(files)));
      all.push(zonal(files, job));
      one.push(zonal(files.slice(0, 1), job));
      let seconds = 0;
      for (const file of files) seconds += (await inflateAlone(file, 1))[0]!;
      inflating.push(seconds);
      if (options.peers) peers.push(peerRun(files, job));
    }
    const over = (times: readonly number[], by: readonly number[]): string =>
      spread(times.map((time, round) => time / by[round]!));
    const seconds = all.map((run) => run.seconds);
    printRow([
      ...[name, job, spread(decoding.map(({ wall }) => wall)), spread(inflating)],
      ...[spread(seconds), spread(one.map((run) => run.seconds))],
      over(
        seconds,
        decoding.map(({ wall }) => wall),
      ),
      over(
        all.map(({ cpuSeconds }) => cpuSeconds),
        decoding.map(({ processor }) => processor),
      ),
      peers.length === 0
        ? ''
        : over(
            peers.map((run) => run.seconds),
            seconds,
          ),
      (largestOf(all.map(({ bytes }) => bytes)) / 1e6).toFixed(0),
    ]);
  }
}

function writeRaster(file: string, at: number, name: string): Promise<void> {
  const packing = FILES[name]!;
  const grid = { ...gridOf(options.columns, options.rows), crs: 'EPSG:4326' };
  return writeGeoTiff(file, { ...grid, ...packing, compression: 'deflate' }, (window) => heights(window, at, packing));
}

/** The relief in metres, another for each raster. Heights of f32 have some digits more. */
function heights(window: Window, at: number, { sample }: (typeof FILES)[string]): Cells {
  const relief = terrain({ ...window, row: window.row + at * options.rows });
  if (sample === 'i16') return Int16Array.from(relief, (height) => (height - 8192) >> 4);
  return Float32Array.from(relief, (height, cell) => (height + ((cell * 0.618034) % 1)) / 16 - 512);
}

/** Decodes whole files, one after the other, two windows at a time. */
async function decodeAll(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const raster = await openGeoTiff(file, { startThreads: true });
    const windows = windowsOf(raster);
    const lane = async (): Promise<void> => {
      for (let window = windows.pop(); window; window = windows.pop()) {
        const { cells } = await raster.readBlocks!(window);
        raster.reuse?.(cells);
      }
    };
    await Promise.all([lane(), lane()]);
    await raster.close();
  }
}

function windowsOf({ width, height, blockRows }: RasterSource): Window[] {
  const rows = blockRows * Math.max(1, Math.floor(WINDOW / width / blockRows));
  return Array.from({ length: Math.ceil(height / rows) }, (_, at) => {
    const row = at * rows;
    return { column: 0, row, columns: width, rows: Math.min(rows, height - row) };
  });
}

function zonal(files: readonly string[], job: string): Run {
  const rasters = files.flatMap((file) => ['--raster', file]);
  const bins = job.includes('bins') ? ['--out', join(work, 'bins.csv')] : [];
  const outputs = ['--stats', join(work, 'stats.csv'), ...bins, '--quiet'];
  const words = ['zonal', '--zones', zones, '--layer', 'counties', ...rasters, ...JOBS[job]!, ...outputs];
  return timed(process.execPath, [command, ...words]);
}

function peerRun(files: readonly string[], job: string): Run {
  if (options.exactextract !== undefined) {
    const rasters = files.flatMap((file, at) => ['-r', `r${at}:${file}`]);
    const statistics = job.includes('stdev') ? ['-s', 'mean', '-s', 'stdev'] : ['-s', 'mean'];
    const output = ['-p', zones, '-f', 'id', '-o', join(work, 'peer.csv')];
    return timed(options.exactextract, [...rasters, ...statistics, ...output]);
  }
  const loop = join(project, 'bench/peers/zonal-loop.py');
  const wanted = job.includes('bins') ? ['-512', '3600', '257', '--stats', '--stdev'] : ['--stats'];
  const runs = files.map((file) =>
    timed(options.python, [loop, file, zones, 'counties', join(work, 'loop.csv'), ...wanted], {
      GDAL_NUM_THREADS: '1',
    }),
  );
  const sum = (field: 'seconds' | 'cpuSeconds'): number => runs.reduce((total, run) => total + run[field], 0);
  return { ...runs[0]!, seconds: sum('seconds'), cpuSeconds: sum('cpuSeconds') };
}
