import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync, deflateSync, gzipSync, crc32 as zlibCrc32 } from 'node:zlib';
import iconv from 'iconv-lite';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { nodeInflater } from '../../formats/bytes/inflate-on-node.ts';
import { pageInflater } from '../../formats/bytes/inflate-on-page.ts';
import * as node from '../../formats/index.ts';
import * as page from '../../formats/page.ts';
import { pageDecoderOf } from '../../formats/polygons/page-code-pages.ts';
import { pageLayers } from '../../formats/polygons/page-layers.ts';
import { loadDecoder } from '../../formats/rasters/tiff/decode.ts';
import type { BlockCoding } from '../../formats/rasters/tiff/layout.ts';
import { caseCount } from '../cases.ts';
import {
  bytesOf as bytesOfCells,
  geoTiffBytes,
  randomRaster,
  windowAt,
  windowFractions,
} from '../fixtures/random-raster.ts';
import { fc, test } from '../law-test.ts';
import {
  bytesOf,
  csvOf,
  dbaseOf,
  features,
  featuresOf,
  flatGeobufOf,
  shapefileOf,
  type WrittenFeature,
  withGaps,
  wktOf,
} from '../support/polygon-layers-support.ts';
import { zipOf } from '../support/zip-support.ts';

const many = { numRuns: caseCount(200) };
const some = { numRuns: caseCount(60) };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-on-page-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A result, or the code of its error. */
async function outcome<T>(of: () => T | Promise<T>): Promise<unknown> {
  try {
    return await of();
  } catch (error) {
    return /^format/.test(String((error as { code?: unknown }).code)) ? (error as { code: string }).code : 'refused';
  }
}

/** What a page reads of files that are given together, and Node of the same files in a folder. The first one is named. */
async function readBoth<T>(
  files: Readonly<Record<string, Uint8Array>>,
  onPage: (file: File, beside: readonly File[]) => Promise<T>,
  inNode: (path: string) => Promise<T>,
): Promise<[page: unknown, node: unknown]> {
  const own = await mkdtemp(join(folder, 'files-'));
  const given = Object.entries(files).map(([name, bytes]) => new File([new Uint8Array(bytes)], name));
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(own, name), bytes);
  const both = [
    await outcome(() => onPage(given[0]!, given.slice(1))),
    await outcome(() => inNode(join(own, given[0]!.name))),
  ];
  await rm(own, { recursive: true });
  // Messages name files as they are known.
  const text = JSON.stringify(both[1], (_, value) =>
    typeof value === 'string' ? value.replaceAll(`${own}/`, '') : plain(value),
  );
  return [JSON.parse(JSON.stringify(both[0], (_, value) => plain(value))), JSON.parse(text)];
}

