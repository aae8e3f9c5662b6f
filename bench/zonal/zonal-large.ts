import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { largestOf } from '../../primitives/host/extremes.ts';
import { machineFacts, machineLines } from '../harness/machine.ts';
import { tableLines } from '../shared/markdown-table.ts';
import { median } from '../shared/measuring.ts';
import { programWords } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { cpuOf, type Run, shown, timed } from '../shared/timed-process.ts';

/**
 * Times `quadrille zonal` as it is typed, a process for each run, on the rasters that `bench/data/make-relief.ts` makes:
 * histograms of the US counties with bins of a metre. First all partitions as one surface, then one partition by itself,
 * the same cells as GeoTIFF, and a plain loop with GDAL and numpy on that GeoTIFF (`bench/peers/zonal-loop.py`, one
 * thread). Packed raster and GeoTIFF must give the same bytes; the loop must count as many cells in 95 % of the zones, as
 * it may put a cell elsewhere whose centre is exactly on an edge. Rates are cells in zones by seconds of the whole command.
 *
 * npm run build && node --import tsx bench/zonal/zonal-large.ts --files 'FOLDER/*.qbp' [--partition FILE.qbp]
 *   [--geotiff FILE.tif] [--loop] [--bins 5000] [--rounds 3] [--python /usr/bin/python3] [-- --backend webgpu …]
 *
 * What follows `--` is passed to the command. The first run of each job is not counted: it brings files into the cache.
 * Needs /usr/bin/time, and python3-gdal and numpy for `--loop`.
 */
const { options, positionals } = programWords({
  ...{ files: undefined, partition: undefined, geotiff: undefined, loop: false, bins: 5000 },
  ...{ rounds: 3, python: '/usr/bin/python3' },
});

const project = fileURLToPath(new URL('../..', import.meta.url));
const program = join(project, 'dist/command/main.js');
if (!existsSync(program)) throw new Error('There is no build: npm run build');
const zones = join(project, 'node_modules/us-atlas/counties-10m.json');
await using scratch = await temporaryFolder('quadrille-large-');
const work = scratch.path;

interface Job {
  readonly name: string;
  readonly out: string;
  run(): Run;
}

const jobs: Job[] = [
  ...(options.files === undefined ? [] : [command('all partitions', options.files, ['--merge'])]),
  ...(options.partition === undefined ? [] : [command('one partition', options.partition)]),
  ...(options.geotiff === undefined ? [] : [command('the same as GeoTIFF', options.geotiff)]),
  ...(options.geotiff === undefined || !options.loop ? [] : [loop(options.geotiff)]),
];
const rows = [['job', 'cells in zones', 's', 'processor s', 'G cells/s', 'peak memory, MB']];
for (const job of jobs) {
  job.run();
  const runs = Array.from({ length: options.rounds }, () => job.run());
  const cells = [...(await countsOf(job)).values()].reduce((sum, count) => sum + count, 0);
  const rate = cells / median(runs.map(({ seconds }) => seconds)) / 1e9;
  const peak = largestOf(runs.map(({ bytes }) => bytes)) / 1e6;
  rows.push([job.name, String(cells), shown(runs), cpuOf(runs), rate.toFixed(3), peak.toFixed(0)]);
}
await requireAgreement();
for (const [name, value] of machineLines(await machineFacts())) console.log(`${name.padEnd(10)} ${value}`);
console.log(`zonal      ${options.bins} bins of 1 m${positionals.map((word) => ` ${word}`).join('')}\n`);
for (const line of tableLines(rows)) console.log(line);

function command(name: string, raster: string, more: readonly string[] = []): Job {
  const out = join(work, `${name.replaceAll(' ', '-')}.csv`);
  const counting = ['--zones', zones, '--layer', 'counties', '--raster', raster, '--bins', `0:${options.bins}:1`];
  const args = [...counting, '--out', out, '--quiet', ...more, ...positionals];
  const start = `import { main } from ${JSON.stringify(program)}; process.exitCode = await main(process.argv.slice(1), '0');`;
  const node = ['--input-type=module', '--eval', start, '--', 'zonal', ...args];
  return { name, out, run: () => timed(process.execPath, node) };
}

function loop(raster: string): Job {
  const out = join(work, 'loop.csv');
  const args = [
    join(project, 'bench/peers/zonal-loop.py'),
    raster,
    zones,
    'counties',
    out,
    '0',
    String(options.bins),
    String(options.bins),
  ];
  return { name: 'the loop', out, run: () => timed(options.python, args, { GDAL_NUM_THREADS: '1' }) };
}

/** Cells in bins, for each zone that has some. */
async function countsOf({ name, out }: Job): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const [, ...lines] = (await readFile(out, 'utf8')).trim().split('\n');
  for (const line of lines) {
    const [zone, second, third, count] = line.split(',') as [string, string, string, string?];
    const added = Number(name === 'the loop' ? third : third === '' ? 0 : count);
    if (second !== '' && added > 0) counts.set(zone, (counts.get(zone) ?? 0) + added);
  }
  return counts;
}

async function requireAgreement(): Promise<void> {
  const [packed, tiff, peer] = ['one partition', 'the same as GeoTIFF', 'the loop'].map((name) =>
    jobs.find((job) => job.name === name),
  );
  if (packed !== undefined && tiff !== undefined) {
    const [a, b] = [await readFile(packed.out), await readFile(tiff.out)];
    if (!a.equals(b)) throw new Error('The packed raster and the GeoTIFF give different histograms.');
  }
  if (tiff === undefined || peer === undefined) return;
  const [ours, theirs] = [await countsOf(tiff), await countsOf(peer)];
  const same = [...theirs].filter(([zone, count]) => ours.get(zone) === count).length;
  if (same < 0.95 * ours.size) throw new Error(`Only ${same} of ${ours.size} zones have the same cells.`);
}
