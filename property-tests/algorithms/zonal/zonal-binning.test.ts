import { describe, expect } from 'vitest';
import { isWide, type NarrowCells, type NarrowSample, type Sample } from '../../../algorithms/geometry/raster.ts';
import { binCount, binEdges, createClassifier } from '../../../algorithms/zonal/binning.ts';
import { type ZonalHistogram, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import type { Context } from '../../../index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import { box, isNodata, plain, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const reference = openReference();

const samples = (Object.keys(CELL_ARRAYS) as Sample[]).filter((sample): sample is NarrowSample => !isWide(sample));

/**
 * Values for which comparisons are error-prone: limits of the types, zeros, subnormals, and values that f32 rounds.
 */
const awkward = [
  ...[0, -0, 1, -1, 0.1, Math.fround(0.1), 0.5, 127, 128, -128, 255, 256, 32767, 32768, -32768, 65535, 65536],
  ...[2 ** 24 + 1, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 32 - 1, 2 ** 32, 1e-40, -1e-40, 2 ** -149, 2 ** -150],
  ...[3.4028234663852886e38, -3.4028234663852886e38, 3.5e38, 1e300, -1e300],
];
const value = fc.oneof(
  fc.constantFrom(...awkward, Number.NaN, Infinity, -Infinity),
  fc.double({ noNaN: true }),
  fc.integer({ min: -300, max: 300 }),
);
const edge = fc.oneof(
  fc.constantFrom(...awkward),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -300, max: 300 }).map((n) => n / 2),
);

interface Draft {
  readonly sample: NarrowSample;
  readonly cells: NarrowCells;
  readonly edges: readonly number[];
  readonly nodata: number | undefined;
}

const draft: fc.Arbitrary<Draft> = fc
  .record({
    sample: fc.constantFrom(...samples),
    values: fc.array(value, { minLength: 1, maxLength: 40 }),
    edges: fc.uniqueArray(edge, { minLength: 2, maxLength: 12, selector: (e) => e + 0 }),
    nodata: fc.option(value, { nil: undefined }),
  })
  .map(({ sample, values, edges, nodata }) => {
    const cells: NarrowCells = CELL_ARRAYS[sample].from(values);
    const stored = nodata === undefined ? undefined : CELL_ARRAYS[sample].of(nodata)[0];
    return { sample, cells, edges: edges.toSorted((a, b) => a - b), nodata: stored };
  });

/** Counts all cells of a raster with a single row, as a single zone. */
const count = (context: Context, { sample, cells, nodata }: Draft, binning: object) =>
  zonalHistogram(context, {
    zones: zonesOf([[box(-1, -1, cells.length + 1, 2)]]),
    raster: rasterOf(cells, cells.length, sample, { nodata }),
    binning: binning as never,
  });

const bySlot = (found: ZonalHistogram): object => ({
  bins: Array.from(found.bins.lower, (lower, i) => [lower, found.bins.upper[i], Number(found.bins.count[i])]),
  outside: [found.nodata, found.below, found.above].map(([n]) => Number(n)),
});

/** The expected result, by the binning rule in f64. */
function slotsOf({ sample, cells, edges, nodata }: Draft): {
  readonly bins: readonly (readonly number[])[];
  readonly outside: readonly number[];
} {
  const bins = new Map<number, number>();
  const outside = [0, 0, 0];
  for (const cell of cells) {
    const isMissing = Number.isNaN(cell) || isNodata(sample, cell, nodata);
    const bin = edges.findLastIndex((edge) => edge <= cell);
    if (isMissing) outside[0]!++;
    else if (bin === -1) outside[1]!++;
    else if (bin === edges.length - 1) outside[2]!++;
    else bins.set(bin, (bins.get(bin) ?? 0) + 1);
  }
  const rows = [...bins].sort(([a], [b]) => a - b);
  return { bins: rows.map(([bin, n]) => [edges[bin]!, edges[bin + 1]!, n]), outside };
}

test.prop([draft])('integers in one bin are known by their smallest and largest', (drafted) => {
  const { sample, cells, edges, nodata } = drafted;
  const context = reference;
  const classifier = createClassifier(context, { sample, nodata }, binEdges({ kind: 'edges', edges }));
  const ordered = [...cells].sort((a, b) => a - b);
  const ends = [ordered[0]!, ordered.at(-1)!] as const;
  const { bins, outside } = slotsOf(drafted);
  const slots = bins.length + outside.filter((cells) => cells > 0).length;
  const mayLackData = sample === 'f32' || (nodata !== undefined && nodata >= ends[0] && nodata <= ends[1]);
  expect(classifier.areInOneSlot(...ends)).toBe(slots === 1 && !mayLackData);
  context.dispose(...Object.values(classifier.captures));
});

onEveryBackend((opened, { runs }) => {
  test.prop([draft], { numRuns: 3 * runs })(
    'a value is in bin i exactly if edge(i) ≤ v < edge(i + 1); NaN and nodata are counted separately',
    async (drafted) => {
      const found = await count(opened().context, drafted, { kind: 'edges', edges: drafted.edges });
      expect(bySlot(found)).toEqual(slotsOf(drafted));
      expect(found.cells[0]).toBe(BigInt(drafted.cells.length));
    },
    300_000,
  );

  test.prop([draft], { numRuns: 2 * runs })(
    'unique values are the finite values that occur, in order; −0 is 0',
    async (drafted) => {
      const found = await count(opened().context, drafted, { kind: 'unique' });
      const data = [...drafted.cells]
        .filter((cell) => !Number.isNaN(cell) && !isNodata(drafted.sample, cell, drafted.nodata))
        .map((v) => v + 0);
      const finite = data.filter(Number.isFinite);
      const values = [...new Set(finite)].sort((a, b) => a - b);
      expect(bySlot(found)).toEqual({
        bins: values.map((v) => [v, v, finite.filter((other) => other === v).length]),
        outside: [drafted.cells.length - data.length, times(data, -Infinity), times(data, Infinity)],
      });
      const { minimum, maximum } = found.statistics!;
      expect(minimum[0]).toBe(data.length === 0 ? Number.NaN : Math.min(...data) + 0);
      expect(maximum[0]).toBe(data.length === 0 ? Number.NaN : Math.max(...data) + 0);
    },
    300_000,
  );
});

