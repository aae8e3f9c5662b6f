import { tableFromIPC } from '@uwdata/flechette';
import { describe, expect } from 'vitest';
import { ratiosOf } from '../../../algorithms/cross-compare/areas.ts';
import type { TileComparison } from '../../../algorithms/cross-compare/tile-comparison.ts';
import { arrowWriter } from '../../../formats/results/compare-arrow.ts';
import {
  COMPARE_TABLES,
  type CompareTable,
  emptyTable,
  type TableWriter,
} from '../../../formats/results/compare-tables.ts';
import { csvWriter, jsonWriter } from '../../../formats/results/compare-text.ts';
import { fc, test } from '../../law-test.ts';
import { parseCsv } from '../../support/parse-csv.ts';
import { texts } from '../../support/random-label-images.ts';
import { awkwardName } from './arbitrary-zonal-histogram.ts';

const names = fc.array(fc.oneof(fc.nat().map(String), awkwardName), { minLength: 1, maxLength: 5 });
const area = fc.oneof(fc.bigInt({ min: 1n, max: 300n }), fc.bigInt({ min: 2n ** 52n, max: 2n ** 62n }));

/** The result of one tile, with arbitrary names and areas. The ids are also given as strings. */
interface NamedTile {
  readonly comparison: TileComparison;
  readonly idsP: readonly string[];
  readonly idsQ: readonly string[];
}

const namedTile: fc.Arbitrary<NamedTile> = fc
  .record({
    tile: awkwardName,
    idsP: names,
    idsQ: names,
    pairs: fc.array(
      fc.record({ p: fc.nat(), q: fc.nat(), areas: fc.tuple(area, area, area), matched: fc.nat({ max: 1 }) }),
      {
        maxLength: 6,
      },
    ),
    missingP: fc.array(fc.nat(), { maxLength: 4 }),
    missingQ: fc.array(fc.nat(), { maxLength: 4 }),
  })
  .map(({ tile, idsP, idsQ, pairs, missingP, missingQ }) => {
    const sorted = pairs.map((pair) => ({ ...pair, areas: pair.areas.toSorted((a, b) => (a < b ? -1 : 1)) }));
    const areas = {
      intersection: BigUint64Array.from(sorted, (pair) => pair.areas[0]!),
      p: BigUint64Array.from(sorted, (pair) => pair.areas[1]!),
      q: BigUint64Array.from(sorted, (pair) => pair.areas[2]!),
    };
    const side = (ids: readonly string[], missing: readonly number[]) => ({
      ids: texts(ids),
      polygons: ids.length,
      missing: Uint32Array.from(missing, (polygon) => polygon % ids.length),
    });
    const comparison: TileComparison = {
      tile,
      p: side(idsP, missingP),
      q: side(idsQ, missingQ),
      pairs: {
        p: Uint32Array.from(sorted, ({ p }) => p % idsP.length),
        q: Uint32Array.from(sorted, ({ q }) => q % idsQ.length),
        areas,
        ratio: ratiosOf(areas),
        matched: Uint8Array.from(sorted, ({ matched }) => matched),
      },
      candidates: pairs.length,
      meeting: pairs.length,
      matches: 0,
      ratioSum: 2n ** 51n * BigInt(pairs.length),
      matchedSum: 0n,
      notes: [],
    };
    return { comparison, idsP, idsQ };
  });
const tiles = fc.array(namedTile, { maxLength: 5 });
const kind = fc.constantFrom<CompareTable>('pairs', 'tiles', 'missing');

/** The expected rows of a table, in the form that a JSON reader with big integers returns. */
function expectedRows(table: CompareTable, { comparison: tile, idsP, idsQ }: NamedTile): Record<string, unknown>[] {
  const { p, q, pairs } = tile;
  if (table === 'tiles') {
    return [
      {
        tile: tile.tile,
        polygons_a: BigInt(p.polygons),
        polygons_b: BigInt(q.polygons),
        missing_a: BigInt(p.missing.length),
        missing_b: BigInt(q.missing.length),
        candidates: BigInt(tile.candidates),
        pairs: BigInt(pairs.ratio.length),
        similarity: pairs.ratio.length === 0 ? null : 0.5,
        matches: BigInt(tile.matches),
      },
    ];
  }
  if (table === 'missing') {
    const rows = (set: string, ids: readonly string[], missing: Uint32Array) =>
      Array.from(missing, (polygon) => ({ tile: tile.tile, set, id: ids[polygon] }));
    return [...rows('a', idsP, p.missing), ...rows('b', idsQ, q.missing)];
  }
  return Array.from(pairs.ratio, (iou, pair) => {
    const [areaA, areaB] = [pairs.areas.p[pair]!, pairs.areas.q[pair]!];
    const intersection = pairs.areas.intersection[pair]!;
    return {
      tile: tile.tile,
      a: idsP[pairs.p[pair]!],
      b: idsQ[pairs.q[pair]!],
      area_a: areaA,
      area_b: areaB,
      intersection,
      union: areaA + areaB - intersection,
      iou,
      matched: pairs.matched[pair] === 1,
    };
  });
}

function written(table: CompareTable, all: readonly NamedTile[], writer: TableWriter): Buffer {
  const pieces = [
    writer.begin(),
    ...all.map(({ comparison }) => writer.add(COMPARE_TABLES[table](comparison))),
    writer.end(),
  ];
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
}

const expected = (table: CompareTable, all: readonly NamedTile[]) => all.flatMap((tile) => expectedRows(table, tile));

describe('tables of a comparison', () => {
  test.prop([kind, tiles])('read back from CSV', (table, all) => {
    const [header, ...rows] = parseCsv(written(table, all, csvWriter(emptyTable(table))).toString());
    const blank = (value: unknown): string =>
      value === null ? '' : typeof value === 'boolean' ? `${+value}` : `${value}`;
    expect(header).toEqual(emptyTable(table).columns.map(([name]) => name));
    expect(rows).toEqual(expected(table, all).map((row) => Object.values(row).map(blank)));
  });

  test.prop([kind, tiles])('read back from JSON, large areas as strings', (table, all) => {
    const rows = JSON.parse(written(table, all, jsonWriter(emptyTable(table))).toString());
    const plain = (value: unknown): unknown => {
      if (typeof value !== 'bigint') return value;
      return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : String(value);
    };
    const wanted = expected(table, all).map((row) =>
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])),
    );
    expect(rows).toEqual(wanted);
  });

  test.prop([kind, tiles])('read back from an Arrow file, by the footer', (table, all) => {
    const file = written(table, all, arrowWriter(emptyTable(table)));
    const read = tableFromIPC(new Uint8Array(file), { useBigInt: true });
    expect(read.names).toEqual(emptyTable(table).columns.map(([name]) => name));
    expect(read.toArray().map((row) => ({ ...row }))).toEqual(expected(table, all));
  });

  test.prop([kind, tiles])('read back from an Arrow stream, without the footer', (table, all) => {
    const file = written(table, all, arrowWriter(emptyTable(table)));
    const stream = tableFromIPC(new Uint8Array(file.subarray(8)), { useBigInt: true });
    expect(stream.toArray().map((row) => ({ ...row }))).toEqual(expected(table, all));
  });
});
