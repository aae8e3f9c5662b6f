import { catchError, lastValueFrom, type Observable, of, Subject, take, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect } from 'vitest';
import {
  type GraphObserver,
  type ItemFunction,
  type MigratedOptions,
  type MigratedStage,
  migrate,
  migrator,
  pull,
  stage,
  type TraceMark,
  type WorkSpan,
} from '../../graph/index.ts';
import { DeviceLostError, GraphError } from '../../primitives/checks/errors.ts';
import { fc, test } from '../law-test.ts';
import { delayAt, delays, meteredSource, range, settled, sorted, turns } from './graph-harness.ts';

const all = <T>(stream: Observable<T>): Promise<T[]> => lastValueFrom(stream.pipe(toArray()), { defaultValue: [] });

const marbles = (body: Parameters<TestScheduler['run']>[0]): void => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(body);
};

const codeOf = <T>(stream: Observable<T>): Observable<T | string> =>
  stream.pipe(catchError((error: GraphError) => of(error.code)));

const addOne =
  (table: readonly number[], made: number[] = []): ItemFunction<number, number> =>
  async (item) => {
    made.push(item);
    await turns(delayAt(table, item));
    return item + 1;
  };

interface Recorded extends GraphObserver {
  readonly spans: WorkSpan[];
  readonly marks: TraceMark[];
}

function recorder(): Recorded {
  const spans: WorkSpan[] = [];
  const marks: TraceMark[] = [];
  return {
    spans,
    marks,
    span: (span) => void spans.push(span),
    occupancy: () => {},
    mark: (mark) => void marks.push(mark),
  };
}

const named = (marks: readonly TraceMark[], name: string): TraceMark[] => marks.filter((mark) => mark.name === name);

const lanes = fc.integer({ min: 1, max: 3 });

describe('a pair of migrated stages', () => {
  test.prop({
    length: fc.nat({ max: 40 }),
    laneCounts: fc.tuple(lanes, lanes, lanes, lanes),
    capacity: fc.integer({ min: 1, max: 5 }),
    ordered: fc.boolean(),
    enabled: fc.boolean(),
    working: fc.tuple(delays, delays, delays, delays),
  })(
    'maps its source on either side, in order on request, within its bounds',
    async ({ length, laneCounts, capacity, ordered, enabled, working }) => {
      const balance = migrator({ enabled });
      const seen: number[][] = [[], [], [], []];
      const half = (k: 0 | 2): MigratedOptions<number, number> => ({
        cpu: addOne(working[k], seen[k]),
        gpu: addOne(working[k + 1]!, seen[k + 1]),
        cpuLanes: laneCounts[k],
        gpuLanes: laneCounts[k + 1],
        capacity,
        ordered,
      });
      const source = meteredSource(length);
      let delivered = 0;
      let max = 0;
      const counted = stage('count', (item: number) => {
        max = Math.max(max, source.made - delivered++);
        return item;
      });
      const first = balance.upstream('first', half(0));
      const second = balance.downstream('second', half(2));
      const results = await all(pull(source).pipe(first, second, counted));
      expect(ordered ? results : sorted(results)).toEqual(range(length).map((i) => i + 2));
      expect(sorted([...seen[0]!, ...seen[1]!])).toEqual(range(length));
      const bound = laneCounts.reduce((sum, count) => sum + count, 0) + 2 * capacity + 3;
      expect(max).toBeLessThanOrEqual(bound);
      for (const { meta, counters } of [first, second]) {
        expect(counters()).toMatchObject({ in: length, out: length, active: 0, depth: 0, skipped: 0, retried: 0 });
        expect(counters().peak).toBeLessThanOrEqual(capacity);
        expect(meta).toMatchObject({ runsOn: 'either', capacity: { items: capacity } });
      }
      expect(first.counters().migrated).toBe(seen[1]!.length);
      expect(second.counters().migrated).toBe(seen[2]!.length);
      if (!enabled) expect([...seen[1]!, ...seen[2]!]).toEqual([]);
    },
  );

  test.prop({
    length: fc.integer({ min: 1, max: 30 }),
    leave: fc.nat({ max: 20 }),
    ordered: fc.boolean(),
    working: fc.tuple(delays, delays),
    how: fc.constantFrom('take' as const, 'fail' as const),
  })('discards undelivered items once, and stops its source', async (given) => {
    const { length, leave, ordered, working, how } = given;
    const source = meteredSource(length);
    const taken: number[] = [];
    const discarded: number[] = [];
    const discardedResults: number[] = [];
    const signals = new Set<AbortSignal>();
    const side =
      (table: readonly number[]): ItemFunction<number, number> =>
      async (item, { signal }) => {
        signals.add(signal);
        taken.push(item);
        await turns(delayAt(table, item));
        if (how === 'fail' && item === leave) throw new Error('broken');
        return item;
      };
    const both = migrate('both', {
      gpu: side(working[0]),
      cpu: side(working[1]),
      cpuLanes: 2,
      capacity: 3,
      ordered,
      onError: 'stop',
      discard: (item) => discarded.push(item),
      discardResult: (item) => discardedResults.push(item),
    });
    const results: number[] = [];
    const stream = pull(source, { discard: (item) => discarded.push(item) }).pipe(both);
    const ended = how === 'take' ? stream.pipe(take(leave + 1)) : stream;
    const error = await ended
      .forEach((item) => void results.push(item))
      .then(
        () => undefined,
        (reason: unknown) => reason,
      );
    await settled();
    const failed = how === 'fail' && leave < length ? [leave] : [];
    expect(error === undefined).toBe(failed.length === 0);
    expect(sorted([...results, ...discarded, ...discardedResults, ...failed])).toEqual(range(source.made));
    expect(new Set(taken).size).toBe(taken.length);
    expect(source.ended || source.returns === 1).toBe(true);
    if (!source.ended) expect([...signals].every((signal) => signal.aborted)).toBe(true);
    expect(both.counters()).toMatchObject({ active: 0, depth: 0 });
  });
});

