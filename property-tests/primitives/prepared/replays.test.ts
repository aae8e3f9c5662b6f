import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { testAdapter } from '../../../backends/webgpu-node/node-gpu.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { plainBackends } from '../../backends.ts';
import { THOROUGH } from '../../cases.ts';
import { lookingBack, openTestBackend, slow } from '../../support/webgpu-support.ts';

const { bool, fn, input, u32, uniform } = q;

const MANY = THOROUGH ? 100_000 : 700;
/**
 * Number of replays on WebGPU. A software GPU takes a tenth of a millisecond per call; 18,000 calls still exceed the
 * number of epochs that the spine (the memory of single-pass kernels) can represent.
 */
const ON_WEBGPU = testAdapter() === 'hardware' ? MANY : THOROUGH ? 18_000 : 60;
/** Number of calls that are in flight before the test waits for them. */
const AT_ONCE = THOROUGH ? 500 : 50;
/** Number of calls after which memory should be in a steady state. */
const WARM_UP = THOROUGH ? 4 * AT_ONCE : 2 * AT_ONCE;
/** Growth of the heap in bytes that does not count as a leak. */
const HEAP_BYTES = 2 ** 21;

const opened: readonly { readonly name: string; readonly replays: number; open(): Promise<Backend> }[] =
  plainBackends.map((backend) =>
    backend.name.startsWith('webgpu')
      ? { name: backend.name, replays: ON_WEBGPU, open: () => openTestBackend({ tuning: lookingBack({}) }) }
      : { name: backend.name, replays: MANY, open: backend.open },
  );

const plusBy = fn({ x: u32, by: uniform(u32) }, u32, ({ x, by }) => x.add(by));
const isLast = fn({ x: u32, last: uniform(u32) }, bool, ({ x, last }) => x.eq(last));

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/**
 * Counters of the memory that is held. On WebGPU, also counters of allocations and bind groups, which must not grow
 * because prepared pipelines are recorded as tapes (lists of commands).
 */
function stateOf({ backend: { name, counters } }: Context): Record<string, number> {
  const { allocations, bindGroups, compilations, liveBuffers, liveBytes } = counters;
  const held = { compilations, liveBuffers, liveBytes };
  return name === 'webgpu' ? { ...held, allocations, bindGroups } : held;
}

/** Collects garbage, and waits until what holds memory of it has been told. */
async function settleGarbage(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Calls `before` once, and then `work`, which does the same. Expects that `work` leaks and allocates nothing. */
async function expectNothing(context: Context, before: () => Promise<void>, work: () => Promise<void>): Promise<void> {
  await before();
  await settleGarbage();
  const state = stateOf(context);
  const { heapUsed } = process.memoryUsage();
  await work();
  await settleGarbage();
  expect(stateOf(context)).toEqual(state);
  expect(process.memoryUsage().heapUsed - heapUsed).toBeLessThan(HEAP_BYTES);
}

describe.each(opened)('on $name', ({ replays, open }) => {
  test(
    'replays allocate nothing, and the last replay returns the same bytes as the first',
    async () => {
      const context = new Context(await open());
      const declared = { x: input(u32, 300), by: uniform(u32) };
      const mapping = context.prepare(declared, ({ x, by }) => context.materialize(q.map(plusBy, { x, by })));
      const scanning = context.prepare(declared, ({ x, by }) => q.inclusiveScan(q.map(plusBy, { x, by }), q.plus(u32)));
      const x = context.column(Uint32Array.of(3, 1, 4));
      const expectRight = async (by: number): Promise<void> => {
        const results = { mapped: mapping({ x, by }), scanned: scanning({ x, by }) };
        expect(await context.read(results)).toEqual({
          mapped: Uint32Array.of(3 + by, 1 + by, 4 + by),
          scanned: Uint32Array.of(3 + by, 4 + 2 * by, 8 + 3 * by),
        });
        context.dispose(results);
      };
      const replay = async (count: number): Promise<void> => {
        for (let by = 0; by < count; by++) {
          context.dispose(scanning({ x, by }));
          if (by % 8 === 0) context.dispose(mapping({ x, by }));
          if (by % AT_ONCE === 0) await context.sync();
        }
        await expectRight(count);
      };
      await expectNothing(
        context,
        () => replay(WARM_UP),
        () => replay(replays),
      );
      await context.close();
    },
    2 * slow,
  );

  test(
    'rounds of a loop allocate nothing, with and without an until rule',
    async () => {
      const context = new Context(await open());
      const step = context.prepare({ x: input(u32, 300) }, ({ x: before }) => ({
        x: context.materialize(q.map(plusBy, { x: before, by: 3 })),
      }));
      const until = context.prepare({ x: input(u32, 300), last: uniform(u32) }, ({ x: before, last }) => {
        const x = context.materialize(q.map(plusBy, { x: before, by: 3 }));
        return { x, done: q.all(x, q.map(isLast, { x, last })) };
      });
      const x = context.column(new Uint32Array(2));
      const iterate = async (rounds: number): Promise<void> => {
        const loops = [
          await context.iterate(step, { x }, { maxRounds: rounds }),
          await context.iterate(until, { x, last: 3 * rounds }, { maxRounds: 2 * rounds }),
        ];
        for (const { result, rounds: done } of loops) {
          expect(done).toBe(rounds);
          expect(await context.read(result.x)).toEqual(new Uint32Array(2).fill(3 * rounds));
          context.dispose(result);
        }
      };
      await expectNothing(
        context,
        async () => {
          // Two sets of results alternate, so both must be warmed up.
          for (let i = 0; i < 2; i++) await iterate(WARM_UP);
        },
        () => iterate(replays / 2),
      );
      await context.close();
    },
    2 * slow,
  );
});
