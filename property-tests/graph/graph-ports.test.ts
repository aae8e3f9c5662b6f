import { bufferCount, delay, mergeMap, take } from 'rxjs';
import { describe, expect } from 'vitest';
import { type Graph, type GraphBuilder, graph, stage } from '../../graph/index.ts';
import type { GraphError } from '../../primitives/checks/errors.ts';
import { fc, test } from '../law-test.ts';
import { delayAt, delays, meteredSource, range, sorted, turns } from './graph-harness.ts';

const oneTo = (max: number): fc.Arbitrary<number> => fc.integer({ min: 1, max });

const late =
  (table: readonly number[]) =>
  async <A>(item: A, { index }: { readonly index: number }): Promise<A> => {
    await turns(delayAt(table, index));
    return item;
  };

/** The error with which a graph fails. */
const errorOf = <R>(failing: Graph<R, never>, options = {}): Promise<GraphError> =>
  failing.run(undefined, options).result.then(
    () => expect.unreachable(),
    (error: GraphError) => error,
  );

describe('a branch', () => {
  test.prop({ items: fc.array(fc.integer({ min: 0, max: 99 })), working: delays, capacity: oneTo(3) })(
    'sends every item to the first port that accepts it, in order',
    async ({ items, working, capacity }) => {
      const rules = { tens: (x: number) => x % 10 === 0, even: (x: number) => x % 2 === 0, rest: 'rest' as const };
      const divide = graph('divide', (g) => {
        const ports = g.branch('by', g.source('read', items), rules, { capacity });
        const slow = g.stage('slow', ports.even, late(working), { ordered: true, capacity });
        return {
          tens: g.collect('tens', ports.tens),
          even: g.collect('even', slow),
          rest: g.collect('odd', ports.rest),
        };
      });
      expect(await divide.run().result).toEqual({
        tens: items.filter((x) => x % 10 === 0),
        even: items.filter((x) => x % 2 === 0 && x % 10 !== 0),
        rest: items.filter((x) => x % 2 === 1),
      });
    },
  );

  test.prop({ capacity: oneTo(4), edge: oneTo(4) })(
    'with one full port stops the source',
    async ({ capacity, edge }) => {
      const source = meteredSource(1000);
      let openGate = (): void => {};
      const gate = new Promise<void>((resolve) => {
        openGate = resolve;
      });
      const stopped = graph('stopped', (g) => {
        const { all, none } = g.branch(
          'by',
          g.source('read', source),
          { all: () => true, none: 'rest' },
          { capacity: edge },
        );
        g.sink('idle', none, () => {});
        return g.sink('held', all, () => gate, { capacity });
      });
      const run = stopped.run();
      await turns(30);
      // Items in flight: one in the sink, `capacity` on the edge of the sink, one in the branch, and `edge` before the
      // branch.
      expect(source.made).toBe(1 + capacity + 1 + edge);
      expect(run.counters().find(({ name }) => name === 'held')).toMatchObject({ depth: capacity, active: 1 });
      openGate();
      expect(await run.result).toBe(1000);
    },
  );

  test('fails an item that no port accepts, which can be skipped', async () => {
    const partial = graph('partial', (g: GraphBuilder<never>) => {
      const { small } = g.branch(
        'by',
        g.source('read', range(6)),
        { small: (x) => x < 3 },
        { describe: (x) => `no ${x}` },
      );
      return g.collect('small', small);
    });
    const error = await errorOf(partial);
    expect(error).toMatchObject({ code: 'graph/item-failed', place: { node: 'partial/by', record: 'no 3' } });
    expect(error.cause).toMatchObject({ code: 'graph/no-port', remedy: expect.stringContaining("'rest'") });
    const run = partial.run(undefined, { onError: 'skip' });
    expect(await run.result).toEqual(range(3));
    expect(run.counters()[1]).toMatchObject({ in: 6, out: 3, skipped: 3 });
  });
});

