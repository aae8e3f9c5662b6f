import { readFile, rm, stat } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeGeoTiff } from '../../formats/index.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { type Run, timed } from '../shared/timed-process.ts';
import { gridOf, terrain } from './terrain.ts';

/**
 * Measures the peak resident memory of `quadrille zonal` on the workers backend, in a separate process for each run.
 * The rasters are square GeoTIFFs of u16 cells (compressed as deflated differences) of several sizes. Every raster is
 * stored once in tiles and once in strips, and both files must give the same histograms. Memory must not grow with the
 * raster: the exit code is 1 if a run takes more than `--limit` bytes. The zones are the US counties, with 256 bins.
 *
 * node --import tsx bench/zonal/zonal-memory.ts [--sides 6325,20000] [--layouts tiles,strips] [--jobs counts,stats]
 *   [--workers 2] [--limit 1073741824] [--folder DIR]
 *
 * The files are made in a new folder inside `--folder` (by default the system's temporary folder), and removed
 * afterwards. Needs /usr/bin/time. A file takes 0.4 GB for a side of 20,000 cells, and 4 GB and some minutes to write for 63,246 cells.
 */
const options = programOptions({
  ...{ sides: [6325, 20000], layouts: 'tiles,strips', jobs: 'counts,stats', workers: 2 },
  ...{ limit: 2 ** 30, folder: tmpdir() },
});

const LAYOUTS = { tiles: { tile: { columns: 256, rows: 256 } }, strips: { stripRows: 16 } };
await using scratch = await temporaryFolder('quadrille-memory-', options.folder);
const folder = scratch.path;
console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}, ${options.workers} workers\n`);
console.log(
  '| side, cells | raster, MB | layout | file, MB | job | peak RSS, MiB | time, s | M cells/s | cells inside zones |',
);
console.log('| ---: | ---: | --- | ---: | --- | ---: | ---: | ---: | ---: |');
for (const side of options.sides) await measureSize(side);

async function measureSize(side: number): Promise<void> {
  const results = new Map<string, string>();
  for (const layout of options.layouts.split(',') as (keyof typeof LAYOUTS)[]) {
    const file = join(folder, `${side}-${layout}.tif`);
    await writeRaster(file, side, layout);
    for (const job of options.jobs.split(',')) {
      const run = zonal(file, job === 'stats' ? ['--stats', join(folder, 'stats.csv')] : []);
      await requireSame(results, 'counts.csv');
      if (job === 'stats') await requireSame(results, 'stats.csv');
      await report(side, layout, file, job, run);
    }
    await rm(file);
  }
}

function writeRaster(file: string, side: number, layout: keyof typeof LAYOUTS): Promise<void> {
  const packing = { compression: 'deflate', predictor: 'difference', level: 1 } as const;
  return writeGeoTiff(file, { ...gridOf(side, side), sample: 'u16', ...LAYOUTS[layout], ...packing }, terrain);
}

/** Runs `quadrille zonal` as a user would. */
function zonal(raster: string, wanted: readonly string[]): Run {
  const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
  const words = ['--zones', path('node_modules/us-atlas/counties-10m.json'), '--layer', 'counties', '--raster', raster];
  const rest = ['--bins', '0:65536:256', '--backend', 'workers', '--workers', String(options.workers), '--json-log'];
  const out = ['--out', join(folder, 'counts.csv'), ...wanted];
  return timed(process.execPath, [path('cli/quadrille.mjs'), 'zonal', ...words, ...rest, ...out]);
}

/** Throws if rasters of one size gave different results in tiles and in strips. */
async function requireSame(results: Map<string, string>, name: string): Promise<void> {
  const found = await readFile(join(folder, name), 'utf8');
  const expected = results.get(name) ?? found;
  if (found !== expected) throw new Error(`${name} differs from that of the other layout.`);
  results.set(name, expected);
}

async function report(side: number, layout: string, file: string, job: string, run: Run): Promise<void> {
  const { seconds, bytes, stderr } = run;
  const log = stderr.split('\n').map((line): { event: string; cells?: number } => JSON.parse(line));
  const raster = (2 * side * side) / 1e6;
  const columns = [
    side,
    raster.toFixed(0),
    layout,
    ((await stat(file)).size / 1e6).toFixed(0),
    job,
    (bytes / 2 ** 20).toFixed(0),
    seconds.toFixed(1),
    ((side * side) / seconds / 1e6).toFixed(0),
    log.find(({ event }) => event === 'result')!.cells,
  ];
  console.log(`| ${columns.join(' | ')} |`);
  if (bytes <= options.limit) return;
  console.error(`${(bytes / 2 ** 20).toFixed(0)} MiB are more than the limit.`);
  process.exitCode = 1;
}
