import { describe, expect } from 'vitest';
import type { PolygonLayerOptions } from '../../../formats/polygons/polygon-layer.ts';
import { parseZones, type ReadZones } from '../../../formats/polygons/zones.ts';
import { caseCount } from '../../cases.ts';
import { type Parts, type Ring, ringsOf, topoJsonText } from '../../fixtures/random-zones.ts';
import { fc, test } from '../../law-test.ts';
import {
  featuresOf,
  flatGeobufOf,
  readBytes,
  readText,
  shapefileOf,
  wktOf,
} from '../../support/polygon-layers-support.ts';

/** A longitude from −180 to 180. */
const wrapped = (x: number): number => (x > 180 ? x - 360 : x);

/** A box as files store it, with its corners from any on; clockwise for outlines, as Shapefiles want them. */
function boxAt(left: number, bottom: number, right: number, top: number, first: number, isHole: boolean): Ring {
  const corners = [left, left, right, right].map((x, i) => [wrapped(x), i % 3 === 0 ? bottom : top] as const);
  const open = [...corners.slice(first), ...corners.slice(0, first)];
  const ring = [...open, open[0]!];
  return isHole ? ring.reverse() : ring;
}

const side = fc.nat(3);
/** Parts one above the other, with holes side by side, all of them around the antimeridian or beside it. */
const part = fc
  .record({
    left: fc.integer({ min: 140, max: 185 }),
    first: side,
    holes: fc.array(
      fc.record({ from: fc.integer({ min: 1, max: 4 }), width: fc.integer({ min: 1, max: 9 }), first: side }),
      {
        maxLength: 4,
      },
    ),
  })
  .map(({ left, first, holes }) => ({ left, right: left + 60, first, holes }));
const polygon = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => ({
  written: parts.map(({ left, right, first, holes }, at) => {
    const bottom = 20 * at - 30;
    const rings = [boxAt(left, bottom, right, bottom + 15, first, false)];
    let x = left;
    for (const { from, width, first: corner } of holes) {
      rings.push(boxAt(x + from, bottom + 3, x + from + width, bottom + 9, corner, true));
      x += from + width;
    }
    return rings;
  }),
}));

/** How each format is read. Points of a ring keep their order in all of them. */
const READERS: {
  readonly [name: string]: (all: readonly Parts[], options: PolygonLayerOptions) => Promise<ReadZones>;
} = {
  geojson: (all, options) => readText(JSON.stringify({ type: 'FeatureCollection', features: named(all) }), options),
  'geojson-lines': (all, options) =>
    readText(
      named(all)
        .map((feature) => JSON.stringify(feature))
        .join('\n'),
      { ...options, format: 'geojson-lines' },
    ),
  topojson: (all, options) => readText(topoJsonText(all), options),
  wkt: (all, options) => readText(wktOf(written(all)), { ...options, crs: 'OGC:CRS84' }),
  flatgeobuf: (all, options) => readBytes(flatGeobufOf(written(all), 4326), options),
  shapefile: (all, options) => readBytes(shapefileOf(written(all)), { ...options, crs: 'OGC:CRS84' }),
};

const written = (all: readonly Parts[]) => all.map((parts, at) => ({ name: String(at), parts }));
const named = (all: readonly Parts[]) => featuresOf(written(all));

describe('polygons across the antimeridian', () => {
  test.prop([fc.array(polygon, { minLength: 1, maxLength: 3 })], { numRuns: caseCount(400) })(
    'lie at the same place whatever format and reader, with their holes inside',
    async (drafts) => {
      const all = drafts.map((draft) => draft.written);
      const options = { antimeridian: 'unwrap' } as const;
      const { zones } = parseZones(JSON.stringify({ type: 'FeatureCollection', features: named(all) }), options);
      const expected = ringsOf(zones.polygons);
      for (const [name, read] of Object.entries(READERS)) {
        const found = (await read(all, options)).zones.polygons;
        expect({ name, rings: ringsOf(found) }).toEqual({ name, rings: expected });
        expect({ name, parts: found.ringParts }).toEqual({ name, parts: zones.polygons.ringParts });
      }
      for (const [at, parts] of all.entries()) {
        let next = 0;
        for (const rings of parts) {
          const range = rings.map(() => longitudesOf(expected[at]![next++]!));
          const [outer] = range;
          expect(outer![1] - outer![0]).toBe(60);
          for (const [left, right] of range)
            expect([left >= outer![0], right <= outer![1], right - left <= 60]).toEqual([true, true, true]);
        }
      }
    },
  );
});

function longitudesOf(ring: readonly (readonly [number, number])[]): [least: number, most: number] {
  const all = ring.map(([x]) => x);
  return [Math.min(...all), Math.max(...all)];
}
