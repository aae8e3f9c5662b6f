import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RasterGrid, RasterSource } from '../../algorithms/geometry/raster.ts';
import { createOverlay, type Pixels, zonalHistogram } from '../../algorithms/zonal/index.ts';
import { writeGeoTiff } from '../../formats/index.ts';
import { open } from '../../on-node.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { machine, spread, timed } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { timed as timedProcess } from '../shared/timed-process.ts';
import { hexagonsOn } from './hexagons.ts';
import { inMemory, terrain } from './terrain.ts';

/**
 * Measures statistics of very many zones that partition a raster, over several rasters of u16 in memory that share an
 * overlay: what the overlay takes once, and what each further raster takes. Zones are hexagons whose sides are broken
 * lines. For comparison, adds up the cells of a raster alone, in one loop; and with `--exactextract PATH`, a share of the
 * zones is counted by exactextract (by fractions, on one thread) from an uncompressed GeoTIFF, and its time multiplied.
 *
 * node --import tsx bench/zonal/zonal-overlay.ts [--zones 225000] [--vertices 60] [--side 7937] [--rasters 6]
 *   [--pixels center] [--statistics count,mean] [--workers 2] [--exactextract PATH] [--share 0.01]
 */
const options = programOptions({
  ...{ zones: 225_000, vertices: 60, side: 7937, rasters: 6, pixels: 'center', statistics: 'count,mean' },
  ...{ workers: 2, exactextract: undefined, share: 0.01 },
});

const { side } = options;
const place = { originX: 500_000, originY: 5_000_000, stepX: 10, stepY: -10 };
const grid: RasterGrid = { width: side, height: side, ...place, crs: 'EPSG:32631', geographic: false };
const zones = hexagonsOn(grid, options);
const cells = terrain({ row: 0, column: 0, rows: side, columns: side });
console.log(`machine  ${machine()}, ${options.workers} workers`);
console.log(`raster   ${side} × ${side} u16; ${zones.names.length} zones of ${options.vertices} vertices`);
console.log(`cells    ${options.pixels}; ${options.statistics}\n`);

const context = await open({ backend: 'workers', workers: options.workers });
using overlay = createOverlay(context, zones, { memoryBytes: 2 ** 31 });
const wall: number[] = [];
const processor: number[] = [];
for (let at = 0; at <= options.rasters; at++) {
  const raster = inMemory(
    grid,
    cells.map((cell) => cell ^ at),
  );
  const took = await timed(() => counted(raster));
  wall.push(took.wall);
  processor.push(took.processor);
}
const alone = [1, 2, 3].map(() => {
  const from = performance.now();
  let sum = 0;
  for (let cell = 0; cell < cells.length; cell++) sum += cells[cell]!;
  return sum < 0 ? 0 : (performance.now() - from) / 1000;
});
printHead('what | wall, s | processor, s');
const row = (name: string, numbers: (times: readonly number[]) => string): void =>
  printRow([name, numbers(wall), numbers(processor)]);
row('first raster', ([first]) => first!.toFixed(2));
row('each further raster', (times) => spread(times.slice(1)));
row('overlay: first less median of further', ([first, ...further]) => spread(further.map((time) => first! - time)));
printRow(['adding up the cells in one loop', spread(alone), '']);
console.log(`\nkept: ${(overlay.bytes / 1e6).toFixed(0)} MB; peak of this process: ${peak()} MB`);
await context.close();
if (options.exactextract !== undefined) await measureExactextract(options.exactextract);

async function counted(raster: RasterSource): Promise<void> {
  const pixels = options.pixels as Pixels;
  const statistics = options.statistics.split(',');
  await zonalHistogram(context, { zones, raster, overlay, pixels, statistics, binning: { kind: 'none' } });
}

function peak(): string {
  return (process.resourceUsage().maxRSS / 1000).toFixed(0);
}

async function measureExactextract(program: string): Promise<void> {
  await using scratch = await temporaryFolder('quadrille-overlay-');
  const [raster, polygons] = ['raster.tif', 'zones.geojson'].map((name) => join(scratch.path, name)) as [
    string,
    string,
  ];
  const layout = { sample: 'u16', tile: { columns: 256, rows: 256 }, compression: 'none' } as const;
  await writeGeoTiff(raster, { ...grid, ...layout }, ({ row, column, rows, columns }) => {
    const part = new Uint16Array(rows * columns);
    for (let at = 0; at < part.length; at++) {
      part[at] = cells[(row + Math.floor(at / columns)) * side + column + (at % columns)]!;
    }
    return part;
  });
  await writeFile(polygons, geojson());
  const statistics = options.statistics.split(',').flatMap((name) => ['-s', name]);
  const words = ['-r', raster, '-p', polygons, '-f', 'id', '-o', join(scratch.path, 'out.csv'), ...statistics];
  const { seconds } = timedProcess(program, words);
  const all = seconds / options.share;
  const ours = spread(
    wall.slice(1).map((time) => all / time),
    0,
  );
  console.log(
    `exactextract: ${seconds.toFixed(2)} s for 1 of ${1 / options.share} zones, so ${all.toFixed(0)} s for all: ${ours} × ours`,
  );
}

/** A share of the zones, evenly spread. */
function geojson(): string {
  const { ringVertices, x, y } = zones.polygons;
  const features: string[] = [];
  for (let zone = 0; zone < zones.names.length; zone += 1 / options.share) {
    const at = Math.floor(zone);
    const [from, to] = [ringVertices[at]!, ringVertices[at + 1]!];
    const ring = Array.from({ length: to - from + 1 }, (_, i) => from + (i % (to - from)));
    const coordinates = JSON.stringify([ring.map((vertex) => [x[vertex], y[vertex]])]);
    const geometry = `{"type":"Polygon","coordinates":${coordinates}}`;
    features.push(`{"type":"Feature","properties":{"id":"${at}"},"geometry":${geometry}}`);
  }
  const crs = '{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::32631"}}';
  return `{"type":"FeatureCollection","crs":${crs},"features":[\n${features.join(',\n')}\n]}\n`;
}
