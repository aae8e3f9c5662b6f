import * as Plot from '@observablehq/plot';
import { describe, expect } from 'vitest';
import type { Polygons } from '../../../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../../../algorithms/geometry/raster.ts';
import type { WithStatistics, ZonalHistogram } from '../../../algorithms/zonal/types.ts';
import { perStatistic } from '../../../algorithms/zonal/zone-statistics.ts';
import { barsOf } from '../../../formats/charts/zonal-plot/bars.ts';
import { chooseColors } from '../../../formats/charts/zonal-plot/colors.ts';
import type { MapExtent } from '../../../formats/charts/zonal-plot/extent.ts';
import { unrollLongitudes } from '../../../formats/charts/zonal-plot/longitudes.ts';
import { drawMap } from '../../../formats/charts/zonal-plot/map.ts';
import { niceTicks, valueText } from '../../../formats/charts/zonal-plot/page.ts';
import { regionsOf } from '../../../formats/charts/zonal-plot/regions.ts';
import { zonalPlot } from '../../../formats/charts/zonal-plot.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { assertWellFormed } from '../../support/well-formed.ts';
import { zonalHistogram } from './arbitrary-zonal-histogram.ts';

const GRID: RasterGrid = {
  width: 100,
  height: 50,
  originX: -120,
  originY: 50,
  stepX: 0.5,
  stepY: -0.5,
  crs: 'EPSG:4326',
  geographic: true,
};

/** One square per zone. By default, the squares are side by side, beginning at longitude −120. */
function squares(zones: number, longitudeOf = (zone: number): number => -120 + zone): Polygons {
  const corners = Array.from({ length: zones }, (_, zone) => [longitudeOf(zone), 40] as const);
  return {
    polygonRings: Uint32Array.from({ length: zones + 1 }, (_, zone) => zone),
    ringVertices: Uint32Array.from({ length: zones + 1 }, (_, zone) => 4 * zone),
    x: Float64Array.from(corners.flatMap(([x]) => [x, x + 1, x + 1, x])),
    y: Float64Array.from(corners.flatMap(([, y]) => [y, y, y + 1, y + 1])),
  };
}

/** Makes a result for zones of 100 cells with the given means. A zone whose mean is NaN has no cells. */
function zonesWithMeans(names: readonly string[], means: readonly number[]): WithStatistics {
  const cells = BigUint64Array.from(means, (mean) => (Number.isNaN(mean) ? 0n : 100n));
  const filled = means.flatMap((mean, zone) => (Number.isNaN(mean) ? [] : [zone]));
  const none = new BigUint64Array(names.length);
  return {
    names,
    binning: { kind: 'even', low: 0, high: 2, width: 1 },
    sample: 'u8',
    bins: {
      zone: Uint32Array.from(filled.flatMap((zone) => [zone, zone])),
      lower: Float64Array.from(filled.flatMap(() => [0, 1])),
      upper: Float64Array.from(filled.flatMap(() => [1, 2])),
      count: BigUint64Array.from(filled.flatMap(() => [75n, 25n])),
    },
    cells,
    nodata: none,
    below: none,
    above: none,
    statistics: perStatistic(() => Float64Array.from(means)),
    gridStep: [1, 1],
    notes: [],
  };
}

const draw = (histogram: ZonalHistogram, facets?: number): Promise<string> =>
  zonalPlot({ histogram, polygons: squares(histogram.names.length), grid: GRID, title: 'A <title> & "more"', facets });

