import fc from 'fast-check';
import { f32 } from '../../primitives/functors/functor.ts';
import { type Monoid, monoid } from '../../primitives/monoid.ts';
import { exclusiveScan, inclusiveScan, segmentedScan } from '../../primitives/scan.ts';
import { fewRows, hostColumn, type Recipe, recipe } from '../arbitraries/columns.ts';
import {
  exactMonoids,
  inexactMonoids,
  type Leaves,
  type MonoidSample,
  rowsForAny,
  type SampleRows,
} from '../arbitraries/monoids.ts';
import { type Presentation, present, presentation } from '../arbitraries/presentations.ts';
import { assertSame, type HostTable } from './compare.ts';
import { type Law, law } from './law.ts';
import { inputOf, leavesOf, rowsIn, tableOf } from './rows.ts';
import {
  optionsOf,
  type Prefixes,
  type PrefixesOf,
  type Start,
  sequentialPrefixes,
  start,
  startedPrefixes,
  treePrefixes,
} from './scan-start.ts';

type SegmentsOf = (rows: readonly Leaves[], heads: readonly boolean[], sample: MonoidSample, how: Start) => Prefixes;

/** The expected prefixes within segments, computed by a plain loop over each segment. */
const sequentialSegments: SegmentsOf = (rows, heads, sample, how) => {
  const starts = rows.map((_, i) => i).filter((i) => i === 0 || heads[i]);
  const segments = starts.map((first, s) =>
    startedPrefixes(rows.slice(first, starts[s + 1]), sample, how, sequentialPrefixes),
  );
  return {
    exclusive: segments.flatMap(({ exclusive }) => exclusive),
    inclusive: segments.flatMap(({ inclusive }) => inclusive),
  };
};

/** The expected prefixes within segments, computed by the canonical tree over pairs of a head flag and a value. */
const treeSegments: SegmentsOf = (rows, heads, sample, how) => {
  const isFirst = (row: number): boolean => row === 0 || heads[how.reverse ? rows.length - row : row]!;
  return startedPrefixes(
    rows,
    sample,
    how,
    (inOrder, own) => {
      const pairs = inOrder.map((row, i) => [Number(isFirst(i)), ...row]);
      const { exclusive, inclusive } = treePrefixes(pairs, {
        ...own,
        identity: [0, ...own.identity],
        combine: ([a, ...x], [b, ...y]) => [a! | b!, ...(b === 1 ? y : own.combine(x, y))],
      });
      return {
        exclusive: exclusive.map(([, ...row], i) => (isFirst(i) ? own.identity : row)),
        inclusive: inclusive.map(([, ...row]) => row),
      };
    },
    isFirst,
  );
};

function scanLaw(name: string, samples: fc.Arbitrary<SampleRows>, prefixesOf: PrefixesOf): Law {
  return law(name, [samples, presentation, start], async (run, { sample, rows }, how, from) => {
    const result = await run((context) => {
      const input = inputOf(sample, present(context, rows, how));
      const options = optionsOf(sample, from);
      return {
        exclusive: exclusiveScan(input, sample.monoid, options),
        inclusive: inclusiveScan(input, sample.monoid, options),
      };
    });
    assertPrefixes(sample, result, startedPrefixes(leavesOf(rows), sample, from, prefixesOf));
  });
}

function segmentedLaw(name: string, samples: fc.Arbitrary<SampleRows>, segmentsOf: SegmentsOf): Law {
  const arbitraries: [fc.Arbitrary<SampleRows>, fc.Arbitrary<Recipe>, fc.Arbitrary<Presentation>, fc.Arbitrary<Start>] =
    [samples, recipe, presentation, start];
  return law(name, arbitraries, async (run, { sample, rows }, headRecipe, how, from) => {
    const heads = hostColumn('bool', rowsIn(rows), headRecipe);
    const result = await run((context) => {
      const table = present(context, { ...rows, heads }, how);
      const input = inputOf(sample, table);
      const options = optionsOf(sample, from);
      return {
        exclusive: segmentedScan(input, table.heads, sample.monoid, { kind: 'exclusive', ...options }),
        inclusive: segmentedScan(input, table.heads, sample.monoid, options),
      };
    });
    assertPrefixes(sample, result, segmentsOf(leavesOf(rows), heads, sample, from));
  });
}

function assertPrefixes(sample: MonoidSample, actual: unknown, { exclusive, inclusive }: Prefixes): void {
  assertSame(actual as HostTable, {
    exclusive: tableOf(sample, exclusive),
    inclusive: tableOf(sample, inclusive),
  });
}

/** Two monoids for sums, with different identities: −0, which is neutral for f32 addition, and 0, which `plus` uses. */
const sums = [-0, 0].map((identity) => monoid({ of: f32, identity, combine: ({ a, b }) => a.add(b), name: 'sum' })) as [
  Monoid<typeof f32>,
  Monoid<typeof f32>,
];

const ownIdentity = law(
  'exclusive scans start with the identity of their own monoid, whichever monoid ran before',
  [fc.nat({ max: 300 }), fc.boolean()],
  async (run, rows, turned) => {
    const zeros = new Float32Array(rows).fill(-0);
    for (const sum of turned ? [...sums].reverse() : sums) {
      const identity = sum.identity as number;
      const scanned = await run((context) => {
        const column = context.column(zeros);
        return { own: exclusiveScan(column, sum), given: exclusiveScan(column, sum, { initial: -0 }) };
      });
      assertSame(scanned, { own: zeros.map((zero, i) => (i === 0 ? identity : zero)), given: zeros });
    }
  },
);

const exact = rowsForAny(exactMonoids);
const inexact = rowsForAny(inexactMonoids, fewRows);

export const scanLaws: readonly Law[] = [
  scanLaw('scans of exact monoids equal a plain loop', exact, sequentialPrefixes),
  scanLaw('scans of inexact monoids follow the canonical tree', inexact, treePrefixes),
  segmentedLaw('segmented scans of exact monoids equal scans of the segments', exact, sequentialSegments),
  segmentedLaw('segmented scans of inexact monoids follow the canonical tree', inexact, treeSegments),
  ownIdentity,
];
