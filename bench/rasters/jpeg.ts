import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openGeoTiff } from '../../formats/rasters/geotiff.ts';
import { createBandCache } from '../../formats/rasters/tiff/band-cache.ts';
import { jpegDecoder } from '../../formats/video/jpeg.ts';
import { optionalPackage } from '../peers/optional.ts';
import { tableLines } from '../shared/markdown-table.ts';
import { inTurns, machine, spread } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

/**
 * Times JPEG on one thread, by processor time: frames of Motion JPEG to their luma and to a colour, beside jpeg-js and
 * GDAL, which decode to three colours; and a GeoTIFF with four bands together in each tile, beside GDAL.
 *
 * npm install --no-save jpeg-js@0.4.4
 * node --import tsx bench/rasters/jpeg.ts [--rounds 7] [--frames 60] [--width 640] [--height 480] [--python /usr/bin/python3]
 *
 * GDAL for Python writes the files. Without jpeg-js, its row is missing.
 */
const options = programOptions({ rounds: 7, frames: 60, width: 640, height: 480, python: '/usr/bin/python3' });
const { rounds, frames: count, width, height } = options;

interface JpegJs {
  decode(bytes: Uint8Array, options: { useTArray: boolean; formatAsRGBA: boolean }): { readonly data: Uint8Array };
}

await using folder = await temporaryFolder('quadrille-jpeg-');
const run = promisify(execFile);
const script = fileURLToPath(new URL('../peers/jpeg.py', import.meta.url));
await run(options.python, [script, 'write', folder.path, String(count), String(width), String(height)]);
const files = Array.from({ length: count }, (_, i) => readFile(join(folder.path, `${i}.jpg`)));
const frames = (await Promise.all(files)).map((bytes) => new Uint8Array(bytes));
const tiff = join(folder.path, 'four.tif');

const luma = await jpegDecoder({ width, height }, 'grey');
const green = await jpegDecoder({ width, height }, 'green');
const peer = await optionalPackage<{ readonly default: JpegJs }>('jpeg-js');
const bandsOf = async (): Promise<void> => {
  const bandCache = createBandCache();
  const bands = [];
  for (let band = 1; band <= 4; band++) bands.push(await openGeoTiff(tiff, { band, bandCache, threads: 0 }));
  for (const raster of bands) {
    await raster.read({ column: 0, row: 0, columns: raster.width, rows: raster.height });
    await raster.close();
  }
};
const decodeAll = (decode: (bytes: Uint8Array) => unknown) => (): void => {
  for (const bytes of frames) decode(bytes);
};
const took = await inTurns(
  {
    'frames, luma': decodeAll((bytes) => luma(bytes, {})),
    'frames, a colour': decodeAll((bytes) => green(bytes, {})),
    ...(peer && {
      [`frames, jpeg-js ${peer.version}`]: decodeAll((bytes) =>
        peer.library.default.decode(bytes, { useTArray: true, formatAsRGBA: false }),
      ),
    }),
    'four bands of 4,096 × 4,096': bandsOf,
  },
  { rounds },
);
const { stdout } = await run(options.python, [script, 'time', folder.path, String(rounds)]);
const gdal = JSON.parse(stdout) as { readonly version: string; readonly frames: number[]; readonly four: number[] };

const rows = [...took].map(([name, costs]) => [name, costs.map(({ processor }) => processor)] as const);
const all = [...rows, [`frames, GDAL ${gdal.version}`, gdal.frames], ['four bands, GDAL', gdal.four]] as const;
const bytes = frames.reduce((sum, frame) => sum + frame.length, 0);
console.log(`${machine()}\n`);
console.log(
  `${count} frames of ${width} × ${height}, ${(bytes / count / 1000).toFixed(1)} kB each; ${rounds} rounds.\n`,
);
const told = ([name, seconds]: readonly [string, readonly number[]]): string[] => {
  const times = name.startsWith('four') ? seconds : seconds.map((each) => (1000 * each) / count);
  return [name, spread(times)];
};
console.log(tableLines([['what', 'ms a frame, or s for four bands'], ...all.map(told)]).join('\n'));
