import { fork } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromUrl } from 'geotiff';
import type { Zones } from '../../algorithms/geometry/polygons.ts';
import { zonalHistogram } from '../../algorithms/zonal/index.ts';
import { openGeoTiff, writeGeoTiff } from '../../formats/index.ts';
import { open } from '../../on-node.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { machine, spread, timed } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { mulberry32 } from '../shared/random.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { gridOf, terrain } from '../zonal/terrain.ts';

/**
 * Measures statistics of small zones over a large GeoTIFF (tiles of 512 × 512 u16, deflate) behind an address, of a server
 * of its own process that waits some milliseconds before each answer, and from disk, in turns. Both must count the same.
 * For comparison, geotiff.js reads the windows of a share of the zones from the same address, some at a time.
 *
 * node --import tsx bench/rasters/cog-by-ranges.ts [--side 20000] [--zones 1000] [--cells 60] [--delay 50] [--rounds 5]
 *   [--workers 2] [--share 0.2] [--at-once 8] [--file FILE]
 */
const options = programOptions({
  ...{ side: 20_000, zones: 1000, cells: 60, delay: 50, rounds: 5, workers: 2, share: 0.2, 'at-once': 8 },
  file: undefined,
});

const { side } = options;
const grid = gridOf(side, side);
await using scratch = await temporaryFolder('quadrille-ranges-');
const file = options.file ?? join(scratch.path, 'relief.tif');
if (options.file === undefined) {
  const layout = { sample: 'u16', tile: { columns: 512, rows: 512 }, compression: 'deflate', level: 1 } as const;
  await writeGeoTiff(file, { ...grid, ...layout }, terrain);
}
const random = mulberry32(7);
const corners = Array.from({ length: options.zones }, () => {
  const anywhere = (): number => random() * (side - options.cells);
  return [anywhere(), anywhere()] as const;
});
const zones = smallZones();
const needed = await neededBytes();
const serving = fork(fileURLToPath(new URL('./range-server.mjs', import.meta.url)), [file, String(options.delay)]);
const [port] = await once(serving, 'message');
const address = `http://127.0.0.1:${port}/relief.tif`;

console.log(`machine  ${machine()}, ${options.workers} workers`);
console.log(
  `raster   ${side} × ${side} u16, ${((await stat(file)).size / 1e6).toFixed(0)} MB; ${options.delay} ms a request`,
);
console.log(
  `zones    ${options.zones} of about ${options.cells} × ${options.cells} cells; their tiles have ${mb(needed)} MB\n`,
);

const context = await open({ backend: 'workers', workers: options.workers });
const [disk, web, peer] = [[], [], []] as [number[], number[], number[]];
let sent = { requests: 0, bytes: 0, most: 0 };
for (let round = -1; round < options.rounds; round++) {
  const fromDisk = await timed(() => counted(file));
  await sentSince();
  const fromWeb = await timed(() => counted(address));
  sent = await sentSince();
  if (fromDisk.result !== fromWeb.result) throw new Error('The counts differ.');
  const read = await timed(readByPeer);
  if (round < 0) continue;
  disk.push(fromDisk.wall);
  web.push(fromWeb.wall);
  peer.push(read.wall / options.share);
}
await context.close();
serving.disconnect();

printHead('what | wall, s');
printRow(['from disk', spread(disk)]);
printRow(['from the address', spread(web)]);
printRow([`geotiff.js, ${options['at-once']} windows at once, reading only`, spread(peer)]);
printRow(['address ÷ disk', spread(web.map((time, round) => time / disk[round]!))]);
printRow(['(address − 1 s) ÷ disk', spread(web.map((time, round) => (time - 1) / disk[round]!))]);
printRow(['geotiff.js ÷ address', spread(peer.map((time, round) => time / web[round]!))]);
console.log(
  `\n${sent.requests} requests, at most ${sent.most} at once; ${mb(sent.bytes)} MB, ${(sent.bytes / needed).toFixed(3)} of those of the tiles`,
);

async function counted(input: string): Promise<string> {
  const raster = await openGeoTiff(input);
  try {
    const { statistics } = await zonalHistogram(context, { zones, raster, binning: { kind: 'none' } });
    return JSON.stringify(statistics, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  } finally {
    await raster.close();
  }
}

/** What the server has sent since the last call. */
async function sentSince(): Promise<typeof sent> {
  serving.send('what');
  const [message] = await once(serving, 'message');
  return message;
}

/** Triangles of one size, each the half of a square of `corners`. */
function smallZones(): Zones {
  const along = (of: number, across: number): number => of + across * options.cells;
  const columns = corners.flatMap(([column]) => [along(column, 0), along(column, 0), along(column, 1)]);
  const rows = corners.flatMap(([, row]) => [along(row, 0), along(row, 1), along(row, 1)]);
  return {
    polygons: {
      polygonRings: Uint32Array.from({ length: options.zones + 1 }, (_, zone) => zone),
      ringVertices: Uint32Array.from({ length: options.zones + 1 }, (_, ring) => 3 * ring),
      x: Float64Array.from(columns, (column) => grid.originX + grid.stepX * column),
      y: Float64Array.from(rows, (row) => grid.originY + grid.stepY * row),
    },
    names: corners.map((_, zone) => String(zone)),
    crs: grid.crs,
  };
}

/** The cells around each zone: from a column and a row to before others. */
function windowsOfZones(): [left: number, top: number, right: number, bottom: number][] {
  return corners.map(([column, row]) => [
    Math.floor(column),
    Math.floor(row),
    Math.ceil(column + options.cells),
    Math.ceil(row + options.cells),
  ]);
}

/** The bytes of the tiles that zones lie in. */
async function neededBytes(): Promise<number> {
  const { fromFile } = await import('geotiff');
  const image = await (await fromFile(file)).getImage();
  const counts = (await image.fileDirectory.loadValue('TileByteCounts')) as ArrayLike<number>;
  const across = Math.ceil(side / 512);
  const tiles = new Set<number>();
  for (const [left, top, right, bottom] of windowsOfZones()) {
    for (let row = Math.floor(top / 512); row <= Math.floor((bottom - 1) / 512); row++) {
      for (let column = Math.floor(left / 512); column <= Math.floor((right - 1) / 512); column++) {
        tiles.add(row * across + column);
      }
    }
  }
  return [...tiles].reduce((sum, tile) => sum + counts[tile]!, 0);
}

async function readByPeer(): Promise<void> {
  const tiff = await fromUrl(address);
  const image = await tiff.getImage();
  const windows = windowsOfZones().slice(0, Math.ceil(options.share * options.zones));
  await Promise.all(
    Array.from({ length: options['at-once'] }, async () => {
      for (let window = windows.pop(); window !== undefined; window = windows.pop())
        await image.readRasters({ window });
    }),
  );
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
