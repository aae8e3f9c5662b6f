import { catchError, filter, from, lastValueFrom, map, type Observable, of, Subject, take, tap, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect } from 'vitest';
import { type BatchOptions, batchBy, pull, pullMap, stage } from '../../graph/index.ts';
import { GraphError } from '../../primitives/checks/errors.ts';
import { fc, test } from '../law-test.ts';
import { delayAt, delays, meteredSource, range, settled, sorted, turns } from './graph-harness.ts';

const all = <T>(stream: Observable<T>): Promise<T[]> => lastValueFrom(stream.pipe(toArray()));

const marbles = (body: Parameters<TestScheduler['run']>[0]): void => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(body);
};

interface Task {
  readonly id: number;
  readonly size: number;
  readonly weight: number;
}

const tasks: fc.Arbitrary<Task[]> = fc
  .array(fc.record({ size: fc.nat({ max: 30 }), weight: fc.integer({ min: 1, max: 5 }) }), { maxLength: 60 })
  .map((list) => list.map((task, id) => ({ id, ...task })));

/** Rules for batches: one bound or both, with weights or with plain counts. */
const rules: fc.Arbitrary<BatchOptions<Task>> = fc
  .record({
    items: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
    bytes: fc.option(fc.integer({ min: 1, max: 70 }), { nil: undefined }),
    weight: fc.constantFrom(undefined, (task: Task) => task.weight),
  })
  .filter(({ items, bytes }) => items !== undefined || bytes !== undefined)
  .map((rule) => ({ ...rule, sizeOf: (task) => task.size }));

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

function isWithin(batch: readonly Task[], { items, bytes, weight = () => 1 }: BatchOptions<Task>): boolean {
  const count = sum(batch.map(weight));
  const size = sum(batch.map((task) => task.size));
  return count <= (items ?? Number.POSITIVE_INFINITY) && size <= (bytes ?? Number.POSITIVE_INFINITY);
}

describe('batches of batchBy', () => {
  test.prop({ input: tasks, rule: rules })(
    'concatenate to the input, and are cut greedily at the bounds',
    async ({ input, rule }) => {
      const batches = await all(from(input).pipe(batchBy(rule)));
      expect(batches.flat()).toEqual(input);
      for (const batch of batches) {
        expect(batch.length).toBeGreaterThan(0);
        expect(batch.length === 1 || isWithin(batch, rule)).toBe(true);
      }
      for (const [i, batch] of batches.slice(1).entries()) {
        expect(isWithin([...batches[i]!, batch[0]!], rule)).toBe(false);
      }
    },
  );

  test.prop({ input: tasks, rule: rules, lanes: fc.integer({ min: 1, max: 4 }), working: delays })(
    'do not depend on timing, and are the same on resubscription',
    async ({ input, rule, lanes, working }) => {
      const slow = stage('slow', async (batch: Task[], { index }) => {
        await turns(delayAt(working, index));
        return batch;
      });
      const expected = await all(from(input).pipe(batchBy(rule)));
      const stream = pullMap(input, (task) => task, { lanes, ordered: true }).pipe(batchBy(rule), slow);
      expect(await all(stream)).toEqual(expected);
      expect(await all(stream)).toEqual(expected);
    },
  );

  test('take items of size 0 when they are already full in bytes', async () => {
    const batches = await all(from([4, 0, 0, 5, 0, 1]).pipe(batchBy({ bytes: 4, sizeOf: (x: number) => x })));
    expect(batches).toEqual([[4, 0, 0], [5], [0, 1]]);
  });
});

