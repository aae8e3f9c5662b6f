import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { encode } from 'fast-png';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { openResultSet } from '../../../formats/result-sets/open-result-set.ts';
import { parseTile } from '../../../formats/result-sets/parse-tile.ts';
import type { PolygonTile, ResultSetFormat, TileParameters } from '../../../formats/result-sets/result-set.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { flatGeobufOf } from '../../support/polygon-layers-support.ts';

const ring = [[0, 0], [9, 0], [9, 4.5], [0, 0]]; // biome-ignore format: four positions
const hole = [[1, 1], [2, 1], [2, 2], [1, 1]]; // biome-ignore format: four positions
const text = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const segmentations = [
  [ring.flat(), hole.flat()],
  { size: [3, 3], counts: [1, 3, 2, 3] },
  { size: [4, 4], counts: '43104' },
];

/** A valid file of each format. */
const VALID: Readonly<
  Record<Exclude<ResultSetFormat, 'nifti' | 'shapefile' | 'zipped-shapefile' | 'geoparquet' | 'geopackage'>, Uint8Array>
> = {
  boundaries: text('a 0,0 9,0 9,4.5e0 | 1,1 2,1 2,-2\n# comment\r\nb: 10,10 20,10 20,20;\n'),
  wkt: text(
    'SRID=4326;POLYGON Z ((0 0 1, 9 0 1, 9 4.5 1, 0 0 1), (1 1 1, 2 1 1, 2 2 1, 1 1 1))\nMULTIPOLYGON EMPTY\nPOINT (1 2)',
  ),
  csv: text(
    'id,"the ""name""",wkt\n1,x,"POLYGON ((0 0, 9 0, 9 4.5, 0 0))"\r\n2,y,"GEOMETRYCOLLECTION (POLYGON EMPTY)"\n',
  ),
  geojson: text([
    { type: 'Feature', id: 1, geometry: { type: 'Polygon', coordinates: [ring, hole] }, properties: { name: 'a' } },
    { type: 'Feature', geometry: { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [1, 2] }] } },
  ]),
  'geojson-lines': text(
    `${JSON.stringify({ type: 'Feature', id: 1, geometry: { type: 'Polygon', coordinates: [ring, hole] } })}\nnull\n`,
  ),
  topojson: text({
    type: 'Topology',
    arcs: [ring, hole],
    objects: { all: { type: 'GeometryCollection', geometries: [{ type: 'Polygon', id: 1, arcs: [[0], [1]] }] } },
  }),
  flatgeobuf: flatGeobufOf([{ name: 'a', parts: [[ring, hole] as never] }]),
  coco: text({ annotations: segmentations.map((segmentation, id) => ({ id, image_id: 1, segmentation })) }),
  png: encode({ width: 5, height: 3, data: Uint8Array.from({ length: 15 }, (_, at) => at % 4), channels: 1, depth: 8 }),
};
const FORMATS = Object.keys(VALID) as (keyof typeof VALID)[];

/** A change of a file: replaces bytes, or inserts a copy of another part of the file. */
type Change = (bytes: Uint8Array) => Uint8Array;
const piece = fc.tuple(fc.nat({ max: 1000 }), fc.oneof(fc.constantFrom(0, 1), fc.nat({ max: 40 })));
const replacement = fc.oneof(
  fc.uint8Array({ maxLength: 6 }),
  fc
    .constantFrom('(', ')', '[', ']', '{', '}', '"', '\\', ',', '\n', '\r', '-', '1e999', '1e-400', 'NaN', 'EMPTY', '0')
    .map(text),
);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(piece, replacement).map(
    ([[at, length], inserted]): Change =>
      (bytes) =>
        spliced(bytes, at % (bytes.length + 1), length, inserted),
  ),
  fc.tuple(piece, fc.nat({ max: 1000 })).map(
    ([[from, length], to]): Change =>
      (bytes) =>
        spliced(bytes, to % (bytes.length + 1), 0, bytes.subarray(from % (bytes.length + 1)).subarray(0, length)),
  ),
);

function spliced(bytes: Uint8Array, at: number, length: number, inserted: Uint8Array): Uint8Array {
  return Uint8Array.from([...bytes.subarray(0, at), ...inserted, ...bytes.subarray(at + length)]);
}

const changes = fc.array(change, { minLength: 1, maxLength: 4 });
const changed = (bytes: Uint8Array, list: readonly Change[]) => list.reduce((file, one) => one(file), bytes);