/** The x coordinates in pixels at which the paths of an SVG start. */
const starts = (svg: string): number[] => [...svg.matchAll(/ d="M(-?[\d.]+),/g)].map((match) => Number(match[1]));

describe('zonalPlot', () => {
  test.prop([zonalHistogram], { numRuns: caseCount(20) })('is a standalone SVG for any result', async (histogram) => {
    const svg = await draw(histogram);
    expect(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg"')).toBe(true);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(() => assertWellFormed(svg)).not.toThrow();
  });

  test.prop([fc.string({ unit: 'binary' })], { numRuns: caseCount(20) })('accepts any name', async (name) => {
    const svg = await draw(zonesWithMeans([`${name}<&">\u0000\ud800`, 'b'], [1, 2]));
    expect(() => assertWellFormed(svg)).not.toThrow();
  });

  test.prop([zonalHistogram], { numRuns: 10 })('has a title for itself and every drawing in it', async (histogram) => {
    const svg = await draw(histogram);
    const drawings = [...svg.matchAll(/<svg[^>]*>\s*(<title>[^<]+<\/title>)?/g)].map(([, title]) => title);
    expect(drawings[0]).toBe('<title>A &lt;title&gt; &amp; &quot;more&quot;</title>');
    expect(drawings).not.toContain(undefined);
  });

  test.prop([zonalHistogram], { numRuns: 10 })(
    'has no style sheet, which would affect a page around it',
    async (histogram) => {
      expect(await draw(histogram)).not.toContain('<style');
    },
  );

  test('draws the requested number of histograms, and states of how many', async () => {
    const names = Array.from({ length: 30 }, (_, zone) => `zone ${zone}`);
    const svg = await draw(
      zonesWithMeans(
        names,
        names.map((_, zone) => zone),
      ),
      7,
    );
    expect(svg).toContain('Histograms of the 7 zones with the most cells, of 30');
    expect(svg.match(/cells<\/text>/g)?.length).toBe(7 + 1);
  });

  test('draws only the map when no zone has data', async () => {
    const svg = await draw(zonesWithMeans(['a', 'b'], [Number.NaN, Number.NaN]));
    expect(svg).toContain('0 of 2 zones hold 0 cells');
    expect(svg).toContain('no data');
    expect(svg).not.toContain('Histogram');
    expect(svg).not.toContain('quadrille-ramp');
  });

  test.prop([fc.integer({ min: 1, max: 4 }), fc.double({ min: -1e6, max: 1e6, noNaN: true })])(
    'gives equal means one colour and no scale when no bin holds cells',
    async (zones, mean) => {
      const { bins, ...rest } = zonesWithMeans(Array(zones).fill('a'), Array(zones).fill(mean));
      const none = { zone: new Uint32Array(), lower: new Float64Array(), upper: new Float64Array() };
      const svg = await draw({ ...rest, bins: { ...none, count: new BigUint64Array() } });
      const fills = [...svg.matchAll(/<path fill="([^"]+)"/g)].map(([, fill]) => fill);
      expect(fills.length).toBe(zones);
      expect(new Set(fills).size).toBe(1);
      expect(svg).not.toContain('quadrille-ramp');
      expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    },
  );

  test('draws fewer histograms taller', async () => {
    const heightOf = async (zones: number): Promise<number> => {
      const svg = await draw(zonesWithMeans(Array(zones).fill('a'), Array(zones).fill(0.5)));
      return Math.max(
        ...[...svg.matchAll(/<rect fill="[^"]+" height="([\d.]+)"/g)].map(([, height]) => Number(height)),
      );
    };
    const heights = await Promise.all([1, 2, 3, 4, 5, 6, 12].map(heightOf));
    expect(heights).toEqual(heights.toSorted((a, b) => b - a));
    // A bar is a quarter of a pixel smaller on every side, because of the gap between bars.
    expect(heights[0]).toBeCloseTo(319.5, 6);
    expect(heights[5]).toBeCloseTo(75.5, 6);
    expect(heights[6]).toBeCloseTo(75.5, 6);
  });

  test('makes the line of the mean stand out from the bars', async () => {
    const svg = await draw(zonesWithMeans(['a'], [0.5]));
    expect(svg).toMatch(/stroke-opacity="0.85" stroke-width="3.5" stroke="#fff"|stroke="#fff"[^>]*stroke-width="3.5"/);
    expect(svg.indexOf('stroke-width="3.5"')).toBeLessThan(svg.lastIndexOf('#1b1e24"><line'));
  });
});

describe('drawMap', () => {
  const map = (polygons: Polygons, grid: RasterGrid, means: number[]): string => {
    const histogram = zonesWithMeans(means.map(String), means);
    return drawMap(
      polygons,
      grid,
      histogram,
      histogram.statistics.mean,
      chooseColors(histogram.statistics.mean, histogram.bins, Plot),
      1000,
    ).svg;
  };

  test.prop([fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 4, maxLength: 4 })])(
    'is the same for any turn of the longitudes',
    (turns) => {
      const means = [1, 2, 3, 4];
      const turned = squares(4, (zone) => -120 + zone + 360 * turns[zone]!);
      expect(starts(map(turned, GRID, means))).toEqual(starts(map(squares(4), GRID, means)));
    },
  );

  test('is not widened by zones without cells, which are omitted when out of view', () => {
    const far = squares(3, (zone) => (zone === 2 ? 170 : -120 + zone));
    const near = squares(2);
    expect(starts(map(far, GRID, [1, 2, Number.NaN]))).toEqual(starts(map(near, GRID, [1, 2])));
  });

  test('scales degrees of longitude by the cosine of the latitude', () => {
    const tall: RasterGrid = { ...GRID, originY: 61, height: 4, originX: -120, width: 4 };
    const [zone] = [squares(1)];
    const square = { ...zone, y: Float64Array.of(60, 60, 61, 61) };
    const [, width, height] = /d="M[^l]+l([\d.]+),0l0,-([\d.]+)/.exec(map(square, tall, [1]))!.map(Number);
    expect(width! / height!).toBeCloseTo(Math.cos((60.5 * Math.PI) / 180), 2);
  });

  test('draws projected coordinates unscaled', () => {
    const [, width, height] = /d="M[^l]+l([\d.]+),0l0,-([\d.]+)/
      .exec(map(squares(1), { ...GRID, geographic: false }, [1]))!
      .map(Number);
    expect(width).toBe(height);
  });
});

const extent = fc
  .tuple(
    fc.double({ min: -500, max: 500, noNaN: true }),
    fc.double({ min: -85, max: 85, noNaN: true }),
    fc.nat(5),
    fc.nat(5),
  )
  .map(([left, bottom, width, height]) => ({ left, right: left + width, bottom, top: bottom + height }));

describe('regionsOf', () => {
  const inside = (inner: MapExtent, outer: MapExtent): boolean =>
    inner.left >= outer.left && inner.right <= outer.right && inner.bottom >= outer.bottom && inner.top <= outer.top;

  test.prop([fc.array(extent), fc.nat(300)])('cover every zone with a few regions', (scattered, crowd) => {
    const many = Array.from({ length: crowd }, (_, i) => ({ left: i % 9, right: (i % 9) + 1, bottom: 0, top: 1 }));
    const zones = [...scattered, ...many];
    const regions = regionsOf(zones);
    expect(regions.length).toBeLessThanOrEqual(7);
    expect(zones.every((zone) => regions.some((region) => inside(zone, region)))).toBe(true);
  });

  test('separate only a few far zones from many', () => {
    const crowd = Array.from({ length: 99 }, (_, i) => ({
      left: i % 10,
      right: (i % 10) + 1,
      bottom: i / 10,
      top: i / 10 + 1,
    }));
    const far = { left: 100, right: 101, bottom: 5, top: 6 };
    const near = { left: 12, right: 13, bottom: 5, top: 6 };
    expect(regionsOf([...crowd, far])).toEqual([{ left: 0, right: 10, bottom: 0, top: 10.8 }, far]);
    expect(regionsOf([...crowd, near])).toHaveLength(1);
    expect(
      regionsOf([...crowd, ...crowd.map((zone) => ({ ...zone, left: zone.left + 100, right: zone.right + 100 }))]),
    ).toHaveLength(1);
  });
});

describe('unrollLongitudes', () => {
  test.prop([fc.array(extent, { minLength: 1 })])('moves all rings within one turn', (rings) => {
    const shifts = unrollLongitudes(rings, () => true);
    const middles = rings.map(({ left, right }, ring) => (left + right) / 2 + shifts[ring]!);
    expect(Math.max(...middles) - Math.min(...middles)).toBeLessThanOrEqual(360);
    expect([...shifts].every((shift) => shift % 360 === 0)).toBe(true);
  });

  test('joins rings across the antimeridian', () => {
    const rings = [-179, 178, -100].map((left) => ({ left, right: left + 1, bottom: 50, top: 51 }));
    const middles = [...unrollLongitudes(rings, () => true)].map((shift, ring) => rings[ring]!.left + shift);
    expect(Math.max(...middles) - Math.min(...middles)).toBe(82);
  });
});

describe('chooseColors', () => {
  const value = fc.double({ min: -1e6, max: 1e6, noNaN: true });
  const bins = { lower: Float64Array.of(-1e7, 0), upper: Float64Array.of(0, 1e7) };

  test.prop([fc.array(value, { minLength: 1, maxLength: 4 })])('spans the bins when there are few means', (means) => {
    const { low, high, colorOf } = chooseColors(Float64Array.from(means), bins, Plot);
    expect([low, high]).toEqual([-1e7, 1e7]);
    expect(colorOf(-5e6)).not.toBe(colorOf(5e6));
  });

  test.prop([value, fc.integer({ min: 1, max: 200 })])('spans the bins when all means are equal', (mean, zones) => {
    const { low, high } = chooseColors(new Float64Array(zones).fill(mean), bins, Plot);
    expect([low, high]).toEqual([-1e7, 1e7]);
  });

  test.prop([fc.uniqueArray(fc.integer({ min: -1000, max: 1000 }), { minLength: 5, maxLength: 49 })])(
    'spans only the means when there are several',
    (means) => {
      const { low, high } = chooseColors(Float64Array.from(means), bins, Plot);
      expect([low, high]).toEqual([Math.min(...means), Math.max(...means)]);
    },
  );

  test('gives no scale without means', () => {
    const none = { lower: bins.lower.slice(2), upper: bins.upper.slice(2) };
    const { low, high } = chooseColors(Float64Array.of(Number.NaN), none, Plot);
    expect([low, high]).toEqual([Number.NaN, Number.NaN]);
  });
});

describe('barsOf', () => {
  const zones = (histogram: ZonalHistogram) => [...new Set(histogram.bins.zone)];

  test.prop([zonalHistogram])('keeps the share of cells in bins of every zone', (histogram) => {
    const { cells, nodata } = histogram;
    for (const { zone, share } of barsOf(histogram, zones(histogram)).zones) {
      const outside = Number(histogram.below[zone]! + histogram.above[zone]!) / Number(cells[zone]! - nodata[zone]!);
      expect(share.reduce((sum, part) => sum + part, outside)).toBeCloseTo(1, 9);
    }
  });

  test.prop([fc.uniqueArray(fc.integer({ min: -5000, max: 5000 }), { minLength: 150, maxLength: 400 })])(
    'merges many values without losing any',
    (values) => {
      const sorted = Float64Array.from(values).sort();
      const base = zonesWithMeans(['a'], [0]);
      const bars = barsOf(
        {
          ...base,
          binning: { kind: 'unique' },
          bins: {
            zone: new Uint32Array(sorted.length),
            lower: sorted,
            upper: sorted,
            count: new BigUint64Array(sorted.length).fill(1n),
          },
          cells: BigUint64Array.of(BigInt(sorted.length)),
        },
        [0],
      );
      expect(bars.merged).toBe(true);
      expect(bars.zones[0]!.share.length).toBeLessThanOrEqual(50);
      expect(bars.zones[0]!.share.reduce((sum, part) => sum + part, 0)).toBeCloseTo(1, 9);
      expect(bars.low).toBeLessThanOrEqual(sorted[0]!);
      expect(bars.high).toBeGreaterThanOrEqual(sorted.at(-1)!);
    },
  );
});

describe('niceTicks', () => {
  test.prop([fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.double({ min: 1e-3, max: 1e6, noNaN: true })])(
    'are few, inside the range, and distinct as text',
    (low, size) => {
      const ticks = niceTicks(low, low + size, 4);
      const slack = size * 1e-6;
      expect(ticks.length).toBeLessThanOrEqual(5);
      expect(ticks.every((tick) => tick >= low - slack && tick <= low + size + slack)).toBe(true);
      const step = ticks.length > 1 ? ticks[1]! - ticks[0]! : size;
      expect(new Set(ticks.map((tick) => valueText(tick, step))).size).toBe(ticks.length);
    },
  );
});
