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
import { canonicalPrefixes } from './canonical-tree.ts';
import { assertSame, type HostTable } from './compare.ts';
import { type Law, law } from './law.ts';
import { inputOf, leavesOf, rowsIn, tableOf } from './rows.ts';

/** The expected scans of a column, one value per row. */
interface Prefixes {
  readonly exclusive: readonly Leaves[];
  readonly inclusive: readonly Leaves[];
}

type PrefixesOf = (rows: readonly Leaves[], sample: MonoidSample) => Prefixes;

const sequentialPrefixes: PrefixesOf = (rows, { identity, combine }) => {
  const exclusive: Leaves[] = [];
  const inclusive: Leaves[] = [];
  let sum = identity;
  for (const row of rows) {
    exclusive.push(sum);
    sum = combine(sum, row);
    inclusive.push(sum);
  }
  return { exclusive, inclusive };
};

const treePrefixes: PrefixesOf = (rows, { identity, combine }) => {
  const prefixes = canonicalPrefixes(rows, combine);
  return {
    exclusive: prefixes.map(({ exclusive }) => exclusive ?? identity),
    inclusive: prefixes.map(({ inclusive }) => inclusive),
  };
};

type SegmentsOf = (rows: readonly Leaves[], heads: readonly boolean[], sample: MonoidSample) => Prefixes;

/** The expected prefixes within segments, computed by a plain loop over each segment. */
const sequentialSegments: SegmentsOf = (rows, heads, sample) => {
  const starts = rows.map((_, i) => i).filter((i) => i === 0 || heads[i]);
  const segments = starts.map((start, s) => sequentialPrefixes(rows.slice(start, starts[s + 1]), sample));
  return {
    exclusive: segments.flatMap(({ exclusive }) => exclusive),
    inclusive: segments.flatMap(({ inclusive }) => inclusive),
  };
};

/** The expected prefixes within segments, computed by the canonical tree over pairs of a head flag and a value. */
const treeSegments: SegmentsOf = (rows, heads, sample) => {
  const pairs = rows.map((row, i) => [Number(heads[i]), ...row]);
  const { exclusive, inclusive } = treePrefixes(pairs, {
    ...sample,
    identity: [0, ...sample.identity],
    combine: ([a, ...x], [b, ...y]) => [a! | b!, ...(b === 1 ? y : sample.combine(x, y))],
  });
  return {
    exclusive: exclusive.map(([, ...row], i) => (heads[i] || i === 0 ? sample.identity : row)),
    inclusive: inclusive.map(([, ...row]) => row),
  };
};

function scanLaw(name: string, samples: fc.Arbitrary<SampleRows>, prefixesOf: PrefixesOf): Law {
  return law(name, [samples, presentation], async (run, { sample, rows }, how) => {
    const result = await run((context) => {
      const input = inputOf(sample, present(context, rows, how));
      return { exclusive: exclusiveScan(input, sample.monoid), inclusive: inclusiveScan(input, sample.monoid) };
    });
    assertPrefixes(sample, result, prefixesOf(leavesOf(rows), sample));
  });
}

function segmentedLaw(name: string, samples: fc.Arbitrary<SampleRows>, segmentsOf: SegmentsOf): Law {
  const arbitraries: [fc.Arbitrary<SampleRows>, fc.Arbitrary<Recipe>, fc.Arbitrary<Presentation>] = [
    samples,
    recipe,
    presentation,
  ];
  return law(name, arbitraries, async (run, { sample, rows }, headRecipe, how) => {
    const heads = hostColumn('bool', rowsIn(rows), headRecipe);
    const result = await run((context) => {
      const table = present(context, { ...rows, heads }, how);
      const input = inputOf(sample, table);
      return {
        exclusive: segmentedScan(input, table.heads, sample.monoid, { kind: 'exclusive' }),
        inclusive: segmentedScan(input, table.heads, sample.monoid),
      };
    });
    assertPrefixes(sample, result, segmentsOf(leavesOf(rows), heads, sample));
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
      const scanned = await run((context) => exclusiveScan(context.column(zeros), sum));
      assertSame(
        scanned,
        Float32Array.from(zeros, (zero, i) => (i === 0 ? (sum.identity as number) : zero)),
      );
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
