import { expect } from 'vitest';
import { checkPartCounts } from '../../../algorithms/zonal/part-counts.ts';
import type { PartCounts } from '../../../algorithms/zonal/surface-parts.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

const slots = { bins: 3, nodata: 3, below: 4, above: 5, near: 6, count: 7 };
const counted = {
  zones: 5,
  sample: 'i16' as const,
  slots,
  statistics: true,
  binning: { kind: 'unique' } as const,
  grids: [],
};

const counts: PartCounts = {
  counts: {
    members: Uint32Array.of(1, 4),
    starts: Uint32Array.of(0, 2, 3),
    slot: Uint32Array.of(0, 6, 2),
    count: Float64Array.of(2 ** 40, 1, 3),
  },
  statistics: {
    zone: Uint32Array.of(1, 4),
    minimum: Float64Array.of(-Infinity, 2),
    maximum: Float64Array.of(1, 2),
    sum: [-(2n ** 90n), 6n],
  },
  unique: { zone: Uint32Array.of(1, 1, 4), value: Uint32Array.of(3, 9, 1), count: Uint32Array.of(1, 1, 3) },
  leftOut: 0,
};

/** Wrong contents of each array, by the path of the array. */
const SPOILED: Readonly<Record<string, readonly unknown[]>> = {
  'counts.members': [Uint32Array.of(4, 1), Uint32Array.of(1, 5), Uint32Array.of(1), [1, 4]],
  'counts.starts': [Uint32Array.of(0, 2), Uint32Array.of(1, 2, 3), Uint32Array.of(0, 0, 3), Uint32Array.of(0, 2, 4)],
  'counts.slot': [Uint32Array.of(6, 0, 2), Uint32Array.of(0, 7, 2), Uint32Array.of(0, 6)],
  'counts.count': [Float64Array.of(2, 0, 3), Float64Array.of(2, 1.5, 3), Float64Array.of(2, Number.NaN, 3), '1'],
  'statistics.zone': [Uint32Array.of(4, 1), Uint32Array.of(1, 5)],
  'statistics.minimum': [Float64Array.of(0), Float64Array.of(2, 2), Float64Array.of(Number.NaN, 2)],
  'statistics.maximum': [Float64Array.of(1, 1)],
  'statistics.sum': [[1n], [1n, 2], Float64Array.of(1, 2), null],
  statistics: [undefined],
  'unique.zone': [Uint32Array.of(1, 4, 1), Uint32Array.of(1, 1, 5)],
  'unique.value': [Uint32Array.of(9, 3, 1), Uint32Array.of(3, 3, 1)],
  'unique.count': [Uint32Array.of(1, 0, 3), Uint32Array.of(1)],
  unique: [undefined, null],
  leftOut: [-1, 0.5, 1n, undefined],
};
const spoiled = fc
  .constantFrom(...Object.keys(SPOILED))
  .chain((path) => fc.tuple(fc.constant(path), fc.constantFrom(...SPOILED[path]!)));

test.prop([spoiled], { numRuns: caseCount(300) })('counts that cannot be right are refused', ([path, value]) => {
  expect(checkPartCounts(counts, counted)).toBe(counts);
  const wrong = structuredClone(counts) as unknown as Record<string, Record<string, unknown> | unknown>;
  const [first, second] = path.split('.') as [string, string?];
  if (second === undefined) wrong[first] = value;
  else (wrong[first] as Record<string, unknown>)[second] = value;
  expect(() => checkPartCounts(wrong, counted)).toThrow(expect.objectContaining({ code: 'zonal/part-counts' }));
});

test('counts of another job are refused', () => {
  for (const other of [
    { ...counted, zones: 4 },
    { ...counted, statistics: false },
    { ...counted, binning: { kind: 'none' } as const },
  ])
    expect(() => checkPartCounts(counts, other)).toThrow(expect.objectContaining({ code: 'zonal/part-counts' }));
  expect(() => checkPartCounts(undefined, counted)).toThrow(expect.objectContaining({ code: 'zonal/part-counts' }));
});

test('places outside the rasters are refused', () => {
  const grid = { width: 7, height: 5, originX: 0, originY: 0, stepX: 1, stepY: -1 };
  const grids = [grid, { ...grid, width: 9 }].map((each) => ({ ...each, crs: undefined, geographic: false }));
  const statistics = ['max_center_y'];
  const placed = { ...counted, statistics, grids, binning: { kind: 'none' } as const };
  const at = (raster: number, row: number, column: number): bigint =>
    (BigInt(raster) << 64n) | (BigInt(row) << 32n) | BigInt(column);
  const withPlaces = (minimumPlace: unknown, maximumPlace: unknown): unknown => {
    const { sum, ...found } = counts.statistics!;
    const ofPlaces = { ...found, minimumPlace: [0n, minimumPlace], maximumPlace: [at(1, 4, 8), maximumPlace] };
    return { counts: counts.counts, statistics: ofPlaces, leftOut: 0 };
  };
  expect(checkPartCounts(withPlaces(at(0, 4, 6), 0n), placed)).toBeDefined();
  for (const wrong of [at(0, 4, 7), at(0, 5, 0), at(1, 0, 9), at(2, 0, 0), -1n, 3, undefined]) {
    for (const given of [withPlaces(wrong, 0n), withPlaces(0n, wrong)])
      expect(() => checkPartCounts(given, placed)).toThrow(expect.objectContaining({ code: 'zonal/part-counts' }));
  }
});
