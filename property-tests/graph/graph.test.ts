import { filter, finalize, lastValueFrom, map, take, toArray } from 'rxjs';
import { describe, expect } from 'vitest';
import { type GraphBuilder, type GraphObserver, graph, type NodeCounters, type WorkSpan } from '../../graph/index.ts';
import { fc, test } from '../law-test.ts';
import { delayAt, delays, MANY, meteredSource, range, settled, sorted, turns } from './graph-harness.ts';

const oneTo = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });

/** Parameters of a chain: a source, two stages, and a reduction that appends the results to an array. */
const chains = fc.record({
  length: fc.nat({ max: 40 }),
  lanes: fc.tuple(oneTo(4), oneTo(4)),
  capacity: fc.tuple(oneTo(4), oneTo(4), oneTo(4)),
  reading: delays,
  working: fc.tuple(delays, delays, delays),
});

describe('a graph of stages', () => {
  test.prop({ chain: chains, ordered: fc.boolean() })(
    'maps its source, in order on request, and never reads ahead of its bounds',
    async ({ chain: { length, lanes, capacity, reading, working }, ordered }) => {
      const source = meteredSource(length, reading);
      let finished = 0;
      let ahead = 0;
      const chain = graph('chain', (g) => {
        const worker = (k: 0 | 1) => async (item: number) => {
          ahead = Math.max(ahead, source.made - finished);
          await turns(delayAt(working[k], item));
          return item + 1000 ** k;
        };
        const read = g.source('read', source);
        const first = g.stage('first', read, worker(0), { lanes: lanes[0], capacity: capacity[0], ordered });
        const second = g.stage('second', first, worker(1), { lanes: lanes[1], capacity: capacity[1], ordered });
        const append = async (items: number[], item: number): Promise<number[]> => {
          await turns(delayAt(working[2], item));
          finished++;
          return [...items, item];
        };
        return g.reduce('append', second, append, (): number[] => [], { capacity: capacity[2] });
      });
      const result = await chain.run().result;

      const expected = range(length).map((item) => item + 1001);
      expect(ordered ? result : sorted(result)).toEqual(expected);
      // The maximum number of items in flight: the items on the three edges and in the lanes, one that is being read,
      // and one that is being appended.
      const bound = capacity[0] + lanes[0] + capacity[1] + lanes[1] + capacity[2] + 1 + 1;
      expect(ahead).toBeLessThanOrEqual(bound);
      expect(source.concurrentNexts).toBeLessThanOrEqual(1);
      expect(source.returns).toBe(0);
    },
  );

  test.prop({ wanted: oneTo(10), capacity: oneTo(4), lanes: oneTo(3), working: delays })(
    'take stops the reader and the nodes before it',
    async ({ wanted, capacity, lanes, working }) => {
      const source = meteredSource(1000);
      const firstFew = graph('first-few', (g) => {
        const work = async (item: number): Promise<number> => {
          await turns(delayAt(working, item));
          return item;
        };
        const worked = g.stage('work', g.source('read', source), work, { lanes, capacity, ordered: true });
        return g.collect('collect', g.pipe('take', worked, take(wanted)));
      });
      expect(await firstFew.run().result).toEqual(range(wanted));
      await settled();
      expect(source.returns).toBe(1);
      expect(source.made).toBeLessThanOrEqual(wanted + capacity + lanes + 3);
    },
  );

  test('a filter between two edges leaks no credit', async () => {
    const source = meteredSource(5000);
    const sparse = graph('sparse', (g) => {
      const some = g.pipe(
        'some',
        g.source('read', source),
        filter((item: number) => item % 500 === 499),
      );
      return g.collect(
        'collect',
        g.stage('work', some, async (item) => item, { capacity: 1 }),
      );
    });
    expect(await sparse.run().result).toEqual(range(10).map((k) => k * 500 + 499));
  });

  test('operators in a pipe are subscribed once per run and unsubscribed once, however the run ends', async () => {
    const log: string[] = [];
    const noted = graph('noted', (g) => {
      const read = g.source('read', () => range(100));
      const seen = g.pipe(
        'seen',
        read,
        map((item: number) => item + 1),
        finalize(() => log.push('left')),
      );
      return g.sink('sink', seen, async () => await turns(1));
    });
    await noted.run().result;
    const aborted = noted.run();
    await turns(5);
    aborted.abort();
    await expect(aborted.result).rejects.toThrow('The run was aborted.');
    expect(log).toEqual(['left', 'left']);
  });
});

