import { readdirSync, readFileSync } from 'node:fs';
import { filter, map, type Observable, type Subscription, take, tap } from 'rxjs';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { Channel, pull, pullMap, stage } from '../../graph/index.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { delayAt, delays, MANY, meteredSource, settled, turns } from './graph-harness.ts';

/** A buffer whose ownership must end exactly once. Each end adds an entry to `fates`. */
interface Buffer {
  readonly id: number;
  readonly bytes: number;
  readonly fates: string[];
}

/** Makes buffers, and keeps a list of all of them. */
function newLedger(): {
  made: Buffer[];
  make: (id: number) => Buffer;
  end: (fate: string) => (buffer: Buffer) => void;
} {
  const made: Buffer[] = [];
  return {
    made,
    make: (id) => {
      const buffer = { id, bytes: 1 + (id % 7), fates: [] };
      made.push(buffer);
      return buffer;
    },
    end: (fate) => (buffer) => void buffer.fates.push(fate),
  };
}

const ways = fc.constantFrom(
  'complete',
  'unsubscribe',
  'take',
  'take between',
  'source fails',
  'first stage fails',
  'second stage fails',
  'operator fails',
  'subscriber operator fails',
);

const rejections: unknown[] = [];
const keep = (reason: unknown): void => void rejections.push(reason);
beforeEach(() => void process.on('unhandledRejection', keep));
afterEach(() => {
  process.off('unhandledRejection', keep);
  expect(rejections.splice(0)).toEqual([]);
});

describe('a pipeline, for every way to end', () => {
  test.prop(
    {
      way: ways,
      at: fc.nat({ max: 25 }),
      length: fc.nat({ max: 40 }),
      lanes: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
      items: fc.integer({ min: 1, max: 4 }),
      bytes: fc.integer({ min: 1, max: 20 }),
      ordered: fc.boolean(),
      reading: delays,
      working: fc.tuple(delays, delays, delays),
    },
    { numRuns: caseCount(300) },
  )(
    'uses or discards every buffer exactly once, stops the reader once, and comes to rest',
    async ({ way, at, length, lanes, items, bytes, ordered, reading, working }) => {
      const { made, make, end } = newLedger();
      const source = meteredSource(length, reading, way === 'source fails' ? at : -1);
      const signals = new Map<string, AbortSignal>();
      let done = 0;
      let failure: unknown;
      let completed = false;

      const failing = (name: string) => (buffer: Buffer) => {
        if (way === name && buffer.id === at) throw new Error(name);
      };
      const worker =
        (name: string, table: readonly number[]) =>
        async (buffer: Buffer, { signal }: { signal: AbortSignal }): Promise<Buffer> => {
          signals.set(name, signal);
          end(`used by ${name}`)(buffer);
          await turns(delayAt(table, buffer.id));
          failing(name)(buffer);
          return make(buffer.id);
        };
      const discard = end('discarded');
      const hooks = { discard, discardResult: discard, ordered, sizeOf: (buffer: Buffer) => buffer.bytes };
      const reader = pullMap(
        source,
        async (id) => {
          await turns(delayAt(working[0], id));
          return make(id);
        },
        { lanes: lanes[0], ordered, discardResult: discard },
      );
      const swallowOdd = filter((buffer: Buffer) => {
        if (buffer.id % 2 === 1) end('swallowed')(buffer);
        return buffer.id % 2 === 0;
      });
      const first = stage('first stage fails', worker('first stage fails', working[1]), {
        ...hooks,
        lanes: lanes[1],
        capacity: { items, bytes },
      });
      const second = stage('second stage fails', worker('second stage fails', working[2]), {
        ...hooks,
        lanes: lanes[2],
        capacity: { items, bytes },
      });
      const passing = map((buffer: Buffer) => buffer);
      /**
       * An operator that fails at some item. It owns this item, so it records the end of the ownership before it
       * throws.
       */
      const breaking = (name: string) =>
        tap((buffer: Buffer) => {
          if (way === name && buffer.id >= at) {
            end('broken')(buffer);
            throw new Error(name);
          }
        });
      const stream: Observable<Buffer> = reader.pipe(
        swallowOdd,
        first,
        way === 'take between' ? take(Math.max(1, at)) : passing,
        breaking('operator fails'),
        second,
        way === 'take' ? take(Math.max(1, at)) : passing,
        breaking('subscriber operator fails'),
      );
      const subscription: Subscription = stream.subscribe({
        next: (buffer) => {
          end('delivered')(buffer);
          if (++done > at && way === 'unsubscribe') subscription.unsubscribe();
        },
        error: (error: unknown) => {
          failure = error;
        },
        complete: () => {
          completed = true;
        },
      });
      for (let turn = 0; turn < 1000 && !subscription.closed; turn++) await turns(1);
      expect(subscription.closed).toBe(true);
      await settled();

      expect(made.filter(({ fates }) => fates.length !== 1)).toEqual([]);
      expect(source.returns).toBeLessThanOrEqual(1);
      expect(source.ended || source.returns === 1).toBe(true);
      expect(source.concurrentNexts).toBeLessThanOrEqual(1);
      for (const { counters } of [first, second]) {
        expect(counters()).toMatchObject({ depth: 0, bytes: 0, active: 0 });
        expect(counters().peak).toBeLessThanOrEqual(items);
        expect(counters().peakBytes).toBeLessThanOrEqual(Math.max(bytes, 7));
      }
      if (completed && !way.startsWith('take')) expect(done).toBe(Math.ceil(length / 2));
      expect(failure === undefined || way.endsWith('fails')).toBe(true);
      if (way === 'complete') for (const signal of signals.values()) expect(signal.aborted).toBe(false);
      if (failure !== undefined && way.endsWith('stage fails')) expect(signals.get(way)?.aborted).toBe(true);
    },
  );
});