describe('the migrated item', () => {
  const held = (): { gate: Promise<void>; open: () => void } => {
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    return { gate, open };
  };

  test('from a full edge is the smallest, with a mark of the reason', async () => {
    const { gate, open } = held();
    const observer = recorder();
    const sizes = [9, 5, 3, 7, 8];
    const onCpu: number[] = [];
    const slow = migrate('aggregate', {
      gpu: async (size: number) => gate.then(() => size),
      cpu: async (size) => {
        onCpu.push(size);
        return gate.then(() => size);
      },
      capacity: 3,
      sizeOf: (size) => size,
      observer,
    });
    const results = all(pull(sizes).pipe(slow));
    await settled();
    expect(onCpu).toEqual([3]);
    expect(named(observer.marks, 'migrate/gpu-to-cpu')).toMatchObject([
      { node: 'aggregate', detail: { item: 2, size: 3, reason: 'full', waiting: 3 } },
    ]);
    open();
    expect(sorted(await results)).toEqual(sorted(sizes));
    expect(named(observer.marks, 'migrate/full').length).toBeGreaterThan(0);
    const sides = new Map(observer.spans.map(({ item, runsOn, lane }) => [item, { runsOn, lane }]));
    expect(sides.get(0)).toEqual({ runsOn: 'gpu', lane: 0 });
    expect(sides.get(2)).toEqual({ runsOn: 'cpu', lane: 1 });
    expect(sides.size).toBe(sizes.length);
  });

  test.each(['gpu', 'cpu'] as const)('is traced where its function runs: on the %s', async (gpuRunsOn) => {
    const observer = recorder();
    const double = (x: number): number => 2 * x;
    const doubled = migrate('double', { gpu: double, cpu: double, gpuRunsOn, enabled: false, observer });
    expect(await all(pull([1, 2, 3]).pipe(doubled))).toEqual([2, 4, 6]);
    expect(doubled.meta.runsOn).toBe(gpuRunsOn === 'cpu' ? 'cpu' : 'either');
    expect(observer.spans.map(({ runsOn }) => runsOn)).toEqual([gpuRunsOn, gpuRunsOn, gpuRunsOn]);
  });

  test('does not exist while lanes of the other side are blocked downstream', async () => {
    const { gate, open } = held();
    const id = async (x: number): Promise<number> => x;
    const first = migrate('first', { gpu: id, cpu: id, capacity: 2 });
    const last = stage('last', (x: number) => gate.then(() => x));
    const results = all(pull(range(12)).pipe(first, last));
    await settled();
    const { in: begun } = first.counters();
    await settled();
    expect(first.counters().in).toBe(begun);
    expect(first.counters().depth).toBe(2);
    open();
    expect(sorted(await results)).toEqual(range(12));
  });
});

