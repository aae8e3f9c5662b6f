import { getEventListeners } from 'node:events';
import { map, tap } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect } from 'vitest';
import { Channel, type Occupancy } from '../../graph/index.ts';
import { GraphError } from '../../primitives/checks/errors.ts';
import { fc, test } from '../law-test.ts';
import { range, settled } from './graph-harness.ts';

interface Parcel {
  readonly id: number;
  readonly bytes: number;
}

const sizeOf = (parcel: Parcel): number => parcel.bytes;

/** The current state of a promise, with its value or error. */
function outcome<T>(promise: Promise<T>): { state: 'waiting' | 'done' | 'failed'; value?: T; error?: unknown } {
  const seen: ReturnType<typeof outcome<T>> = { state: 'waiting' };
  promise.then(
    (value) => Object.assign(seen, { state: 'done', value }),
    (error: unknown) => Object.assign(seen, { state: 'failed', error }),
  );
  return seen;
}

type Step = { readonly kind: 'push' | 'tryPush'; readonly bytes: number } | { readonly kind: 'take' | 'drop' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('push' as const, 'tryPush' as const), bytes: fc.nat({ max: 12 }) }),
    fc.record({ kind: fc.constantFrom('take' as const, 'take' as const, 'drop' as const) }),
  ),
  { maxLength: 60 },
);

const endings = fc.constantFrom('drain', 'fail', 'leave', 'abort', 'drain then abort');

describe('any use of a channel', () => {
  test.prop({ steps, items: fc.integer({ min: 1, max: 5 }), bytes: fc.integer({ min: 1, max: 16 }), ending: endings })(
    'keeps the order and both bounds, and every item is taken or discarded exactly once',
    async ({ steps, items, bytes, ending }) => {
      const abort = new AbortController();
      const taken: number[] = [];
      const discarded: number[] = [];
      const onDiscard = ({ id }: Parcel): void => void discarded.push(id);
      const channel = new Channel<Parcel>({ items, bytes, sizeOf, onDiscard, signal: abort.signal });
      const take = (): Promise<void> =>
        channel.take().then(
          (result) => void (result.done !== true && taken.push(result.value.id)),
          () => {},
        );
      const waits: Promise<void>[] = [];
      let pushed = 0;

      for (const step of steps) {
        if (step.kind === 'push') waits.push(channel.push({ id: pushed++, bytes: step.bytes }).catch(() => {}));
        else if (step.kind === 'tryPush') pushed += channel.tryPush({ id: pushed, bytes: step.bytes }) ? 1 : 0;
        else if (step.kind === 'take') waits.push(take());
        else channel.dropOldest();
        expect(channel.depth).toBeLessThanOrEqual(items);
        expect(channel.bytes <= bytes || channel.depth === 1).toBe(true);
        expect(channel.peak).toBeGreaterThanOrEqual(channel.depth);
        expect(channel.peakBytes).toBeGreaterThanOrEqual(channel.bytes);
      }
      if (ending.startsWith('drain')) channel.close();
      if (ending === 'fail') channel.close(new Error('broken'));
      if (ending === 'leave') await channel[Symbol.asyncIterator]().return?.();
      if (ending.endsWith('abort')) abort.abort();
      if (ending === 'drain') for (let i = 0; i <= pushed; i++) waits.push(take());

      await Promise.all(waits);
      expect(taken).toEqual(taken.toSorted((a, b) => a - b));
      expect([...taken, ...discarded].toSorted((a, b) => a - b)).toEqual(range(pushed));
      expect(channel).toMatchObject({ depth: 0, bytes: 0 });
      expect(getEventListeners(abort.signal, 'abort')).toHaveLength(0);
    },
  );
});