describe('broadcast and merge', () => {
  test.prop({ length: fc.nat({ max: 30 }), working: delays, capacity: oneTo(3) })(
    'broadcast sends every item to all ports in order, and merge keeps them all in the order of each port',
    async ({ length, working, capacity }) => {
      const both = graph('both', (g) => {
        const { a, b } = g.broadcast('tee', g.source('read', range(length)), ['a', 'b']);
        const tag = (port: string) => (item: number) => ({ port, item });
        const slow = g.stage('slow', a, late(working), { ordered: true, capacity });
        const tagged = [g.stage('a', slow, tag('a'), { capacity }), g.stage('b', b, tag('b'))];
        return g.collect('all', g.merge('merge', tagged, { capacity }));
      });
      const all = await both.run().result;
      expect(all).toHaveLength(2 * length);
      for (const port of ['a', 'b']) {
        expect(all.filter((each) => each.port === port).map(({ item }) => item)).toEqual(range(length));
      }
    },
  );

  test('a port whose consumer has ended does not block the others', async () => {
    const uneven = graph('uneven', (g) => {
      const { few, all } = g.broadcast('tee', g.source('read', range(50)), ['few', 'all']);
      const firstTwo = g.pipe('first-two', few, take(2));
      return { few: g.collect('few', firstTwo), all: g.collect('all', all) };
    });
    const { few, all } = await uneven.run().result;
    expect([few, all]).toEqual([range(2), range(50)]);
  });
});

describe('a join', () => {
  const keys = fc.array(fc.nat({ max: 8 }), { maxLength: 25 });

  test.prop({ left: keys, right: keys, reading: fc.tuple(delays, delays), capacity: oneTo(3) })(
    'pairs the k-th items of a key, and emits items without a partner',
    async ({ left, right, reading, capacity }) => {
      const joined = graph('joined', (g) => {
        const named = (side: string, items: readonly number[]) => items.map((key, i) => ({ key, name: `${side}${i}` }));
        const sides = {
          left: g.stage('l', g.source('left', named('l', left)), late(reading[0])),
          right: g.stage('r', g.source('right', named('r', right)), late(reading[1])),
        };
        const key = ({ key }: { key: number }): number => key;
        const ports = g.join('join', sides, { key: { left: key, right: key }, capacity, hold: 30 });
        return {
          pairs: g.collect('pairs', ports.pairs),
          leftOnly: g.collect('lefts', ports.leftOnly),
          rightOnly: g.collect('rights', ports.rightOnly),
        };
      });
      const result = await joined.run().result;
      const expected = pairedByRank(left, right);
      expect(result.pairs.map((pair) => `${pair.left.name} ${pair.right.name}`).toSorted()).toEqual(
        expected.pairs.toSorted(),
      );
      // Items without a partner must leave in their order.
      expect(result.leftOnly.map(({ name }) => name)).toEqual(expected.leftOnly);
      expect(result.rightOnly.map(({ name }) => name)).toEqual(expected.rightOnly);
    },
  );

  test.prop({ shift: fc.nat({ max: 12 }), hold: oneTo(12) })(
    'holds no more than its bound: partners too far apart are reported as a stall',
    async ({ shift, hold }) => {
      // Item k on the left side has to wait for its partner, which comes with item k + `shift` of the source.
      const length = 40;
      const diamond = graph('diamond', (g) => {
        const { a, b } = g.broadcast('tee', g.source('read', range(length)), ['a', 'b']);
        const { later, first } = g.branch('by', b, { later: (x) => x >= shift, first: 'rest' });
        g.sink('first', first, () => {});
        const back = g.stage('back', later, (x) => x - shift);
        const ports = g.join('join', { left: a, right: back }, { key: { left: (x) => x, right: (x) => x }, hold });
        g.sink('right', ports.rightOnly, () => {});
        return { pairs: g.collect('pairs', ports.pairs), alone: g.collect('left', ports.leftOnly) };
      });
      const run = diamond.run();
      // Two more items fit before the join: one on its edge, and one in the broadcast.
      if (shift > hold + 4) {
        await expect(run.result).rejects.toMatchObject({ code: 'graph/stalled', place: { node: 'diamond' } });
      } else if (shift < hold) {
        const { pairs, alone } = await run.result;
        expect(sorted(pairs.map(({ left }) => left))).toEqual(range(length - shift));
        expect(alone).toEqual(range(length).slice(length - shift));
      } else {
        await run.result.catch((error: GraphError) => expect(error.code).toBe('graph/stalled'));
      }
    },
  );

  test('stalls at once when both sides are full of items without partners, even if a source still waits', async () => {
    const never = graph('never', (g: GraphBuilder<never>) => {
      const idle = g.source('idle', () => meteredSource(1, [1_000_000]));
      g.sink('sink', idle, () => {});
      const sides = { left: g.source('left', range(10)), right: g.source('right', range(10)) };
      const ports = g.join('join', sides, { key: { left: (x) => x, right: (x) => -1 - x }, hold: 3 });
      return Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, g.sink(name, port, () => {})]));
    });
    expect(await errorOf(never)).toMatchObject({ code: 'graph/stalled', place: { node: 'never/join' } });
  });

  test('with a pipe that holds items by time, stalls only after a delay', async () => {
    const patient = (milliseconds: number) =>
      graph('patient', (g: GraphBuilder<never>) => {
        const { a, b } = g.broadcast('tee', g.source('read', range(9)), ['a', 'b']);
        const slow = g.pipe('slow', b, delay(milliseconds));
        const ports = g.join('join', { left: a, right: slow }, { key: { left: (x) => x, right: (x) => x }, hold: 1 });
        g.sink('lefts', ports.leftOnly, () => {});
        g.sink('rights', ports.rightOnly, () => {});
        return g.sink('pairs', ports.pairs, () => {});
      });
    expect(await patient(5).run().result).toBe(9);
    expect(await errorOf(patient(5000), { stallAfter: 20 })).toMatchObject({ code: 'graph/stalled' });
  });
});

