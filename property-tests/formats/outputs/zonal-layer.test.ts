import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize } from 'flatgeobuf/lib/mjs/geojson.js';
import type { Feature, FeatureCollection, MultiPolygon, Polygon, Position } from 'geojson';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Polygons, Zones } from '../../../algorithms/geometry/polygons.ts';
import { readZones } from '../../../formats/polygons/read-zones.ts';
import { parseZones } from '../../../formats/polygons/zones.ts';
import { statisticsCsv } from '../../../formats/results/zonal-csv.ts';
import { statisticsFlatGeobuf, statisticsGeoJson } from '../../../formats/results/zonal-layer.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { parseCsv } from '../../support/parse-csv.ts';
import { valueAt, withAttributes, zonalHistogram } from './arbitrary-zonal-histogram.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-zonal-layer-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Rings of vertices that differ from their neighbours, without the vertex that closes a ring. */
const ring = fc
  .array(fc.tuple(fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.integer({ min: -9, max: 9 })), {
    minLength: 3,
    maxLength: 6,
  })
  .map((all) => all.map(([x, y], k): Position => [x === 0 ? 0 : x, y + k / 16]));
/** Zones as lists of parts, which are lists of rings; some without parts. */
const zoneParts = fc.array(fc.array(ring, { minLength: 1, maxLength: 3 }), { maxLength: 3 });
const crs = fc.constantFrom('OGC:CRS84', 'EPSG:4326', 'EPSG:32632', 'ESRI:102008', undefined);

const histogramOfZones = withAttributes.chain(({ histogram, attributes }) => {
  const { length } = histogram.names;
  return fc.record({
    histogram: fc.constant(histogram),
    attributes: fc.constant(attributes),
    parts: fc.array(zoneParts, { minLength: length, maxLength: length }),
    crs,
  });
});

/** Zones in which the rings of the parts of a zone stand in turns, as those of a Shapefile may. */
function zonesOf(names: readonly string[], parts: readonly Position[][][][], crs: string | undefined): Zones {
  const [polygonRings, ringVertices, ringParts, x, y]: [number[], number[], number[], number[], number[]] = [
    [0],
    [0],
    [],
    [],
    [],
  ];
  for (const zone of parts) {
    const most = Math.max(0, ...zone.map((rings) => rings.length));
    for (let at = 0; at < most; at++) {
      for (const [part, rings] of zone.entries()) {
        for (const [px, py] of rings[at] ?? []) {
          x.push(px!);
          y.push(py!);
        }
        if (rings[at] === undefined) continue;
        ringParts.push(part);
        ringVertices.push(x.length);
      }
    }
    polygonRings.push(ringParts.length);
  }
  const u32 = (all: readonly number[]): Uint32Array => Uint32Array.from(all);
  const polygons = {
    ...{ polygonRings: u32(polygonRings), ringVertices: u32(ringVertices), ringParts: u32(ringParts) },
    ...{ x: Float64Array.from(x), y: Float64Array.from(y) },
  };
  return { names, polygons, crs };
}

/** A ring that begins at its least vertex and goes in the direction of the lesser neighbour, as text. */
function anyDirection(all: readonly Position[]): string {
  const texts = all.map(String);
  const turned = (list: readonly string[], at: number): string => [...list.slice(at), ...list.slice(0, at)].join(' ');
  const back = texts.toReversed();
  return texts.flatMap((_, at) => [turned(texts, at), turned(back, at)]).sort()[0]!;
}

/** The rings of each zone, part by part, in any order and direction. */
function ringsOf({ polygonRings, ringVertices, ringParts, x, y }: Polygons): string[][][] {
  return Array.from({ length: polygonRings.length - 1 }, (_, zone) => {
    const parts = new Map<number, string[]>();
    for (let ring = polygonRings[zone]!; ring < polygonRings[zone + 1]!; ring++) {
      const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
      const vertices = Array.from({ length: end - start }, (_, k): Position => [x[start + k]!, y[start + k]!]);
      const part = ringParts?.[ring] ?? 0;
      parts.set(part, [...(parts.get(part) ?? []), anyDirection(vertices)].sort());
    }
    return [...parts.values()];
  });
}

const bytesOf = (chunks: Iterable<Uint8Array>): Buffer => Buffer.concat([...chunks]);

