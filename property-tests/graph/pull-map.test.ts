import { count, lastValueFrom, map, type Observable, take, takeUntil, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect } from 'vitest';
import { pull, pullMap } from '../../graph/index.ts';
import { GraphError } from '../../primitives/checks/errors.ts';
import { fc, test } from '../law-test.ts';
import { delayAt, delays, meteredSource, range, settled, sorted, turns } from './graph-harness.ts';

const lanesArbitrary = fc.integer({ min: 1, max: 6 });
const lengths = fc.nat({ max: 40 });

/** Resolves with the error of a stream. */
async function errorOf(stream: Observable<unknown>): Promise<unknown> {
  return lastValueFrom(stream).then(
    () => expect.fail('the stream did not fail'),
    (error: unknown) => error,
  );
}

describe('pullMap maps its source', () => {
  test.prop({ length: lengths, lanes: lanesArbitrary, ordered: fc.boolean(), reading: delays, working: delays })(
    'each item once, in order on request, with at most `lanes` in progress and one next() at a time',
    async ({ length, lanes, ordered, reading, working }) => {
      const source = meteredSource(length, reading);
      let finished = 0;
      let peak = 0;
      const work = async (item: number, { index }: { index: number }): Promise<number> => {
        expect(index).toBe(item);
        peak = Math.max(peak, source.made - finished);
        await turns(delayAt(working, item));
        return item * 3;
      };
      const counted = map((result: number) => {
        finished++;
        return result;
      });
      const results = await lastValueFrom(pullMap(source, work, { lanes, ordered }).pipe(counted, toArray()));
      expect(ordered ? results : sorted(results)).toEqual(range(length).map((i) => i * 3));
      expect(peak).toBeLessThanOrEqual(lanes);
      expect(source).toMatchObject({ made: length, returns: 0 });
      expect(source.concurrentNexts).toBe(1);
    },
  );

  test('sync iterables of 100,000 items do not overflow the stack', async () => {
    for (const ordered of [false, true]) {
      const total = lastValueFrom(pullMap(range(100_000), (x) => x, { lanes: 3, ordered }).pipe(count()));
      expect(await total).toBe(100_000);
    }
  });

  test('an array can be subscribed twice, a generator through its function', async () => {
    const fromArray = pull([1, 2, 3]);
    const fromGenerator = pull(function* () {
      yield* [1, 2, 3];
    });
    for (const stream of [fromArray, fromGenerator, fromArray, fromGenerator]) {
      expect(await lastValueFrom(stream.pipe(toArray()))).toEqual([1, 2, 3]);
    }
  });

  test('a ReadableStream is read to its end and its lock released', async () => {
    const stream = new ReadableStream<number>({
      start: (controller) => {
        for (const value of [1, 2, 3]) controller.enqueue(value);
        controller.close();
      },
    });
    expect(await lastValueFrom(pull(stream).pipe(toArray()))).toEqual([1, 2, 3]);
    await settled();
    expect(stream.locked).toBe(false);
  });

  test('a string is an iterable of characters', async () => {
    expect(await lastValueFrom(pull('añ').pipe(toArray()))).toEqual(['a', 'ñ']);
  });
});

describe('pullMap reads no further than necessary', () => {
  test.prop({ lanes: lanesArbitrary, wanted: fc.integer({ min: 1, max: 10 }), working: delays })(
    'take(n) stops the reader within lanes - 1 items',
    async ({ lanes, wanted, working }) => {
      const source = meteredSource(1000);
      const work = async (item: number): Promise<number> => {
        await turns(delayAt(working, item));
        return item;
      };
      await lastValueFrom(pullMap(source, work, { lanes }).pipe(take(wanted), toArray()));
      await settled();
      expect(source.made).toBeLessThanOrEqual(wanted + lanes - 1);
      expect(source.returns).toBe(1);
    },
  );

  test('a slow first item stops an ordered stream after `lanes` items', async () => {
    const source = meteredSource(100);
    let releaseFirst = (): void => {};
    const first = new Promise<void>((resolve) => {
      releaseFirst = resolve;
    });
    const work = async (item: number): Promise<number> => {
      if (item === 0) await first;
      return item;
    };
    const results = lastValueFrom(pullMap(source, work, { lanes: 4, ordered: true }).pipe(toArray()));
    await settled();
    expect(source.made).toBe(4);
    releaseFirst();
    expect(await results).toEqual(range(100));
  });
});

