import { readFileSync, writeFileSync } from 'node:fs';
import { truncate, writeFile } from 'node:fs/promises';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { someOf } from '../cases.ts';
import { craftedTiff, type Tags } from '../fixtures/crafted-tiff.ts';
import { geoParquetOf } from '../support/binary-layers-support.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';
import { zipOf } from '../support/zip-support.ts';

/**
 * The option --memory of all runs for which no other is given. The input files are small, or sparse on disk, but would
 * fill the memory. Each file must be refused with a coded error before memory grows by `MAX_BYTES`.
 */
const MEMORY = '48MB';
/** The number of threads is fixed, because each thread takes about 20 MB besides its data. */
const THREADS = ['--backend', 'workers', '--workers', '2'];
/**
 * Maximum growth of resident memory in bytes. It allows for threads, their code, and garbage that is not collected yet.
 */
const MAX_BYTES = 350e6;

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
  await shop.writeRaster('raster.tif');
  await shop.write('square.json', SQUARE);
  await shop.write('square.wkt', 'POLYGON((0 0,1 0,1 1,0 0))\n');
  await shop.write('tree.geojson', SQUARE);
  await shop.quadrille([
    'index',
    'build',
    '@tree.geojson',
    '-o',
    '@tree.maq',
    '--levels',
    '4',
    '--backend',
    'reference',
  ]);
});
afterAll(() => shop.remove());

const ring = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 0],
];
const SQUARE = { type: 'Feature', properties: {}, geometry: { type: 'Polygon', coordinates: [ring] } };

const zonal = (zones: string): string[] => ['zonal', '--zones', zones, '--raster', '@raster.tif', '--unique'];
const build = (file: string): string[] => ['index', 'build', file, '-o', '@out.maq'];
const compare = (a: string, b = a): string[] => ['compare', a, b, ...THREADS];

/** Writes a sparse file of any size. All bytes after `head` are read as zeros. */
async function sparse(name: string, size: number, head: Uint8Array | string = ''): Promise<void> {
  await writeFile(shop.path(name), head);
  await truncate(shop.path(name), size);
}

/** A text with `inside` in `depth` nested brackets. */
const nested = (depth: number, open: string, close: string, inside: string): string =>
  open.repeat(depth) + inside + close.repeat(depth);

/** A TopoJSON topology of 200 polygons, each of which uses an arc of many vertices 40 times. */
function topology(): object {
  const arc = Array.from({ length: 20_000 }, (_, at) => [at % 100, Math.floor(at / 100)]);
  const polygon = { type: 'Polygon', arcs: [Array.from({ length: 40 }, () => 0)] };
  const geometries = Array.from({ length: 200 }, () => polygon);
  return { type: 'Topology', arcs: [arc], objects: { many: { type: 'GeometryCollection', geometries } } };
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const [head, tail] = [Buffer.alloc(4), Buffer.alloc(4)];
  head.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  let crc = -1;
  for (const byte of body) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  }
  tail.writeUInt32BE(~crc >>> 0);
  return Buffer.concat([head, body, tail]);
}

/** A PNG in which all rows have the same bytes. */
function png(width: number, height: number, depth: number, { byte = 0, interlaced = 0 } = {}): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = depth;
  header[12] = interlaced;
  const row = new Uint8Array(1 + Math.ceil((width * depth) / 8)).fill(byte, 1);
  const rows = Buffer.concat(Array.from({ length: height }, () => row));
  const data = deflateSync(rows, { level: 1 });
  const chunks = [chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', new Uint8Array(0))];
  return Buffer.concat([Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), ...chunks]);
}

function nifti(width: number, height: number, slices: number, type: number): Uint8Array {
  const bytes = Buffer.alloc(352);
  bytes.writeInt32LE(348, 0);
  for (const [index, size] of [3, width, height, slices, 1, 1, 1, 1].entries())
    bytes.writeInt16LE(size, 40 + 2 * index);
  bytes.writeInt16LE(type, 70);
  bytes.writeFloatLE(352, 108);
  bytes.write('n+1', 344);
  return bytes;
}

/** A GeoJSON star with many long edges, which pass through quadrants on every level. */
function star(points: number): object {
  const coordinates = Array.from({ length: points + 1 }, (_, at) => {
    const angle = (2 * Math.PI * (at % points)) / points;
    const radius = at % 2 === 0 ? 80 : 10;
    return [radius * Math.cos(angle), radius * Math.sin(angle)];
  });
  return { type: 'Feature', properties: {}, geometry: { type: 'Polygon', coordinates: [coordinates] } };
}

interface Hostile {
  readonly what: string;
  readonly make: () => Promise<unknown>;
  readonly words: readonly string[];
  readonly code: string;
  /** The option --memory of this run; `MEMORY` by default. It is smaller where filling the memory takes long. */
  readonly memory?: string;
  /** Texts that the error message must contain. */
  readonly says?: readonly string[];
}

