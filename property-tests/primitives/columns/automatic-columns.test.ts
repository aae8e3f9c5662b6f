import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test, vi } from 'vitest';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { DeviceLostError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import type { Module } from '../../../primitives/ir/ir.ts';
import { backendsThatLaunchOnce, onEveryBackend, plainBackends } from '../../backends.ts';
import { someOf, THOROUGH } from '../../cases.ts';

const { fn, u32 } = q;

type U32 = q.Column<'u32'>;

const ROWS = 1000;
const numbers = Uint32Array.from({ length: ROWS }, (_, i) => (i * 7919) % ROWS);

const affine = fn('affine', { x: u32 }, u32, ({ x }) => x.mul(3).add(1));
const add = fn('add', { a: u32, b: u32 }, u32, ({ a, b }) => a.add(b));
const five = fn('five', { x: q.neighbours(u32) }, u32, ({ x }) =>
  [-2, -1, 1, 2].reduce((sum, dx) => sum.add(x.at(dx)), x.at(0).mul(3)),
);

/** Applies a step to a column `count` times. */
function steps(column: U32, count: number, step: (column: U32) => U32): U32 {
  let last = column;
  for (let i = 0; i < count; i++) last = step(last);
  return last;
}

/** Chains of steps. To compute one element, a step reads one, two or five elements of the previous step. */
const chains: readonly (readonly [string, number, (column: U32) => U32])[] = [
  ['maps', THOROUGH ? 2000 : 1200, (x) => q.map(affine, { x })],
  ['sums of a view with itself', 40, (x) => q.map(add, { a: x, b: x })],
  ['sums of two views of one', 40, (x) => q.map(add, { a: q.map(affine, { x }), b: q.reverse(x) })],
  ['stencils', 6, (x) => q.stencil(five, { x })],
  ['gathers by themselves', 12, (x) => q.gather(x, x)],
  ['slices, reversed', THOROUGH ? 300 : 100, (x) => q.reverse(q.slice(x, 1))],
];

const launchesOf = ({ backend }: Context): number => backend.counters.dispatches;
const heldBy = ({ backend: { counters } }: Context): object => ({
  buffers: counters.liveBuffers,
  bytes: counters.liveBytes,
});

/** A chain that is so long that the library stores an intermediate view by itself. */
const stencils = (column: U32): U32 => steps(column, 4, (x) => q.stencil(five, { x }));

onEveryBackend((opened) => {
  test.each(someOf(chains, 2))('a chain of %s equals its separate steps, in a few launches', async (_, count, step) => {
    const { context } = opened();
    const column = context.column(numbers);
    const before = heldBy(context);
    const launches = launchesOf(context);
    const lazy = steps(column, count, step);
    expect(launchesOf(context)).toBe(launches);
    const found = await context.read(lazy);
    expect(launchesOf(context) - launches).toBeLessThan(24);
    context.dispose(lazy);
    expect(heldBy(context)).toEqual(before);
    const stored = context.scope(() => steps(column, count, (x) => context.materialize(step(x))));
    expect(found).toEqual(await context.read(stored));
    context.dispose(stored, column);
  });

  test('a stored view is reused by every reader', async () => {
    const { context } = opened();
    const column = context.column(numbers);
    const view = stencils(column);
    const costs = async (read: () => U32): Promise<number> => {
      await context.sync();
      const launches = launchesOf(context);
      context.dispose(read());
      await context.sync();
      return launchesOf(context) - launches;
    };
    const once = await costs(() => q.reduce(column, q.plus(u32)));
    expect(await costs(() => q.reduce(view, q.plus(u32)))).toBeGreaterThan(once);
    expect(await costs(() => q.reduce(view, q.maximum(u32)))).toBe(once);
    expect(await costs(() => q.reduce(q.map(affine, { x: view }), q.plus(u32)))).toBe(once);
    context.dispose(view, column);
  });

  test('a stored view is recomputed after its source has changed', async () => {
    const { context } = opened();
    const column = context.column(numbers);
    const view = stencils(column);
    await context.read(view);
    q.scatterReduce(q.constant(u32, 5, ROWS), q.sequence(ROWS), 'add', column);
    const other = context.column(numbers.map((x) => x + 5));
    const expected = context.scope(() => context.materialize(stencils(other)));
    expect(await context.read(view)).toEqual(await context.read(expected));
    context.dispose(view, column, other, expected);
  });

  test('a view that is captured repeatedly is stored once', async () => {
    const { context } = opened();
    const column = context.column(numbers);
    const before = heldBy(context);
    const view = q.map(affine, { x: column });
    const launches = launchesOf(context);
    const [first, second] = [context.materializeOnce(view), context.materializeOnce(view)];
    expect(launchesOf(context) - launches).toBe(1);
    expect(await context.read(first)).toEqual(numbers.map((x) => affineTimes(x, 1)));
    context.dispose(first);
    context.dispose(view);
    // The second handle of a column stays valid after the first handle was disposed of.
    expect(await context.read(second)).toEqual(numbers.map((x) => affineTimes(x, 1)));
    context.dispose(second);
    expect(heldBy(context)).toEqual(before);
    q.scatterReduce(q.constant(u32, 5, ROWS), q.sequence(ROWS), 'add', column);
    const changed = context.materializeOnce(view);
    expect(await context.read(changed)).toEqual(numbers.map((x) => affineTimes(x + 5, 1)));
    context.dispose(changed, column);
  });

  describe('memory returns to its initial level', () => {
    const inputs: readonly [string, (context: Context) => U32][] = [
      ['a host length', (context) => context.column(numbers)],
      [
        'a device count',
        (context) => context.scope(() => q.copyIf(context.column(numbers), q.map(small, numbersOf()))),
      ],
    ];
    const small = fn('small', { x: u32 }, q.bool, ({ x }) => x.lt(900));
    const numbersOf = (): { x: U32 } => ({ x: q.sequence(ROWS) });

    describe.each(inputs)('for %s', (_, inputOf) => {
      const around = async (use: (context: Context, column: U32) => Promise<void>): Promise<void> => {
        const { context } = opened();
        const column = inputOf(context);
        await context.sync();
        const before = heldBy(context);
        await use(context, column);
        expect(heldBy(context)).toEqual(before);
        context.dispose(column);
      };

      test('after the scope in which the view was made', () =>
        around(async (context, column) => {
          const total = context.scope(() => q.reduce(stencils(column), q.plus(u32)));
          await context.read(total);
          context.dispose(total);
        }));

      test('after the view left its scope and was disposed of', () =>
        around(async (context, column) => {
          const { bytes } = heldBy(context) as { bytes: number };
          const view = context.scope(() => {
            const made = stencils(column);
            context.dispose(q.reduce(made, q.plus(u32)));
            return made;
          });
          expect(context.backend.counters.liveBytes).toBeGreaterThan(bytes);
          await context.read(view);
          context.dispose(view);
        }));

      test('after a scope that failed', () =>
        around(async (context, column) => {
          const failing = (): never => {
            q.reduce(stencils(column), q.plus(u32));
            throw new Error('no further');
          };
          expect(() => context.scope(failing)).toThrow('no further');
        }));

      test('after the last view that needs it was disposed of', () =>
        around(async (context, column) => {
          const shared = stencils(column);
          const [a, b] = [q.stencil(five, { x: shared }), q.map(affine, { x: shared })] as const;
          await context.read(a);
          await context.read(b);
          const held = heldBy(context);
          context.dispose(a);
          expect(heldBy(context)).toEqual(held);
          const launches = launchesOf(context);
          await context.read(b);
          expect(launchesOf(context) - launches).toBe(1);
          context.dispose(b);
        }));

      test('after a view that other views read was disposed of', () =>
        around(async (context, column) => {
          const view = stencils(column);
          context.dispose(q.reduce(q.map(affine, { x: view }), q.plus(u32)), q.sort(view));
          context.dispose(view);
        }));
    });

    test('after the source of the view was disposed of', async () => {
      const { context } = opened();
      const before = heldBy(context);
      const column = context.column(numbers);
      const view = stencils(column);
      await context.read(view);
      context.dispose(column);
      expect(heldBy(context)).toEqual(before);
      await expect(async () => context.read(view)).rejects.toThrow('freed');
    });
  });
}, backendsThatLaunchOnce());

onEveryBackend(
  (opened) => {
    test('building and reading a chain costs the same per step for any length', async () => {
      const { context } = opened();
      const column = context.column(numbers);
      const cost = async (length: number): Promise<{ built: number; read: number }> => {
        const chain: U32[] = [column];
        for (let i = 0; i < length; i++) chain.push(q.map(affine, { x: chain[i]! }));
        const sizes = chain.map(({ source }) => (source.kind === 'view' ? sizeOf(source.view.module) : 0));
        const run = vi.spyOn(context.backend, 'run');
        expect(await context.read(chain.at(-1)!)).toEqual(numbers.map((x) => affineTimes(x, length)));
        const read = total(
          run.mock.calls.map(([command]) => (command.kind === 'forEach' ? sizeOf(command.program.module) : 0)),
        );
        run.mockRestore();
        context.dispose(chain.at(-1));
        return { built: total(sizes), read };
      };
      const times = THOROUGH ? 10 : 4;
      const [short, long] = [await cost(300), await cost(300 * times)];
      expect(long.built / short.built).toBeCloseTo(times, 1);
      expect(long.read / short.read).toBeLessThan(times + 1);
      context.dispose(column);
    }, 120_000);

    test('ten thousand chained maps are built and read', async () => {
      const { context } = opened();
      const column = context.column(Uint32Array.of(0, 1, 2));
      const last = steps(column, 10_000, (x) => q.map(affine, { x }));
      expect(await context.read(last)).toEqual(Uint32Array.of(0, 1, 2).map((x) => affineTimes(x, 10_000)));
      context.dispose(last, column);
    }, 120_000);
  },
  someOf(plainBackends, 1),
);

function affineTimes(x: number, times: number): number {
  let y = x;
  for (let i = 0; i < times; i++) y = (Math.imul(y, 3) + 1) >>> 0;
  return y;
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function sizeOf({ functions }: Module): number {
  return total(functions.map(({ body }) => body.length));
}

/** A reference backend whose device is lost from launch number `last` on. */
function lostAt(last: number): Backend {
  const inner = createReferenceBackend();
  let launches = 0;
  return {
    ...inner,
    run(command) {
      if (command.kind === 'forEach' && ++launches >= last) {
        throw new DeviceLostError('device/lost', 'The device is gone.');
      }
      return inner.run(command);
    },
  };
}

describe('when memory is short', () => {
  const bytes = 4 * ROWS;

  test('stored views are evicted for new columns', async () => {
    await using context = new Context(createReferenceBackend({ limits: { memoryBytes: 4 * bytes } }));
    const view = stencils(context.column(numbers));
    const expected = await context.read(view);
    const held = context.backend.counters.liveBytes;
    expect(held).toBeGreaterThan(bytes);
    const others = [1, 2, 3].map(() => context.column(numbers));
    expect(context.backend.counters.liveBytes).toBe(4 * bytes);
    context.dispose(others);
    expect(await context.read(view)).toEqual(expected);
  });

  test('a column captured repeatedly is evicted once nothing uses it', async () => {
    await using context = new Context(createReferenceBackend({ limits: { memoryBytes: 3 * bytes } }));
    const column = context.column(numbers);
    const view = q.map(affine, { x: column });
    context.dispose(context.materializeOnce(view));
    const held = context.materializeOnce(view);
    const other = context.column(numbers);
    expect(() => context.column(numbers)).toThrow('memory');
    expect(await context.read(held)).toEqual(numbers.map((x) => affineTimes(x, 1)));
    context.dispose(held);
    context.dispose(other, context.column(numbers));
    expect(context.backend.counters.liveBytes).toBeLessThanOrEqual(2 * bytes);
  });

  test('views that fit into memory only once are evaluated where they are read', async () => {
    await using context = new Context(createReferenceBackend({ limits: { memoryBytes: 2 * bytes + 100 } }));
    const column = context.column(numbers);
    const launches = launchesOf(context);
    await context.read(steps(column, 3, (x) => q.stencil(five, { x })));
    expect(launchesOf(context) - launches).toBe(1);
  });

  const others: readonly [string, () => Backend][] = [
    ['spilling', () => createSpillingBackend(createReferenceBackend({ limits: { memoryBytes: 3 * bytes } }))],
    ['in windows', () => createSpillingBackend(createReferenceBackend(), { windowRows: 100 })],
    ['failing over', () => createFailoverBackend(lostAt(3), { standby: async () => createReferenceBackend() })],
  ];

  test.each(others)('%s, chains equal their separate steps', async (_, open) => {
    await using context = new Context(open());
    const column = context.column(numbers);
    const stepwise = context.scope(() => steps(column, 6, (x) => context.materialize(q.stencil(five, { x }))));
    const expected = await context.read(stepwise);
    context.dispose(stepwise);
    expect(await context.read(steps(column, 6, (x) => q.stencil(five, { x })))).toEqual(expected);
  });
});

test('stored columns of garbage-collected views are freed', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await using context = new Context(createReferenceBackend());
  const column = context.column(numbers);
  const before = heldBy(context);
  await (async () => {
    await context.read(stencils(column));
  })();
  expect(heldBy(context)).not.toEqual(before);
  for (let i = 0; i < 20 && context.backend.counters.liveBuffers > 1; i++) {
    collect();
    await setImmediate();
  }
  expect(heldBy(context)).toEqual(before);
});
