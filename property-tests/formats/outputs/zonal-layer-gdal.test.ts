import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AnyHistogram } from '../../../algorithms/zonal/index.ts';
import type { ZoneAttribute } from '../../../formats/polygons/zone-attributes.ts';
import { parseZones } from '../../../formats/polygons/zones.ts';
import { statisticsFlatGeobuf, statisticsGeoJson } from '../../../formats/results/zonal-layer.ts';
import expected from '../../fixtures/zonal-layers/gdal.json' with { type: 'json' };

/** A clockwise outline with a hole, two parts, nothing, and a polygon beyond the raster; in UTM. */
const { zones } = parseZones(
  `id,wkt
=a "b" é,"POLYGON((0 0,0 8,8 8.25,8 0,0 0),(2 2,2 4,4 4,2 2))"
2,"MULTIPOLYGON(((10 0,12 0,12 2,10 0)),((20 0,22 0,22 2.125,20 0)))"
none,POLYGON EMPTY
far,"POLYGON((100 100,101 100,101 101.1,100 100))"
`,
  { crs: 'EPSG:32632', id: 'id' },
);

const one = (of: ArrayLike<bigint>): BigUint64Array => BigUint64Array.from(of);
/** The first number has more digits than an f64. */
const CELLS = [2n ** 53n + 1n, 4n, 0n, 0n];
const histogram: AnyHistogram = {
  names: zones.names,
  binning: { kind: 'none' },
  sample: 'f32',
  bins: { zone: new Uint32Array(0), lower: new Float64Array(0), upper: new Float64Array(0), count: one([]) },
  ...{ cells: one([64n, 4n, 0n, 0n]), nodata: one([1n, 0n, 0n, 0n]), below: one([]), above: one([]) },
  statistics: {
    cells: one(CELLS),
    mean: Float64Array.of(0.1, -1e300, Number.NaN, Number.NaN),
  },
  gridStep: [1, 1],
  notes: [],
};

/** The first attribute is null in all features but the last, whose columns a writer may not take from the first. */
const attributes: ZoneAttribute[] = [
  { name: 'people', column: { type: 'i64', values: BigInt64Array.of(0n, 0n, 0n, -7n), validity: Uint32Array.of(8) } },
  { name: 'wet', column: { type: 'bool', values: Uint8Array.of(1, 0, 0, 1) } },
  { name: 'share', column: { type: 'f64', values: Float64Array.of(1 / 3, 0, 1e-9, 2) } },
  {
    name: 'label',
    column: {
      type: 'string',
      codes: Uint32Array.of(1, 0, 0, 1),
      dictionary: ['', 'zwei\nZeilen'],
      validity: Uint32Array.of(0b1011),
    },
  },
];

const stored = (name: string): Promise<Buffer> =>
  readFile(join(import.meta.dirname, '..', '..', 'fixtures', 'zonal-layers', name));

test('GDAL reads the zones and columns of a layer of either format', async () => {
  expect([...statisticsGeoJson(histogram, zones, { attributes })].join('')).toBe(String(await stored('layer.geojson')));
  const bytes = Buffer.concat([...statisticsFlatGeobuf(histogram, zones, { attributes })]);
  expect(bytes.equals(await stored('layer.fgb'))).toBe(true);

  const { geojson, fgb } = expected.layers;
  for (const { system, extent } of [geojson, fgb]) {
    expect([system, extent]).toEqual(['EPSG:32632', [0, 101, 0, 101.1]]);
  }
  expect(fgb.fields).toEqual({
    ...{ zone: 'String', people: 'Integer64', wet: 'Integer', share: 'Real', label: 'String' },
    ...{ cells: 'Integer64', mean: 'Real' },
  });
  // GeoJSON has no types: the reader guesses them from the values.
  expect(geojson.fields).toEqual({ ...fgb.fields, people: 'Integer', cells: 'String' });
  const values = [
    ['=a "b" é', null, true, 1 / 3, 'zwei\nZeilen', Number(CELLS[0]), 0.1],
    ['2', null, false, 0, '', 4, -1e300],
    ['none', null, false, 1e-9, null, 0, null],
    ['far', -7, true, 2, 'zwei\nZeilen', 0, null],
  ];
  expect(fgb.features.map((feature) => feature.values)).toEqual(values);
  const texts = values.map((row, at) => row.with(5, String(CELLS[at])));
  expect(geojson.features.map((feature) => feature.values)).toEqual(texts);
  expect(String(await stored('gdal.json')).match(/9007199254740993/g)).toHaveLength(2);
  for (const { features } of [geojson, fgb]) {
    expect(features.map(({ area }) => area)).toEqual([63, 4.125, null, 0.5499999999999972]);
    expect(features.map(({ valid }) => valid)).toEqual([true, true, null, true]);
  }
});
