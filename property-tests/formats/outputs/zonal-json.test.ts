import { describe, expect } from 'vitest';
import { zonalJson } from '../../../formats/results/zonal-json.ts';
import { test } from '../../law-test.ts';
import { zonalHistogram } from './arbitrary-zonal-histogram.ts';

interface ZoneObject {
  name: string;
  bins: { lower: number; upper: number; count: number | string }[];
  cells: number | string;
  nodata: number | string;
  below: number | string;
  above: number | string;
  stats: Record<'min' | 'max' | 'mean' | 'sum', number | string | null>;
}

const run = {
  zones: 'zones "a".json',
  raster: 'r.tif',
  backend: 'reference',
  notes: [{ code: 'zones/ring-closed', message: 'closed', count: 2 }],
};

describe('zonalJson', () => {
  test.prop([zonalHistogram])('is one JSON object with the run and every zone in order', (histogram) => {
    const object = JSON.parse([...zonalJson(histogram, run)].join(''));
    expect(object.source).toEqual({ zones: run.zones, raster: run.raster });
    expect(object).toMatchObject({ backend: 'reference', sample: 'f32', notes: run.notes });
    expect(object.gridStep).toEqual(histogram.gridStep);
    expect(object.binning).toEqual(histogram.binning);
    expect(object.zones.map((zone: ZoneObject) => zone.name)).toEqual(histogram.names);
  });

  test.prop([zonalHistogram])('keeps every count and edge, and counts beyond 2^53 as strings', (histogram) => {
    const zones: ZoneObject[] = JSON.parse([...zonalJson(histogram, run)].join('')).zones;
    const bins = zones.flatMap((zone) => zone.bins);
    expect(bins.map((bin) => BigInt(bin.count))).toEqual([...histogram.bins.count]);
    expect(bins.map((bin) => bin.lower)).toEqual([...histogram.bins.lower]);
    expect(bins.map((bin) => bin.upper)).toEqual([...histogram.bins.upper]);
    for (const kind of ['cells', 'nodata', 'below', 'above'] as const) {
      expect(zones.map((zone) => BigInt(zone[kind]))).toEqual([...histogram[kind]]);
    }
    for (const { count } of bins) expect(typeof count === 'number').toBe(BigInt(count) < 2n ** 53n);
  });

  test.prop([zonalHistogram])('has null for statistics of no cells', (histogram) => {
    const zones: ZoneObject[] = JSON.parse([...zonalJson(histogram, run)].join('')).zones;
    const { minimum, maximum, mean, sum } = histogram.statistics;
    const columns = { min: minimum, max: maximum, mean, sum };
    for (const key of ['min', 'max', 'mean', 'sum'] as const) {
      expect(zones.map((zone) => zone.stats[key] ?? Number.NaN)).toEqual([...columns[key]]);
    }
  });

  test.prop([zonalHistogram])('has null when no statistics were computed', (histogram) => {
    const text = [...zonalJson({ ...histogram, statistics: undefined }, run)].join('');
    for (const { stats } of JSON.parse(text).zones as ZoneObject[]) expect(stats).toBeNull();
  });

  test.prop([zonalHistogram])('writes infinite statistics as strings', (histogram) => {
    const maximum = histogram.statistics.maximum.map(() => Infinity);
    const minimum = histogram.statistics.minimum.map(() => -Infinity);
    const infinite = { ...histogram, statistics: { ...histogram.statistics, minimum, maximum } };
    const zones: ZoneObject[] = JSON.parse([...zonalJson(infinite, run)].join('')).zones;
    for (const { stats } of zones) expect(stats).toMatchObject({ min: '-Infinity', max: 'Infinity' });
  });
});
