import {
  catchError,
  concat,
  EMPTY,
  filter,
  from,
  lastValueFrom,
  map,
  mergeMap,
  type Observable,
  type OperatorFunction,
  of,
  range as rangeOf,
  Subject,
  share,
  switchMap,
  take,
  toArray,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect } from 'vitest';
import { type Occupancy, type Overflow, pull, pullMap, stage } from '../../graph/index.ts';
import { GraphError } from '../../primitives/checks/errors.ts';
import { fc, test } from '../law-test.ts';
import { delayAt, delays, meteredSource, range, settled, sorted, turns } from './graph-harness.ts';

const all = <T>(stream: Observable<T>): Promise<T[]> => lastValueFrom(stream.pipe(toArray()));

const marbles = (body: Parameters<TestScheduler['run']>[0]): void => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(body);
};

/** Replaces the error of a stream by a last value, the code of the error. */
const codeOf = <T>(stream: Observable<T>): Observable<T | string> =>
  stream.pipe(catchError((error: GraphError) => of(error.code)));

/** A stage that finishes no item until `openGate` is called. */
function heldStage(capacity: number): { held: ReturnType<typeof stage<number, number>>; openGate: () => void } {
  let openGate = (): void => {};
  const gate = new Promise<void>((resolve) => {
    openGate = resolve;
  });
  const work = async (item: number): Promise<number> => {
    await gate;
    return item;
  };
  return { held: stage('held', work, { capacity }), openGate };
}

describe('a chain of stages', () => {
  test.prop({
    length: fc.nat({ max: 40 }),
    lanes: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
    capacity: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
    ordered: fc.boolean(),
    reading: delays,
    working: fc.tuple(delays, delays),
  })(
    'maps its source, in order on request, within the sum of its bounds',
    async ({ length, lanes, capacity, ordered, reading, working }) => {
      const source = meteredSource(length, reading);
      let finished = 0;
      let peak = 0;
      const worker = (k: 0 | 1) => async (item: number) => {
        peak = Math.max(peak, source.made - finished);
        await turns(delayAt(working[k], item));
        return item + 1000 ** k;
      };
      const first = stage('first', worker(0), { lanes: lanes[0], capacity: capacity[0], ordered });
      const second = stage('second', worker(1), { lanes: lanes[1], capacity: capacity[1], ordered });
      const results = await all(
        pull(source).pipe(
          first,
          second,
          map((item) => {
            finished++;
            return item;
          }),
        ),
      );
      expect(ordered ? results : sorted(results)).toEqual(range(length).map((i) => i + 1001));
      expect(peak).toBeLessThanOrEqual(1 + capacity[0] + lanes[0] + capacity[1] + lanes[1]);
      expect(first.counters()).toMatchObject({ in: length, out: length, active: 0, dropped: 0, depth: 0 });
      expect(first.counters().peak).toBeLessThanOrEqual(capacity[0]);
      expect(second.counters().peak).toBeLessThanOrEqual(capacity[1]);
    },
  );

  test.prop({
    sizes: fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 40 }),
    bytes: fc.integer({ min: 1, max: 120 }),
    working: delays,
  })('holds no more bytes on an edge than its bound, or one larger item', async ({ sizes, bytes, working }) => {
    const work = async (size: number): Promise<number> => {
      await turns(delayAt(working, size));
      return size;
    };
    const bounded = stage('bounded', work, { capacity: { bytes }, sizeOf: (size) => size });
    const results = await all(pullMap(sizes, (size) => size, { lanes: 3 }).pipe(bounded));
    expect(sorted(results)).toEqual(sorted(sizes));
    expect(bounded.counters().peakBytes).toBeLessThanOrEqual(Math.max(bytes, ...sizes));
  });

  test('has metadata that can be read before a run', () => {
    const parse = stage('parse', (x: number) => x, { lanes: 2, capacity: { items: 4, bytes: 64 }, sizeOf: () => 8 });
    const meta = { name: 'parse', kind: 'map', lanes: 2, capacity: { items: 4, bytes: 64 }, runsOn: 'cpu' };
    expect(parse.meta).toEqual(meta);
    expect(parse.counters()).toMatchObject({ in: 0, out: 0, busy: 0 });
    const plain = stage('plain', (x: number) => x, { lanes: 3, runsOn: 'gpu', kind: 'sink' });
    const capacity = { items: 3, bytes: Number.POSITIVE_INFINITY };
    expect(plain.meta).toEqual({ name: 'plain', kind: 'sink', lanes: 3, capacity, runsOn: 'gpu' });
  });

  test('has counters and occupancy of the latest subscription', async () => {
    const { held, openGate } = heldStage(3);
    const levels: Occupancy[] = [];
    held.occupancy$.subscribe((level) => levels.push(level));
    const results = all(pull(range(10)).pipe(held));
    await settled();
    expect(held.counters()).toMatchObject({ in: 1, active: 1, out: 0, depth: 3, peak: 3 });
    expect(held.counters().stalls).toBeGreaterThan(0);
    expect(levels.at(-1)).toEqual({ items: 3, bytes: 0 });
    openGate();
    await results;
    expect(held.counters()).toMatchObject({ in: 10, active: 0, out: 10, depth: 0, peak: 3 });
    expect(held.counters().busy).toBeGreaterThan(0);
    await all(pull([1]).pipe(held));
    expect(held.counters()).toMatchObject({ in: 1, out: 1 });
  });
});