describe('an early unsubscribe', () => {
  test.prop({
    lanes: lanesArbitrary,
    ordered: fc.boolean(),
    // Some reads take a turn of the event loop, so that a subscriber can leave the stream before its source ends.
    reading: delays.map((table) => [1, ...table]),
    working: delays,
    after: fc.nat({ max: 20 }),
  })(
    'aborts the signal, calls return() once, and discards each item or result in progress',
    async ({ lanes, ordered, reading, working, after }) => {
      const source = meteredSource(1000, reading);
      const fates: number[] = [];
      let signal: AbortSignal | undefined;
      const work = async (item: number, context: { signal: AbortSignal }): Promise<number> => {
        signal ??= context.signal;
        await turns(delayAt(working, item));
        return item;
      };
      const fate = (item: number): void => void fates.push(item);
      const stream = pullMap(source, work, { lanes, ordered, discard: fate, discardResult: fate });
      const subscription = stream.subscribe(fate);
      await turns(after);
      expect(signal?.aborted ?? false).toBe(false);
      subscription.unsubscribe();
      expect(signal?.aborted ?? true).toBe(true);
      expect(source.returns).toBe(1);
      await settled();
      expect(sorted(fates)).toEqual(range(source.made));
      expect(source.returns).toBe(1);
    },
  );

  test('is not signalled to a source that ended by itself', async () => {
    const source = meteredSource(3);
    const signals = new Set<AbortSignal>();
    const keep = (item: number, { signal }: { signal: AbortSignal }): number => {
      signals.add(signal);
      return item;
    };
    await lastValueFrom(pullMap(source, keep, { lanes: 2 }));
    expect(source.returns).toBe(0);
    expect([...signals].map((signal) => signal.aborted)).toEqual([false]);
  });

  test('is signalled to a function source, so that an idle read can end', async () => {
    let cleaned = false;
    const idle = async function* (signal: AbortSignal): AsyncGenerator<number> {
      try {
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      } finally {
        cleaned = true;
      }
    };
    const subscription = pull(idle).subscribe();
    await settled();
    expect(cleaned).toBe(false);
    subscription.unsubscribe();
    await settled();
    expect(cleaned).toBe(true);
  });

  test('cancels a ReadableStream at once, even during a read', async () => {
    let cancelled = 0;
    const stream = new ReadableStream<number>({ cancel: () => void cancelled++ });
    const subscription = pull(stream).subscribe();
    await settled();
    subscription.unsubscribe();
    expect(cancelled).toBe(1);
    await settled();
    expect(stream.locked).toBe(false);
  });

  test('with a return() that fails causes no unhandled rejection', async () => {
    const iterator = { next: () => new Promise<never>(() => {}), return: () => Promise.reject(new Error('stuck')) };
    pull({ [Symbol.asyncIterator]: () => iterator })
      .subscribe()
      .unsubscribe();
    await settled();
  });

  test('marbles: ends the subscription to a pulled source in its frame', () => {
    const source = meteredSource(10);
    let signal: AbortSignal | undefined;
    const stream = pull((given) => {
      signal = given;
      return source;
    });
    new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(
      ({ cold, expectObservable, flush }) => {
        const stop = cold('---x');
        expectObservable(stream.pipe(takeUntil(stop))).toBe('---|');
        flush();
      },
    );
    expect(signal?.aborted).toBe(true);
    expect(source.returns).toBe(1);
  });
});

describe('errors', () => {
  test.prop({ lanes: lanesArbitrary, ordered: fc.boolean(), at: fc.nat({ max: 20 }), working: delays })(
    'an item that fails is an error with its node and cause, and stops the reader',
    async ({ lanes, ordered, at, working }) => {
      const source = meteredSource(1000);
      const cause = new Error('no such tile');
      let signal: AbortSignal | undefined;
      const work = async (item: number, context: { signal: AbortSignal }): Promise<number> => {
        signal = context.signal;
        await turns(delayAt(working, item));
        if (item === at) throw cause;
        return item;
      };
      const error = await errorOf(pullMap(source, work, { lanes, ordered, name: 'decode' }));
      expect(error).toBeInstanceOf(GraphError);
      expect(error).toMatchObject({ code: 'graph/item-failed', place: { node: 'decode', record: at }, cause });
      expect((error as Error).message).toContain('no such tile');
      expect(signal?.aborted).toBe(true);
      expect(source.returns).toBe(1);
    },
  );

  test('a source that fails is an error with its name, and gets no return()', async () => {
    const source = meteredSource(10, [0, 1], 4);
    const error = await errorOf(pull(source, { name: 'read' }));
    expect(error).toMatchObject({ code: 'graph/source-failed', place: { node: 'read', record: 4 } });
    expect((error as Error).cause).toMatchObject({ message: 'the source broke' });
    expect(source.returns).toBe(0);
  });

  test('a source that cannot be opened fails like one that cannot be read', async () => {
    const cause = new Error('gone');
    const open = (): Iterable<number> => {
      throw cause;
    };
    expect(await errorOf(pull(open, { name: 'read' }))).toMatchObject({ code: 'graph/source-failed', cause });
  });

  test('an abort and a GraphError are passed on unchanged', async () => {
    const inner = new GraphError('graph/item-failed', 'An inner graph failed.', { place: { node: 'inner' } });
    for (const cause of [new DOMException('stop', 'AbortError'), inner]) {
      const work = (): Promise<number> => Promise.reject(cause);
      expect(await errorOf(pullMap([1], work))).toBe(cause);
    }
  });

  test('an error of an operator reaches the subscriber and stops the reader', async () => {
    const source = meteredSource(1000);
    const broken = map((item: number) => {
      if (item === 5) throw new RangeError('downstream');
      return item;
    });
    expect(await errorOf(pull(source).pipe(broken))).toBeInstanceOf(RangeError);
    expect(source.made).toBe(6);
    expect(source.returns).toBe(1);
  });

  test('lanes must be a positive integer', () => {
    for (const lanes of [0, -1, 1.5, Number.NaN]) {
      expect(() => pullMap([], (x) => x, { lanes })).toThrow(GraphError);
    }
  });
});
