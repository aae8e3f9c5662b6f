import { describe, expect } from 'vitest';
import * as t from '../../../algorithms/tables/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { costlyCaseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import {
  type Cell,
  order,
  type SampleTable,
  sampleCondition,
  sampleTable,
  truthAt,
} from '../../support/table-questions.ts';

const TIMEOUT_MS = 120_000;
const KEYS = ['u', 'v', 'i', 'j', 'f', 'l', 'm', 'n', 'd', 'b', 't', 's'] as const;
const NUMBERS = ['u', 'v', 'i', 'j', 'd'] as const;

type Row = SampleTable['rows'][number];

/** One value of a host column, in the form of a cell of the expected result. */
function cellAt(column: t.HostColumn, i: number): Cell {
  const { validity } = column;
  if (validity !== undefined && ((validity[i >> 5]! >> (i & 31)) & 1) === 0) return null;
  if (column.type === 'string') return column.dictionary[column.codes[i]!]!;
  const value = column.values[i]!;
  if (column.type === 'bool') return value !== 0;
  return column.type === 'f32' || column.type === 'f64' ? value : BigInt(value);
}

/** Nulls last. */
function orderOfCells(a: Cell, b: Cell): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return order({ value: a, scale: 0 }, { value: b, scale: 0 });
}

/** Groups rows by their keys. The groups are sorted by key. */
function groupsOf(rows: readonly Row[], keys: readonly string[]): (readonly Row[])[] {
  const compare = (a: Row, b: Row): number => keys.reduce((found, key) => found || orderOfCells(a[key]!, b[key]!), 0);
  const groups: Row[][] = [];
  for (const row of rows.toSorted(compare)) {
    const last = groups.at(-1);
    if (last !== undefined && compare(last[0]!, row) === 0) last.push(row);
    else groups.push([row]);
  }
  return groups;
}

function plain(cell: Cell | undefined): Cell {
  return cell === undefined ? null : Object.is(cell, -0) ? 0 : cell;
}

describe('groupBy', () => {
  onEveryBackend((opened, { name, runs }) => {
    const agrees = fc.asyncProperty(
      sampleTable,
      fc.option(sampleCondition, { nil: undefined }),
      fc.oneof(
        fc.shuffledSubarray([...KEYS], { minLength: 1, maxLength: 4 }),
        fc.shuffledSubarray(['v', 'j', 'b', 't', 's'], { minLength: 1, maxLength: 3 }),
      ),
      fc.constantFrom(...NUMBERS),
      fc.oneof(fc.constantFrom(...KEYS), fc.constant(undefined)),
      fc.boolean(),
      async ({ host, rows }, where, keys, number, other, hasExtrema) => {
        const { context } = opened();
        const { liveBuffers } = context.backend.counters;
        const table = t.createTable(context, host);
        const of = t.column(number);
        const any = t.column(other ?? number);
        const found = await t.groupBy(
          table,
          keys,
          {
            $n: { kind: 'count' },
            $sum: { kind: 'sum', of },
            $avg: { kind: 'avg', of },
            $valid: { kind: 'count', of },
            ...(hasExtrema ? ({ $min: { kind: 'min', of: any }, $max: { kind: 'max', of: any } } as const) : {}),
          },
          where === undefined ? {} : { where },
        );
        t.disposeTable(table);
        expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
        const chosen = rows.filter((row) => where === undefined || truthAt(row, where) === true);
        const groups = groupsOf(chosen, keys);
        const column = (name: string): Cell[] => groups.map((_, i) => cellAt(found[name]!, i));
        expect(found.$n).toEqual({ type: 'u32', values: Uint32Array.from(groups, ({ length }) => length) });
        for (const key of keys) expect(column(key), key).toEqual(groups.map(([row]) => plain(row![key])));
        const numbers = groups.map(
          (group) => group.map((row) => row[number]).filter((cell) => cell !== null) as bigint[],
        );
        const sums = numbers.map((some) => (some.length === 0 ? null : some.reduce((a, b) => a + b)));
        expect(column('$sum')).toEqual(sums);
        const units = number === 'd' ? 100 : 1;
        expect(column('$avg')).toEqual(
          sums.map((sum, i) => (sum === null ? null : Number(sum) / (numbers[i]!.length * units))),
        );
        expect(column('$valid')).toEqual(numbers.map(({ length }) => BigInt(length)));
        if (!hasExtrema) return;
        const values = groups.map((group) =>
          group
            .map((row) => row[other ?? number]!)
            .filter((cell) => cell !== null)
            .sort(orderOfCells),
        );
        expect(column('$min')).toEqual(values.map((some) => plain(some[0])));
        expect(column('$max')).toEqual(values.map((some) => plain(some.at(-1))));
      },
    );
    test(
      'equals a plain loop',
      () => fc.assert(agrees, { numRuns: name.startsWith('webgpu') ? costlyCaseCount(3) : runs }),
      TIMEOUT_MS,
    );
  });
});