describe('demand reaches the source', () => {
  const identity: OperatorFunction<number, number> = (source) => source;
  /**
   * Operators between two stages. `perItem` is the number of source items that are needed for each item that reaches
   * the second stage.
   */
  const between: Record<string, { operator: OperatorFunction<number, number>; perItem: number; results: number[] }> = {
    nothing: { operator: identity, perItem: 1, results: range(60) },
    map: { operator: map((x) => x * 2), perItem: 1, results: range(60).map((x) => x * 2) },
    filter: { operator: filter((x) => x % 3 === 2), perItem: 3, results: range(20).map((x) => x * 3 + 2) },
    'filter that drops every item': { operator: filter(() => false), perItem: Number.POSITIVE_INFINITY, results: [] },
    'mergeMap of one to two': {
      operator: mergeMap((x) => [x, x]),
      perItem: 0.5,
      results: range(60).flatMap((x) => [x, x]),
    },
  };
  for (const [name, { operator, perItem, results }] of Object.entries(between)) {
    test(`through ${name}, and no credit leaks`, async () => {
      const source = meteredSource(60);
      const { held, openGate } = heldStage(4);
      const first = stage('first', (x: number) => x, { lanes: 2, capacity: 3 });
      const stream = all(pull(source).pipe(first, operator, held));
      await settled();
      const reachedSecond = 4 + 1;
      const stillInFirst = 3 + 2 + 1;
      expect(source.made).toBeLessThanOrEqual(Math.ceil(perItem * reachedSecond) + stillInFirst);
      openGate();
      expect(await stream).toEqual(results);
      expect(held.counters().peak).toBeLessThanOrEqual(4);
    });
  }

  const roots: Record<string, (source: () => Observable<number>) => Observable<number>> = {
    'switchMap from a promise': (source) => from(Promise.resolve()).pipe(switchMap(source)),
    'mergeMap from a promise': (source) => from(Promise.resolve()).pipe(mergeMap(source)),
    'concat after a source that ends': (source) => concat(EMPTY, pull([] as number[]), source()),
  };
  for (const [name, root] of Object.entries(roots)) {
    test(`from ${name}`, async () => {
      const source = meteredSource(50);
      const { held, openGate } = heldStage(4);
      const results = all(root(() => pull(source)).pipe(held));
      await settled();
      expect(source.made).toBe(5);
      openGate();
      expect(await results).toEqual(range(50));
    });
  }

  test('take between two stages stops the reader', async () => {
    const source = meteredSource(1000);
    const first = stage('first', (x: number) => x, { lanes: 2, capacity: 3 });
    const second = stage('second', (x: number) => x, { capacity: 2 });
    expect(await all(pull(source).pipe(first, take(10), second))).toEqual(range(10));
    expect(source.made).toBeLessThanOrEqual(10 + 3 + 2 + 1);
    expect(source.returns).toBe(1);
  });

  test('take after a slow stage stops the reader', async () => {
    const source = meteredSource(1000);
    const slow = async (x: number): Promise<number> => {
      await turns(2);
      return x;
    };
    const stream = pull(source).pipe(
      stage('fast', (x: number) => x, { lanes: 2, capacity: 3 }),
      stage('slow', slow),
    );
    expect(await all(stream.pipe(take(10)))).toEqual(range(10));
    const made = source.made;
    expect(made).toBeLessThanOrEqual(10 + 1 + 3 + 2 + 1 + 1);
    await settled();
    expect(source.made).toBe(made);
  });
});