const MEMORY_SAYS = ['Expected at most', '--memory'];

const CASES: readonly Hostile[] = [
  {
    what: 'zones from an endless device',
    make: async () => undefined,
    words: zonal('/dev/zero'),
    code: 'memory/limit',
  },
  {
    what: 'zones in a file of 8 GB',
    make: () => sparse('large.json', 8e9, '['),
    words: zonal('@large.json'),
    code: 'format/json-syntax',
    says: [],
  },
  {
    what: 'gzipped zones that unpack to more than memory',
    make: () => shop.write('zones.json.gz', gzipSync(Buffer.alloc(40e6, 32), { level: 1 })),
    words: zonal('@zones.json.gz'),
    code: 'format/json-syntax',
    says: [],
  },
  {
    what: 'zones of lists that take many times the memory of their text',
    make: () => shop.write('lists.json', `{"type":"Feature","properties":{"a":[${'[],'.repeat(1e6)}0]}}`),
    words: zonal('@lists.json'),
    code: 'memory/limit',
  },
  {
    what: 'a TopoJSON file that repeats its arcs many times, as zones',
    make: () => shop.write('arcs.json', topology()),
    words: zonal('@arcs.json'),
    code: 'memory/limit',
    says: ['vertices', ...MEMORY_SAYS],
  },
  {
    what: 'a TopoJSON file that repeats its arcs many times, as a layer',
    make: () => shop.write('arcs.json', topology()),
    words: build('@arcs.json'),
    code: 'memory/limit',
    says: ['vertices', ...MEMORY_SAYS],
  },
  {
    what: 'GeoParquet with a geometry that unpacks to more than memory',
    make: () => {
      const geometry = new Uint8Array(64e6 + 13);
      geometry.set([1, 3, 0, 0, 0, 1]);
      new DataView(geometry.buffer).setUint32(9, 4e6, true);
      return shop.write('bomb.parquet', geoParquetOf([geometry], { codec: 'SNAPPY' }));
    },
    words: zonal('@bomb.parquet'),
    code: 'memory/limit',
    says: ['row group', ...MEMORY_SAYS],
  },
  {
    what: 'a ZIP archive that unpacks to more than memory',
    make: () => shop.write('bomb.zip', zipOf({ 'a.shp': new Uint8Array(60e6) })),
    words: zonal('@bomb.zip'),
    code: 'memory/limit',
  },
  {
    what: 'a ZIP archive that unpacks to more than it states',
    make: () => shop.write('lying.zip', zipOf({ 'a.shp': new Uint8Array(60e6) }, { size: 1000 })),
    words: zonal('@lying.zip'),
    code: 'format/malformed-zip',
    says: [],
  },
  {
    what: 'a layer with one endless record',
    make: () => sparse('record.geojson', 4e9, '{"type":"FeatureCollection","features":["'),
    words: [...build('@record.geojson'), '--input-format', 'geojson'],
    code: 'memory/limit',
  },
  {
    what: 'a layer of WKT without a line end',
    make: () => sparse('endless.wkt', 4e9, 'POLYGON(('),
    words: [...build('@endless.wkt'), '--input-format', 'wkt'],
    code: 'memory/limit',
  },
  {
    what: 'a device as a layer',
    make: async () => undefined,
    words: build('/dev/zero'),
    code: 'format/not-a-file',
    says: [],
  },
  {
    what: 'a tree of 30 levels',
    make: () => shop.write('star.geojson', star(400)),
    words: [...build('@star.geojson'), '--levels', '30', '--backend', 'reference'],
    code: 'quadrants/limit',
    memory: '8MB',
    says: ['from level', '--levels', ...MEMORY_SAYS],
  },
  {
    what: 'a tree larger than memory',
    make: async () => sparse('huge.maq', 8e9, readFileSync(shop.path('tree.maq'))),
    words: ['index', 'info', '@huge.maq'],
    code: 'memory/limit',
  },
  {
    what: 'points in an endless line',
    make: () => sparse('points.csv', 4e9, 'x,y\n'),
    words: ['index', 'query', '@tree.maq', '--points', '@points.csv'],
    code: 'format/not-table',
    says: ['Expected CSV, got bytes that are no text'],
  },
  {
    what: 'a PNG with a run for every two pixels',
    make: () => shop.write('stripes.png', png(8000, 4000, 1, { byte: 0xaa })),
    words: compare('@stripes.png'),
    code: 'memory/limit',
    says: ['runs', ...MEMORY_SAYS],
  },
  {
    what: 'an interlaced PNG',
    make: () => shop.write('interlaced.png', png(8000, 4000, 8, { interlaced: 1 })),
    words: compare('@interlaced.png'),
    code: 'memory/limit',
    says: ['interlac', ...MEMORY_SAYS],
  },
  {
    what: 'a volume of large slices',
    make: () => sparse('slices.nii', 352 + 20_000 * 20_000 * 4, nifti(20_000, 20_000, 1, 8)),
    words: compare('@slices.nii'),
    code: 'memory/limit',
    says: ['slices', ...MEMORY_SAYS],
  },
  {
    what: 'a gzipped volume that unpacks to more than memory',
    make: () =>
      shop.write('bomb.nii.gz', gzipSync(Buffer.concat([nifti(1000, 1000, 60, 2), Buffer.alloc(60e6)]), { level: 1 })),
    words: compare('@bomb.nii.gz'),
    code: 'memory/limit',
    says: ['unpack the file', ...MEMORY_SAYS],
  },
  {
    what: 'a tile of text of 4 GB',
    make: () => sparse('large.wkt', 4e9),
    words: compare('@large.wkt', '@square.wkt'),
    code: 'memory/limit',
  },
  {
    what: 'a tile of text with only vertices',
    make: () => shop.write('dense.txt', `a ${'0,0 1,1 '.repeat(250_000)}\n`),
    words: compare('@dense.txt'),
    code: 'memory/limit',
    says: ['vertices', ...MEMORY_SAYS],
  },
  {
    what: 'a COCO file of 4 GB',
    make: () => sparse('coco.json', 4e9, '{"annotations":['),
    words: compare('@coco.json'),
    code: 'memory/limit',
  },
  {
    what: 'a mask of a COCO file that claims to be larger than any memory',
    make: () =>
      shop.write('mask.json', {
        images: [{ id: 1, file_name: 'a.png' }],
        annotations: [{ id: 1, image_id: 1, segmentation: { size: [2 ** 31, 2 ** 31], counts: [1, 2 ** 62 - 1] } }],
      }),
    words: compare('@mask.json'),
    code: 'format/bad-rle',
    says: [],
  },
  {
    what: 'GeoJSON nested deeply in place of positions, as a tile',
    make: () => shop.write('deep.geojson', `{"type":"Polygon","coordinates":${nested(20_000, '[', ']', '0')}}`),
    words: compare('@deep.geojson', '@square.json'),
    code: 'geometry/not-finite',
    says: [],
  },
  {
    what: 'GeoJSON nested deeply in place of positions, as zones',
    make: () => shop.write('deep.geojson', `{"type":"Polygon","coordinates":${nested(20_000, '[', ']', '0')}}`),
    words: zonal('@deep.geojson'),
    code: 'geometry/not-finite',
    says: [],
  },
  {
    what: 'COCO nested deeply',
    make: () =>
      shop.write(
        'deep.json',
        `{"annotations":[{"id":1,"image_id":1,"segmentation":[[${nested(20_000, '[', ']', '0')},1]]}]}`,
      ),
    words: compare('@deep.json'),
    code: 'geometry/not-finite',
    says: [],
  },
];

