import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWebGpuBackend } from '../../../backends/webgpu/backend.ts';
import type { Silence } from '../../../backends/webgpu/tuning/silence.ts';
import type { SetsTuning, Tuning } from '../../../backends/webgpu/tuning/tuning.ts';
import { testAdapter } from '../../../backends/webgpu-node/node-gpu.ts';
import type { Column } from '../../../primitives/columns/column.ts';
import type { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { backendsWithout, onEveryBackend, type TestBackend, testLaws } from '../../backends.ts';
import { caseCount, costlyCaseCount, someOf } from '../../cases.ts';
import { mergeLaws } from '../../laws/merge.ts';
import { setLaws } from '../../laws/sets.ts';
import { openPooledGpu } from '../../support/pooled-gpu.ts';

/** Workgroups as GPUs have them, and some whose tiles have few rows, with and without subgroups. */
const few = testAdapter() === 'hardware' ? { threads: 32, items: 1 } : { threads: 4, items: 3 };
const tunings: readonly { size: Size; sets?: Partial<SetsTuning & Silence>; subgroups?: false }[] = [
  { size: few, sets: { lookBack: false } },
  // Look-back past silent tiles, whose rows others count.
  { size: few, sets: { tries: 1, mute: 3 } },
  { size: { threads: 4, items: 3 }, subgroups: false },
  { size: { threads: 128, items: 11 } },
  { size: { threads: 1, items: 4 }, subgroups: false },
];
type Size = Tuning['merge'];

const tuned = tunings.map(({ size, sets, ...others }): TestBackend => {
  const tuning = { merge: size, sets: { ...size, ...sets }, ...others };
  return {
    name: `webgpu, ${size.threads} threads of ${size.items} rows${others.subgroups === false ? ', alone' : sets?.lookBack === false ? ', counting first' : ''}`,
    runs: costlyCaseCount(6),
    open: async (limits) => createWebGpuBackend({ gpu: await openPooledGpu(), adapter: testAdapter(), tuning, limits }),
  };
});

testLaws(someOf([...mergeLaws, ...setLaws], 1), someOf([...tuned, ...backendsWithout('merge').slice(2)], 1));

/** How many rows of a key a table has: none, few, or about as many as one to four tiles. */
const multiplicity = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0, 1, 1, 2, 3) },
  { weight: 1, arbitrary: fc.constantFrom(10, 11, 12, 13, 23, 36, 50) },
);
const runs = fc.array(fc.tuple(multiplicity, multiplicity), { maxLength: 30 });
const case_ = fc.record({
  runs,
  /** Whether a table is empty. */
  empty: fc.constantFrom('none', 'none', 'none', 'first', 'second'),
  /** Rows that columns could have beyond those that the device counts; none if their lengths are known on the host. */
  more: fc.constantFrom(undefined, 0, 40),
});

/** The first rows of a column, as many as only the device knows. */
function counted(context: Context, keys: Uint32Array, more: number | undefined): Column<'u32'> {
  if (more === undefined) return context.column(keys);
  const all = context.column(Uint32Array.from({ length: keys.length + more }, (_, i) => keys[i] ?? 7));
  return q.copyIf(all, q.map(isBelow, { x: q.sequence(keys.length + more), end: keys.length }));
}
const isBelow = q.fn('isBelow', { x: q.u32, end: q.uniform(q.u32) }, q.bool, ({ x, end }) => x.lt(end));

/** The keys that a loop along both tables keeps, the table that each is from, and its row there. */
function loop(a: Uint32Array, b: Uint32Array, keeps: readonly [boolean, boolean, boolean]): [number, 0 | 1, number][] {
  const kept: [number, 0 | 1, number][] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const less = j === b.length || (i < a.length && a[i]! < b[j]!);
    const more = i === a.length || (j < b.length && b[j]! < a[i]!);
    if (keeps[less ? 0 : more ? 1 : 2]) kept.push(more ? [b[j]!, 1, j] : [a[i]!, 0, i]);
    if (!more) i++;
    if (!less) j++;
  }
  return kept;
}

const operations = [
  [q.setUnion, q.setUnionByKey, [true, true, true]],
  [q.setIntersection, undefined, [false, false, true]],
  [q.setDifference, undefined, [true, false, false]],
  [q.setSymmetricDifference, q.setSymmetricDifferenceByKey, [true, true, false]],
] as const;

onEveryBackend(
  (opened) => {
    test('runs of equal keys may be longer than tiles, and end at the edges of tiles', async () => {
      const { context } = opened();
      const property = fc.asyncProperty(case_, async ({ runs, empty, more }) => {
        const [a, b] = [0, 1].map((side) =>
          Uint32Array.from(
            empty === ['first', 'second'][side]
              ? []
              : runs.flatMap((run, key) => Array<number>(run[side]!).fill(2 * key)),
          ),
        ) as [Uint32Array, Uint32Array];
        const [first, second] = [counted(context, a, more), counted(context, b, more)];
        expect(await context.read(q.merge(first, second))).toEqual(Uint32Array.from([...a, ...b]).sort());
        for (const [ofKeys, ofRows, keeps] of operations) {
          const expected = loop(a, b, keeps);
          expect(await context.read(ofKeys(first, second))).toEqual(Uint32Array.from(expected, ([key]) => key));
          if (ofRows === undefined) continue;
          // Values that are computed from the keys of rows, or from their numbers.
          const [left, right] = [first, second].map((keys, side) => {
            const { length } = keys;
            return {
              keys,
              values: typeof length === 'number' ? q.sequence(length, side) : q.map(marked, { key: keys, side }),
            };
          });
          const { values } = ofRows(left!, right!);
          const words = expected.map(([key, side, row]) => (more === undefined ? side + row : 2 * key + side));
          expect(await context.read(values)).toEqual(Uint32Array.from(words));
        }
        context.dispose([first, second]);
      });
      await fc.assert(property, { numRuns: caseCount(20) });
    });
  },
  [tuned[someOf([0, 1], 1)[0]!]!, ...someOf([...tuned.slice(2), ...backendsWithout('merge')], 1)],
);
const marked = q.fn('marked', { key: q.u32, side: q.uniform(q.u32) }, q.u32, ({ key, side }) => key.mul(2).add(side));