describe('a push source', () => {
  test('fails by default, with the edge, its capacity and a remedy', async () => {
    const discarded: number[] = [];
    const discard = (item: number): void => void discarded.push(item);
    const small = stage('small', (x: number) => x, { capacity: 4, discard });
    const error = await all(rangeOf(0, 100_000).pipe(small)).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(GraphError);
    expect(error).toMatchObject({ code: 'graph/overflow', place: { node: 'small' } });
    expect((error as GraphError).message).toMatch(/4 items.*pull\(\).*capacity.*drop-oldest/);
    expect(sorted(discarded)).toEqual(range(5));
  });

  test('is accepted while there is room', async () => {
    const subject = new Subject<number>();
    const results = all(subject.pipe(stage('id', (x: number) => x, { capacity: 2 })));
    for (const item of range(10)) {
      subject.next(item);
      await turns(1);
    }
    subject.complete();
    expect(await results).toEqual(range(10));
  });

  test('behind a share(), which hides demand, is detected rather than buffered', async () => {
    const { held } = heldStage(4);
    const source = meteredSource(1000);
    await expect(all(pull(source).pipe(share(), held))).rejects.toMatchObject({ code: 'graph/overflow' });
    expect(source.made).toBe(6);
    expect(source.returns).toBe(1);
  });

  const kept: Record<Exclude<Overflow, 'fail'>, number[]> = {
    'drop-newest': [0, 1, 2],
    'drop-oldest': [7, 8, 9],
  };
  for (const [overflow, expected] of Object.entries(kept) as [Overflow, number[]][]) {
    test(`${overflow} keeps its share, and counts and discards the rest`, async () => {
      const discarded: number[] = [];
      const discard = (item: number): void => void discarded.push(item);
      const dropping = stage('dropping', (x: number) => x, { capacity: 3, overflow, discard });
      expect(await all(from(range(10)).pipe(dropping))).toEqual(expected);
      expect(dropping.counters()).toMatchObject({ in: 3, out: 3, dropped: 7 });
      expect(sorted([...discarded, ...expected])).toEqual(range(10));
    });
  }

  test('drop-oldest makes room in bytes, too', async () => {
    const options = { capacity: { bytes: 10 }, sizeOf: (x: number) => x, overflow: 'drop-oldest' } as const;
    const dropping = stage('dropping', (x: number) => x, options);
    expect(await all(from([4, 3, 3, 7, 2]).pipe(dropping))).toEqual([7, 2]);
    expect(dropping.counters()).toMatchObject({ dropped: 3, peakBytes: 10 });
  });
});

describe('marbles: subscriptions', () => {
  test('the source is subscribed with the stage and unsubscribed in the frame of the unsubscribe', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot('--a--b--c--');
      const stream = source.pipe(stage('id', (x: string) => x, { capacity: 8 }));
      expectObservable(stream, '-^----!').toBe('---');
      expectSubscriptions(source.subscriptions).toBe('-^----!');
    });
  });

  test('an error of the source is passed on at once', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('--a--#');
      expectObservable(source.pipe(stage('id', (x: string) => x))).toBe('-----#');
      expectSubscriptions(source.subscriptions).toBe('^----!');
    });
  });

  test('an overflow ends the stage and unsubscribes from the source in the same frame', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot('-a-b-c-d-');
      const first = stage('first', (x: string) => x, { capacity: 2 });
      const second = stage('second', (x: string) => x, { capacity: 2 });
      expectObservable(source.pipe(first, second, codeOf)).toBe('-----(x|)', { x: 'graph/overflow' });
      expectSubscriptions(source.subscriptions).toBe('^----!');
    });
  });

  test('a stage that drops items stays subscribed', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot('-a-b-c-d-');
      const dropping = stage('dropping', (x: string) => x, { capacity: 1, overflow: 'drop-oldest' });
      expectObservable(source.pipe(dropping), '^--------!').toBe('-');
      expectSubscriptions(source.subscriptions).toBe('^--------!');
    });
  });
});

describe('bad input', () => {
  test('is refused when the stage is created', () => {
    const id = (x: number): number => x;
    expect(() => stage('s', id, { lanes: 0 })).toThrow(/^s: .*lane/);
    expect(() => stage('s', id, { capacity: 0 })).toThrow(/^s: /);
    expect(() => stage('s', id, { capacity: { bytes: 100 } })).toThrow(/sizeOf/);
  });

  test('an item without a size fails the stage, pushed or pulled', async () => {
    const sizeless = stage('s', (x: number) => x, { capacity: { bytes: 100 }, sizeOf: () => Number.NaN });
    for (const source of [of(1), pull([1])]) {
      await expect(all(source.pipe(sizeless))).rejects.toMatchObject({ code: 'graph/bad-size', place: { node: 's' } });
    }
  });
});

describe('many lanes before an edge with little room', () => {
  test.prop({
    lanes: fc.integer({ min: 50, max: 300 }),
    capacity: fc.integer({ min: 1, max: 3 }),
    ordered: fc.boolean(),
  })(
    'wait one after the other, so waiting takes work in proportion to the items',
    async ({ lanes, capacity, ordered }) => {
      const slow = stage('slow', async (x: number) => turns(1).then(() => x), { capacity });
      const items = range(200);
      const results = await all(pullMap(items, async (x) => x, { lanes, ordered }).pipe(slow));
      expect(sorted(results)).toEqual(items);
      expect(slow.counters().stalls).toBeLessThanOrEqual(2 * items.length);
    },
  );
});
