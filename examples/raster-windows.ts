// Streams a raster window by window and computes a histogram of the greenness of North America (NDVI, February 2017).
// Only a few windows are in memory at a time.
//
//     node --import tsx examples/raster-windows.ts [FILE.tif]
//
// `pull` delivers a window only when the stage `decode` has room. So `decode` is ahead of the stage `count` by at most
// the capacity of the queue between these two stages.

import { fileURLToPath } from 'node:url';
import { histogramEven, open } from 'quadrille';
import type { Window } from 'quadrille/algorithms/geometry';
import { openGeoTiff } from 'quadrille/formats';
import { pull, stage } from 'quadrille/graph';
import { lastValueFrom, reduce } from 'rxjs';

const SAMPLE = new URL('examples/ndvi.tif', import.meta.resolve('quadrille/package.json'));
const FILE = process.argv[2] ?? fileURLToPath(SAMPLE);
const ROWS = 50;
const [LOW, HIGH, BINS] = [0.1, 0.9, 8];

function* windowsOf({ width, height }: { width: number; height: number }): Generator<Window> {
  for (let row = 0; row < height; row += ROWS) {
    yield { column: 0, row, columns: width, rows: Math.min(ROWS, height - row) };
  }
}

await using context = await open();
const raster = await openGeoTiff(FILE);

const decode = stage('decode', (window: Window, { signal }) => raster.read(window, signal), { lanes: 2, capacity: 2 });
const count = stage('count', async (cells: Awaited<ReturnType<typeof raster.read>>) => {
  const counts = context.scope(() => histogramEven(context.column(cells as Float32Array), LOW, HIGH, BINS));
  try {
    return await context.read(counts);
  } finally {
    context.dispose(counts);
  }
});
const add = (total: number[], counts: Uint32Array): number[] => total.map((sum, bin) => sum + counts[bin]!);
const windows = pull(() => windowsOf(raster)).pipe(decode, count);
const totals = await lastValueFrom(windows.pipe(reduce(add, new Array<number>(BINS).fill(0))));
await raster.close();

for (const [bin, cells] of totals.entries()) {
  const from = LOW + (bin * (HIGH - LOW)) / BINS;
  console.log(`${from.toFixed(1)}  ${'#'.repeat(cells / 2_000).padEnd(26)} ${cells}`);
}
console.log(`${count.counters().out} windows of ${ROWS} rows.`);

// 0.1  ####################       41998
// 0.2  #################          34514
// 0.3  ##########                 21383
// 0.4  ########                   17747
// 0.5  #####                      11671
// 0.6  ###                        6313
// 0.7  #                          2811
// 0.8                             711
// 11 windows of 50 rows.
