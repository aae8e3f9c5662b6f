import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { PolygonLayerFormat, PolygonLayerOptions } from '../../../formats/polygons/polygon-layer.ts';
import { attributeReader } from '../../../formats/polygons/zone-attributes.ts';
import type { ReadZones } from '../../../formats/polygons/zones.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import { caseCount } from '../../cases.ts';
import { topoJsonText } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';
import { geoParquetOf, HAS_SQLITE, wkbOf } from '../../support/binary-layers-support.ts';
import {
  type BlockSizes,
  blockSizes,
  bytesOf,
  csvOf,
  dbaseOf,
  featuresOf,
  flatGeobufOf,
  readBytes,
  shapefileOf,
  type WrittenFeature,
  wktOf,
} from '../../support/polygon-layers-support.ts';
import { zipOf } from '../../support/zip-support.ts';

const ring = [[0, 0], [9, 0], [9, 4.5], [0, 0]] as const; // biome-ignore format: four positions
const hole = [[1, 1], [2, 1], [2, 2], [1, 1]] as const; // biome-ignore format: four positions
const written: readonly WrittenFeature[] = [
  { name: 'a', parts: [[ring, hole]] },
  { name: 'b', parts: [[ring], [hole]] },
  { name: 'c', parts: [[hole]] },
];
const names = written.map(({ name }) => name);
const mixed = [
  { type: 'Feature', properties: null, geometry: null },
  { type: 'Feature', geometry: { type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [1, 2] }] } },
];
const list = [...featuresOf(written), ...mixed];

/** A valid file of each format. */
const VALID: Readonly<Record<PolygonLayerFormat, Uint8Array>> = {
  geojson: bytesOf(JSON.stringify({ type: 'FeatureCollection', crs: null, features: list, name: 'x' })),
  'geojson-lines': bytesOf(list.map((feature) => `\x1e${JSON.stringify(feature)}`).join('\n')),
  topojson: bytesOf(topoJsonText(written.map(({ parts }) => parts))),
  flatgeobuf: flatGeobufOf(written, 4326),
  shapefile: shapefileOf([...written, { parts: [] }]),
  geoparquet: geoParquetOf([...written.map(({ parts }) => wkbOf(parts)), null], {
    columns: [{ name: 'name', data: [...names, 'd'], type: 'STRING' }],
    rowGroupSize: 2,
  }),
  geopackage: readFileSync(join(import.meta.dirname, '..', '..', 'fixtures', 'polygon-layers', 'shapes.gpkg')),
  'zipped-shapefile': zipOf({
    'a/b.shp': shapefileOf([...written, { parts: [] }]),
    'a/b.dbf': dbaseOf('name', [...names, 'd']),
  }),
  csv: bytesOf(`${csvOf(written)}3,,d\n4,POINT (1 2),e\n`),
  wkt: bytesOf(`${wktOf(written)}POLYGON EMPTY\nPOINT Z (1 2 3)`),
};
const FORMATS = Object.keys(VALID) as PolygonLayerFormat[];

/** A change of a file: replaces bytes, inserts a copy of another part of the file, or truncates the file. */
type Change = (bytes: Uint8Array) => Uint8Array;
const piece = fc.tuple(fc.nat({ max: 3000 }), fc.oneof(fc.constantFrom(0, 1, 4), fc.nat({ max: 40 })));
const word = (value: number, low: boolean): Uint8Array => {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, value, low);
  return new Uint8Array(view.buffer);
};
const inserted = fc.oneof(
  fc.uint8Array({ maxLength: 6 }),
  fc
    .tuple(fc.constantFrom(0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 1000), fc.boolean())
    .map(([v, low]) => word(v, low)),
  fc
    .constantFrom('[', ']', '{', '}', '"', '\\', ',', '\n', '\x1e', '-', '1e999', 'null', '(', ')', 'EMPTY', '0')
    .map(bytesOf),
);
const spliced = (bytes: Uint8Array, at: number, length: number, piece: Uint8Array): Uint8Array =>
  Uint8Array.from([...bytes.subarray(0, at), ...piece, ...bytes.subarray(at + length)]);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(piece, inserted).map(
    ([[at, length], piece]): Change =>
      (bytes) =>
        spliced(bytes, at % (bytes.length + 1), length, piece),
  ),
  // Replaces bytes in place, so that the lengths and offsets of a binary format stay valid.
  fc.tuple(fc.nat({ max: 3000 }), inserted).map(
    ([at, piece]): Change =>
      (bytes) =>
        spliced(bytes, at % (bytes.length + 1), piece.length, piece),
  ),
  fc.tuple(piece, fc.nat({ max: 3000 })).map(
    ([[from, length], to]): Change =>
      (bytes) =>
        spliced(bytes, to % (bytes.length + 1), 0, bytes.subarray(from % (bytes.length + 1)).subarray(0, length)),
  ),
  fc.nat({ max: 3000 }).map(
    (length): Change =>
      (bytes) =>
        bytes.subarray(0, length % (bytes.length + 1)),
  ),
);
const changes = fc.array(change, { minLength: 1, maxLength: 4 });
const changed = (bytes: Uint8Array, list: readonly Change[]) => list.reduce((file, one) => one(file), bytes);