describe('a pipe', () => {
  test.prop({ length: fc.nat({ max: 40 }), size: oneTo(5), capacity: oneTo(3) })(
    'runs operators that group and expand',
    async ({ length, size, capacity }) => {
      const grouped = graph('grouped', (g) => {
        const groups = g.pipe('groups', g.source('read', range(length)), bufferCount(size));
        const back = g.pipe(
          'back',
          g.stage('same', groups, (group) => group, { capacity }),
          mergeMap((group) => group),
        );
        return g.collect('all', back);
      });
      expect(await grouped.run().result).toEqual(range(length));
    },
  );

  test('of one stage() is a node with its meta and counters, and its work is not a stall', async () => {
    const double = stage('double', late([3]), { lanes: 2, capacity: 5, runsOn: 'gpu', ordered: true });
    const spans: string[] = [];
    const levels = new Set<string>();
    const staged = graph('staged', (g) => g.collect('all', g.pipe('node', g.source('read', range(9)), double)));
    const observer = {
      span: ({ node }: { node: string }) => void spans.push(node),
      occupancy: ({ edge }: { edge: string }) => void levels.add(edge),
      mark: () => {},
    };
    const run = staged.run(undefined, { observer });
    expect(await run.result).toEqual(range(9));
    expect(staged.shape.nodes[1]).toMatchObject({ name: 'node', kind: 'map', lanes: 2, runsOn: 'gpu' });
    expect(run.counters()[1]).toMatchObject({ name: 'node', in: 9, out: 9 });
    expect(spans.filter((node) => node === 'node')).toHaveLength(9);
    expect([...levels].toSorted()).toEqual(['all', 'node']);
    expect(run.edges()[0]).toMatchObject({ edge: 'node', capacity: { items: 5 }, depth: 0 });
    expect(run.edges()[0]?.peak).toBeGreaterThan(1);
  });
});

function pairedByRank(left: readonly number[], right: readonly number[]) {
  const rankOf = (keys: readonly number[]) =>
    keys.map((key, i) => `${key}#${keys.slice(0, i).filter((k) => k === key).length}`);
  const [lefts, rights] = [rankOf(left), rankOf(right)];
  const alone = (own: string[], others: string[], side: string) =>
    own.flatMap((rank, i) => (others.includes(rank) ? [] : [`${side}${i}`]));
  return {
    pairs: lefts.flatMap((rank, i) => (rights.includes(rank) ? [`l${i} r${rights.indexOf(rank)}`] : [])),
    leftOnly: alone(lefts, rights, 'l'),
    rightOnly: alone(rights, lefts, 'r'),
  };
}
