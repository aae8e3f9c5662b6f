import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect } from 'vitest';
import { gunzipBlocks } from '../../formats/bytes/gzip.ts';
import { readPolygonLayer } from '../../formats/polygons/open-polygon-layer.ts';
import { openResultSet } from '../../formats/result-sets/open-result-set.ts';
import { parseTile } from '../../formats/result-sets/parse-tile.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';

const folder = mkdtemp(join(tmpdir(), 'quadrille-gzip-'));
afterAll(async () => rm(await folder, { recursive: true }));

async function write(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(await folder, name);
  await writeFile(path, content);
  return path;
}

const arc = [[0, 0], [9, 0], [9, 9], [0, 0]]; // biome-ignore format: four positions
const polygon = { type: 'Polygon', coordinates: [arc] };
const feature = { type: 'Feature', id: 'field', properties: {}, geometry: polygon };
const topology = { type: 'Topology', arcs: [arc], objects: { a: { type: 'Polygon', id: 'field', arcs: [[0]] } } };
const coco = {
  images: [{ id: 1, file_name: 'one.png' }, { id: 2, file_name: 'two.png' }], // biome-ignore format: one line
  annotations: [1, 2, 1].map((image_id, id) => ({ id, image_id, segmentation: [[0, 0, 9, 0, 9, 9 + id]] })),
};
const layers: readonly [name: string, text: string][] = [
  ['a.geojson', JSON.stringify({ type: 'FeatureCollection', features: [feature, feature] })],
  ['a.geojsonl', `${JSON.stringify(feature)}\n${JSON.stringify(feature)}\n`],
  ['a.topojson', JSON.stringify(topology)],
  ['a.wkt', 'POLYGON ((0 0, 9 0, 9 9, 0 0))\nPOLYGON ((1 0, 9 0, 9 9, 1 0))\n'],
];
const resultSets: readonly [name: string, text: string][] = [
  ['b.geojson', JSON.stringify({ type: 'FeatureCollection', features: [feature] })],
  ['b.json', JSON.stringify(coco)],
  ['b.wkt', 'POLYGON ((0 0, 9 0, 9 9, 0 0))\n'],
  ['b.csv', 'id,wkt\nfield,"POLYGON ((0 0, 9 0, 9 9, 0 0))"\n'],
];

async function* inBlocks(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  // All blocks use the same memory, as the blocks of a file reader do.
  const block = new Uint8Array(length);
  for (let at = 0; at < bytes.length; at += length) {
    const piece = bytes.subarray(at, at + length);
    block.set(piece);
    yield block.subarray(0, piece.length);
  }
}

async function gathered(blocks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const block of blocks) parts.push(block.slice());
  return Buffer.concat(parts);
}

describe('a gzip stream', () => {
  const members = fc.array(fc.uint8Array({ maxLength: 5000 }), { minLength: 1, maxLength: 3 });
  test.prop([members, fc.integer({ min: 1, max: 300 })], { numRuns: caseCount(50) })(
    'of one or several members is unpacked, in blocks of any size',
    async (parts, length) => {
      const packed = Buffer.concat(parts.map((part) => gzipSync(part)));
      expect(await gathered(gunzipBlocks(inBlocks(packed, length), 'x.gz'))).toEqual(Buffer.concat(parts));
    },
  );

  test('that is truncated anywhere is an error; a failure of its source is passed on', async () => {
    const packed = gzipSync(Buffer.from('a long enough text '.repeat(50)));
    for (const end of [2, 9, 12, packed.length - 9, packed.length - 1]) {
      await expect(gathered(gunzipBlocks(inBlocks(packed.subarray(0, end), 5), 'x.gz'))).rejects.toMatchObject({
        code: 'format/bad-gzip',
        place: { file: 'x.gz' },
      });
    }
    const failure = new Error('the disk is gone');
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield packed.subarray(0, 20);
      throw failure;
    }
    await expect(gathered(gunzipBlocks(failing(), 'x.gz'))).rejects.toBe(failure);
  });
});

describe('a gzipped layer of polygons', () => {
  test.each(layers)('is read like the file inside: %s', async (name, text) => {
    const plain = await readPolygonLayer(await write(name, text));
    const packed = await readPolygonLayer(await write(`${name}.gz`, gzipSync(text)));
    expect(plain.zones.names.length).toBeGreaterThan(0);
    expect({ ...packed.zones, file: '' }).toEqual({ ...plain.zones, file: '' });
    expect(packed.notes).toEqual(plain.notes);
  });

  test('that is truncated, or of a format that needs random access, is refused', async () => {
    const cut = gzipSync(layers[0]![1]).subarray(0, -12);
    await expect(readPolygonLayer(await write('cut.geojson.gz', cut))).rejects.toMatchObject({
      code: 'format/bad-gzip',
    });
    const header = Uint8Array.of(0x66, 0x67, 0x62, 3, 0x66, 0x67, 0x62, 0, 0, 0, 0, 0);
    await expect(readPolygonLayer(await write('a.fgb.gz', gzipSync(header)))).rejects.toMatchObject({
      code: 'format/gzipped-binary',
    });
  });

  test('that unpacks to one record larger than the memory limit is refused', async () => {
    const bomb = gzipSync(`{"type":"FeatureCollection","features":[{"x":"${' '.repeat(2 ** 24)}`);
    await expect(
      readPolygonLayer(await write('bomb.geojson.gz', bomb), { memoryBytes: 2 ** 24 }),
    ).rejects.toMatchObject({
      code: 'memory/limit',
    });
  });
});

describe('a gzipped result set', () => {
  async function tilesOf(path: string): Promise<unknown[]> {
    const { format, tiles } = await openResultSet(path);
    return Promise.all(
      tiles.map(async (tile) => {
        const { ids, polygons } = parseTile(await tile.load(), tile.parameters);
        return [format, tile.name, ids, polygons];
      }),
    );
  }

  test.each(resultSets)('is read like the file inside, alone or in a folder: %s', async (name, text) => {
    const plain = await tilesOf(await write(name, text));
    expect(plain.length).toBeGreaterThan(0);
    expect(await tilesOf(await write(`${name}.gz`, gzipSync(text)))).toEqual(plain);
    const inside = join(await folder, `folder of ${name}`);
    await mkdir(inside);
    await writeFile(join(inside, name), text);
    const before = await tilesOf(inside);
    await rm(join(inside, name));
    await writeFile(join(inside, `${name}.gz`), gzipSync(text));
    expect(await tilesOf(inside)).toEqual(before);
  });
});