describe('a fast producer and a slow consumer', () => {
  test('hold exactly as many items as the bounds allow', async () => {
    let openGate = (): void => {};
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    const chunks = new Channel<Uint8Array>({ items: 4, bytes: 40, sizeOf: (chunk) => chunk.byteLength });
    let pushed = 0;
    const producer = (async () => {
      for (; pushed < 100; pushed++) await chunks.push(new Uint8Array(10));
      chunks.close();
    })();
    const slow = stage(
      'slow',
      async (chunk: Uint8Array) => {
        await gate;
        return chunk.byteLength;
      },
      { capacity: { items: 10, bytes: 35 }, sizeOf: (chunk) => chunk.byteLength },
    );
    let total = 0;
    const ended = new Promise<void>((complete, error) => {
      pull(chunks)
        .pipe(slow)
        .subscribe({ next: (length) => (total += length), complete, error });
    });
    await settled();
    // Nine chunks are in flight. One is in the lane, and three are on the edge, where they take 30 of 35 bytes. One
    // waits before the edge, and four are in the channel.
    expect(pushed).toBe(9);
    expect(slow.counters()).toMatchObject({ active: 1, depth: 3, bytes: 30, peakBytes: 30 });
    openGate();
    await Promise.all([ended, producer]);
    expect(total).toBe(1000);
    expect(chunks.peakBytes).toBe(40);
    expect(slow.counters().peakBytes).toBe(30);
  });

  test(`${MANY} sync items run through two stages`, async () => {
    let seen = 0;
    const work = (x: number): number => x;
    const items = Array.from({ length: MANY }, (_, i) => i);
    await pull(items)
      .pipe(stage('a', work, { lanes: 2 }), stage('b', work, { ordered: true, capacity: 16 }))
      .forEach(() => {
        seen++;
      });
    expect(seen).toBe(MANY);
  });
});

describe('the files of graph/', () => {
  const folder = new URL('../../graph/', import.meta.url);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  for (const file of names) {
    test(`${file} loads in a browser: it imports only rxjs and this library`, () => {
      const text = readFileSync(new URL(file, folder), 'utf8');
      const imports = [...text.matchAll(/from '([^']+)'/g)].map(([, from]) => from);
      expect(imports.filter((from) => from !== 'rxjs' && !from?.startsWith('.'))).toEqual([]);
      expect(text).not.toMatch(/(?<![\w-])(process|Buffer|setImmediate)\.\w/);
    });
  }
});
