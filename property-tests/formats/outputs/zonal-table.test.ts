import { expect } from 'vitest';
import { barsOf } from '../../../formats/charts/zonal-plot/bars.ts';
import { statisticsCsv, zonalCsv } from '../../../formats/results/zonal-csv.ts';
import { zonalJson } from '../../../formats/results/zonal-json.ts';
import { histogramTable, statisticsTable, type ZonalTable } from '../../../formats/results/zonal-table.ts';
import { arrowRows } from '../../../formats/tables/write/arrow-rows.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { arrowTexts } from '../../support/arrow-texts.ts';
import { parseCsv } from '../../support/parse-csv.ts';
import { awkwardName, byFractions, valueAt, withAttributes } from './arbitrary-zonal-histogram.ts';

/** The cells of an Arrow file with some tables. */
function cellsOf(tables: readonly ZonalTable[]): ReturnType<typeof arrowTexts> {
  const writer = arrowRows(tables[0]!.fields);
  const bytes = [writer.begin(), ...tables.map(({ rows }) => writer.add(rows)), writer.end()];
  return arrowTexts(Buffer.concat(bytes as Uint8Array[]));
}

test.prop([withAttributes, fc.option(awkwardName, { nil: undefined })], { numRuns: caseCount(100) })(
  'an Arrow file of statistics has the columns and values of the CSV',
  ({ histogram, attributes }, raster) => {
    const options = { raster, attributes };
    const { names, rows } = cellsOf([statisticsTable(histogram, options), statisticsTable(histogram, options)]);
    const [header, ...lines] = parseCsv([...statisticsCsv(histogram, options)].join(''));
    expect(names).toEqual(header);
    expect(rows).toEqual([...lines, ...lines]);
    const { columns } = statisticsTable(histogram, options).rows;
    for (const { name, column } of attributes) {
      const own = histogram.names.map((_, zone) => valueAt(columns[name]!, zone));
      expect(own).toEqual(histogram.names.map((_, zone) => valueAt(column, zone)));
    }
  },
);

test.prop([withAttributes, fc.option(awkwardName, { nil: undefined })], { numRuns: caseCount(100) })(
  'an Arrow file of histograms has the rows of the CSV, and says which are no bins',
  ({ histogram, attributes }, raster) => {
    const options = { raster, attributes };
    const { names, rows } = cellsOf([histogramTable(histogram, options)]);
    const [header, ...lines] = parseCsv([...zonalCsv(histogram, options)].join(''));
    const at = names.indexOf('kind');
    expect(names.toSpliced(at, 1)).toEqual(header);
    const asCsv = rows.map((row) => {
      const kind = row[at]!;
      const own = row.toSpliced(at, 1);
      return kind === 'bin' ? own : own.with(at, kind);
    });
    expect(asCsv).toEqual(lines);
  },
);

test.prop([byFractions], { numRuns: caseCount(100) })(
  'by fractions, CSV and JSON count areas where there are cells',
  (histogram) => {
    const { names, bins, areas } = histogram;
    const [, ...lines] = parseCsv([...zonalCsv(histogram)].join(''));
    const outside = (['nodata', 'below', 'above'] as const).filter((kind) => histogram[kind].length > 0);
    const expected = names.map((_, zone) => [
      ...Array.from(areas.bins).filter((_, bin) => bins.zone[bin] === zone),
      ...outside.filter((kind) => histogram[kind][zone] !== 0n).map((kind) => areas[kind][zone]!),
    ]);
    expect(lines.map((line) => Number(line.at(-1)))).toEqual(expected.flat());
    const run = { zones: '', raster: '', backend: '', notes: [] };
    const json = JSON.parse([...zonalJson(histogram, run)].join('')) as { zones: Record<string, unknown>[] };
    for (const [zone, { bins: own, count, nodata, below, above }] of json.zones.entries()) {
      const counts = (own as { count: number }[]).map((bin) => bin.count);
      expect(counts).toEqual(Array.from(areas.bins).filter((_, bin) => bins.zone[bin] === zone));
      expect([count, nodata, below, above]).toEqual(
        [areas.count, areas.nodata, areas.below, areas.above].map((column) => column[zone]),
      );
    }
  },
);

test.prop([byFractions], { numRuns: caseCount(100) })('by fractions, bars are shares of areas', (histogram) => {
  const { areas, bins } = histogram;
  const zones = histogram.names.map((_, zone) => zone).filter((zone) => areas.count[zone]! > 0);
  for (const { zone, share, lower } of barsOf(histogram, zones).zones) {
    const own = Array.from(areas.bins).filter((_, bin) => bins.zone[bin] === zone);
    if (lower.length === own.length) expect(share).toEqual(own.map((area) => area / areas.count[zone]!));
  }
});