describe('room in a channel', () => {
  test('a push waits while the channel is full, and completes when an item is taken', async () => {
    const channel = new Channel<number>({ items: 2 });
    await channel.push(0);
    await channel.push(1);
    const third = outcome(channel.push(2));
    await settled();
    expect(third.state).toBe('waiting');
    expect(channel).toMatchObject({ depth: 2, stalls: 1 });
    expect(await channel.take()).toEqual({ done: false, value: 0 });
    await settled();
    expect(third.state).toBe('done');
    expect(channel).toMatchObject({ depth: 2, peak: 2, stalls: 1 });
  });

  test('an item larger than the byte bound enters alone', async () => {
    const channel = new Channel<Parcel>({ items: 8, bytes: 10, sizeOf });
    await channel.push({ id: 0, bytes: 4 });
    const large = outcome(channel.push({ id: 1, bytes: 100 }));
    const small = outcome(channel.push({ id: 2, bytes: 1 }));
    await settled();
    expect([large.state, small.state]).toEqual(['waiting', 'waiting']);
    await channel.take();
    await settled();
    expect([large.state, small.state]).toEqual(['done', 'waiting']);
    expect(channel).toMatchObject({ depth: 1, bytes: 100, peakBytes: 100 });
    await channel.take();
    await settled();
    expect(small.state).toBe('done');
    expect(channel).toMatchObject({ depth: 1, bytes: 1 });
  });

  test('hasRoom reports the current state and changes nothing', async () => {
    const channel = new Channel<Parcel>({ items: 3, bytes: 10, sizeOf });
    expect([channel.hasRoom(), channel.hasRoom(), channel.hasRoom(), channel.hasRoom()]).toEqual([
      true,
      true,
      true,
      true,
    ]);
    await channel.push({ id: 0, bytes: 10 });
    expect(channel.hasRoom()).toBe(false);
    expect(channel.tryPush({ id: 1, bytes: 1 })).toBe(false);
    const waiting = [outcome(channel.room()), outcome(channel.room())];
    await settled();
    expect(waiting.map(({ state }) => state)).toEqual(['waiting', 'waiting']);
    await channel.take();
    await settled();
    expect(waiting.map(({ state }) => state)).toEqual(['done', 'done']);
    expect(channel.hasRoom()).toBe(true);
  });

  test('dropOldest makes room, with or without an onDiscard', async () => {
    const channel = new Channel<number>({ items: 1 });
    await channel.push(0);
    const second = outcome(channel.push(1));
    expect(channel.dropOldest()).toBe(true);
    await settled();
    expect(second.state).toBe('done');
    expect(await channel.take()).toEqual({ done: false, value: 1 });
    expect(channel.dropOldest()).toBe(false);
  });

  test('occupancy$ emits the level at once and after every change, and completes when closed and empty', async () => {
    const channel = new Channel<Parcel>({ items: 3, sizeOf });
    await channel.push({ id: 0, bytes: 5 });
    const seen: Occupancy[] = [];
    let completed = false;
    channel.occupancy$.subscribe({ next: (level) => seen.push(level), complete: () => (completed = true) });
    await channel.push({ id: 1, bytes: 7 });
    await channel.take();
    channel.close();
    expect(completed).toBe(false);
    await channel.take();
    expect(completed).toBe(true);
    const [first, second] = [
      { items: 1, bytes: 5 },
      { items: 2, bytes: 12 },
    ];
    expect(seen.slice(0, 3)).toEqual([first, second, { items: 1, bytes: 7 }]);
    expect(seen.at(-1)).toEqual({ items: 0, bytes: 0 });
  });
});

describe('the end of a channel', () => {
  const endings = {
    'close(error)': (channel: Channel<number>, _: AbortController) => channel.close(new Error('broken')),
    abort: (_: Channel<number>, abort: AbortController) => abort.abort(new Error('broken')),
  };
  for (const [name, end] of Object.entries(endings)) {
    test(`${name} ends all waits, and later calls reject with its error`, async () => {
      const abort = new AbortController();
      const full = new Channel<number>({ items: 1, signal: abort.signal });
      const empty = new Channel<number>({ items: 1, signal: abort.signal });
      await full.push(0);
      const waiting = [outcome(full.push(1)), outcome(empty.take())];
      const room = outcome(full.room());
      end(full, abort);
      end(empty, abort);
      await settled();
      const failed = { state: 'failed', error: { message: 'broken' } };
      expect(waiting).toMatchObject([failed, failed]);
      expect(room.state).toBe('done');
      await expect(full.push(2)).rejects.toThrow('broken');
      await expect(full.take()).rejects.toThrow('broken');
    });
  }

  test('a channel on an aborted signal is closed from the start', async () => {
    const channel = new Channel<number>({ items: 1, signal: AbortSignal.abort(new Error('broken')) });
    await expect(channel.take()).rejects.toThrow('broken');
  });

  test('close() still lets pending pushes be taken in order, and refuses new ones', async () => {
    const channel = new Channel<number>({ items: 1 });
    const pushes = [0, 1, 2].map((item) => channel.push(item));
    channel.close();
    await expect(channel.push(3)).rejects.toMatchObject({ code: 'graph/channel-closed' });
    const taken: number[] = [];
    for await (const item of channel) taken.push(item);
    await Promise.all(pushes);
    expect(taken).toEqual([0, 1, 2]);
    expect(await channel.take()).toEqual({ done: true, value: undefined });
  });

  test('leaving a loop over the channel ends the waits of its producers', async () => {
    const discarded: number[] = [];
    const channel = new Channel<number>({ items: 1, onDiscard: (item) => discarded.push(item) });
    const pushes = [0, 1, 2].map((item) => outcome(channel.push(item)));
    for await (const item of channel) if (item === 0) break;
    await settled();
    expect(pushes.map(({ state }) => state)).toEqual(['done', 'done', 'failed']);
    expect(pushes[2]?.error).toMatchObject({ code: 'graph/channel-closed' });
    expect(discarded).toEqual([1, 2]);
  });
});