describe('failures', () => {
  test.prop({
    length: fc.integer({ min: 1, max: 30 }),
    bad: fc.uniqueArray(fc.nat({ max: 29 }), { maxLength: 8 }),
    ordered: fc.boolean(),
    working: fc.tuple(delays, delays),
  })('on one side are retried on the other', async ({ length, bad, ordered, working }) => {
    const gpu = addOne(working[0]);
    const observer = recorder();
    const both = migrate('both', {
      gpu: async (item, context) => {
        if (bad.includes(item)) throw new Error(`the GPU cannot do ${item}`);
        return gpu(item, context);
      },
      cpu: addOne(working[1]),
      cpuLanes: 2,
      ordered,
      observer,
    });
    const results = await all(pull(range(length)).pipe(both));
    expect(ordered ? results : sorted(results)).toEqual(range(length).map((i) => i + 1));
    const failed = observer.spans.filter(({ outcome }) => outcome === 'failed');
    expect(both.counters()).toMatchObject({ retried: failed.length, skipped: 0, in: length, out: length });
    const retries = named(observer.marks, 'migrate/gpu-to-cpu').filter(({ detail }) => detail?.reason === 'failed');
    expect(sorted(retries.map(({ detail }) => detail?.item as number))).toEqual(sorted(failed.map(({ item }) => item)));
  });

  test.prop({
    length: fc.integer({ min: 1, max: 30 }),
    lostAt: fc.nat({ max: 29 }),
    ordered: fc.boolean(),
    laneCounts: fc.tuple(lanes, lanes),
    working: fc.tuple(delays, delays),
  })('of the device leave all items to the CPU, and no item is lost', async (given) => {
    const { length, lostAt, ordered, laneCounts, working } = given;
    const observer = recorder();
    let lost = false;
    let gpuCallsSince = 0;
    const gpu =
      (table: readonly number[]): ItemFunction<number, number> =>
      async (item) => {
        gpuCallsSince += named(observer.marks, 'migrate/gpu-lost').length;
        await turns(delayAt(table, item));
        lost ||= item === lostAt;
        if (lost) throw new Error('wrapped', { cause: new DeviceLostError('device/lost', 'The device is gone.') });
        return item + 1;
      };
    const balance = migrator();
    const options = { gpuLanes: laneCounts[0], cpuLanes: laneCounts[1], ordered, observer };
    const first = balance.upstream('first', { ...options, cpu: addOne(working[0]), gpu: gpu(working[0]) });
    const second = balance.downstream('second', { ...options, cpu: addOne(working[1]), gpu: gpu(working[1]) });
    const results = await all(pull(range(length)).pipe(first, second));
    expect(ordered ? results : sorted(results)).toEqual(range(length).map((i) => i + 2));
    expect(gpuCallsSince).toBe(0);
    if (lost) expect(named(observer.marks, 'migrate/gpu-lost').length).toBeGreaterThan(0);
  });

  test('on both sides end the stream, with the node, the item and the last cause', async () => {
    const discarded: number[] = [];
    const broken = (side: string) => async (item: number) => {
      if (item === 2) throw new Error(`${side} failed`);
      return item;
    };
    const options = { gpu: broken('gpu'), cpu: broken('cpu'), discard: (item: number) => void discarded.push(item) };
    const error = await all(pull(range(3)).pipe(migrate('both', options))).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GraphError);
    expect(error).toMatchObject({ code: 'graph/item-failed', place: { node: 'both', record: 2 } });
    expect((error as GraphError).cause).toMatchObject({ message: 'cpu failed' });
    expect(discarded).toEqual([2]);
  });

  test('on both sides are reported and skipped on request', async () => {
    for (const ordered of [false, true]) {
      const graphErrors: GraphError[] = [];
      const broken = async (item: number): Promise<number> => {
        if (item % 5 === 2) throw new Error('corrupt');
        return item;
      };
      const onFailed = (error: GraphError): void => void graphErrors.push(error);
      const both = migrate('both', { gpu: broken, cpu: broken, ordered, onFailed });
      expect(sorted(await all(pull(range(12)).pipe(both)))).toEqual(range(12).filter((item) => item % 5 !== 2));
      expect(sorted(graphErrors.map(({ place }) => place?.record as number))).toEqual([2, 7]);
      expect(both.counters()).toMatchObject({ in: 12, out: 10, skipped: 2, retried: 2 });
    }
  });

  test('stop at the first on request, without a try on the other side', async () => {
    const onCpu: number[] = [];
    const gpu = async (): Promise<number> => {
      throw new Error('no');
    };
    const stopping = migrate('both', { gpu, cpu: addOne([0], onCpu), onError: 'stop', capacity: 9 });
    await expect(all(pull([1]).pipe(stopping))).rejects.toMatchObject({ code: 'graph/item-failed' });
    expect(onCpu).toEqual([]);
  });
});

