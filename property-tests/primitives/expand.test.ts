import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { createSpillingBackend } from '../../backends/spilling/index.ts';
import { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';
import { openWalking, testLaws, testLawsInWalks, testOnEveryBackend } from '../backends.ts';
import { caseCount } from '../cases.ts';
import { assertSameBytes } from '../laws/compare.ts';
import { expandLaws } from '../laws/expand.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

const { fn, u32 } = q;

const both = fn({ id: u32, rank: u32 }, { id: u32, rank: u32 }, (row) => row);

testLaws(expandLaws);
// For small walk sizes, expand searches for the source row of each output row. For larger walk sizes, expand does not
// walk, so larger sizes are left out.
testLawsInWalks(expandLaws, [1, 3, 16, 17]);

/**
 * Counts that contain long stretches of zeros and large numbers, and whose sums are close to the ends of output pieces.
 */
const unevenCounts = fc
  .array(
    fc.tuple(fc.oneof(fc.constantFrom(0, 0, 1, 2, 1023, 1024, 1025, 3000), fc.nat(9)), fc.constantFrom(1, 2, 5, 300)),
    { maxLength: 8 },
  )
  .map((runs) => Uint32Array.from(runs.flatMap(([count, times]) => Array(count > 9 ? 1 : times * 4).fill(count))));

describe.each([
  ['reference', 1],
  ['reference', 3],
  ['reference', 16],
  ['reference', 64],
  ['webgpu', 4],
] as const)('on %s, in walks of %i rows', (name, walkRows) => {
  test('every output row comes from its row, for any uneven counts', async () => {
    const context = new Context(await openWalking(name, walkRows));
    const pair = fn({ row: u32, rank: u32 }, { row: u32, rank: u32 }, (row) => row);
    const expands = fc.asyncProperty(unevenCounts, fc.nat(2000), async (counts, spare) => {
      const rows = Array.from(counts, (count, row) => new Uint32Array(count).fill(row));
      const total = rows.reduce((sum, { length }) => sum + length, 0);
      const options = { capacity: total + spare };
      const made = context.scope(() =>
        q.expand({ row: q.sequence(counts.length) }, context.column(counts), pair, options),
      );
      const expected = {
        row: Uint32Array.from(rows.flatMap((each) => [...each])),
        rank: Uint32Array.from(rows.flatMap((each) => [...each.keys()])),
      };
      assertSameBytes(await context.read(made), expected, 'rows');
      context.dispose(made);
    });
    await fc.assert(expands, { numRuns: name === 'webgpu' ? 6 : 25 });
    await context.close();
  }, 60_000);
});

testOnEveryBackend('makes the same rows for any expected number of rows', async ({ context }) => {
  const pair = fn({ row: u32, rank: u32 }, { row: u32, rank: u32 }, (row) => row);
  const expands = fc.asyncProperty(unevenCounts, fc.nat(8), fc.nat(2000), async (counts, eighths, spare) => {
    const column = context.column(counts);
    const rows = { row: q.sequence(counts.length) };
    const exact = await q.expand(rows, column, pair);
    const total = exact.row.length as number;
    const expected = Math.floor((total * eighths) / 4) + spare;
    const { readbacks } = context.backend.counters;
    const made = await q.expand(rows, column, pair, { expected });
    expect(context.backend.counters.readbacks).toBe(readbacks + 1);
    expect(made.row.length).toBe(total);
    assertSameBytes(await context.read(made), await context.read(exact), 'rows');
    context.dispose(column, exact, made);
    expect(context.backend.counters.liveBuffers).toBe(0);
  });
  await fc.assert(expands, { numRuns: caseCount(12) });
});

test.each([64, 4])('makes more rows than memory holds, in walks of %i rows', async (walkRows) => {
  const inner = createReferenceBackend({ limits: { memoryBytes: 200_000 } });
  await using context = new Context(createSpillingBackend({ ...inner, walkRows }));
  const counts = context.column(Uint32Array.of(30_000, 0, 30_000));
  const made = await q.expand({ id: context.column(Uint32Array.of(5, 6, 7)) }, counts, both);
  const expected = { id: new Uint32Array(60_000), rank: new Uint32Array(60_000) };
  for (let i = 0; i < 60_000; i++) {
    expected.id[i] = i < 30_000 ? 5 : 7;
    expected.rank[i] = i % 30_000;
  }
  expect(await context.read(made)).toEqual(expected);
});

test.each([64, 4])(
  'captures and gathers columns that fit in memory only once, in walks of %i rows',
  async (walkRows) => {
    const inner = createReferenceBackend({ limits: { memoryBytes: 30_000 } });
    await using context = new Context(createSpillingBackend({ ...inner, walkRows }));
    const table = context.column(Uint32Array.from({ length: 6500 }, (_, i) => i));
    const three = context.column(new Uint32Array(300).fill(3));
    const taken = fn({ a: u32, rank: u32, table: q.array(u32) }, u32, ({ a, rank, table }) => table.at(a.add(rank)));
    const byCapture = await q.expand({ a: three }, three, taken, { captures: { table } });
    expect(await context.read(byCapture)).toEqual(Uint32Array.from({ length: 900 }, (_, i) => 3 + (i % 3)));
    const sum = fn({ a: u32, rank: u32 }, u32, ({ a, rank }) => a.add(rank));
    const byView = await q.expand({ a: q.gather(table, three) }, 3, sum);
    expect(await context.read(byView)).toEqual(Uint32Array.from({ length: 900 }, (_, i) => 3 + (i % 3)));
  },
);

test('fields can be named like members of every object', async () => {
  await using context = openReference();
  const rows = { constructor: context.column(Uint32Array.of(7)), toString: context.column(Uint32Array.of(1)) };
  const sum = fn({ constructor: u32, rank: u32 }, u32, (row) => row.constructor.add(row.rank));
  expect(await context.read(q.expand(rows, 2, sum, { capacity: 2 }))).toEqual(Uint32Array.of(7, 8));
});

test('a functor of only the rank needs no field of a row', async () => {
  await using context = openReference();
  const x = context.column(Uint32Array.of(5, 6));
  const rank = fn({ rank: u32 }, u32, ({ rank }) => rank);
  for (const rows of [x, { x }]) {
    expect(await context.read(q.expand(rows, 2, rank, { capacity: 4 }))).toEqual(Uint32Array.of(0, 1, 0, 1));
  }
});

test('refuses rows whose fields do not match the functor', () => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1));
  const expand = (rows: q.Table, functor: q.ExpandFunctor<typeof u32>): (() => unknown) => {
    return () => q.expand(rows, 1, functor, { capacity: 1 });
  };
  expectRefusal(
    context,
    'rows/field',
    expand(
      { x },
      fn({ y: u32 }, u32, ({ y }) => y),
    ),
  );
  expectRefusal(
    context,
    'rows/type',
    expand(
      { x: context.column(Float32Array.of(1)) },
      fn({ x: u32 }, u32, ({ x }) => x),
    ),
  );
  expectRefusal(
    context,
    'rows/rank',
    expand(
      { x, rank: x },
      fn({ x: u32 }, u32, ({ x }) => x),
    ),
  );
  expectRefusal(
    context,
    'map/row-functor',
    expand(
      x,
      fn({ x: u32, y: u32 }, u32, ({ x }) => x),
    ),
  );
  expectRefusal(
    context,
    'map/argument',
    expand(
      x,
      fn({ x: u32, table: q.array(u32) }, u32, ({ x }) => x),
    ),
  );
});

test.each([-1, 0.5])('refuses %d as the number of rows that each row makes', (times) => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1));
  expectRefusal(context, 'column/size', () =>
    q.expand(
      { x },
      times,
      fn({ x: u32 }, u32, ({ x }) => x),
      { capacity: 1 },
    ),
  );
});