/** A cell of `aggregate` in the form of a cell of a column of this type. */
function cellLike(cell: t.CellValue, { type }: t.HostColumn): Cell {
  if (cell === null || type === 'f32' || type === 'f64') return cell as number | null;
  if (typeof cell === 'object') return cell.units;
  return typeof cell === 'number' ? BigInt(cell) : cell;
}

describe('medians and quantiles by group', () => {
  onEveryBackend((opened, { name, runs }) => {
    const agrees = fc.asyncProperty(
      sampleTable,
      fc.option(sampleCondition, { nil: undefined }),
      fc.oneof(
        fc.shuffledSubarray([...KEYS], { minLength: 1, maxLength: 4 }),
        fc.shuffledSubarray(['v', 'j', 'b', 't', 's'], { minLength: 1, maxLength: 2 }),
      ),
      fc.constantFrom(...KEYS, 'n', 'l'),
      fc.integer({ min: 0, max: 20 }),
      fc.integer({ min: 1, max: 4 }),
      fc.nat(),
      async ({ host, rows }, where, keys, value, twentieths, k, seed) => {
        const { context } = opened();
        const { liveBuffers } = context.backend.counters;
        const [of, fraction] = [t.column(value), twentieths / 20];
        const isNumber = !['b', 't', 's'].includes(value);
        const aggregates = {
          $median: { kind: 'median', of },
          $n: { kind: 'count' },
          $quantile: { kind: 'quantile', of, fraction },
          ...(isNumber ? ({ $cont: { kind: 'quantileCont', of, fraction } } as const) : {}),
          $small: { kind: 'smallest', of, k },
          $large: { kind: 'largest', of, k },
        } as const;
        const chosen = rows.filter((row) => where === undefined || truthAt(row, where) === true);
        const groups = groupsOf(chosen, keys);
        const numbers = Uint32Array.from(rows, (row) => groups.findIndex((group) => group.includes(row)) >>> 0);
        const table = t.createTable(context, { ...host, $group: { type: 'u32', values: numbers } });
        const found = await t.groupBy(table, keys, aggregates, where === undefined ? {} : { where });
        expect(Object.keys(found)).toEqual([...keys, ...Object.keys(aggregates)]);
        expect(found.$n!.type === 'u32' && found.$n!.values.length).toBe(groups.length);
        // A few groups of each case, because each takes passes of its own.
        for (const group of new Set([0, seed, groups.length - 1].map((each) => each % Math.max(1, groups.length)))) {
          if (groups.length === 0) break;
          const inGroup = t.equalTo(t.column('$group'), t.literal(group));
          const expected = await t.aggregate(table, aggregates, { where: inGroup });
          for (const [each, cell] of Object.entries(expected)) {
            expect(cellAt(found[each]!, group), each).toEqual(cellLike(cell, found[each]!));
          }
        }
        t.disposeTable(table);
        expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
      },
    );
    test(
      'equal those of the rows of each group',
      () => fc.assert(agrees, { numRuns: name.startsWith('webgpu') ? costlyCaseCount(2) : Math.ceil(runs / 2) }),
      TIMEOUT_MS,
    );
  });
});

/** The f64 nearest to the exact sum of f32 values. */
function exactSum(values: readonly number[]): number {
  const units = values.reduce((sum, value) => sum + BigInt(value * 2 ** 149), 0n);
  return Number(units) / 2 ** 149;
}

/** Rows whose values are zeros, or f32 values with exponents from `first` to `first + range`. */
const narrowFloats = fc
  .tuple(fc.integer({ min: -149, max: 60 }), fc.constantFrom(0, 1, 7, 8, 9, 31, 39))
  .chain(([first, range]) => {
    const exponent = fc.integer({ min: 0, max: range });
    const value = fc
      .tuple(fc.integer({ min: 2 ** 23, max: 2 ** 24 - 1 }), exponent, fc.constantFrom(-1, 0, 1, 1))
      .map(([significand, by, sign]) => Math.fround(sign * (significand / 2 ** 23) * 2 ** (first + by)));
    return fc.array(fc.record({ value, zone: fc.integer({ min: 5, max: 9 }), valid: fc.boolean() }), {
      minLength: 1,
      maxLength: 300,
    });
  });