describe('what a run reports', () => {
  test.prop({ chain: chains })(
    'every item that enters a node leaves it, and all edges are empty at the end',
    async ({ chain }) => {
      const spans: WorkSpan[] = [];
      const levels: { edge: string; items: number }[] = [];
      const observer: GraphObserver = {
        span: (span) => spans.push(span),
        occupancy: (sample) => levels.push(sample),
        mark: () => {},
      };
      const told = graph('told', (g) => {
        const [first, second] = chain.working;
        const read = g.source('read', range(chain.length));
        const { odd, even } = g.branch('parity', read, { odd: (item) => item % 2 === 1, even: 'rest' });
        const worked = g.stage('work', odd, async (item) => await turns(delayAt(first, item)), {
          lanes: chain.lanes[0],
          capacity: chain.capacity[0],
        });
        const merged = g.merge('merge', [worked, even], { capacity: chain.capacity[1] });
        return g.sink('sink', merged, async () => await turns(delayAt(second, 0)), { lanes: chain.lanes[1] });
      });
      const run = told.run(undefined, { observer });
      const handed = await run.result;

      expect(handed).toBe(chain.length);
      const counters = new Map(run.counters().map((each) => [each.name, each]));
      const of = (name: string): NodeCounters => counters.get(name)!;
      const odds = Math.floor(chain.length / 2);
      expect(['read', 'parity', 'work', 'merge'].map((name) => [of(name).in, of(name).out])).toEqual([
        [chain.length, chain.length],
        [chain.length, chain.length],
        [odds, odds],
        [chain.length, chain.length],
      ]);
      for (const { dropped, skipped, depth, active } of counters.values()) {
        expect([dropped, skipped, depth, active]).toEqual([0, 0, 0, 0]);
      }
      for (const { peak, capacity } of run.edges()) expect(peak).toBeLessThanOrEqual(capacity.items);
      const capacities = new Map(run.edges().map(({ edge, capacity }) => [edge, capacity.items]));
      for (const { edge, items } of levels) expect(items).toBeLessThanOrEqual(capacities.get(edge)!);
      for (const [name, lanes] of [['work', chain.lanes[0]] as const, ['sink', chain.lanes[1]] as const]) {
        const own = spans.filter(({ node }) => node === name).toSorted((a, b) => a.item - b.item);
        expect(own.map(({ item }) => item)).toEqual(range(of(name).in));
        expect(own.every(({ lane, start, end, outcome }) => lane < lanes && start <= end && outcome === 'done')).toBe(
          true,
        );
      }
    },
  );

  test('the shape is known before the run', () => {
    const source = meteredSource(3);
    const { shape } = graph('shape', (g) => {
      const { left, right } = g.broadcast('tee', g.source('read', source), ['left', 'right']);
      const batches = g.batch('batch', left, { items: 3 });
      const joined = g.join(
        'join',
        { left: batches, right },
        { key: { left: (b) => b[0], right: (x) => x }, capacity: 7 },
      );
      g.sink('pairs', joined.pairs, () => {}, { lanes: 2, capacity: { items: 5 }, runsOn: 'gpu' });
      return g.sink('rest', g.merge('merge', [joined.leftOnly, joined.rightOnly]), () => {});
    });
    const unbounded = Number.POSITIVE_INFINITY;
    expect(shape.name).toBe('shape');
    expect(shape.nodes.map(({ name, kind }) => `${name}:${kind}`)).toEqual([
      'read:source',
      'tee:broadcast',
      'batch:batch',
      'join:join',
      'pairs:sink',
      'merge:merge',
      'rest:sink',
    ]);
    expect(shape.nodes[4]).toEqual({
      name: 'pairs',
      kind: 'sink',
      lanes: 2,
      capacity: { items: 5, bytes: unbounded },
      runsOn: 'gpu',
    });
    const end = (name: string, port?: string): string => (port === undefined ? name : `${name}.${port}`);
    expect(
      shape.edges.map(({ from, fromPort, to, toPort, capacity }) => [
        end(from, fromPort),
        end(to, toPort),
        capacity.items,
      ]),
    ).toEqual([
      ['read', 'tee', 1],
      ['tee.left', 'batch', 1],
      ['batch', 'join.left', 7],
      ['tee.right', 'join.right', 7],
      ['join.pairs', 'pairs', 5],
      ['join.leftOnly', 'merge', 1],
      ['join.rightOnly', 'merge', 1],
      ['merge', 'rest', 1],
    ]);
    expect(source.made).toBe(0);
  });

  test('progress counts the units of the sources, or of the nodes that measure it', async () => {
    const define = (measured: boolean) =>
      graph('progress', (g) => {
        const read = g.source('read', ['a', 'bb', 'ccc'], { total: 6, units: (text) => text.length });
        return g.sink('sink', read, () => {}, measured ? { progress: () => 2 } : {});
      });
    for (const measured of [false, true]) {
      const run = define(measured).run(undefined, { progressEvery: 0 });
      const reports = await lastValueFrom(run.progress$.pipe(toArray()));
      await run.result;
      expect(reports.at(-1)).toMatchObject({ done: 6, total: 6 });
      expect(reports.every(({ done }, i) => done >= (reports[i - 1]?.done ?? 0))).toBe(true);
    }
  });

  test('functions get the context of their run, and a run without one is refused', async () => {
    const scaled = graph('scaled', (g: GraphBuilder<{ factor: number }>) => {
      const read = g.source('read', ({ ctx }) => [ctx.factor, 2 * ctx.factor]);
      return g.reduce('sum', read, (sum, item, { ctx }) => sum + item * ctx.factor, 0);
    });
    expect(await Promise.all([scaled.run({ factor: 2 }).result, scaled.run({ factor: 3 }).result])).toEqual([12, 27]);
    await expect(scaled.run().result).rejects.toMatchObject({ code: 'graph/no-context' });
  });

  test('the result of a run has the form of the value that the definition returns', async () => {
    const several = graph('several', (g) => {
      const { a, b } = g.broadcast('tee', g.source('read', range(4)), ['a', 'b']);
      return { items: g.collect('items', a), count: g.sink('count', b, () => {}) };
    });
    const typed: { items: number[]; count: number } = await several.run().result;
    expect(typed).toEqual({ items: range(4), count: 4 });
    const mixed = graph('mixed', (g) =>
      g.collect('all', g.merge('merge', [g.source('numbers', [1]), g.source('texts', ['one'])])),
    );
    const either: (number | string)[] = await mixed.run().result;
    expect(either.toSorted()).toEqual([1, 'one']);
  });

  test(`${MANY} items run through three nodes`, async () => {
    const long = graph('long', (g) => {
      const read = g.source('read', range(MANY));
      return g.reduce(
        'sum',
        g.stage('same', read, (item) => item, { capacity: 64 }),
        (a, b) => a + b,
        0,
      );
    });
    expect(await long.run().result).toBe((MANY * (MANY - 1)) / 2);
  });
});

describe('with ordered stages, results do not depend on timing', () => {
  test.prop({ length: fc.nat({ max: 30 }), some: delays, others: delays, lanes: oneTo(4), items: oneTo(4) })(
    'through branches, batches and folds that do not commute',
    async ({ length, some, others, lanes, items }) => {
      const resultWith = (table: readonly number[]) => {
        const define = graph('ordered', (g) => {
          const late = async <A>(item: A, { index }: { index: number }): Promise<A> => {
            await turns(delayAt(table, index));
            return item;
          };
          const read = g.source('read', meteredSource(length, table));
          const first = g.stage('first', read, late, { lanes, ordered: true, capacity: 2 });
          const { thirds, others } = g.branch('thirds', first, { thirds: (item) => item % 3 === 0, others: 'rest' });
          const batches = g.stage('late', g.batch('batch', thirds, { items }), late, { lanes, ordered: true });
          const fold = (text: string, item: unknown): string => `(${text} ${JSON.stringify(item)})`;
          return { thirds: g.reduce('fold', batches, fold, ''), others: g.reduce('other', others, fold, '') };
        });
        return define.run().result;
      };
      expect(await resultWith(some)).toEqual(await resultWith(others));
    },
  );
});
