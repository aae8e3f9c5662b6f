import { expect } from 'vitest';
import { arrowRows } from '../../../formats/tables/write/arrow-rows.ts';
import { statisticsCsv, zonalCsv } from '../../../formats/zonal-csv.ts';
import { histogramTable, statisticsTable, type ZonalTable } from '../../../formats/zonal-table.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { arrowTexts } from '../../support/arrow-texts.ts';
import { parseCsv } from '../../support/parse-csv.ts';
import { awkwardName, valueAt, withAttributes } from './arbitrary-zonal-histogram.ts';

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
