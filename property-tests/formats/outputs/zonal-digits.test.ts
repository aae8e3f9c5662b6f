import { describe, expect } from 'vitest';
import type { Cells } from '../../../algorithms/geometry/raster.ts';
import { zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { statisticsCsv } from '../../../formats/results/zonal-csv.ts';
import { statisticsJson } from '../../../formats/results/zonal-json.ts';
import { statisticsTable } from '../../../formats/results/zonal-table.ts';
import { onEveryBackend } from '../../backends.ts';
import { scaledCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { parseCsv } from '../../support/parse-csv.ts';
import { ALL_STATISTICS } from '../../support/some-statistics.ts';
import { box, rasterOf, zonesOf } from '../../support/zonal-support.ts';

/** Statistics between values. They are rounded once, also where they happen to be one of the values. */
const ROUNDED = new Set(['mean', 'sum', 'median', 'quantile(0.37)']);

type Choose = (values: readonly (readonly [value: bigint, cells: number])[]) => bigint;

/** The other statistics that are one of the values, from the values of whole cells in ascending order. */
const ONE_OF: { readonly [name: string]: Choose } = {
  min: (values) => values[0]![0],
  max: (values) => values.at(-1)![0],
  mode: (values) => values.reduce((best, each) => (each[1] > best[1] ? each : best))[0],
  minority: (values) => values.reduce((best, each) => (each[1] < best[1] ? each : best))[0],
  'quantile_disc(0.37)': (values) => {
    const all = values.flatMap(([value, cells]) => Array<bigint>(cells).fill(value));
    return all[Math.ceil(0.37 * all.length) - 1]!;
  },
};

/** Integers that are all the same f64, and others. */
const BASE = { i64: -(2n ** 62n), u64: 2n ** 63n } as const;
const rasters = fc.constantFrom('i64' as const, 'u64' as const).chain((sample) =>
  fc
    .array(fc.oneof({ weight: 4, arbitrary: fc.bigInt(0n, 6n).map((n) => BASE[sample] + n) }, fc.bigInt(0n, 2n)), {
      minLength: 3,
      maxLength: 60,
    })
    .map((cells) => {
      const whole = cells.slice(cells.length % 3);
      return { sample, cells: sample === 'i64' ? BigInt64Array.from(whole) : BigUint64Array.from(whole) };
    }),
);

const questions = fc.record({
  pixels: fc.constantFrom('center' as const, 'all-touched' as const, 'fractional' as const),
  kind: fc.constantFrom('none' as const, 'unique' as const),
  isMarked: fc.boolean(),
  // In quarters of a cell.
  left: fc.nat(10),
});

describe('statistics of integers of 64 bits', () => {
  onEveryBackend((opened, { runs }) => {
    test.prop([rasters, questions], { numRuns: scaledCount(runs, 2, 1) })(
      'have all digits in every output if they are one of the values, and no others look as if they had',
      async ({ sample, cells }, { pixels, kind, isMarked, left }) => {
        const raster = {
          ...rasterOf(cells as Cells, 3, sample, { nodata: isMarked ? cells[0] : undefined }),
          blockRows: 5,
        };
        const zones = zonesOf([
          [box(0, 0, 3, raster.height)],
          [box(left / 4, 0, 3, raster.height)],
          [box(-9, 0, -5, 1)],
        ]);
        const statistics = ALL_STATISTICS.filter((name) => pixels !== 'fractional' || !name.endsWith('_samp'));
        const job = { zones, raster, pixels, binning: { kind }, statistics, tile: 32 };
        const histogram = await zonalHistogram(opened().context, job);
        const [header, ...rows] = parseCsv([...statisticsCsv(histogram)].join(''));
        const json = statisticsJson();
        const objects = JSON.parse([...json.rows([histogram]), ...json.end()].join('')) as Record<string, unknown>[];
        const { columns } = statisticsTable(histogram).rows;
        const known = new Set(Array.from(cells, (cell) => `${cell}`));
        for (const name of header!) if (name.startsWith('frac_')) expect(known).toContain(name.slice('frac_'.length));
        const rounded = String(Number(BASE[sample]));
        for (const [zone, row] of rows.entries()) {
          for (const [at, name] of header!.entries()) {
            if (!ROUNDED.has(name)) expect({ name, text: row[at] }).not.toEqual({ name, text: rounded });
            const { values } = columns[name] as { values?: ArrayLike<number | bigint> };
            if (!(name in ONE_OF)) continue;
            if (row[at] === '') {
              expect(objects[zone]![name]).toBe(null);
              continue;
            }
            expect(known).toContain(row[at]);
            expect([`${objects[zone]![name]}`, `${values![zone]}`]).toEqual([row[at], row[at]]);
          }
        }
        // The first zone has whole cells, whatever counts.
        const found = new Map<bigint, number>();
        for (const cell of cells.toSorted()) {
          if (!isMarked || cell !== cells[0]) found.set(cell, (found.get(cell) ?? 0) + 1);
        }
        for (const [name, of] of Object.entries(ONE_OF))
          expect(rows[0]![header!.indexOf(name)]).toBe(found.size === 0 ? '' : `${of([...found])}`);
      },
    );
  });
});
