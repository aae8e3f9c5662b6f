import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { onEveryBackend, plainBackends } from '../../backends.ts';
import { caseCount, someOf } from '../../cases.ts';
import { answeringLate } from '../../support/faulty-backend.ts';

const { bool, fn, u32 } = q;

const twice = fn({ x: u32 }, u32, ({ x }) => x.mul(2));
const isRare = fn({ x: u32 }, bool, ({ x }) => x.rem(1000).eq(7));
const upTo = (rows: number, of: (i: number) => number = (i) => i): Uint32Array =>
  Uint32Array.from({ length: rows }, (_, i) => of(i));
/** A column of the numbers below `rows` that are 7 modulo 1000. Only the device knows the length of the column. */
const rare = (context: Context, rows: number): q.Column<'u32'> =>
  context.scope(() => q.copyIf(context.materialize(q.sequence(rows)), isRare));
const chosen = (rows: number): Uint32Array => upTo(Math.ceil((rows - 7) / 1000), (i) => 1000 * i + 7);

/**
 * Numbers of rows for both ways of reading a column. A column of up to 65,536 rows is read together with its row count;
 * a larger column is read after its row count.
 */
const sizes = [65_536, 65_537] as const;

onEveryBackend((opened) => {
  test.each(someOf(sizes, 1))('%i rows are read and counted although they are disposed of at once', async (rows) => {
    const { context } = opened();
    const { counters } = context.backend;
    const before = [counters.liveBuffers, counters.liveBytes];
    const [column, viewed, inRecord, counted] = Array.from({ length: 4 }, () => rare(context, rows));
    const view = q.map(twice, { x: viewed! });
    const inScope: Promise<unknown>[] = [];
    context.scope(() => {
      inScope.push(context.read(rare(context, rows)), context.read(q.map(twice, { x: rare(context, rows) })));
    });
    const reads = [
      context.read(column!),
      context.read(view),
      context.read({ a: inRecord!, b: q.map(twice, { x: inRecord! }), places: q.sequence(inRecord!.length) }),
      context.count(counted!),
      ...inScope,
    ];
    context.dispose(column, view, viewed, inRecord, counted);
    // Overwrites the freed memory with other data.
    const others = Array.from({ length: 4 }, () => q.fill(context, u32, 9, rows));
    const expected = chosen(rows);
    const doubled = expected.map((x) => 2 * x);
    expect(await Promise.all(reads)).toEqual([
      expected,
      doubled,
      { a: expected, b: doubled, places: upTo(expected.length) },
      expected.length,
      expected,
      doubled,
    ]);
    context.dispose(others);
    expect([counters.liveBuffers, counters.liveBytes]).toEqual(before);
  });

  test.each(someOf(sizes, 1))('%i rows are read as they were, although they are overwritten at once', async (rows) => {
    const { context } = opened();
    const column = rare(context, rows);
    const slice = q.slice(column, 1);
    const [before, ofSlice] = [context.read(column), context.read(slice)];
    q.scatterReduce(q.constant(u32, 1, 2), q.sequence(2), 'add', column);
    const between = context.read(column);
    q.scatterReduce(q.constant(u32, 1, 2), q.sequence(2), 'add', column);
    const after = context.read(column);
    context.dispose(column);
    const plus = (n: number): Uint32Array => chosen(rows).map((x, i) => x + (i < 2 ? n : 0));
    expect([await before, await ofSlice, await between, await after]).toEqual([
      plus(0),
      plus(0).subarray(1),
      plus(1),
      plus(2),
    ]);
    expect(context.backend.counters.liveBuffers).toBe(0);
  });
});

