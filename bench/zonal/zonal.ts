import { stat } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import type { RasterSource } from '../../algorithms/geometry/raster.ts';
import { type ZonalHistogram, zonalHistogram } from '../../algorithms/zonal/index.ts';
import { openGeoTiff, readZones, writeGeoTiff } from '../../formats/index.ts';
import { inTurns, spreadOf } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { type ScanlineJob, scanline } from './scanline.ts';
import { scanlineInBands } from './scanline-in-bands.ts';
import { conusGrid, inMemory, terrain } from './terrain.ts';

/**
 * Times zonal histograms of the US counties over a synthetic relief of u16 in 256 bins. A backend takes turns with two
 * scanline programs on one thread: `bench/zonal/scanline.ts` and the optimized `bench/zonal/scanline-in-bands.ts`. The
 * cells are in memory for the first table of results, and in a GeoTIFF for the second, whose times include decoding.
 * Every result is compared with that of the first scanline program, zone by zone and bin by bin.
 *
 * node --import tsx bench/zonal/zonal.ts [--cells 2e8] [--workers 2] [--rounds 5] [--backend workers|webgpu] [--memory-only]
 */
const options = programOptions({ cells: 2e8, workers: 2, rounds: 5, backend: 'workers', 'memory-only': false });

const BINS = 256;
const WIDTH = 65536 / BINS;
/** Number of untimed rounds, in which code is compiled and memory is allocated. */
const WARM_UP = 6;

const { rounds } = options;
const grid = conusGrid(options.cells);
const { zones } = await readZones('node_modules/us-atlas/counties-10m.json', { layer: 'counties' });
const slotOf = Uint16Array.from({ length: 65536 }, (_, value) => Math.floor(value / WIDTH));
const cells = terrain({ row: 0, column: 0, rows: grid.height, columns: grid.width });
const context = await openNamed(options);
const name = options.backend === 'workers' ? `workers ${options.workers}` : options.backend;
const expected = scanline(jobOf(cells));
const inside = expected.reduce((sum, count) => sum + count, 0);

console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}`);
console.log(`raster   ${grid.width} × ${grid.height} u16, ${zones.names.length} zones, ${BINS} bins`);
console.log(`inside   ${inside} cells`);
await compare('in memory', {
  scanline: () => scanline(jobOf(cells)),
  'in bands': () => scanlineInBands(jobOf(cells)),
  [name]: async () => countsOf(await countByBackend(inMemory(grid, cells))),
});
if (!options['memory-only']) await compareFiles();
await context.close();

function jobOf(raster: Uint16Array): ScanlineJob {
  return { polygons: zones.polygons, grid, cells: raster, slotOf, slots: BINS };
}

function countByBackend(raster: RasterSource): Promise<ZonalHistogram> {
  const binning = { kind: 'even', low: 0, high: 65536, width: WIDTH } as const;
  return zonalHistogram(context, { zones, raster, binning, statistics: false });
}

/**
 * Compares the backend and both scanline programs over a GeoTIFF in deflated tiles with a predictor. The scanline
 * programs read the whole file before they count.
 */
async function compareFiles(): Promise<void> {
  await using scratch = await temporaryFolder('quadrille-bench-');
  const folder = scratch.path;
  const file = join(folder, 'terrain.tif');
  const raster = { ...grid, crs: 'EPSG:4326', sample: 'u16', tile: { columns: 256, rows: 256 } } as const;
  await writeGeoTiff(file, { ...raster, compression: 'deflate', predictor: 'difference' }, ({ row, rows }) =>
    cells.subarray(row * grid.width, (row + rows) * grid.width),
  );
  console.log(`\nfile     ${((await stat(file)).size / 1e6).toFixed(0)} MB, deflate, differences, tiles of 256 × 256`);
  await compare('from a file', {
    scanline: async () => scanline(jobOf(await fromFile(file, decode))),
    'in bands': async () => scanlineInBands(jobOf(await fromFile(file, decode))),
    [name]: async () => countsOf(await fromFile(file, countByBackend)),
  });
}

async function fromFile<T>(file: string, work: (raster: RasterSource) => Promise<T>): Promise<T> {
  const raster = await openGeoTiff(file);
  const result = await work(raster);
  await raster.close();
  return result;
}

async function decode(raster: RasterSource): Promise<Uint16Array> {
  return (await raster.read({ row: 0, column: 0, rows: raster.height, columns: raster.width })) as Uint16Array;
}

/** Runs all methods in turn, checks their counts, and prints medians with minima and maxima over all rounds. */
async function compare(
  title: string,
  runners: { readonly [name: string]: () => Int32Array | Promise<Int32Array> },
): Promise<void> {
  const done = await inTurns(runners, { rounds, warmUps: WARM_UP }, requireEqual);
  const ours = done.get(name)!;
  console.log(
    `\n${title.padEnd(12)}  median       (min … max)             CPU         cells inside/s  time ÷ ${name}'s`,
  );
  for (const [who, measured] of done) {
    const wall = spreadOf(measured.map((took) => took.wall));
    const cpu = spreadOf(measured.map(({ processor }) => processor));
    const ratio = spreadOf(measured.map((took, i) => took.wall / ours[i]!.wall));
    const figures = [
      `${who.padEnd(12)}${milliseconds(wall.median)}  (${milliseconds(wall.min)} …${milliseconds(wall.max)})`,
      milliseconds(cpu.median),
      `${(inside / wall.median / 1e6).toFixed(0).padStart(8)} M/s  `,
      `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)} … ${ratio.max.toFixed(2)})`,
    ];
    console.log(figures.join('  '));
  }
}

function countsOf({ bins, nodata, below, above }: ZonalHistogram): Int32Array {
  const counts = new Int32Array(expected.length);
  bins.zone.forEach((zone, i) => {
    counts[zone * BINS + bins.lower[i]! / WIDTH] = Number(bins.count[i]);
  });
  if ([nodata, below, above].some((left) => left.some((count) => count > 0n))) throw new Error('Cells without a bin.');
  return counts;
}

function requireEqual(counts: Int32Array): void {
  const wrong = counts.findIndex((count, i) => count !== expected[i]);
  if (wrong < 0 && counts.length === expected.length) return;
  const zone = Math.floor(wrong / BINS);
  throw new Error(`Zone ${zones.names[zone]}, bin ${wrong % BINS}: ${counts[wrong]}, not ${expected[wrong]}.`);
}

function milliseconds(seconds: number): string {
  return `${(seconds * 1000).toFixed(1).padStart(7)} ms`;
}