describe('marbles: occupancy$', () => {
  /**
   * Runs a marble diagram of actions on a channel, and expects the given marble diagram of item counts in the channel.
   * The actions are `p` for push, `t` for take, `c` for close and `a` for abandon.
   */
  const shown = (actions: string, levels: string, subscription?: string): void => {
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(
      ({ cold, expectObservable, expectSubscriptions }) => {
        const channel = new Channel<string>({ items: 2 });
        const act: Readonly<Record<string, () => unknown>> = {
          p: () => channel.tryPush('item'),
          t: () => channel.take(),
          c: () => channel.close(),
          a: () => channel.abandon(),
        };
        const source = cold(actions);
        const level = channel.occupancy$.pipe(map(({ items }) => `${items}`));
        expectObservable(level, subscription).toBe(levels);
        expectObservable(source.pipe(tap((action) => act[action]?.()))).toBe(actions);
        expectSubscriptions(source.subscriptions).toBe(`^${'-'.repeat(actions.indexOf('|') - 1)}!`);
      },
    );
  };

  test('emits the level in the frame of each change, nothing for a refused push, and ends with the last item', () => {
    shown('-p-p-p-t-c-t-|', '01-2---1-1-(0|)');
  });

  test('emits both changes in one frame when an item goes to a waiting consumer', () => {
    shown('-t-p-c-|', '00-0-(0|)');
  });

  test('ends in the frame in which the consumer leaves', () => {
    shown('-p-p-a-p-|', '01-2-(0|)');
  });

  test('can be unsubscribed, and starts at the current level for late subscribers', () => {
    shown('-p-p-t-|', '----21--', '----^----!');
    shown('-p-p-t-|', '01-', '^-!');
  });
});

describe('takeAt', () => {
  test.prop({
    items: fc.array(fc.nat({ max: 9 }), { maxLength: 12 }),
    bound: fc.integer({ min: 1, max: 6 }),
    positions: fc.array(fc.integer({ min: -1, max: 7 }), { maxLength: 12 }),
  })('removes the item at a position, and lets a pending push in', async ({ items, bound, positions }) => {
    const channel = new Channel<number>({ items: bound, bytes: 1e9, sizeOf: (item) => item });
    for (const item of items) void channel.push(item);
    const model = [...items];
    for (const position of positions) {
      const held = model.slice(0, bound);
      expect(channel.held()).toEqual(held);
      expect(channel.bytes).toBe(held.reduce((sum, item) => sum + item, 0));
      expect(channel.takeAt(position)).toBe(held[position]);
      if (position >= 0 && position < held.length) model.splice(position, 1);
    }
    channel.close();
    const rest: number[] = [];
    for await (const item of channel) rest.push(item);
    expect(rest).toEqual(model);
  });
});

describe('bad input', () => {
  test('a channel without a bound, or with a bound of nothing, is refused', () => {
    for (const bounds of [
      {},
      { items: 0 },
      { items: 1.5 },
      { items: -1 },
      { items: 1, bytes: 0 },
      { items: Number.NaN },
    ]) {
      expect(() => new Channel({ ...bounds, sizeOf: () => 1 })).toThrow(GraphError);
    }
    expect(() => new Channel({ bytes: 10 })).toThrow(/sizeOf/);
  });

  test('an item whose size is not a number of bytes is refused and discarded', async () => {
    const sizes = [Number.NaN, -1];
    for (const size of sizes) {
      const discarded: number[] = [];
      const onDiscard = (item: number): void => void discarded.push(item);
      const channel = new Channel<number>({ bytes: 10, sizeOf: () => size, onDiscard });
      await expect(channel.push(7)).rejects.toMatchObject({ code: 'graph/bad-size' });
      expect(discarded).toEqual([7]);
    }
    const cause = new Error('no size');
    const sizeOf = (): number => {
      throw cause;
    };
    await expect(new Channel<number>({ bytes: 10, sizeOf }).push(7)).rejects.toMatchObject({ cause });
  });
});