/** Typed arrays as lists of texts, in which no number becomes another. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}`;
  return ArrayBuffer.isView(value)
    ? Array.from(value as Float64Array, (item) => `${Object.is(item, -0) ? '-0' : item}`)
    : value;
}

describe('the inflater of pages', () => {
  const bounds = (size: number) => ({ size, most: size + 10, longest: size + 1000 });
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 3000 }),
    fc
      .tuple(fc.uint8Array({ maxLength: 5 }), fc.nat(2000))
      .map(([part, times]) => new Uint8Array(Buffer.concat(Array(times).fill(part)))),
  );
  const level = fc.constantFrom(0, 1, 6, 9);

  test.prop([content, level, fc.uint8Array({ maxLength: 9 }), fc.integer({ min: -1200, max: 50 })], many)(
    'decodes what zlib does, whatever stands behind it, and refuses what is longer than it may be',
    async (bytes, level, behind, less) => {
      const packed = new Uint8Array(Buffer.concat([deflateSync(bytes, { level }), behind]));
      const told = bounds(Math.max(0, bytes.length + less));
      const unpacked = await outcome(async () => [...(await pageInflater.inflate(packed, told))]);
      expect(unpacked).toEqual(bytes.length <= told.longest ? [...bytes] : 'refused');
      const others = await outcome(async () => [...(await nodeInflater.inflate(packed, told))]);
      expect(Array.isArray(others)).toBe(bytes.length <= Math.max(told.longest, told.most + 64));
    },
  );

  test.prop([content.filter(({ length }) => length > 0), level, fc.nat(), fc.integer({ min: 1, max: 255 })], many)(
    'never decodes damaged bytes otherwise than zlib, and refuses those that are cut off',
    async (bytes, level, at, change) => {
      const packed = new Uint8Array(deflateSync(bytes, { level }));
      const told = bounds(bytes.length);
      expect(await outcome(() => pageInflater.inflateNow(packed.subarray(0, at % packed.length), told))).toBe(
        'refused',
      );
      packed[at % packed.length]! ^= change;
      const unpacked = await outcome(() => [...pageInflater.inflateNow(packed, told)]);
      const others = await outcome(() => [...nodeInflater.inflateNow(packed, told)]);
      // fflate does not compare the two lengths of a stored block: then the bytes are right, or the checksum is another.
      if (Array.isArray(others) || unpacked !== 'refused') expect(unpacked).toEqual([...bytes]);
    },
  );

  test('takes no more memory for a bomb than its bound', () => {
    const bomb = new Uint8Array(deflateSync(new Uint8Array(2 ** 27)));
    const before = process.memoryUsage().arrayBuffers;
    expect(() => pageInflater.inflateNow(bomb, { size: 100, most: 100, longest: 2 ** 20 })).toThrow('too many bytes');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 23);
  });

  test.prop([content, level], many)('has the checksum and the raw deflate of ZIP', (bytes, level) => {
    expect(pageLayers.crc32(bytes)).toBe(zlibCrc32(bytes) >>> 0);
    const packed = new Uint8Array(deflateRawSync(bytes, { level }));
    expect(pageLayers.inflateRaw(packed, bytes.length)).toEqual(bytes);
    if (bytes.length > 0) expect(() => pageLayers.inflateRaw(packed, bytes.length - 1)).toThrow();
  });
});

describe('GeoTIFFs on a page', () => {
  test.prop([randomRaster, windowFractions, fc.boolean(), fc.boolean()], some)(
    'have the cells and the notes of Node, with the files beside them',
    async (random, fractions, hasWorld, hasSide) => {
      const files = {
        'a.tif': await geoTiffBytes(random),
        ...(hasWorld && { 'a.TFW': bytesOf('1\n0\n0\n-1\n5\n7\n') }),
        ...(hasSide && {
          'a.tif.aux.xml': bytesOf(
            '<PAMDataset><PAMRasterBand band="1"><NoDataValue le_hex_equiv="0000000000000840">3</NoDataValue></PAMRasterBand></PAMDataset>',
          ),
        }),
      };
      const read = async (raster: node.GeoTiffSource) => {
        const { file: _, version: __, ...told } = raster;
        const cells = await raster.read(windowAt(fractions, raster));
        await raster.close();
        return { ...told, cells: [...bytesOfCells(cells)] };
      };
      const [onPage, inNode] = await readBoth(
        files,
        async (file, beside) => read(await page.openGeoTiff(file, { beside })),
        async (path) => read(await node.openGeoTiff(path, { threads: 0 })),
      );
      expect(onPage).toEqual(inNode);
    },
  );

  test('are read by slices', async () => {
    const cells = new Uint8Array(2 ** 20).map((_, at) => at % 251);
    const raster = {
      width: 1024,
      height: 1024,
      sample: 'u8',
      originX: 0,
      originY: 0,
      stepX: 1,
      stepY: -1,
      stripRows: 4,
    } as const;
    const bytes = await geoTiffBytes({ raster: { ...raster, compression: 'none' }, bands: [cells] });
    const read: number[] = [];
    const blob = new File([new Uint8Array(bytes)], 'a.tif');
    const watched = Object.assign(new File([], 'a.tif'), {});
    Object.defineProperty(watched, 'size', { value: blob.size });
    watched.slice = (from, to) => {
      read.push(to! - from!);
      return blob.slice(from, to);
    };
    const opened = await page.openGeoTiff(watched);
    const window = { column: 3, row: 500, columns: 10, rows: 4 };
    expect(await opened.read(window)).toEqual(
      Uint8Array.from({ length: 40 }, (_, at) => cells[1024 * (500 + Math.floor(at / 10)) + 3 + (at % 10)]!),
    );
    expect(read.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(20_000);
  });

  test.each(['jpeg', 'lerc'] as const)(
    'of a codec that pages do not have are refused by its name: %s',
    async (compression) => {
      const loading = loadDecoder({ compression } as BlockCoding, pageInflater, 'a.tif');
      await expect(loading).rejects.toMatchObject({ code: 'format/needs-node', got: compression.toUpperCase() });
    },
  );

  test('have no paths', async () => {
    await expect(page.openGeoTiff('a.tif')).rejects.toMatchObject({
      code: 'format/needs-node',
      place: { file: 'a.tif' },
    });
    await expect(page.readZones('a.json')).rejects.toMatchObject({ code: 'format/needs-node' });
  });
});

/** Files of the same features in each format that pages read. */
const FILES: Readonly<Record<string, (written: readonly WrittenFeature[]) => Readonly<Record<string, Uint8Array>>>> = {
  GeoJSON: (written) => ({ 'a.geojson': collection(written) }),
  'gzipped GeoJSON': (written) => ({ 'a.geojson.gz': gzipSync(collection(written)) }),
  'a damaged gzip': (written) => ({ 'a.geojson.gz': gzipSync(collection(written)).fill(7, 20, 24) }),
  'GeoJSON by lines': (written) => ({
    'a.geojsonl': bytesOf(
      featuresOf(written)
        .map((feature) => JSON.stringify(feature))
        .join('\n'),
    ),
  }),
  FlatGeobuf: (written) => ({ 'a.fgb': flatGeobufOf(written, 4326) }),
  WKT: (written) => ({ 'a.wkt': bytesOf(wktOf(written)) }),
  CSV: (written) => ({ 'a.csv': bytesOf(csvOf(written)) }),
  'a Shapefile': shapefiles,
  'a Shapefile alone': (written) => ({ 'a.shp': shapefileOf(written) }),
  'a zipped Shapefile': (written) => ({ 'a.zip': zipOf(shapefiles(written)) }),
};