describe('during a pending read', () => {
  const wrapped: readonly { readonly name: string; open(): Promise<Backend> }[] = [
    ...plainBackends,
    {
      name: 'late answers',
      open: async () => answeringLate(createReferenceBackend(), [3, 0, 1]),
    },
    {
      name: 'spilling',
      open: async () => createSpillingBackend(createReferenceBackend({ limits: { memoryBytes: 400_000 } })),
    },
    {
      name: 'failover',
      open: async () =>
        createFailoverBackend(createReferenceBackend(), { standby: async () => createReferenceBackend() }),
    },
  ];

  test.each(wrapped)('on $name: close rejects it, for any size and kind', async ({ open }) => {
    for (const rows of [10, ...sizes]) {
      const context = new Context(await open());
      const column = rare(context, rows);
      const stored = context.column(upTo(rows));
      const waits = [context.read(column), context.read(stored), context.count(column), context.sync()];
      const [outcomes] = await Promise.all([Promise.allSettled(waits), context.close()]);
      const closed = { status: 'rejected', reason: expect.objectContaining({ code: 'device/closed' }) };
      expect(outcomes).toEqual(waits.map(() => closed));
      expect(context.backend.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
    }
  });

  test.each(wrapped)('on $name: an abort rejects it, and no memory leaks', async ({ open }) => {
    const context = new Context(await open());
    const column = rare(context, 65_537);
    const reason = new Error('enough');
    const read = context.read(column).catch((error: unknown) => error);
    context.dispose(column);
    context.abort(reason);
    await expect(Promise.race([read, Promise.resolve(reason)])).resolves.toBe(reason);
    await read;
    await context.close();
    expect(context.backend.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
  });

  test.each(plainBackends)(
    'on $name: memory it holds of released columns does not count as allocated',
    async (each) => {
      // The memory has room for three columns, or for two while another column is being read. The row count takes a
      // little more.
      const rows = 70_000;
      const context = new Context(await each.open({ memoryBytes: 3 * 4 * rows }));
      const counted = q.copyIf(context.column(upTo(rows)), isRare);
      const reads = [context.read(counted)];
      context.dispose(counted);
      const plain = context.column(upTo(rows));
      reads.push(context.read(plain));
      context.dispose(plain);
      const others = [q.fill(context, u32, 1, rows), q.fill(context, u32, 2, rows / 2)];
      expect(await Promise.all(reads)).toEqual([chosen(rows), upTo(rows)]);
      await context.sync();
      context.dispose(others);
      await context.close();
    },
  );
});

test('reads, writes and releases in any order: every read returns the contents at its call', async () => {
  const step = fc.record({
    kind: fc.constantFrom('read' as const, 'read' as const, 'add' as const, 'replace' as const, 'turn' as const),
    of: fc.nat(2),
  });
  const turns = fc.array(fc.nat(3), { minLength: 1, maxLength: 5 });
  const property = fc.asyncProperty(fc.array(step, { maxLength: 15 }), turns, async (steps, late) => {
    const context = new Context(answeringLate(createReferenceBackend(), late));
    const make = () => ({ column: rare(context, 66_000), rows: [...chosen(66_000)] });
    const columns = [make(), make(), make()];
    const reads: Promise<void>[] = [];
    for (const { kind, of } of steps) {
      const { column, rows } = columns[of]!;
      if (kind === 'turn') await new Promise((resolve) => setImmediate(resolve));
      if (kind === 'add') {
        q.scatterReduce(q.constant(u32, 5, 1), q.constant(u32, 2, 1), 'add', column);
        rows[2]! += 5;
      }
      if (kind === 'replace') {
        context.dispose(column);
        columns[of] = make();
      }
      if (kind !== 'read') continue;
      const expected = Uint32Array.from(rows);
      reads.push(context.read(column).then((found) => expect(found).toEqual(expected)));
    }
    context.dispose(columns);
    await Promise.all(reads);
    expect(context.backend.counters.liveBuffers).toBe(0);
  });
  await fc.assert(property, { numRuns: caseCount(20) });
});

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

test('memory that a pending read on worker threads holds can be reused, and counts as long as it is held', async () => {
  const context = new Context(
    await createWorkersBackend({ workers: 1, inlineNanoseconds: 0, limits: { memoryBytes: 8e6 } }),
  );
  const { counters } = context.backend;
  const data = upTo(1.5e6);
  const column = context.column(data);
  const reads = [context.read(column), context.read(q.slice(column, 5))];
  context.dispose(column);
  expect(counters.liveBuffers).toBe(0);
  expect(counters.liveBytes).toBe(6e6);
  const other = context.column(data);
  expect(counters.liveBytes).toBe(6e6);
  // Compares bytes, because comparing so many elements one by one would take a minute.
  const [whole, part] = await Promise.all(reads);
  expect(Buffer.compare(bytesOf(whole!), bytesOf(data))).toBe(0);
  expect(Buffer.compare(bytesOf(part!), bytesOf(data.subarray(5)))).toBe(0);
  expect(Buffer.compare(bytesOf(await context.read(other)), bytesOf(data))).toBe(0);
  context.dispose(other);
  expect(counters.liveBytes).toBe(0);
  await context.close();
});
