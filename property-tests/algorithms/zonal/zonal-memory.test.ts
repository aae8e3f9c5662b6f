import { describe, expect } from 'vitest';
import { bytesText } from '../../../algorithms/bytes-text.ts';
import { zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { BYTES_PER_PAIR, createUniqueTotals, uniqueBins } from '../../../algorithms/zonal/unique-totals.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { Context, OutOfMemoryError } from '../../../index.ts';
import { THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import { box, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const reference = openReference();

/** Counts of one window. A key is the text `zone,value`, in which `zone` is an index into the window's `members`. */
const pairs = fc.dictionary(fc.tuple(fc.nat(3), fc.nat(6)).map(String), fc.integer({ min: 1, max: 2 ** 32 - 1 }));

interface Window {
  readonly members: readonly number[];
  readonly counts: Readonly<Record<string, number>>;
}

/** Windows of a job; each has some of the job's zones, in ascending order. */
const windows: fc.Arbitrary<Window[]> = fc.array(
  fc.record({
    members: fc.uniqueArray(fc.nat(9), { minLength: 4, maxLength: 4 }).map((zones) => zones.toSorted((a, b) => a - b)),
    counts: pairs,
  }),
  { maxLength: 40 },
);

const rowsOf = (counts: Window['counts']) => {
  const rows = Object.entries(counts)
    .map(([pair, count]) => [...pair.split(',').map(Number), count] as [zone: number, value: number, count: number])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return [0, 1, 2].map((column) => Uint32Array.from(rows, (row) => row[column]!));
};

function addAll(all: readonly Window[], memoryBytes: number) {
  const totals = createUniqueTotals('u32', memoryBytes);
  for (const { members, counts } of all) {
    const [zone, value, count] = rowsOf(counts);
    totals.add(Uint32Array.from(members), { zone: zone!, value: value!, count: count! });
  }
  return uniqueBins(totals.finish());
}

function modelOf(all: readonly Window[]): [zone: number, value: number, count: bigint][] {
  const sums = new Map<string, bigint>();
  for (const { members, counts } of all) {
    for (const [pair, count] of Object.entries(counts)) {
      const [local, value] = pair.split(',').map(Number);
      const key = `${members[local!]},${value}`;
      sums.set(key, (sums.get(key) ?? 0n) + BigInt(count));
    }
  }
  return [...sums]
    .map(([key, sum]) => [...key.split(',').map(Number), sum] as [number, number, bigint])
    .sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

describe('pairs of zone and value', () => {
  test.prop([windows])('are summed over windows, sorted, within the documented bytes per pair', (all) => {
    const expected = modelOf(all);
    const { zone, lower, upper, count } = addAll(all, expected.length * BYTES_PER_PAIR);
    expect(Array.from(zone, (z, i) => [z, lower[i], count[i]])).toEqual(expected);
    expect(upper).toEqual(lower);
  });

  test.prop([windows])('that need too much memory are an error that states how many there are', (all) => {
    const needed = modelOf(all).length;
    fc.pre(needed > 0);
    try {
      addAll(all, needed * BYTES_PER_PAIR - 1);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(OutOfMemoryError);
      expect(error).toMatchObject({
        code: 'zonal/unique-memory-bytes',
        got: expect.stringMatching(/^\d+ pairs in \d+ zones/),
      });
    }
  });

  test('are merged in the time of a few sorts: many rows in 64 windows', () => {
    // Number of rows per window. In a thorough run, the 64 windows have a million rows in total.
    const rows = THOROUGH ? 2 ** 14 : 2 ** 12;
    const totals = createUniqueTotals('u32', 2 ** 30);
    for (let window = 0; window < 64; window++) {
      const value = Uint32Array.from({ length: rows }, (_, i) => i * 64 + window);
      totals.add(Uint32Array.of(7), { zone: new Uint32Array(rows), value, count: new Uint32Array(rows).fill(1) });
    }
    const { value, zone } = totals.finish();
    expect(value).toHaveLength(64 * rows);
    expect(value.every((v, i) => v === i)).toBe(true);
    expect(zone.every((z) => z === 7)).toBe(true);
  });
});

describe('memoryBytes', () => {
  const raster = rasterOf(
    Float32Array.from({ length: 128 * 128 }, (_, i) => i),
    128,
    'f32',
  );
  const zones = zonesOf([[box(0, 0, 128, 128)], [box(0, 0, 128, 128)]]);
  const job = { zones, raster, statistics: false } as const;
  const unique = { kind: 'unique' } as const;

  test('limits the unique values over all windows', async () => {
    const enough = 2 * 128 * 128 * BYTES_PER_PAIR;
    const { bins } = await zonalHistogram(reference, { ...job, binning: unique, tile: 32, memoryBytes: enough });
    expect(bins.count).toHaveLength(2 * 128 * 128);
    await expect(
      zonalHistogram(reference, { ...job, binning: unique, tile: 32, memoryBytes: enough - 1 }),
    ).rejects.toMatchObject({ code: 'zonal/unique-memory-bytes' });
  });

  test.each([
    [{ kind: 'even', low: 0, high: 2 ** 30, width: 1 }],
    [{ kind: 'even', low: 0, high: 1, width: 2 ** -40 }],
    [{ kind: 'even', low: 0, high: 1e15, width: 1 }],
  ] as const)('is checked before anything is allocated: %j', async (binning) => {
    let read = false;
    const watched = {
      ...raster,
      read: async () => {
        read = true;
        return new Float32Array();
      },
    };
    await expect(zonalHistogram(reference, { ...job, raster: watched, binning })).rejects.toMatchObject({
      code: 'zonal/memory-bytes',
      got: expect.stringContaining('for 2 zones × '),
    });
    expect(read).toBe(false);
  });

  test('that a single tile exceeds is an error, and no memory leaks', async () => {
    const before = { ...reference.backend.counters };
    await expect(zonalHistogram(reference, { ...job, binning: unique, memoryBytes: 200_000 })).rejects.toMatchObject({
      code: 'zonal/window-memory-bytes',
    });
    expect(reference.backend.counters.liveBuffers).toBe(before.liveBuffers);
  });

  test.prop([fc.integer({ min: 1, max: 2 ** 50 })])('is reported in readable units', (bytes) => {
    const [, digits, unit] = /^([\d.]+) (bytes|[KMGTP]iB)$/.exec(bytesText(bytes))!;
    const power = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'].indexOf(unit!);
    expect(Math.abs((Number(digits) * 1024 ** power) / bytes - 1)).toBeLessThan(0.006);
    expect(digits!.replace('.', '').length).toBeLessThanOrEqual(4);
  });
});

/** A context on the reference backend, and the largest number of bytes that it has held. */
function openWatched(): { readonly context: Context; most(): number } {
  const backend = createReferenceBackend();
  const allocate = backend.allocate;
  let max = 0;
  backend.allocate = (words) => {
    const buffer = allocate(words);
    max = Math.max(max, backend.counters.liveBytes);
    return buffer;
  };
  return { context: new Context(backend), most: () => max };
}

describe('a window', () => {
  test.each([500, 1000])('with many zones over every tile and %d bins stays within memoryBytes', async (high) => {
    const side = THOROUGH ? 256 : 128;
    const zones = zonesOf(Array.from({ length: 40 }, (_, i) => [box(0, 0, side, side - 56 + i)]));
    const raster = rasterOf(new Uint8Array(side * side), side, 'u8');
    const binning = { kind: 'even', low: 0, high, width: 1 } as const;
    const { context, most } = openWatched();
    const memoryBytes = THOROUGH ? 2 ** 23 : 2 ** 22;
    const { cells } = await zonalHistogram(context, { zones, raster, binning, statistics: false, memoryBytes });
    await context.close();
    expect(Array.from(cells, Number)).toEqual(Array.from({ length: 40 }, (_, i) => side * (side - 56 + i)));
    // With many bins, tiles have no histograms.
    if (high === 500) expect(most()).toBeGreaterThan(memoryBytes / 8);
    expect(most()).toBeLessThan(memoryBytes);
  });

  test('with many zones of a cell or two takes memory for these cells, not for whole tiles', async () => {
    const [side, count] = [64, THOROUGH ? 10_000 : 2_000];
    const places = Array.from(
      { length: count },
      (_, i) => [i % (side - 1), Math.floor(i / side) % (side - 1)] as const,
    );
    const zones = zonesOf(places.map(([x, y]) => [box(x, y, x + 2, y + 1)]));
    const raster = rasterOf(
      Uint8Array.from({ length: side * side }, (_, i) => i % side),
      side,
      'u8',
    );
    const { context, most } = openWatched();
    // The bitmaps of a zone take a tile of 64² bits, twice in each of two windows under way.
    const memoryBytes = (count * (4 * 64 ** 2)) / 8 + count * 2 ** 13;
    for (const statistics of [['variety', 'mean'], ['median']]) {
      const job = { zones, raster, binning: { kind: 'none' }, statistics, memoryBytes } as const;
      const found = await zonalHistogram(context, job);
      const [first] = statistics;
      expect(Array.from(found.statistics[first as never] as ArrayLike<number | bigint>, Number)).toEqual(
        places.map(([x]) => (first === 'variety' ? 2 : x + 0.5)),
      );
    }
    await context.close();
    expect(most()).toBeLessThan(memoryBytes);
  });

  test.each([0, -64, 16, 48, 33, 8192, Number.NaN, 64.5])('of tiles with side %d is refused', async (tile) => {
    const job = { zones: zonesOf([[box(0, 0, 1, 1)]]), raster: rasterOf(new Uint8Array(4), 2, 'u8'), tile };
    const binning = { kind: 'even', low: 0, high: 10, width: 1 } as const;
    await expect(zonalHistogram(reference, { ...job, binning })).rejects.toMatchObject({ code: 'zonal/tile' });
  });
});

test('an error of onProgress rejects the job', async () => {
  const job = { zones: zonesOf([[box(0, 0, 2, 2)]]), raster: rasterOf(new Uint8Array(4), 2, 'u8') };
  const onProgress = (): void => {
    throw new Error('no progress');
  };
  const binning = { kind: 'even', low: 0, high: 10, width: 1 } as const;
  await expect(zonalHistogram(reference, { ...job, binning, onProgress })).rejects.toThrow('no progress');
});
