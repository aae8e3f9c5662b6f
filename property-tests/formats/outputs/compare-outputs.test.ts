import { describe, expect } from 'vitest';
import type { CrossComparison } from '../../../algorithms/cross-compare/cross-comparison.ts';
import { noteGatherer } from '../../../algorithms/cross-compare/note-gatherer.ts';
import type { TileComparison } from '../../../algorithms/cross-compare/tile-comparison.ts';
import { RATIO_BINS } from '../../../algorithms/cross-compare/totals.ts';
import { comparePlot } from '../../../formats/charts/compare-plot.ts';
import { compareSections, worstTiles } from '../../../formats/results/compare-report.ts';
import { compareSummary } from '../../../formats/results/compare-summary.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

const figure = fc.oneof(fc.constant(Number.NaN), fc.double({ min: 0, max: 1, noNaN: true }));
const count = fc.nat({ max: 2 ** 30 });
const sides = fc.record({ p: count, q: count });

const comparison: fc.Arbitrary<CrossComparison> = fc.record({
  similarity: figure,
  pairs: count,
  candidates: count,
  meeting: count,
  polygons: sides,
  missing: sides,
  matching: fc.record({
    minIou: fc.double({ min: 0.01, max: 1, noNaN: true }),
    method: fc.constantFrom('greedy' as const, 'optimal' as const),
    matches: count,
    precision: figure,
    recall: figure,
    f1: figure,
    meanIou: figure,
  }),
  histogram: fc
    .array(count, { minLength: RATIO_BINS, maxLength: RATIO_BINS })
    .map((counts) => Float64Array.from(counts)),
  tiles: count,
  alone: sides,
  skipped: fc.array(fc.record({ tile: fc.string(), code: fc.string(), message: fc.string() }), { maxLength: 3 }),
  notes: fc.array(fc.record({ code: fc.string(), message: fc.string() }), { maxLength: 3 }),
});
const RUN = { a: 'hu<man/', b: 'model/', backend: 'reference', pixelSize: 1 };

describe('compareSummary', () => {
  test.prop([comparison])('reads back as the figures, null for missing ones', (result) => {
    const read = JSON.parse(compareSummary(result, RUN));
    const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value + 0);
    expect(read.similarity).toBe(orNull(result.similarity));
    expect(read.similarityNote === undefined).toBe(!Number.isNaN(result.similarity));
    expect(read.missing).toEqual({ a: result.missing.p, b: result.missing.q });
    expect(read.matching.f1).toBe(orNull(result.matching.f1));
    expect(read.histogram.counts).toEqual([...result.histogram]);
    expect([read.skipped, read.notes]).toEqual([result.skipped, result.notes]);
  });
});

describe('comparePlot', () => {
  test.prop([comparison, fc.string()], { numRuns: caseCount(20) })(
    'draws a bar for every bin, and no NaN',
    async (result, title) => {
      const svg = await comparePlot({ comparison: result, title });
      expect(svg.match(/<rect [^>]*fill="#(4878a8|a9bfd6)"/g)).toHaveLength(RATIO_BINS);
      expect(svg.match(/="[^"]*NaN[^"]*"/)).toBeNull();
      expect(svg).toMatch(/^<svg .*<\/svg>\n$/s);
    },
  );
});

/** Makes the result of one tile. The result has no rows, because these tests only read its totals. */
function tileOf(tile: string, ratios: readonly number[]): TileComparison {
  const none = {
    ids: { bytes: new Uint8Array(0), starts: Uint32Array.of(0) },
    polygons: 0,
    missing: new Uint32Array(0),
  };
  const empty = new BigUint64Array(0);
  return {
    tile,
    p: none,
    q: none,
    pairs: {
      p: new Uint32Array(ratios.length),
      q: new Uint32Array(ratios.length),
      areas: { intersection: empty, p: empty, q: empty },
      ratio: Float64Array.from(ratios),
      matched: new Uint8Array(ratios.length),
    },
    candidates: 0,
    meeting: 0,
    matches: 0,
    ratioSum: ratios.reduce((sum, ratio) => sum + BigInt(ratio * 2 ** 52), 0n),
    matchedSum: 0n,
    notes: [],
  };
}

describe('worstTiles', () => {
  const likenesses = fc.array(fc.option(fc.integer({ min: 0, max: 8 }).map((eighths) => eighths / 8)), {
    maxLength: 20,
  });

  test.prop([likenesses, fc.integer({ min: 1, max: 6 })])(
    'keeps the least similar tiles, those without pairs first',
    (values, max) => {
      const worst = worstTiles(max);
      for (const [index, value] of values.entries()) worst.add(tileOf(`${index}`, value === null ? [] : [value]));
      const sorted = values.map((value) => value ?? -1).sort((a, b) => a - b);
      const kept = worst.list().map(({ similarity }) => (Number.isNaN(similarity) ? -1 : similarity));
      expect(kept).toEqual(sorted.slice(0, max));
    },
  );
});

describe('compareSections', () => {
  test.prop([comparison], { numRuns: caseCount(20) })(
    'have tiles, and skipped tiles and notes when there are any',
    async (result) => {
      const titles = (await compareSections(result, RUN, [])).map(({ title }) => title);
      expect(titles.includes('Tiles left out')).toBe(result.skipped.length > 0);
      expect(titles.includes('Notes')).toBe(result.notes.length > 0);
      expect(titles.includes('Tiles least alike')).toBe(false);
    },
  );
});

describe('noteGatherer', () => {
  const note = fc.record({
    code: fc.constantFrom('a/x', 'b/y'),
    message: fc.string(),
    count: fc.integer({ min: 1, max: 9 }),
  });

  test.prop([fc.array(fc.array(note, { maxLength: 3 }), { maxLength: 6 })])(
    'merges notes by code, with their total count',
    (tiles) => {
      const gatherer = noteGatherer();
      for (const notes of tiles) gatherer.add(notes);
      const all = tiles.flat();
      const codes = [...new Set(all.map(({ code }) => code))];
      const gathered = gatherer.notes();
      expect(gathered.map(({ code }) => code)).toEqual(codes);
      for (const { code, message, count: total } of gathered) {
        const of = all.filter((each) => each.code === code);
        expect(total).toBe(of.reduce((sum, each) => sum + each.count, 0));
        expect(message.startsWith(of[0]!.message)).toBe(true);
        expect(message.includes('more')).toBe(of.length > 1 || of[0]!.message.includes('more'));
      }
    },
  );
});