describe('runs of the same migrated stage', () => {
  test('start with a working GPU, and count from 0', async () => {
    let lose = true;
    const ranOnGpu: number[] = [];
    const gpu = async (item: number): Promise<number> => {
      if (lose) throw new DeviceLostError('device/lost', 'The device is gone.');
      ranOnGpu.push(item);
      return item;
    };
    const both: MigratedStage<number, number> = migrate('both', { gpu, cpu: async (item) => item, enabled: false });
    expect(sorted(await all(pull(range(6)).pipe(both)))).toEqual(range(6));
    expect(both.counters()).toMatchObject({ migrated: 6 });
    lose = false;
    expect(sorted(await all(pull(range(6)).pipe(both)))).toEqual(range(6));
    expect(sorted(ranOnGpu)).toEqual(range(6));
    expect(both.counters()).toMatchObject({ migrated: 0, in: 6 });
  });

  test('at the same time do not affect each other', async () => {
    const balance = migrator();
    const both = balance.downstream('b', { gpu: addOne([2, 0]), cpu: addOne([1]), ordered: true });
    const first = balance.upstream('a', { gpu: addOne([1]), cpu: addOne([0, 3]), ordered: true });
    const runs = await Promise.all([10, 20].map((length) => all(pull(range(length)).pipe(first, both))));
    expect(runs).toEqual([10, 20].map((length) => range(length).map((item) => item + 2)));
  });
});

describe('marbles: subscriptions', () => {
  const id = { gpu: (x: string): string => x, cpu: (x: string): string => x };
  const pair = (capacity: number) => {
    const balance = migrator();
    const [up, down] = [balance.upstream('up', { ...id, capacity }), balance.downstream('down', { ...id, capacity })];
    return (source: Observable<string>): Observable<string> => source.pipe(up, down);
  };

  test('the source is subscribed with the pair and unsubscribed in the frame of the unsubscribe', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot('--a--b--c--');
      expectObservable(source.pipe(pair(8)), '-^----!').toBe('---');
      expectSubscriptions(source.subscriptions).toBe('-^----!');
    });
  });

  test('an error of the source is passed on at once', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const source = cold('--a--#');
      expectObservable(source.pipe(pair(8))).toBe('-----#');
      expectSubscriptions(source.subscriptions).toBe('^----!');
    });
  });

  test('an overflow ends the pair and unsubscribes from the source in the same frame', () => {
    marbles(({ hot, expectObservable, expectSubscriptions }) => {
      const source = hot('-a-b-c-d-e-f-');
      expectObservable(source.pipe(pair(2), codeOf)).toBe('-----(x|)', { x: 'graph/overflow' });
      expectSubscriptions(source.subscriptions).toBe('^----!');
    });
  });

  test('a stage that drops items stays subscribed, and keeps the order', async () => {
    const source = new Subject<number>();
    const dropped: number[] = [];
    const discard = (item: number): void => void dropped.push(item);
    const options = { gpu: addOne([2]), cpu: addOne([1]), capacity: 2, ordered: true, discard };
    const dropping = migrate('both', { ...options, overflow: 'drop-oldest' });
    const results = all(source.pipe(dropping));
    for (const item of range(12)) source.next(item);
    await settled();
    source.next(12);
    source.complete();
    const kept = await results;
    expect(kept).toEqual(sorted(kept));
    expect(sorted([...kept.map((item) => item - 1), ...dropped])).toEqual(range(13));
    expect(dropping.counters().dropped).toBe(dropped.length);
  });
});

test('invalid options are refused when the stage is created', () => {
  const id = { gpu: (x: number): number => x, cpu: (x: number): number => x };
  expect(() => migrate('m', { ...id, gpuLanes: 0 })).toThrow(/^m: .*lane/);
  expect(() => migrate('m', { ...id, cpuLanes: 0.5 })).toThrow(/^m: .*lane/);
  expect(() => migrate('m', { ...id, capacity: { bytes: 100 } })).toThrow(/sizeOf/);
});