const times = (values: readonly number[], wanted: number): number => values.filter((v) => v === wanted).length;

describe('even bins', () => {
  // Each case has a low and a high edge, a width, and the number of decimals of all edges.
  const cases = [
    [0, 1, 0.05, 2],
    [-1, 1, 0.01, 2],
    [0.1, 0.7, 0.1, 1],
    [0, 3e-7, 1e-7, 7],
    [-0.3, 0.3, 0.025, 3],
    [1000, 1001, 0.001, 3],
  ] as const;
  for (const [low, high, width, decimals] of cases) {
    test(`from ${low} to ${high} by ${width} have the decimal edges`, () => {
      const { lower } = binEdges({ kind: 'even', low, high, width });
      const [start, step] = [low, width].map((value) => Math.round(value * 10 ** decimals)) as [number, number];
      expect(Array.from(lower)).toEqual(Array.from(lower, (_, i) => Number(`${start + i * step}e-${decimals}`)));
    });
  }

  const wholes = fc.integer({ min: 1, max: 5000 });

  test.prop([fc.double({ min: -1e6, max: 1e6, noNaN: true }), wholes, fc.integer({ min: 1, max: 1000 })])(
    'have the edges lo + i·width in exact decimals, and end exactly at hi',
    (low, bins, thousandths) => {
      const width = thousandths / 1000;
      const high = low + bins * width;
      fc.pre(Math.abs((high - low) / width - bins) < 1e-9);
      const { lower, upper } = binEdges({ kind: 'even', low, high, width });
      expect(lower).toHaveLength(bins);
      const [digits = '', exponent = '0'] = String(low).split('e');
      const decimals = Math.max(3, (digits.split('.')[1]?.length ?? 0) - Number(exponent));
      const strays = lower.filter((edge, i) => {
        const sum = low + i * width;
        const isNear = Math.abs(edge - sum) <= 2 ** -51 * Math.max(Math.abs(low), Math.abs(sum));
        // An edge of a bin must not have more decimals than `low` and `width`.
        return !isNear || (decimals <= 100 ? Number(edge.toFixed(decimals)) : sum) !== edge;
      });
      expect(strays).toHaveLength(0);
      expect(Array.from(upper.subarray(0, -1))).toEqual(Array.from(lower.subarray(1)));
      expect(upper.at(-1)).toBe(high);
    },
  );

  test.each([
    [0, 1, 0.05, 20],
    [0, 1, 0.1, 10],
    [0, 1 + 4e-10, 0.5, 2],
    [-1, 1, 2 / 3, 3],
  ])('from %d to %d by %d are %d', (low, high, width, bins) => {
    expect(binCount({ kind: 'even', low, high, width })).toBe(bins);
  });

  test.each([
    [0, 1 + 2e-9, 1],
    [0, 1, 0.3],
    [1, 1, 1],
    [1, 0, 1],
    [0, 1, 0],
    [0, 1, -1],
    [0, 1, Number.NaN],
    [0, 1, 4],
  ])('from %d to %d by %d are refused', async (low, high, width) => {
    const drafted: Draft = { sample: 'u8', cells: new Uint8Array(1), edges: [], nodata: undefined };
    await expect(count(reference, drafted, { kind: 'even', low, high, width })).rejects.toMatchObject({
      code: 'zonal/bins',
    });
  });
});

test('edges that do not increase are refused', async () => {
  const drafted: Draft = { sample: 'u8', cells: new Uint8Array(1), edges: [], nodata: undefined };
  for (const edges of [[], [1], [0, 0], [1, 0], [0, Number.NaN], [0, Infinity]]) {
    await expect(count(reference, drafted, { kind: 'edges', edges })).rejects.toMatchObject({ code: 'zonal/edges' });
  }
});

test.prop([draft], { numRuns: caseCount(20) })(
  'smaller windows do not change the result',
  async ({ sample, cells }) => {
    const row = CELL_ARRAYS[sample].from(Array.from({ length: 300 }, (_, i) => cells[i % cells.length]!));
    const job = {
      zones: zonesOf([[box(0, 0, 300, 1)], [box(10, 0, 280, 1)]]),
      raster: rasterOf(row, 300, sample),
      binning: { kind: 'unique' } as const,
      tile: 32,
    };
    const whole = plain(await zonalHistogram(reference, job));
    expect(plain(await zonalHistogram(reference, { ...job, memoryBytes: 300_000 }))).toBe(whole);
  },
);

test.each([
  ['u32', Uint32Array.of(2 ** 32 - 1), -1],
  ['i32', Int32Array.of(-1), 2 ** 32 - 1],
  ['f32', Float32Array.of(Math.fround(0.1)), 0.1],
] as const)('a nodata value outside the range of %s marks no cell', async (sample, cells, nodata) => {
  const job = { zones: zonesOf([[box(0, 0, 1, 1)]]), raster: rasterOf(cells, 1, sample, { nodata }) };
  const binning = { kind: 'even', low: -(2 ** 33), high: 2 ** 33, width: 2 ** 33 } as const;
  const found = await zonalHistogram(reference, { ...job, binning });
  expect([found.nodata[0], found.bins.count[0]]).toEqual([0n, 1n]);
});
