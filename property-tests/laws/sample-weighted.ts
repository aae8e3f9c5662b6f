import fc from 'fast-check';
import type { RandomOptions } from '../../primitives/random.ts';
import { sampleWeighted } from '../../primitives/sample-weighted.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';
import { keysOfRows, randomOptions, wordsOfRow } from './philox.ts';

/** Also small whole numbers: with these, draws fall on the ends of rows. */
const weights = rowsOf({ whole: 'u32', float: 'f32', calm: 'calm' }).map((host) => ({
  ...host,
  few: host.whole.map((each) => each % 4),
}));
const kind = fc.constantFrom('whole' as const, 'float' as const, 'calm' as const);
const draws = fc.nat({ max: 70 });

/** A weight in units of 2⁻¹⁴⁹; 0 for rows that are never drawn. */
function unitsOf(weight: number): bigint {
  if (!(weight > 0 && weight < Number.POSITIVE_INFINITY)) return 0n;
  const exponent = Math.max(Math.floor(Math.log2(weight)), -126);
  return BigInt(weight * 2 ** (23 - exponent)) << BigInt(exponent + 126);
}

/** The whole weights that `sampleWeighted` states, of f32. */
function wholeWeights(given: Float32Array): bigint[] {
  const units = Array.from(given, unitsOf);
  // The power of 2 at or below the greatest weight is this number of multiples.
  const bits = 31 + Math.clz32(given.length);
  const exponent = units.reduce((most, each) => Math.max(most, each.toString(2).length), 24) - 1;
  return units.map((each) => (each << BigInt(bits)) >> BigInt(exponent));
}

function drawnAgain(whole: readonly bigint[], k: number, options: RandomOptions): Uint32Array {
  let sum = 0n;
  const upTo = whole.map((each) => (sum += each));
  if (sum === 0n) return new Uint32Array(0);
  return Uint32Array.from(keysOfRows(options, k), (x) => {
    const place = (sum * x) >> 64n;
    return upTo.findIndex((each) => each > place);
  });
}

/** When rows arrive, and the words that decide between rows that arrive at the same time, in f64. */
function arrivals(given: ArrayLike<number>, options: RandomOptions): { row: number; time: number; word: number }[] {
  return Array.from(given, (weight, row) => {
    const [first, word] = wordsOfRow(options, row) as [number, number];
    const u = Math.fround(Math.fround(Math.min(first, 2 ** 32 - 129)) + 0.5) * 2 ** -32;
    const isDrawable = weight > 0 && weight < Number.POSITIVE_INFINITY;
    return { row, word, time: isDrawable ? -Math.log1p(-u) / weight : Number.POSITIVE_INFINITY };
  }).filter(({ time }) => time < Number.POSITIVE_INFINITY);
}

/** Requires that rows are drawn in the order of their times. Times that f32 does not tell apart may change places. */
function assertInOrder(found: Uint32Array, given: ArrayLike<number>, k: number, options: RandomOptions): void {
  const expected = arrivals(given, options).sort((a, b) => a.time - b.time || a.word - b.word || a.row - b.row);
  const timeOf = new Map(expected.map(({ row, time }) => [row, time]));
  assertSame([found.length, new Set(found).size], Array(2).fill(Math.min(k, expected.length)));
  found.forEach((row, i) => {
    const [time, next] = [timeOf.get(row), expected[i]!.time];
    if (time === undefined) throw new Error(`Row ${row} with the weight ${given[row]} was drawn.`);
    if (Math.abs(time - next) > next * 2 ** -21) throw new Error(`Draw ${i} arrives at ${time} in place of ${next}.`);
  });
}

export const sampleWeightedLaws: readonly Law[] = [
  law(
    'rows drawn with replacement are those of exact sums in bigints',
    [weights, kind, presentation, draws, randomOptions],
    async (run, host, kind, how, k, options) => {
      const result = await run((context) => {
        const given = present(context, host, how);
        const again = { ...options, replacement: true };
        return { own: sampleWeighted(given[kind], k, again), few: sampleWeighted(given.few, k, again) };
      });
      const whole = kind === 'whole' ? Array.from(host.whole, BigInt) : wholeWeights(host[kind]);
      assertSame(result, {
        own: drawnAgain(whole, k, options),
        few: drawnAgain(Array.from(host.few, BigInt), k, options),
      });
    },
  ),
  law(
    'rows drawn without replacement are in the order of arrivals, none twice',
    [weights, kind, presentation, draws, randomOptions],
    async (run, host, kind, how, most, options) => {
      const k = Math.min(most, host.whole.length);
      const result = await run((context) => {
        const given = present(context, host, how)[kind];
        return { all: sampleWeighted(given, k, options), first: sampleWeighted(given, k >> 1, options) };
      });
      assertInOrder(result.all, host[kind], k, options);
      assertSame(result.first, result.all.slice(0, k >> 1));
    },
  ),
];
