import { describe, expect } from 'vitest';
import { type Binning, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { nodataRanges } from '../../../algorithms/zonal/nodata-ranges.ts';
import type { Context } from '../../../primitives/index.ts';
import { bitsOfF32, f32OfBits } from '../../../primitives/ir/semantics.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount, someOf } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import { box, isNodata, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const f32Bits = fc.integer({ min: 0, max: 2 ** 32 - 1 });

/** Nodata values of real files, values where the rule's sum begins to overflow or to be subnormal, and any others. */
const nodataValues = fc
  .oneof(
    fc.constantFrom(-9999, -3.4e38, -3.4028234663852886e38, 9.96921e36, 1.70141e38, 1e20, 0.1, 1, -32768),
    fc.constantFrom(0, -0, 1e-45, 1e-44, 2 ** -126, 2.3e-38, 2 ** 102, 2 ** 103, 2 ** 104, 2e38, Infinity, -Infinity),
    f32Bits.map(f32OfBits).filter((value) => !Number.isNaN(value)),
  )
  .map(Math.fround);

/** Cells around the ends of the intervals that match, and any others. */
const bands = nodataValues.chain((nodata) => {
  const ends = [nodata, ...nodataRanges(nodata).flatMap(({ low, high }) => [low, high])];
  const nearby = fc
    .tuple(fc.constantFrom(...ends), fc.integer({ min: -6, max: 6 }))
    .map(([end, steps]) => f32OfBits((bitsOfF32(end) + steps) >>> 0));
  const cells = fc.array(fc.oneof(nearby, nearby, f32Bits.map(f32OfBits)), { minLength: 1, maxLength: 80 });
  return fc.record({ nodata: fc.constant(nodata), cells });
});

const scalings = fc.constantFrom(undefined, { scale: -0.5, offset: 3 }, { scale: 2, offset: 0 });
const binnings = fc.constantFrom<Binning>({ kind: 'none' }, { kind: 'unique' }, { kind: 'edges', edges: [-1e4, 0, 5] });

interface Case {
  readonly nodata: number;
  readonly cells: readonly number[];
  readonly scaling?: { readonly scale: number; readonly offset: number } | undefined;
  readonly binning: Binning;
}

/** Counts a row of cells that a single zone covers. */
async function count(context: Context, { nodata, cells, scaling, binning }: Case) {
  const raster = rasterOf(Float32Array.from(cells), cells.length, 'f32', { nodata, scaling });
  return zonalHistogram(context, { zones: zonesOf([[box(0, 0, cells.length, 1)]]), raster, binning });
}

function expectCounts(found: Awaited<ReturnType<typeof count>>, { nodata, cells, scaling, binning }: Case): void {
  const { scale, offset } = scaling ?? { scale: 1, offset: 0 };
  const stored = cells.map(Math.fround);
  const missing = stored.filter((cell) => Number.isNaN(cell) || isNodata('f32', cell, nodata));
  const near = missing.filter((cell) => !Number.isNaN(cell) && cell !== nodata).length;
  const values = stored
    .filter((cell) => !Number.isNaN(cell) && !isNodata('f32', cell, nodata))
    .map((cell) => (scaling === undefined ? cell : cell * scale + offset) + 0);
  expect(Number(found.nodata[0])).toBe(missing.length);
  expect(Number(found.cells[0])).toBe(cells.length);
  expect(found.statistics!.minimum[0]! + 0).toBe(values.length === 0 ? Number.NaN : Math.min(...values));
  expect(found.statistics!.maximum[0]! + 0).toBe(values.length === 0 ? Number.NaN : Math.max(...values));
  const notes = found.notes.filter(({ code }) => code === 'zonal/near-nodata');
  expect(notes.map(({ count }) => count)).toEqual(near === 0 ? [] : [near]);
  if (binning.kind === 'edges') {
    expect(Number(found.below[0])).toBe(values.filter((value) => value < binning.edges[0]!).length);
    expect(Number(found.above[0])).toBe(values.filter((value) => value >= binning.edges.at(-1)!).length);
  }
}

describe('nodata of f32 bands', () => {
  test('a cell has no data if it matches by the rule of GDAL, and a note counts the cells that are not equal', {
    timeout: 60_000,
  }, async () => {
    const context = openReference();
    const law = fc.asyncProperty(bands, scalings, binnings, async (band, scaling, binning) => {
      const given = { ...band, scaling, binning };
      expectCounts(await count(context, given), given);
    });
    await fc.assert(law, { numRuns: caseCount(600) });
    await context.close();
  });

  onEveryBackend((opened, { name }) => {
    const cases: readonly Case[] = [
      { nodata: Math.fround(-3.4e38), cells: [-3.4028234663852886e38, -3.4e38, -1e35, 7], binning: { kind: 'none' } },
      { nodata: -9999, cells: [-9999.001, -9999, -9999.01, 1, 2], binning: { kind: 'edges', edges: [-1e4, 0, 5] } },
      {
        nodata: Math.fround(9.96921e36),
        cells: [3.4028234663852886e38, 9.96921e36, 9.969211e36, 1e37, Infinity, Number.NaN],
        scaling: { scale: -2, offset: 0 },
        binning: { kind: 'unique' },
      },
    ];
    // A software GPU takes seconds to compile the functors of a case.
    test.each(someOf(cases, name.startsWith('webgpu') ? 1 : 3))(
      'cells near nodata $nodata are counted as nodata',
      async (given) => {
        expectCounts(await count(opened().context, given), given);
      },
    );
  });
});