/** Expects a complete result, or an error of the library with a code. */
async function expectAnswer(read: Promise<ReadZones>, max: number): Promise<void> {
  let answer: ReadZones;
  try {
    answer = await read;
  } catch (error) {
    expect(error).toBeInstanceOf(QuadrilleError);
    expect((error as QuadrilleError).code).toMatch(/^(format|geometry|capacity|usage|csv)\/[a-z0-9-]+$/);
    expect((error as QuadrilleError).place?.file).toMatch(/^layer/);
    return;
  }
  const { names, polygons } = answer.zones;
  const { polygonRings, ringVertices, x, y } = polygons;
  expectStarts(polygonRings, ringVertices.length - 1);
  expectStarts(ringVertices, x.length);
  expect([polygonRings.length, y.length]).toEqual([names.length + 1, x.length]);
  expect([...x, ...y].every(Number.isFinite)).toBe(true);
  expect(x.length).toBeLessThanOrEqual(max);
}

/**
 * Expects a list of the starts of rows: the first start is 0, starts never decrease, and the last one is the number of
 * elements.
 */
function expectStarts(starts: Uint32Array, end: number): void {
  expect([starts[0], starts[starts.length - 1]]).toEqual([0, end]);
  for (let row = 1; row < starts.length; row++) expect(starts[row]! >= starts[row - 1]!).toBe(true);
}

const policy: fc.Arbitrary<PolygonLayerOptions> = fc.record({
  onBadRecord: fc.constantFrom('stop', 'skip'),
  id: fc.constantFrom(undefined, undefined, 'name'),
});

describe.each(FORMATS)('the reader of %s', (format) => {
  // A file cannot have more vertices than bytes. TopoJSON is the exception, because its rings share arcs.
  const read = async (bytes: Uint8Array, options: PolygonLayerOptions, sizes?: BlockSizes) => {
    const beside = { '.dbf': dbaseOf('name', [...names, 'd']) };
    const attributes = attributeReader('all', 'layer');
    const answer = readBytes(bytes, options, sizes, beside, attributes);
    await expectAnswer(answer, (format === 'topojson' ? 100 : 1) * (bytes.length + 1));
    const zones = await answer.catch(() => undefined);
    if (zones === undefined) return;
    // Every zone has a row of each attribute.
    for (const { column } of attributes.finish().attributes)
      expect(column.type === 'string' ? column.codes.length : column.values.length).toBe(zones.zones.names.length);
  };

  test('reads the unchanged file', async () => {
    if (format === 'geopackage' && !HAS_SQLITE) {
      await expect(readBytes(VALID[format])).rejects.toMatchObject({ code: 'format/needs-newer-node' });
      return;
    }
    const { zones } = await readBytes(VALID[format]);
    expect(zones.polygons.x.length).toBe(format === 'geopackage' ? 19 : 15);
    expect(zones.names.length).toBeGreaterThanOrEqual(3);
  });

  test.prop([changes, policy, blockSizes], { numRuns: caseCount(1500) })(
    'reads or refuses a changed file',
    (list, options, sizes) => read(changed(VALID[format], list), { format, ...options }, sizes),
  );

  test.prop([changes, policy], { numRuns: caseCount(300) })(
    'reads or refuses a changed file without a given format',
    (list, options) => read(changed(VALID[format], list), options),
  );

  test('refuses or shortens a truncated file, and never invents a vertex', async () => {
    if (format === 'geopackage' && !HAS_SQLITE) return expectAnswer(readBytes(VALID[format]), 0);
    const whole = (await readBytes(VALID[format])).zones.polygons;
    for (let length = 0; length < VALID[format].length; length += format === 'geopackage' ? 97 : 1) {
      const options = { format, onBadRecord: 'skip' } as const;
      const cut = await readBytes(VALID[format].subarray(0, length), options).catch((error) => error);
      if (cut instanceof QuadrilleError) continue;
      // A truncated file is accepted only in formats with one record per line, because the lines before the cut are
      // complete.
      expect(['geojson-lines', 'wkt', 'csv'].includes(format) || length > VALID[format].length - 2).toBe(true);
      expect([...cut.zones.polygons.x]).toEqual([...whole.x].slice(0, cut.zones.polygons.x.length));
    }
  });

  test.prop([fc.uint8Array({ maxLength: 200 })], { numRuns: caseCount(300) })('reads or refuses any bytes', (bytes) =>
    read(bytes, { format }),
  );
});

test.prop([changes, policy, blockSizes], { numRuns: caseCount(1000) })(
  'changed attributes are read or refused',
  (list, options, sizes) => {
    const dbf = changed(dbaseOf('name', [...names, 'd']), list);
    return expectAnswer(
      readBytes(
        VALID.shapefile,
        { id: 'name', ...options },
        sizes,
        { '.dbf': dbf, '.prj': dbf, '.cpg': dbf },
        attributeReader('all', 'layer'),
      ),
      100,
    );
  },
);