describe('a layer of zones', () => {
  test.prop([histogramOfZones], { numRuns: caseCount(100) })(
    'as GeoJSON has the zones, and the columns of the CSV',
    ({ histogram, attributes, parts, crs }) => {
      const zones = zonesOf(histogram.names, parts, crs);
      const text = [...statisticsGeoJson(histogram, zones, { attributes })].join('');
      const [header, ...lines] = parseCsv([...statisticsCsv(histogram, { attributes })].join(''));
      const collection = JSON.parse(text) as FeatureCollection<Polygon | MultiPolygon | null> & { crs?: unknown };
      expect(collection.features.map(({ properties }) => Object.keys(properties!))).toEqual(lines.map(() => header));
      const plain = collection.features.map(({ properties }) =>
        Object.values(properties!).map((value) => (value === null ? '' : String(value))),
      );
      // CSV has -0.0 for -0, and so has JSON, where it is a number.
      expect(plain).toEqual(lines.map((line) => line.map((field) => (field === '-0.0' ? '0' : field))));
      const named = parseZones(text, { id: 'zone' }).zones;
      expect(ringsOf(named.polygons)).toEqual(ringsOf(zones.polygons));
      expect(named.crs).toBe(crs === undefined || crs === 'EPSG:4326' ? 'OGC:CRS84' : crs);
    },
  );

  test.prop([histogramOfZones], { numRuns: caseCount(100) })(
    'as FlatGeobuf has the zones and the attributes of the GeoJSON, for our reader and for another',
    async ({ histogram, attributes, parts, crs }) => {
      const zones = zonesOf(histogram.names, parts, crs);
      const bytes = bytesOf(statisticsFlatGeobuf(histogram, zones, { attributes }));
      const file = join(folder, 'zones.fgb');
      await writeFile(file, bytes);
      const read = await readZones(file, { id: 'zone' });
      expect(ringsOf(read.zones.polygons)).toEqual(ringsOf(zones.polygons));
      expect(read.zones.crs).toBe(crs === 'OGC:CRS84' ? 'EPSG:4326' : crs);
      // The other reader fails at features without a geometry, which the format allows.
      if (parts.some((zone) => zone.length === 0)) return;
      const theirs: Feature[] = [];
      for await (const feature of deserialize(new Uint8Array(bytes))) theirs.push(feature as Feature);
      const { features } = JSON.parse([...statisticsGeoJson(histogram, zones)].join('')) as FeatureCollection;
      expect(theirs.length).toBe(features.length);
      expect(theirs.map(({ properties }) => properties!.zone)).toEqual(histogram.names);
      for (const [row, { geometry, properties }] of theirs.entries()) {
        for (const { name, column } of attributes) {
          const value = valueAt(column, row);
          expect(properties![name]).toEqual(typeof value === 'bigint' ? Number(value) : value);
        }
        const own = features[row]!.geometry as Polygon | MultiPolygon;
        const found = geometry as Polygon | MultiPolygon;
        const polygonsOf = (of: Polygon | MultiPolygon) => (of.type === 'Polygon' ? [of.coordinates] : of.coordinates);
        expect(polygonsOf(found)).toEqual(polygonsOf(own));
      }
    },
  );

  test('keeps the definition of a system without a code, of whose name GDAL makes WGS 84', async () => {
    const wkt =
      'PROJCS["RGF_1993_Lambert_93",GEOGCS["GCS_RGF_1993",DATUM["D_RGF_1993",SPHEROID["GRS_1980",6378137.0,298.257222101]],' +
      'PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Lambert_Conformal_Conic"],UNIT["Meter",1.0]]';
    const histogram = fc.sample(zonalHistogram, 1)[0]!;
    const parts = histogram.names.map(() => []);
    const name = 'RGF_1993_Lambert_93';
    for (const stated of [{ crs: name, crsText: wkt }, { crs: wkt }]) {
      const zones = { ...zonesOf(histogram.names, parts, undefined), ...stated };
      const { crs } = JSON.parse([...statisticsGeoJson(histogram, zones)].join(''));
      expect(crs.properties.name).toBe(wkt);
      const file = join(folder, 'definition.fgb');
      await writeFile(file, bytesOf(statisticsFlatGeobuf(histogram, zones)));
      const read = await readZones(file);
      expect([read.zones.crs, read.zones.crsText]).toEqual([name, wkt]);
    }
    const coded = { ...zonesOf(histogram.names, parts, 'EPSG:2154'), crsText: wkt };
    expect([...statisticsGeoJson(histogram, coded)].join('')).toContain('"urn:ogc:def:crs:EPSG::2154"');
  });

  test('of other zones than were counted is refused', () => {
    const zones = zonesOf(['a'], [[]], undefined);
    const histogram = fc.sample(
      zonalHistogram.filter(({ names }) => names.length !== 1),
      1,
    )[0]!;
    for (const write of [statisticsGeoJson, statisticsFlatGeobuf]) {
      expect(() => write(histogram, zones)).toThrow(expect.objectContaining({ code: 'zonal/other-zones' }));
    }
  });
});
