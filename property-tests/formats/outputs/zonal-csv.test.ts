import { describe, expect } from 'vitest';
import type { ZonalHistogram } from '../../../algorithms/zonal/types.ts';
import { perStatistic } from '../../../algorithms/zonal/zone-statistics.ts';
import { statisticsCsv, zonalCsv } from '../../../formats/results/zonal-csv.ts';
import { fc, test } from '../../law-test.ts';
import { parseCsv } from '../../support/parse-csv.ts';
import { awkwardName, zonalHistogram } from './arbitrary-zonal-histogram.ts';

function read(chunks: Iterable<string>): { header: string[]; rows: string[][] } {
  const [header, ...rows] = parseCsv([...chunks].join(''));
  return { header: header!, rows };
}

describe('zonalCsv', () => {
  test.prop([zonalHistogram])('reads back as the bins, in order, at full precision', (histogram) => {
    const { header, rows } = read(zonalCsv(histogram));
    expect(header).toEqual(['zone', 'lower', 'upper', 'count']);
    const bins = rows.filter((row) => row[2] !== '');
    expect(bins.map((row) => row[0])).toEqual(Array.from(histogram.bins.zone, (zone) => histogram.names[zone]));
    expect(bins.map((row) => Number(row[1]))).toEqual([...histogram.bins.lower]);
    expect(bins.map((row) => Number(row[2]))).toEqual([...histogram.bins.upper]);
    expect(bins.map((row) => BigInt(row[3]!))).toEqual([...histogram.bins.count]);
  });

  test.prop([zonalHistogram, fc.constantFrom('=', '+', '-', '@', '\t', '\r')])(
    'disarms names that a spreadsheet would take for formulas, where it is asked to',
    (histogram, first) => {
      const names = histogram.names.map((name, i) => (i % 2 === 0 ? `${first}${name}` : `a${name}`));
      const expected = names.map((name, i) => (i % 2 === 0 ? `'${name}` : name));
      const given = { ...histogram, names };
      for (const write of [zonalCsv, statisticsCsv]) {
        const plain = read(write(given)).rows;
        const disarmed = read(write(given, { quoteFormulas: true })).rows;
        expect(disarmed.map(([name]) => name)).toEqual(plain.map(([name]) => expected[names.indexOf(name!)]));
        expect(disarmed.map((row) => row.slice(1))).toEqual(plain.map((row) => row.slice(1)));
      }
    },
  );

  test.prop([zonalHistogram, awkwardName])(
    'begins every row with the name of the raster, if there is one',
    (given, raster) => {
      for (const write of [zonalCsv, statisticsCsv]) {
        const expected = read(write(given));
        const { header, rows } = read([...write(given, { raster }), ...write(given, { raster, header: false })]);
        expect(header).toEqual(['raster', ...expected.header]);
        expect(rows).toEqual([...expected.rows, ...expected.rows].map((row) => [raster, ...row]));
      }
    },
  );

  test.prop([zonalHistogram])('writes counts that add up to all cells, and no row for a count of 0', (histogram) => {
    const counts = read(zonalCsv(histogram)).rows.map((row) => BigInt(row[3]!));
    expect(counts).not.toContain(0n);
    expect(counts.reduce((sum, n) => sum + n, 0n)).toBe(histogram.cells.reduce((sum, n) => sum + n, 0n));
  });

  test.prop([zonalHistogram])('puts nodata, below and above last in each zone, in that order', (histogram) => {
    const special = read(zonalCsv(histogram)).rows.filter((row) => row[2] === '');
    const expected = histogram.names.flatMap((name, zone) =>
      (['nodata', 'below', 'above'] as const)
        .filter((kind) => histogram[kind][zone] !== 0n)
        .map((kind) => [name, kind, '', String(histogram[kind][zone])]),
    );
    expect(special).toEqual(expected);
  });

  test('prints values as String does, and quotes only when necessary', () => {
    expect([...zonalCsv(unique())].join('')).toBe(
      'zone,lower,upper,count\n"a, ""b""",0.10000000149011612,0.10000000149011612,3\nplain,1,1,2\nplain,nodata,,1\n',
    );
  });

  test('is produced in chunks of bounded size', () => {
    const rows = 40_000;
    const chunks = [...zonalCsv(manyBins(rows))];
    expect(chunks.length).toBeGreaterThan(5);
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThan(70_000);
    expect(read(chunks).rows).toHaveLength(rows);
  });
});

describe('statisticsCsv', () => {
  test.prop([zonalHistogram])('gives every zone a row that reads back as its statistics', (histogram) => {
    const { header, rows } = read(statisticsCsv(histogram));
    const { cells, nodata } = histogram;
    const { minimum, maximum, mean, sum } = histogram.statistics;
    expect(header).toEqual(['zone', 'cells', 'nodata', 'min', 'max', 'mean', 'sum']);
    expect(rows.map((row) => row[0])).toEqual(histogram.names);
    expect(rows.map((row) => BigInt(row[1]!))).toEqual([...cells]);
    expect(rows.map((row) => BigInt(row[2]!))).toEqual([...nodata]);
    for (const [index, column] of [minimum, maximum, mean, sum].entries()) {
      const values = rows.map((row) => row[3 + index]!);
      expect(values.map((value) => (value === '' ? Number.NaN : Number(value)))).toEqual([...column]);
    }
  });

  test.prop([fc.array(awkwardName, { minLength: 1 })])('keeps any name unchanged', (names) => {
    const { rows } = read(statisticsCsv(empty(names)));
    expect(rows).toEqual(names.map((name) => [name, '0', '0', '', '', '', '']));
  });

  test('throws when no statistics were computed', () => {
    const histogram = { ...empty(['a']), statistics: undefined };
    expect(() => [...statisticsCsv(histogram)]).toThrow(expect.objectContaining({ code: 'zonal/no-statistics' }));
  });
});

function unique(): ZonalHistogram {
  const value = Math.fround(0.1);
  return {
    ...empty(['a, "b"', 'plain']),
    bins: {
      zone: Uint32Array.of(0, 1),
      lower: Float64Array.of(value, 1),
      upper: Float64Array.of(value, 1),
      count: BigUint64Array.of(3n, 2n),
    },
    nodata: BigUint64Array.of(0n, 1n),
  };
}

function manyBins(rows: number): ZonalHistogram {
  return {
    ...empty(['zone']),
    bins: {
      zone: new Uint32Array(rows),
      lower: Float64Array.from({ length: rows }, (_, row) => row),
      upper: Float64Array.from({ length: rows }, (_, row) => row),
      count: new BigUint64Array(rows).fill(1n),
    },
  };
}

function empty(names: readonly string[]): ZonalHistogram {
  const counts = () => new BigUint64Array(names.length);
  const blanks = () => new Float64Array(names.length).fill(Number.NaN);
  return {
    names,
    binning: { kind: 'unique' },
    sample: 'f32',
    bins: {
      zone: new Uint32Array(0),
      lower: new Float64Array(0),
      upper: new Float64Array(0),
      count: new BigUint64Array(0),
    },
    cells: counts(),
    nodata: counts(),
    below: counts(),
    above: counts(),
    statistics: perStatistic(blanks),
    gridStep: [1, 1],
    notes: [],
  };
}