/** Expects a complete result with at most `max` vertices, or an error of the library. */
function expectAnswer(read: () => PolygonTile, max: number): void {
  let tile: PolygonTile;
  try {
    tile = read();
  } catch (error) {
    expect(error).toBeInstanceOf(QuadrilleError);
    expect((error as QuadrilleError).place?.file).toBe('tile');
    return;
  }
  const { polygonRings, ringVertices, x, y } = tile.polygons;
  expectStarts(polygonRings, ringVertices.length - 1);
  expectStarts(ringVertices, x.length);
  expectStarts(tile.ids.starts, tile.ids.bytes.length);
  expect(tile.ids.starts.length).toBe(polygonRings.length);
  expect(y.length).toBe(x.length);
  expect([...x, ...y].every(Number.isFinite)).toBe(true);
  expect(x.length).toBeLessThanOrEqual(max);
}

/**
 * Expects a list of the starts of rows: the first start is 0, starts never decrease, and the last one is the number of
 * elements.
 */
function expectStarts(starts: Uint32Array, end: number): void {
  expect(starts[0]).toBe(0);
  expect(starts[starts.length - 1]).toBe(end);
  for (let row = 1; row < starts.length; row++) expect(starts[row]! >= starts[row - 1]!).toBe(true);
}

describe.each(FORMATS)('the reader of %s', (format) => {
  const parameters: TileParameters = { format, place: 'tile' };
  // A text has at most one vertex per three bytes. Masks and images have at most four corners per run of pixels, or per
  // pixel.
  const parse = (bytes: Uint8Array) => expectAnswer(() => parseTile(bytes, parameters), 2000 * (bytes.length + 1));

  test('reads the unchanged file', () => {
    expect(parseTile(VALID[format], parameters).polygons.x.length).toBeGreaterThan(2);
  });

  test.prop([changes], { numRuns: caseCount(1500) })('reads or refuses a changed file', (list) => {
    parse(changed(VALID[format], list));
  });

  test.prop([fc.uint8Array({ maxLength: 200 })], { numRuns: caseCount(300) })('reads or refuses any bytes', parse);

  test.prop([fc.stringMatching(/^[\s\d,.;|#"(){}[\]:a-zA-Z-]*$/)], { numRuns: caseCount(300) })(
    'reads or refuses any text',
    (string) => parse(text(string)),
  );
});

test.prop([fc.uint8Array({ maxLength: 60 }), fc.nat({ max: 9 }), fc.nat({ max: 9 })])(
  'raw labels match the size in their parameters, or are refused',
  (bytes, width, height) => {
    for (const type of ['u8', 'i8', 'u16', 'i16', 'u32', 'i32'] as const) {
      const parameters: TileParameters = { format: 'nifti', place: 'tile', labels: { width, height, type } };
      expectAnswer(() => parseTile(bytes, parameters), 8 * bytes.length);
    }
  },
);

/** A NIfTI-1 volume of 4 × 3 × 2 bytes. */
function volume(): Uint8Array {
  const bytes = new Uint8Array(352 + 24).map((_, at) => (at < 352 ? 0 : at % 3));
  const view = new DataView(bytes.buffer);
  view.setInt32(0, 348, true);
  for (const [index, dim] of [3, 4, 3, 2].entries()) view.setInt16(40 + 2 * index, dim, true);
  view.setInt16(70, 2, true);
  view.setFloat32(108, 352, true);
  bytes.set(text('n+1'), 344);
  return bytes;
}

describe('a changed file', () => {
  let root = '';
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'result-sets-fuzz-'));
  });
  afterAll(() => rm(root, { recursive: true }));

  const images = [{ id: 1, file_name: 'a.png' }];
  const coco = {
    info: {},
    images,
    annotations: segmentations.map((segmentation, id) => ({ id, image_id: 1, segmentation })),
  };
  const files: readonly (readonly [string, Uint8Array])[] = [
    ['a.nii', volume()],
    ['a.nii.gz', gzipSync(volume())],
    ['a.json', text(coco)],
  ];
  test.prop([fc.constantFrom(...files), changes, fc.boolean()], { numRuns: caseCount(600) })(
    'is read tile by tile or refused',
    async ([name, valid], list, repack) => {
      const path = join(root, name);
      const damaged = changed(valid, list);
      // The content of a compressed volume is also damaged before compression, because damage of compressed bytes is
      // noticed at once.
      await writeFile(path, repack && name.endsWith('.gz') ? gzipSync(changed(volume(), list)) : damaged);
      try {
        const { tiles } = await openResultSet(path);
        for (const tile of tiles.slice(0, 20)) parseTile(await tile.load(), tile.parameters);
      } catch (error) {
        expect(error).toBeInstanceOf(QuadrilleError);
        expect((error as QuadrilleError).place?.file).toContain(path);
      }
    },
  );

  test('of another kind is read by its file ending', async () => {
    const path = join(root, 'b.geojson');
    await writeFile(path, VALID.png);
    const { tiles } = await openResultSet(path);
    const bytes = await tiles[0]!.load();
    expect(() => parseTile(bytes, tiles[0]!.parameters)).toThrow(expect.objectContaining({ code: 'format/not-utf8' }));
  });
});
