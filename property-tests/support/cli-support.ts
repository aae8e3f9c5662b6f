import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { NarrowSample } from '../../algorithms/geometry/raster.ts';
import { main } from '../../cli/main.ts';
import { type GeoTiffRaster, writeGeoTiff } from '../../formats/rasters/geotiff-writer.ts';
import { CELL_ARRAYS } from '../../formats/rasters/tiff/samples.ts';

/** What a command line printed, and its exit code. */
export interface Ending {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder for the files of a test. Tests run command lines on these files. */
export interface Workshop {
  readonly folder: string;
  /** The path of a file in the folder. */
  path(name: string): string;
  write(name: string, content: string | Uint8Array | object): Promise<void>;
  /**
   * Writes a GeoTIFF of 4 × 3 cells of one degree, whose upper left corner is at longitude 0°, latitude 3° N. `changes`
   * replaces some of its properties. By default, the cells are u8 values from 0 to 11.
   */
  writeRaster(name: string, changes?: Partial<GeoTiffRaster>, cells?: ArrayLike<number>): Promise<void>;
  /**
   * Runs a command line in this process. An argument `@name` stands for the path of the file `name`. In the text that
   * the command writes to stderr, the name replaces the path.
   */
  quadrille(args: readonly string[]): Promise<Ending>;
  remove(): Promise<void>;
}

/** Makes an empty folder for the files of a test. */
export async function openWorkshop(): Promise<Workshop> {
  const folder = await mkdtemp(join(tmpdir(), 'quadrille-cli-'));
  const path = (name: string): string => join(folder, name);
  return {
    folder,
    path,
    write(name, content) {
      const isText = typeof content === 'string' || content instanceof Uint8Array;
      return writeFile(path(name), isText ? content : JSON.stringify(content));
    },
    writeRaster(name, changes = {}, cells = Array.from({ length: 12 }, (_, i) => i)) {
      const raster = { ...RASTER, ...changes };
      const all = CELL_ARRAYS[raster.sample as NarrowSample].from(cells);
      const cellsOfBand = raster.width * raster.height;
      return writeGeoTiff(path(name), raster, ({ row, rows }, band) => {
        // Cells of one band are those of all.
        const first = all.length > cellsOfBand ? (band - 1) * cellsOfBand : 0;
        return all.slice(first + row * raster.width, first + (row + rows) * raster.width);
      });
    },
    async quadrille(args) {
      const [stdout, stderr] = [collector(), collector()];
      const exitCode = await main(
        args.map((word) => (word.startsWith('@') ? path(word.slice(1)) : word)),
        '0.0.0',
        { stdout: stdout.stream, stderr: stderr.stream },
      );
      return { exitCode, stdout: stdout.text(), stderr: stderr.text().replaceAll(`${folder}/`, '') };
    },
    remove: () => rm(folder, { recursive: true }),
  };
}

const RASTER: GeoTiffRaster = {
  width: 4,
  height: 3,
  originX: 0,
  originY: 3,
  stepX: 1,
  stepY: -1,
  crs: 'EPSG:4326',
  sample: 'u8',
};

function collector(): { readonly stream: Writable; readonly text: () => string } {
  let text = '';
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  return { stream, text: () => text };
}

/** A GeoJSON feature collection. */
export const collection = (...features: readonly object[]): object => ({ type: 'FeatureCollection', features });

/** A polygon feature with an id. */
export const zone = (
  id: string | number | undefined,
  ...rings: readonly (readonly (readonly number[])[])[]
): object => ({
  type: 'Feature',
  ...(id !== undefined && { id }),
  properties: {},
  geometry: { type: 'Polygon', coordinates: rings },
});

/** A rectangle as a closed ring of positions. */
export const rectangle = (left: number, bottom: number, right: number, top: number): number[][] => [
  [left, bottom],
  [right, bottom],
  [right, top],
  [left, top],
  [left, bottom],
];