/** A TIFF of one tile, which lies where the zone of `square.json` does, with other tags. */
function tiledTiff(side: number, tags: Tags, tile: Uint8Array): Buffer {
  const isOfTiles = { stripOffsets: undefined, stripByteCounts: undefined, rowsPerStrip: undefined };
  return craftedTiff(
    {
      ...{ ...isOfTiles, tileWidth: [side], tileLength: [side], imageWidth: [side], imageLength: [side] },
      ...{ tileOffsets: [8], tileByteCounts: [tile.length] },
      ...{ modelPixelScale: [0.01, 0.01, 0], modelTiepoint: [0, 0, 0, 0, 1, 0] },
      ...{ geoKeyDirectory: [1, 1, 0, 1, 1024, 0, 1, 2], ...tags },
    },
    tile,
  );
}

/** A raster whose tables of blocks lie in a sparse part of its file, and are all zero. */
async function manyBlocks(name: string, side: number): Promise<void> {
  const tiff = tiledTiff(16, { imageWidth: [side], imageLength: [side] }, new Uint8Array(8));
  const [directory, count] = [tiff.readUInt32LE(4), (side / 16) ** 2];
  for (let entry = 0; entry < tiff.readUInt16LE(directory); entry++) {
    const at = directory + 2 + 12 * entry;
    if (![324, 325].includes(tiff.readUInt16LE(at))) continue;
    tiff.writeUInt16LE(4, at + 2);
    tiff.writeUInt32LE(count, at + 4);
    tiff.writeUInt32LE(65_536, at + 8);
  }
  await sparse(name, 65_536 + 4 * count, tiff);
}

