// The program that reads files inside the page in `page-entries.test`. It imports the entry points for pages.

import { zonalHistogram } from '../../algorithms/zonal/index.ts';
import * as formats from '../../formats/page.ts';
import { pageDecoderOf } from '../../formats/polygons/page-code-pages.ts';
import { open } from '../../page.ts';

/** Files that were dropped together, by name. */
export type Dropped = Readonly<Record<string, readonly number[]>>;

/** What was read of the slices of the files. */
export interface Slices {
  /** Bytes of the longest slice, and of all. */
  readonly longest: number;
  readonly all: number;
}

/** Files that only tell slices, and count them. */
function dropped(files: Dropped): { readonly given: readonly File[]; readonly slices: () => Slices } {
  let [longest, all] = [0, 0];
  class Sliced extends File {
    override slice(start?: number, end?: number): Blob {
      const part = super.slice(start, end);
      longest = Math.max(longest, part.size);
      all += part.size;
      return part;
    }
    override arrayBuffer(): Promise<ArrayBuffer> {
      throw new Error('A file is not read as a whole.');
    }
    override stream(): never {
      throw new Error('A file is not read as a whole.');
    }
  }
  const given = Object.entries(files).map(([name, bytes]) => new Sliced([Uint8Array.from(bytes)], name));
  return { given, slices: () => ({ longest, all }) };
}

/** What was read, as a text, and of how many bytes. */
type Read = Promise<Slices & { readonly read: string }>;

export interface FormatPrograms {
  /** The zones of the first file. */
  zones(files: Dropped, options: formats.ZoneOptions): Read;
  /** The cells of a window of the first file, and what is told of the raster. */
  cells(files: Dropped, window: readonly [column: number, row: number, columns: number, rows: number]): Read;
  /** The statistics of zones in CSV, as the command writes them. */
  csv(files: Dropped, options: formats.ZoneOptions, backend: 'workers' | 'reference'): Promise<string>;
  /** The code of the error of a file, or of a path. */
  refused(file: string | Dropped): Promise<string>;
  /** The letters of all bytes of code pages. */
  letters(names: readonly string[]): Promise<readonly string[]>;
}

const programs: FormatPrograms = {
  async zones(files, options) {
    const { given, slices } = dropped(files);
    const read = await formats.readZones(given[0]!, { ...options, beside: given });
    return { read: told(read), ...slices() };
  },
  async cells(files, [column, row, columns, rows]) {
    const { given, slices } = dropped(files);
    const raster = await formats.openGeoTiff(given[0]!, { beside: given });
    const cells = await raster.read({ column, row, columns, rows });
    const { notes, nodata, width, height, originX, crs } = raster;
    await raster.close();
    return { read: told({ cells, notes, nodata, width, height, originX, crs }), ...slices() };
  },
  async csv(files, options, backend) {
    const { given } = dropped(files);
    const [tiff, ...others] = given;
    await using context = await open({ backend });
    const raster = await formats.openGeoTiff(tiff!, { beside: given });
    const { zones } = await formats.readZones(others[0]!, { ...options, beside: others });
    const binning = { kind: 'even', low: 0, high: 3000, width: 100 } as const;
    const histogram = await zonalHistogram(context, { zones, raster, binning, statistics: true });
    await raster.close();
    return [...formats.statisticsCsv(histogram), ...formats.zonalCsv(histogram)].join('');
  },
  async refused(file) {
    const input = typeof file === 'string' ? file : dropped(file).given[0]!;
    return formats.readZones(input).then(
      () => 'none',
      ({ code }) => code,
    );
  },
  async letters(names) {
    const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
    return Promise.all(
      names.map(async (name) => {
        const decode = (await pageDecoderOf(name))!;
        return bytes.map((byte) => decode(byte)).join('');
      }),
    );
  },
};

/** A text from which all arrays can be told, to the bit. */
export function told(value: unknown): string {
  return JSON.stringify(value, (_, item) =>
    ArrayBuffer.isView(item) ? Array.from(new Uint8Array(item.buffer, item.byteOffset, item.byteLength)) : item,
  );
}

Object.assign(globalThis, { programs });
