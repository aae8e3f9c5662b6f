import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { openResultSet } from '../../../formats/result-sets/open-result-set.ts';
import { createParsePool, type ParsePool } from '../../../formats/result-sets/parse-pool.ts';
import type { PolygonTile } from '../../../formats/result-sets/result-set.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { geoParquetOfFeatures, HAS_SQLITE } from '../../support/binary-layers-support.ts';
import {
  bytesOf,
  dbaseOf,
  featuresOf,
  flatGeobufOf,
  shapefileOf,
  type WrittenFeature,
} from '../../support/polygon-layers-support.ts';
import { noted, written } from '../../support/result-sets-support.ts';
import { zipOf } from '../../support/zip-support.ts';

const FIXTURES = join(import.meta.dirname, '..', '..', 'fixtures', 'polygon-layers');
let folder: string;
let pool: ParsePool;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-tiles-'));
  pool = createParsePool({ threads: 1 });
});
afterAll(async () => {
  await pool.close();
  await rm(folder, { recursive: true });
});

const ringOf = (left: number, bottom: number, size: number, clockwise: boolean): [number, number][] => {
  const [right, top] = [left + size, bottom + size];
  const ring: [number, number][] = [[left, bottom], [left, top], [right, top], [right, bottom], [left, bottom]]; // biome-ignore format: five positions
  return clockwise ? ring : ring.reverse();
};

/** Polygons of squares far from each other, some with a hole, in the directions that a Shapefile asks for. */
const squares: fc.Arbitrary<readonly WrittenFeature[]> = fc
  .array(
    fc.record({
      name: fc.stringMatching(/^[A-Za-z0-9ä]{1,9}$/),
      parts: fc.array(fc.record({ x: fc.double({ min: 0, max: 9, noNaN: true }), hole: fc.boolean() }), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((list) =>
    list.map(({ name, parts }, row) => ({
      name,
      parts: parts.map(({ x, hole }, column) => {
        const shell = ringOf(100 * column + x, 100 * row, 30, true);
        return hole ? [shell, ringOf(100 * column + 12, 100 * row + 5, 10, false)] : [shell];
      }),
    })),
  );

/** Reads the only tile of a file or folder. */
async function tileOf(path: string, options: { idColumn?: string; layer?: string } = {}): Promise<PolygonTile> {
  const set = await openResultSet(path, options);
  expect([set.tiles.length, set.notes]).toEqual([1, []]);
  const [{ file, parameters }] = set.tiles as [(typeof set.tiles)[number]];
  return pool.parse({ file: file! }, parameters);
}

async function stored(name: string, files: Readonly<Record<string, Uint8Array>>): Promise<string> {
  const path = join(folder, name);
  await rm(path, { recursive: true, force: true });
  await mkdir(path);
  for (const [file, bytes] of Object.entries(files)) await writeFile(join(path, file), bytes);
  return path;
}

test.prop([squares], { numRuns: caseCount(40) })('a tile is the same in every format of files', async (list) => {
  const collection = JSON.stringify({ type: 'FeatureCollection', features: featuresOf(list) });
  const named = { idColumn: 'name' };
  const expected = await tileOf(await stored('json', { 'a.geojson': bytesOf(collection) }), named);
  const shp = shapefileOf(list);
  const dbf = dbaseOf(
    'name',
    list.map(({ name }) => name),
  );
  const cpg = bytesOf('UTF-8');
  const folders = {
    shapefile: { 'a.shp': shp, 'a.dbf': dbf, 'a.cpg': cpg, 'a.shp.xml': bytesOf('<metadata/>') },
    zipped: { 'a.zip': zipOf({ 'a.shp': shp, 'a.dbf': dbf, 'a.cpg': cpg }) },
    geoparquet: { 'a.parquet': geoParquetOfFeatures(list) },
    flatgeobuf: { 'a.fgb': flatGeobufOf(list) },
  };
  for (const [format, files] of Object.entries(folders)) {
    expect([format, await tileOf(await stored(format, files), named)]).toEqual([format, expected]);
  }
});

const WRITTEN = [
  'shapes.geojson',
  'shapes.fgb',
  'shapes.parquet',
  'shapes.shp',
  ...(HAS_SQLITE ? ['shapes.gpkg'] : []),
];

test.each(WRITTEN)('GDAL writes the same polygons as %s', async (file) => {
  const [expected, tile] = await Promise.all(
    ['shapes.geojson', file].map((name) => tileOf(join(FIXTURES, name), { idColumn: 'code' })),
  );
  // FlatGeobuf with an index has an order of its own.
  const sorted = (read: PolygonTile) => [
    areas(read).toSorted((a, b) => a - b),
    written(read)
      .map(({ id }) => id)
      .toSorted(),
  ];
  expect(sorted(tile!)).toEqual(sorted(expected!));
});

/** Twice the area of each ring, in the order of the rings; directions differ between formats. */
function areas({ polygons: { ringVertices, x, y } }: PolygonTile): number[] {
  return Array.from(ringVertices.subarray(1), (end, ring) => {
    const start = ringVertices[ring]!;
    let sum = 0;
    for (let v = start; v < end; v++) {
      const next = v + 1 === end ? start : v + 1;
      sum += x[v]! * y[next]! - x[next]! * y[v]!;
    }
    return Number(Math.abs(sum).toFixed(9));
  });
}

test('a layer of a file with several must be named, and only of such a file', async () => {
  const several = zipOf({ 'a.shp': shapefileOf([{ parts: [[ringOf(0, 0, 2, true)]] }]), 'b.shp': shapefileOf([]) });
  const path = join(await stored('several', { 'x.zip': several }), 'x.zip');
  expect((await tileOf(path, { layer: 'a' })).polygons.x).toHaveLength(4);
  await expect(tileOf(path)).rejects.toMatchObject({ code: 'usage/layer-required' });
  await expect(tileOf(path, { layer: 'c' })).rejects.toMatchObject({ code: 'usage/unknown-layer' });
  const plain = await stored('plain', { 'a.txt': bytesOf('a 0,0 2,0 2,2\n') });
  await expect(openResultSet(plain, { layer: 'a' })).rejects.toMatchObject({ code: 'usage/unknown-layer' });
});

test('what a reader of layers leaves out is noted for the tile', async () => {
  const list = ['a', 'b'].map((name) => ({ name, parts: [[ringOf(0, 0, 2, true)]] }));
  const path = await stored('deleted', { 'a.shp': shapefileOf(list), 'a.dbf': dbaseOf('name', ['a', 'b'], [1]) });
  const tile = await tileOf(path, { idColumn: 'name' });
  expect([tile.ids.starts.length, noted(tile)]).toEqual([2, { 'polygons/deleted-records': 1 }]);
});

test('bytes alone are refused for a format that is read from files', async () => {
  const { tiles } = await openResultSet(join(FIXTURES, 'shapes.shp'));
  const [tile] = tiles as [(typeof tiles)[number]];
  await expect(pool.parse(await tile.load(), tile.parameters)).rejects.toMatchObject({ code: 'format/needs-file' });
});