/** Compressions by the numbers of TIFF. */
const COMPRESSIONS = { deflate: 8, lzw: 5, packbits: 32773, zstd: 50000, jpeg: 7, lerc: 34887 } as const;
const cells = deflateSync(new Uint8Array(65_536));
const raster = (file: string): string[] => ['zonal', '--zones', '@square.json', '--raster', file, '--unique'];

/** Rasters, with the code of the error; undefined if they are read. */
const RASTERS: readonly (Pick<Hostile, 'what' | 'make'> & { readonly code: string | undefined })[] = [
  {
    what: 'whose table of blocks is larger than memory',
    make: () => manyBlocks('hostile.tif', 2 ** 16),
    code: 'format/too-many-blocks',
  },
  {
    what: 'whose tile unpacks to a hundred times its cells',
    make: async () => {
      const bomb = deflateSync(new Uint8Array(1e8), { level: 1 });
      await shop.write('hostile.tif', tiledTiff(1024, { compression: [8] }, bomb));
    },
    code: 'format/damaged-tiff',
  },
  {
    what: 'whose tile has 2^30 cells',
    make: () => sparse('hostile.tif', 4.2e9, tiledTiff(2 ** 15, { compression: [8], tileByteCounts: [4e9] }, cells)),
    code: 'format/block-too-large',
  },
  ...Object.entries(COMPRESSIONS).map(([name, compression]) => ({
    what: `whose tile of ${name} has 4 GB in the file`,
    make: () =>
      sparse('hostile.tif', 4.2e9, tiledTiff(256, { compression: [compression], tileByteCounts: [4e9] }, cells)),
    code: name === 'deflate' || name === 'packbits' ? undefined : 'format/damaged-tiff',
  })),
];

describe('a raster is read or refused within the memory limit', () => {
  test.each(someOf(RASTERS, 6))('$what', async ({ make, code }) => {
    await make();
    resetPeak();
    const before = status('VmRSS');
    const { exitCode, stderr } = await shop.quadrille([
      ...[...raster('@hostile.tif'), ...THREADS],
      ...['--memory', MEMORY, '--json-log'],
    ]);
    const peak = status('VmHWM');
    if (code === undefined) expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('"error"')]);
    else expect(stderr).toContain(`"code":"${code}"`);
    expect(peak - before).toBeLessThan(MAX_BYTES);
  });
});

/** Resets the peak resident memory of the process, if the system allows it. */
function resetPeak(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // The system does not allow this. The measured peak is then the peak since the start of the process, which is an
    // upper bound.
  }
}

function status(field: string): number {
  return 1024 * Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))![1]);
}

describe('hostile input is refused within the memory limit', () => {
  test.each(someOf(CASES, 12))('$what', async ({ make, words, code, memory = MEMORY, says = MEMORY_SAYS }) => {
    await make();
    resetPeak();
    const before = status('VmRSS');
    const { exitCode, stderr } = await shop.quadrille([...words, '--memory', memory, '--json-log']);
    const peak = status('VmHWM');
    const error =
      stderr
        .split('\n')
        .filter((line) => line.includes('"error"'))
        .at(-1) ?? stderr;
    expect(error).toContain(`"code":"${code}`);
    for (const part of says) expect(error).toContain(part);
    expect(exitCode).toBeGreaterThan(0);
    expect(peak - before).toBeLessThan(MAX_BYTES);
  });
});

test('deeply nested valid GeoJSON is read', async () => {
  const collection = nested(
    20_000,
    '{"type":"GeometryCollection","geometries":[',
    ']}',
    JSON.stringify(SQUARE.geometry),
  );
  await shop.write(
    'nest.geojson',
    `{"type":"Feature","properties":{"a":${nested(20_000, '[', ']', '')}},"geometry":${collection}}`,
  );
  await shop.write('nest.wkt', `${nested(20_000, 'GEOMETRYCOLLECTION(', ')', 'POLYGON((0 0,1 0,1 1,0 0))')}\n`);
  for (const words of [
    zonal('@nest.geojson'),
    build('@nest.geojson'),
    compare('@nest.geojson'),
    compare('@nest.wkt'),
  ]) {
    expect(await shop.quadrille([...words, '--quiet'])).toMatchObject({ exitCode: 0 });
  }
});

test('a large single-colour PNG takes no memory for its pixels', async () => {
  // The pixels of the image would take 128 MB. Everything else takes about 110 MB, so the limit of 220 MB has no room
  // for the pixels.
  await shop.write('plain.png', png(16_000, 8000, 8));
  resetPeak();
  const before = status('VmRSS');
  const words = [...compare('@plain.png', '@square.wkt'), '--memory', MEMORY, '--quiet'];
  expect(await shop.quadrille(words)).toMatchObject({ exitCode: 0 });
  expect(status('VmHWM') - before).toBeLessThan(220e6);
});
