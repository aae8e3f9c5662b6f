import type fc from 'fast-check';
import { reduceByKey, runLengthEncode, unique, uniqueByKey } from '../../primitives/reduce-by-key.ts';
import { runHeads } from '../../primitives/runs.ts';
import { fewRows, hostColumn, type Recipe, recipe, rowsOf } from '../arbitraries/columns.ts';
import {
  exactMonoids,
  inexactMonoids,
  type Leaves,
  type MonoidSample,
  rowsForAny,
  type SampleRows,
} from '../arbitraries/monoids.ts';
import { type Presentation, present, presentation } from '../arbitraries/presentations.ts';
import { canonicalPrefixes } from './canonical-tree.ts';
import { assertSame, assertSameBytes, type HostTable } from './compare.ts';
import { type Law, law } from './law.ts';
import { type HostColumns, inputOf, leavesOf, rowsIn, tableOf, take, takeArray } from './rows.ts';

/** The first row of every run of equal keys. Two keys are equal only if all of their bits are equal. */
function startsOf(keys: HostColumns): number[] {
  const bits = Object.values(keys).map((array) =>
    array instanceof Float32Array ? new Uint32Array(array.buffer, array.byteOffset, array.length) : array,
  );
  const rows = Array.from({ length: rowsIn(keys) }, (_, i) => i);
  return rows.filter((i) => i === 0 || bits.some((array) => array[i] !== array[i - 1]));
}

type RunTotals = (rows: readonly Leaves[], starts: readonly number[], sample: MonoidSample) => Leaves[];

const sequentialTotals: RunTotals = (rows, starts, { identity, combine }) =>
  starts.map((start, run) => rows.slice(start, starts[run + 1]).reduce(combine, identity));

/**
 * Returns the total of each run of equal keys, by the canonical tree over pairs of a head flag and a value. The total
 * of a run is the inclusive prefix of its last row.
 */
const treeTotals: RunTotals = (rows, starts, { combine }) => {
  const heads = new Set(starts);
  const pairs = rows.map((row, i): Leaves => [Number(heads.has(i)), ...row]);
  const prefixes = canonicalPrefixes(pairs, ([a, ...x], [b, ...y]) => [a! | b!, ...(b === 1 ? y : combine(x, y))]);
  return starts.map((_, run) => prefixes[(starts[run + 1] ?? rows.length) - 1]!.inclusive.slice(1));
};

function reduceByKeyLaw(name: string, samples: fc.Arbitrary<SampleRows>, totalsOf: RunTotals): Law {
  const arbitraries: [fc.Arbitrary<SampleRows>, fc.Arbitrary<Recipe>, fc.Arbitrary<Presentation>] = [
    samples,
    recipe,
    presentation,
  ];
  return law(name, arbitraries, async (run, { sample, rows }, keyRecipe, how) => {
    const key = hostColumn('i32', rowsIn(rows), keyRecipe);
    const starts = startsOf({ key });
    const result = await run((context) => {
      const table = present(context, { ...rows, key }, how);
      return reduceByKey(table.key, inputOf(sample, table), sample.monoid);
    });
    assertSame(result as unknown as HostTable, {
      keys: takeArray(key, starts),
      values: tableOf(sample, totalsOf(leavesOf(rows), starts, sample)),
    });
  });
}

export const reduceByKeyLaws: readonly Law[] = [
  reduceByKeyLaw(
    'reduceByKey of exact monoids equals a plain loop over every run',
    rowsForAny(exactMonoids),
    sequentialTotals,
  ),
  reduceByKeyLaw(
    'reduceByKey of inexact monoids follows the canonical tree',
    rowsForAny(inexactMonoids, fewRows),
    treeTotals,
  ),
  law(
    'runs of one or several keys start where any bit differs',
    [rowsOf({ a: 'tiny', b: 'f32', c: 'bool', value: 'f32' }), presentation],
    async (run, host, how) => {
      const result = await run((context) => {
        const { value, ...keys } = present(context, host, how);
        return {
          heads: runHeads(keys),
          unique: unique(keys),
          float: unique(keys.b),
          first: uniqueByKey(keys, { value }),
          runs: runLengthEncode({ a: keys.a, c: keys.c }),
        };
      });
      const { value, ...keys } = host;
      const starts = startsOf(keys);
      const heads = new Set(starts);
      const runs = startsOf({ a: keys.a, c: keys.c });
      const length = rowsIn(host);
      const expected = {
        heads: Uint8Array.from({ length }, (_, i) => Number(heads.has(i))),
        unique: take(keys, starts),
        float: takeArray(keys.b, startsOf({ b: keys.b })),
        first: { keys: take(keys, starts), values: take({ value }, starts) },
        runs: {
          keys: take({ a: keys.a, c: keys.c }, runs),
          values: Uint32Array.from(runs, (start, i) => (runs[i + 1] ?? length) - start),
        },
      };
      assertSameBytes(result, expected, 'runs', true);
    },
  ),
];