describe('batchBy before a stage that makes no progress', () => {
  /** A stage that starts to process its first batch and then waits. It finishes no batch until `openGate` is called. */
  function heldStage(capacity: number) {
    let openGate = (): void => {};
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    const work = async (batch: Task[]): Promise<Task[]> => {
      await gate;
      return batch;
    };
    return { held: stage('held', work, { capacity }), openGate: () => openGate() };
  }

  test.prop({ input: tasks, rule: rules, capacity: fc.integer({ min: 1, max: 3 }) })(
    'reads no item after the one that filled the edge of the stage',
    async ({ input, rule, capacity }) => {
      const expected = await all(from(input).pipe(batchBy(rule)));
      const source = meteredSource(input.length);
      const { held, openGate } = heldStage(capacity);
      const results = all(
        pull(source).pipe(
          map((id) => input[id]!),
          batchBy(rule),
          held,
        ),
      );
      await turns(4 * input.length + 12);
      const inStage = expected.slice(0, capacity + 1).flat().length;
      expect(source.made).toBeLessThanOrEqual(inStage + 1);
      openGate();
      expect(await results).toEqual(expected);
      expect(held.counters().peak).toBeLessThanOrEqual(capacity);
    },
  );

  test('reads three items per batch of three, also after a filter', async () => {
    const source = meteredSource(100);
    const { held, openGate } = heldStage(2);
    const task = (id: number): Task => ({ id, size: 1, weight: 1 });
    const even = filter((id: number) => id % 2 === 0);
    const results = all(pull(source).pipe(even, map(task), batchBy({ items: 3 }), held));
    await turns(100);
    expect(source.made).toBe(2 * 9 - 1);
    openGate();
    expect((await results).flat().map(({ id }) => id)).toEqual(range(50).map((i) => 2 * i));
  });

  describe('keeps the last batch until there is room, without an overflow', () => {
    const input = range(3).map((id) => ({ id, size: 2, weight: 1 }));
    const pairs = (): ReturnType<typeof batchBy<Task>> => batchBy({ bytes: 2, sizeOf: (task) => task.size });

    test('when take ends the source with the item that filled the edge', async () => {
      const { held, openGate } = heldStage(1);
      const results = all(pull([...input, ...input]).pipe(take(3), pairs(), held));
      await settled();
      expect(held.counters()).toMatchObject({ in: 1, depth: 1 });
      openGate();
      expect(await results).toEqual(input.map((task) => [task]));
      expect(held.counters().peak).toBe(1);
    });

    test('when a source without demand ends', async () => {
      const { held, openGate } = heldStage(1);
      const hot = new Subject<Task>();
      const results = all(hot.pipe(pairs(), held));
      for (const task of input) {
        hot.next(task);
        await settled();
      }
      hot.complete();
      expect(held.counters()).toMatchObject({ in: 1, depth: 1 });
      openGate();
      expect(await results).toEqual(input.map((task) => [task]));
      expect(held.counters().peak).toBe(1);
    });
  });

  test('a push source overflows the stage, not batchBy', async () => {
    const { held } = heldStage(1);
    const subject = new Subject<Task>();
    const discarded: number[] = [];
    const discard = (task: Task): void => void discarded.push(task.id);
    const results = all(subject.pipe(batchBy({ items: 2, discard }), held));
    for (const id of range(9)) subject.next({ id, size: 1, weight: 1 });
    await expect(results).rejects.toMatchObject({ code: 'graph/overflow', place: { node: 'held' } });
    expect(subject.observed).toBe(false);
    expect(discarded).toEqual([]);
  });
});

describe('batchBy emits or discards every item exactly once', () => {
  const ways = fc.constantFrom('complete', 'unsubscribe', 'take', 'source fails', 'size fails', 'work fails');

  test.prop({
    way: ways,
    at: fc.nat({ max: 20 }),
    length: fc.nat({ max: 40 }),
    items: fc.integer({ min: 1, max: 5 }),
    bytes: fc.integer({ min: 1, max: 9 }),
    capacity: fc.integer({ min: 1, max: 3 }),
    timing: fc.tuple(delays, delays),
  })('for every way to end', async ({ way, at, length, items, bytes, capacity, timing }) => {
    const source = meteredSource(length, timing[0], way === 'source fails' ? at : -1);
    const ends: number[] = [];
    const discard = (item: number): void => void ends.push(item);
    const sizeOf = (item: number): number => (way === 'size fails' && item === at ? Number.NaN : item % 4);
    const work = async (batch: number[], { index }: { index: number }): Promise<number> => {
      ends.push(...batch);
      await turns(delayAt(timing[1], index));
      if (way === 'work fails' && index === at) throw new Error('the work failed');
      return batch.length;
    };
    const discardBatch = (batch: number[]): void => batch.forEach(discard);
    const stream = pull(source, { discard }).pipe(
      batchBy({ items, bytes, sizeOf, discard }),
      way === 'take' ? take(at) : tap(),
      stage('work', work, { capacity, discard: discardBatch }),
    );
    const ended = new Promise<void>((resolve) => {
      const subscription = stream.subscribe({ error: () => resolve(), complete: resolve });
      if (way === 'unsubscribe') {
        void turns(at).then(() => {
          subscription.unsubscribe();
          resolve();
        });
      }
    });
    await ended;
    await settled();
    expect(sorted(ends)).toEqual(range(source.made));
  });
});

