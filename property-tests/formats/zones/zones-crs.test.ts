import { describe, expect } from 'vitest';
import { isGeographicCrs, normalizeCrs, sameCrs } from '../../../formats/crs.ts';
import { statedCrs } from '../../../formats/polygons/feature.ts';
import { crsOfWkt } from '../../../formats/polygons/projection.ts';
import { fc, test } from '../../law-test.ts';

const epsg = fc.integer({ min: 1024, max: 32766 }).map((code) => `EPSG:${code}`);

describe('names of coordinate systems', () => {
  test.each([
    ['urn:ogc:def:crs:EPSG::26915', 'EPSG:26915'],
    ['urn:ogc:def:crs:EPSG:6.9:26915', 'EPSG:26915'],
    ['urn:x-ogc:def:crs:EPSG:26915:26915', 'EPSG:26915'],
    ['http://www.opengis.net/def/crs/EPSG/0/26915', 'EPSG:26915'],
    ['https://www.opengis.net/def/crs/OGC/1.3/CRS84', 'OGC:CRS84'],
    [' epsg:26915\n', 'EPSG:26915'],
    ['esri:102003', 'ESRI:102003'],
    ['my own', 'my own'],
    ['', ''],
  ])('%j is normalized to %j', (name, normal) => {
    expect(normalizeCrs(name)).toBe(normal);
  });

  test.prop([fc.string()])('are normal once they are normalized', (name) => {
    expect(normalizeCrs(normalizeCrs(name))).toBe(normalizeCrs(name));
  });

  test.prop([epsg, epsg])('mean the same exactly if their normal forms are equal', (a, b) => {
    expect(sameCrs(a, b)).toBe(a === b);
    expect(sameCrs(a, `urn:ogc:def:crs:EPSG::${b.slice(5)}`)).toBe(a === b);
  });

  test('of longitude and latitude mean the same on WGS 84, but not on NAD 83', () => {
    const names = [
      'OGC:CRS84',
      'EPSG:4326',
      'CRS:84',
      'CRS84',
      'urn:ogc:def:crs:OGC:1.3:CRS84',
      'urn:ogc:def:crs:EPSG::4326',
    ];
    for (const a of names) {
      for (const b of names) expect(sameCrs(a, b)).toBe(true);
      expect(sameCrs(a, 'EPSG:4269')).toBe(false);
      expect(sameCrs(a, 'OGC:CRS83')).toBe(false);
      expect(isGeographicCrs(a)).toBe(true);
    }
  });

  const placeholder = fc.constantFrom(
    'unknown',
    'unnamed',
    'Undefined',
    'Custom',
    'User_Defined_TM',
    'Not specified',
    ' ',
  );
  test.prop([placeholder, placeholder, fc.integer(), fc.integer()])(
    'that say nothing mean the same exactly if the definitions are equal',
    (name, other, first, second) => {
      const wkt = (name: string, meridian: number): string =>
        `PROJCS["${name}",PARAMETER["central_meridian",${meridian}]]`;
      const [a, b] = [crsOfWkt(wkt(name, first)), crsOfWkt(wkt(other, second))];
      expect(sameCrs(a, b)).toBe(name === other && first === second);
      expect(sameCrs(a, crsOfWkt(` ${wkt(name, first)}\n`))).toBe(true);
      expect(statedCrs({ crs: { type: 'name', properties: { name } } })).toBe(null);
    },
  );

  test('that are missing are the same as nothing', () => {
    expect(sameCrs(undefined, undefined)).toBe(false);
    expect(sameCrs('EPSG:4326', undefined)).toBe(false);
    expect(isGeographicCrs(undefined)).toBe(false);
    expect(isGeographicCrs('EPSG:26915')).toBe(false);
  });
});
