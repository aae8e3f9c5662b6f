import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { plainBackends } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { randomWords } from '../../support/webgpu-support.ts';

const { f32, fn, u32 } = q;

const SLOW = 120_000;
const memoryBytes = 64 * 1024;
const ROWS = 12_000;

const odd = fn({ x: u32 }, q.bool, ({ x }) => x.and(1).eq(1));

/** A chain of commands of all kinds that can run in windows (ranges of rows that fit in memory). */
function longPipeline(context: Context): q.Table {
  const x = context.column(randomWords(ROWS, 1));
  const kept = q.copyIf(q.sort(x), odd);
  const sums = q.inclusiveScan(
    q.map(
      fn({ x: u32 }, f32, ({ x }) => f32(x)),
      { x: kept },
    ),
    q.plus(f32),
  );
  const counts = q.histogram(
    q.map(
      fn({ x: u32 }, u32, ({ x }) => x.shr(28)),
      { x },
    ),
    16,
  );
  return { sums, kept, counts, runs: q.reduceByKey(kept, sums, q.maximum(f32)) };
}

async function wait(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe.each(plainBackends)('spilling on $name', ({ open, runs }) => {
  const opened = async (): Promise<{ inner: q.Backend; context: Context }> => {
    const inner = await open({ memoryBytes });
    return { inner, context: new Context(createSpillingBackend(inner)) };
  };

  test.each(['abort', 'close'] as const)(
    '%s at any time ends pending work with its reason, and leaks nothing',
    async (end) => {
      await fc.assert(
        fc.asyncProperty(fc.nat(60), async (turns) => {
          const { inner, context } = await opened();
          const read = context.read(context.scope(() => longPipeline(context)));
          const outcome = read.then(
            () => 'done',
            (reason: unknown) => reason,
          );
          await wait(turns);
          const reason = new Error('enough');
          if (end === 'abort') context.abort(reason);
          await context.close();
          const got = await outcome;
          if (got !== 'done') {
            expect(got).toEqual(end === 'abort' ? reason : expect.objectContaining({ code: 'device/closed' }));
          }
          for (const { counters } of [inner, context.backend]) {
            expect(counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
          }
          expect(() => context.column(Uint32Array.of(1))).toThrow();
        }),
        { numRuns: Math.max(4, Math.ceil(runs / 2)), examples: [[0], [1], [2]] },
      );
    },
    SLOW,
  );

  test(
    'a column that must be on the device as a whole and does not fit fails only what depends on it',
    async () => {
      const { inner, context } = await opened();
      const max = memoryBytes / 4;
      const table = context.column(randomWords(2 * max, 1));
      const at = context.column(Uint32Array.from({ length: max }, (_, i) => Math.imul(i, 7919) >>> 0));
      const found = context.scope(() => q.copyIf(q.gather(table, at), odd));
      const later = context.scope(() => q.reduce(found, q.plus(u32)));
      const sorted = context.scope(() => q.sort(table));
      for (const lost of [found, later]) {
        const error = await context.read(lost).catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(OutOfMemoryError);
        expect(error).toMatchObject({
          code: 'memory/random-access',
          message: expect.stringMatching(new RegExp(`a\\d \\(${8 * max} bytes\\)`)),
        });
      }
      expect(await context.read(sorted)).toEqual(randomWords(2 * max, 1).sort());
      await context.sync();
      context.dispose(table, at, found, later, sorted);
      for (const { counters } of [inner, context.backend]) {
        expect(counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
      }
      await context.close();
    },
    SLOW,
  );

  test(
    'an error that no read reports is thrown by sync, once',
    async () => {
      const { context } = await opened();
      const table = context.column(randomWords(memoryBytes / 2, 1));
      const anywhere = q.map(
        fn({ x: u32 }, u32, ({ x }) => x.rem(1000)),
        { x: table },
      );
      const all = context.scope(() => q.copyIf(q.gather(table, anywhere), odd));
      await expect(context.sync()).rejects.toMatchObject({ code: 'memory/random-access' });
      await context.sync();
      await expect(context.read(all)).rejects.toMatchObject({ code: 'memory/random-access' });
      await context.close();
    },
    SLOW,
  );
});

describe('a backend that fails', () => {
  /** A backend that throws `reason` at the command with index `number`, counted from 0. */
  function failing(inner: q.Backend, number: number, reason: unknown): q.Backend {
    let commands = 0;
    return {
      ...inner,
      counters: inner.counters,
      run(command) {
        if (commands++ === number) throw reason;
        return inner.run(command);
      },
    };
  }

  test('at any command is reported by every read of an affected result, and leaks nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(300), async (number) => {
        const reason = new Error('broken');
        const inner = createReferenceBackend({ limits: { memoryBytes } });
        const context = new Context(createSpillingBackend(failing(inner, number, reason)));
        const outcomes: unknown[] = [];
        try {
          const result = context.scope(() => longPipeline(context));
          const whole = await context.read(result).catch((error: unknown) => error);
          outcomes.push(whole);
          await context.sync().catch((error: unknown) => outcomes.push(error));
          context.dispose(result);
        } catch (error) {
          // Commands that were not queued throw synchronously.
          outcomes.push(error);
        }
        const expected = new Context(createReferenceBackend());
        const right = await expected.read(longPipeline(expected));
        for (const outcome of outcomes) expect(outcome === reason ? right : outcome).toEqual(right);
        expect(inner.counters).toMatchObject({ liveBuffers: 0, liveBytes: 0 });
        // The context is still usable.
        expect(await context.read(context.column(Uint32Array.of(4)))).toEqual(Uint32Array.of(4));
        await context.close();
      }),
      { numRuns: caseCount(30) },
    );
  });
});