describe('marbles: batchBy', () => {
  const joined = map((batch: string[]) => batch.join(''));
  /** Replaces the error of a stream by a last value, the code of the error. */
  const codeOf = catchError((error: GraphError) => of(error.code));

  test('a batch is emitted with the item that fills it, the last batch at the end', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-b-c-d-e--|');
      const batches = source.pipe(batchBy({ items: 2 }), joined);
      expectObservable(batches).toBe('   ---x---y----(z|)', { x: 'ab', y: 'cd', z: 'e' });
      expectSubscriptions(source.subscriptions).toBe('^-----------!');
    });
  });

  test('a batch bounded in bytes is emitted with the item that does not fit', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const sizes: Record<string, number> = { a: 2, b: 2, c: 1, d: 9, e: 4 };
      const source = cold('-a-b-c-d-e--|');
      const batches = source.pipe(batchBy({ bytes: 4, sizeOf: (name: string) => sizes[name]! }), joined);
      expectObservable(batches).toBe('   -----x-y-z--(e|)', { x: 'ab', y: 'c', z: 'd', e: 'e' });
      expectSubscriptions(source.subscriptions).toBe('^-----------!');
    });
  });

  test('a heavy item closes the open batch, and is emitted when the next item comes', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-b-c-|');
      const weight = (name: string): number => (name === 'b' ? 7 : 1);
      expectObservable(source.pipe(batchBy({ items: 3, weight }), joined)).toBe('---x-y-(z|)', {
        x: 'a',
        y: 'b',
        z: 'c',
      });
      expectSubscriptions(source.subscriptions).toBe('^------!');
    });
  });

  test('an empty source gives no batch', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('---|');
      expectObservable(source.pipe(batchBy({ items: 2 }))).toBe('---|');
      expectSubscriptions(source.subscriptions).toBe('^--!');
    });
  });

  test('an error is passed on at once and the open batch is discarded', () => {
    const discarded: string[] = [];
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-b-c-#');
      const discard = (item: string): void => void discarded.push(item);
      expectObservable(source.pipe(batchBy({ items: 2, discard }), joined)).toBe('---x---#', { x: 'ab' });
      expectSubscriptions(source.subscriptions).toBe('^------!');
    });
    expect(discarded).toEqual(['c']);
  });

  test('the source is unsubscribed in the frame of the unsubscribe, which discards the open batch', () => {
    const discarded: string[] = [];
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot('-a-b-c-d-e-');
      const discard = (item: string): void => void discarded.push(item);
      expectObservable(source.pipe(batchBy({ items: 9, discard })), '--^---!').toBe('---');
      expectSubscriptions(source.subscriptions).toBe('--^---!');
    });
    expect(discarded).toEqual(['b', 'c']);
  });

  test('a take unsubscribes from the source with its last batch, and the item that closed it is discarded', () => {
    const discarded: string[] = [];
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-b-c-d-|');
      const discard = (item: string): void => void discarded.push(item);
      const batches = source.pipe(batchBy({ bytes: 2, sizeOf: () => 1, discard }), joined, take(1));
      expectObservable(batches).toBe('   -----(x|)', { x: 'ab' });
      expectSubscriptions(source.subscriptions).toBe('^----!');
    });
    expect(discarded).toEqual(['c']);
  });

  test('an item without a size ends the stream in its frame', () => {
    const discarded: string[] = [];
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('-a-b-c-|');
      const sizeOf = (name: string): number => (name === 'b' ? Number.NaN : 1);
      const discard = (item: string): void => void discarded.push(item);
      const batches = source.pipe(batchBy({ bytes: 9, sizeOf, discard }), joined, codeOf);
      expectObservable(batches).toBe('   ---(x|)', { x: 'graph/bad-size' });
      expectSubscriptions(source.subscriptions).toBe('^--!');
    });
    expect(discarded.toSorted()).toEqual(['a', 'b']);
  });
});

describe('bad input', () => {
  test('is refused when the operator is created', () => {
    const codes = [{}, { items: 0 }, { items: 1.5 }, { bytes: 0, sizeOf: () => 1 }, { bytes: 8 }].map((options) => {
      try {
        batchBy(options);
      } catch (error) {
        expect(error).toBeInstanceOf(GraphError);
        return (error as GraphError).code;
      }
      return 'accepted';
    });
    expect(codes).toEqual([...Array<string>(4).fill('graph/bad-capacity'), 'graph/no-size']);
  });

  test('is an error with the node, the item and the cause', async () => {
    const cause = new Error('no such column');
    const weight = (x: number): number => {
      if (x === 2) throw cause;
      return 1;
    };
    const stream = pull([0, 1, 2]).pipe(batchBy({ items: 5, weight, name: 'pairs' }));
    await expect(all(stream)).rejects.toMatchObject({
      code: 'graph/bad-weight',
      place: { node: 'pairs', record: 2 },
      cause,
    });
    for (const bad of [0, -1, Number.NaN]) {
      const error = all(of(1).pipe(batchBy({ items: 5, weight: () => bad })));
      await expect(error).rejects.toMatchObject({ code: 'graph/bad-weight', place: { node: 'batchBy', record: 0 } });
    }
  });
});