function collection(written: readonly WrittenFeature[]): Uint8Array {
  return bytesOf(JSON.stringify({ type: 'FeatureCollection', features: featuresOf(written) }));
}

function shapefiles(written: readonly WrittenFeature[]): Readonly<Record<string, Uint8Array>> {
  const gaps = [...written, 0].map((_, at) => new Uint8Array(2 * (at % 2)));
  const { shp, shx } = withGaps(shapefileOf(written), gaps);
  const names = written.map(({ name }) => name);
  return {
    'a.shp': shp,
    'A.SHX': shx,
    'a.dbf': dbaseOf('name', names),
    'a.cpg': bytesOf('UTF-8'),
    'a.prj': bytesOf('GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]]'),
  };
}

describe('zones on a page', () => {
  test.prop(
    [features, fc.constantFrom(...Object.keys(FILES)), fc.option(fc.constant('name'), { nil: undefined })],
    some,
  )('are those of Node, with their notes and attributes', async (written, format, id) => {
    const options = { id, attributes: 'all' } as const;
    const [onPage, inNode] = await readBoth<unknown>(
      FILES[format]!(written),
      (file, beside) => page.readZones(file, { ...options, beside }),
      (path) => node.readZones(path, options),
    );
    expect(onPage).toEqual(inNode);
  });

  test('of a layer in batches, too, and Node reads blobs alike', async () => {
    const name = 'examples/counties-10m.json';
    const file = new File([new Uint8Array(await readFile(name))], name);
    const options = { layer: 'states', id: 'name' };
    const { zones } = await page.readPolygonLayer(file, options);
    expect(zones).toEqual((await node.readPolygonLayer(name, options)).zones);
    expect((await node.readZones(file, options)).zones).toEqual(zones);
    let polygons = 0;
    for await (const batch of (await page.openPolygonLayer(file, options)).batches())
      polygons += batch.zones.names.length;
    expect(polygons).toBe(zones.names.length);
  });

  test.each([
    ['GeoParquet', 'PAR1'],
    ['GeoPackage', 'SQLite format 3\0'],
  ])('of %s are refused by its name', async (name, magic) => {
    const reading = page.readZones(new Blob([magic]));
    await expect(reading).rejects.toMatchObject({ code: 'format/needs-node', got: name.toLowerCase() });
  });

  test('of a file that was changed are refused', async () => {
    const file = new File(['{"type":"FeatureCollection"'], 'a.json');
    file.slice = () => {
      throw new DOMException('It was changed.', 'NotReadableError');
    };
    await expect(page.readZones(file)).rejects.toMatchObject({
      code: 'format/unreadable-file',
      place: { file: 'a.json' },
    });
  });
});

describe('code pages', () => {
  const ONE_BYTE = [
    'cp1250',
    'cp1251',
    'cp1252',
    'cp1253',
    'cp1254',
    'cp1256',
    'cp1257',
    'cp1258',
    'cp866',
    'cp874',
    'koi8r',
    'ascii',
    'usascii',
    ...['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '13', '14', '15'].map((part) => `iso8859${part}`),
  ];

  test.each(ONE_BYTE)('%s has the letters of Node', async (name) => {
    const decode = (await pageDecoderOf(name))!;
    for (let byte = 0; byte < 256; byte++) {
      // Node's own decoder has a letter for this byte, which those of browsers do not have.
      if (name === 'cp1253' && byte === 0xaa) continue;
      const letter = iconv.decode(Buffer.of(byte), name, { stripBOM: false });
      expect(decode(Uint8Array.of(byte)), `${name} ${byte}`).toBe(letter);
    }
  });

  test.each([
    ['cp932', '東京都アイウｱｲｳ'],
    ['gbk', '北京市，上海'],
    ['cp936', '北京市，上海'],
    ['gb18030', '北京市，上海😀'],
    ['cp949', '서울시 부산'],
    ['cp950', '臺北市，高雄'],
    ['eucjp', '東京都アイウ'],
    ['utf8', '\uFEFFЖ北😀'],
    ['cp1255', 'ירושלים'],
  ])('%s reads what Node writes', async (name, text) => {
    expect((await pageDecoderOf(name))!(new Uint8Array(iconv.encode(text, name)))).toBe(text);
  });

  test.each(['cp850', 'macgreek', 'hex', '', 'none'])('%s is not known', async (name) => {
    expect(await pageDecoderOf(name)).toBeUndefined();
  });
});