describe('sums of f32 by group', () => {
  onEveryBackend((opened, { name, runs }) => {
    test(
      'are exact when the magnitudes fit in fixed point',
      () =>
        fc.assert(
          fc.asyncProperty(narrowFloats, fc.boolean(), async (rows, hasNulls) => {
            const { context } = opened();
            const validity = new Uint32Array(Math.ceil(rows.length / 32));
            for (const [i, { valid }] of rows.entries()) if (valid) validity[i >> 5]! |= 1 << (i & 31);
            const table = t.createTable(context, {
              zone: { type: 'u32', values: Uint8Array.from(rows, ({ zone }) => zone) },
              f: { type: 'f32', values: Float32Array.from(rows, ({ value }) => value), ...(hasNulls && { validity }) },
            });
            const of = t.column('f');
            const found = await t.groupBy(table, ['zone'], {
              sum: { kind: 'sum', of },
              avg: { kind: 'avg', of },
              some: { kind: 'count', of },
            });
            t.disposeTable(table);
            const zones = [...new Set(rows.map(({ zone }) => zone))].sort((a, b) => a - b);
            const values = zones.map((zone) =>
              rows.filter((row) => row.zone === zone && (row.valid || !hasNulls)).map(({ value }) => value),
            );
            const sums = values.map((some) => (some.length === 0 ? null : exactSum(some)));
            const cells = (column: string): Cell[] => zones.map((_, i) => cellAt(found[column]!, i));
            expect(cells('sum')).toEqual(sums);
            expect(cells('avg')).toEqual(sums.map((sum, i) => sum && sum / values[i]!.length));
            expect(cells('some')).toEqual(values.map(({ length }) => BigInt(length)));
          }),
          { numRuns: name.startsWith('webgpu') ? costlyCaseCount(6) : runs },
        ),
      TIMEOUT_MS,
    );

    test('are exact when the magnitudes do not fit in 64 bits, and follow the rules of infinity and NaN', async () => {
      const { context } = opened();
      const values = [1, 2 ** 80, 3, -(2 ** 80), 2, 0.5, Number.POSITIVE_INFINITY, 1, Number.NaN, 7];
      const table = t.createTable(context, {
        zone: { type: 'u32', values: Uint8Array.of(0, 1, 0, 1, 0, 0, 2, 2, 3, 3) },
        f: { type: 'f32', values: Float32Array.from(values) },
      });
      const { sum } = await t.groupBy(table, ['zone'], { sum: { kind: 'sum', of: t.column('f') } });
      t.disposeTable(table);
      expect([0, 1, 2, 3].map((i) => cellAt(sum!, i))).toEqual([6.5, 0, Number.POSITIVE_INFINITY, Number.NaN]);
    });
  });
});

describe('sums and maxima by group', () => {
  onEveryBackend((opened) => {
    test('equal plain loops, for large and negative i64 and for f32', async () => {
      const { context } = opened();
      const zones = Uint8Array.from({ length: 200 }, (_, i) => (i * 7) % 3);
      const large = BigInt64Array.from({ length: 200 }, (_, i) => 10n ** 12n + BigInt((i * 31) % 97));
      const negative = large.map((each) => -each);
      const floats = Float32Array.from({ length: 200 }, (_, i) => ((i * 13) % 50) / 4 - 6);
      const table = t.createTable(context, {
        zone: { type: 'u32', values: zones },
        large: { type: 'i64', values: large },
        negative: { type: 'i64', values: negative },
        f: { type: 'f32', values: floats },
      });
      for (const name of ['large', 'negative', 'f']) {
        const of = t.column(name);
        const found = await t.groupBy(table, ['zone'], { sum: { kind: 'sum', of }, max: { kind: 'max', of } });
        const given = { large, negative, f: floats }[name] as ArrayLike<bigint | number>;
        const groups = [0, 1, 2].map((zone) => Array.from(given).filter((_, i) => zones[i] === zone));
        const isFloat = name === 'f';
        const sums = groups.map((some) =>
          isFloat ? (some as number[]).reduce((a, b) => a + b, 0) : (some as bigint[]).reduce((a, b) => a + b),
        );
        expect([0, 1, 2].map((i) => cellAt(found.sum!, i))).toEqual(sums);
        const max = groups.map((some) => some.toSorted((a, b) => Number(a > b) - Number(a < b)).at(-1));
        expect([0, 1, 2].map((i) => cellAt(found.max!, i))).toEqual(max);
      }
      t.disposeTable(table);
    });
  });
});

test('refuses no keys, five keys, and aggregates that groups do not support', async () => {
  const table = t.createTable(openReference(), { x: { type: 'u32', values: Uint32Array.of(1) } });
  const count = { n: { kind: 'count' } } as const;
  await expect(t.groupBy(table, [], count)).rejects.toMatchObject({ code: 'tables/keys' });
  await expect(t.groupBy(table, ['x', 'x', 'x', 'x', 'x'], count)).rejects.toMatchObject({ code: 'tables/keys' });
  await expect(t.groupBy(table, ['y'], count)).rejects.toMatchObject({ code: 'tables/unknown-column' });
  const variance = { m: { kind: 'variance', of: t.column('x') } } as never;
  await expect(t.groupBy(table, ['x'], variance)).rejects.toMatchObject({ code: 'argument/type' });
  const part = { m: { kind: 'quantile', of: t.column('x'), fraction: 1.5 } } as const;
  await expect(t.groupBy(table, ['x'], part)).rejects.toMatchObject({ code: 'tables/aggregate' });
  const place = { m: { kind: 'smallest', of: t.column('x'), k: 0 } } as const;
  await expect(t.groupBy(table, ['x'], place)).rejects.toMatchObject({ code: 'tables/aggregate' });
});
