import { map } from 'rxjs';
import { describe, expect } from 'vitest';
import {
  type GraphBuilder,
  graph,
  ItemError,
  migrate,
  type Outcome,
  type Port,
  stage,
  type TraceMark,
  type WorkSpan,
} from '../../graph/index.ts';
import type { GraphError } from '../../primitives/checks/errors.ts';
import { fc, test } from '../law-test.ts';
import { meteredSource, range, settled, turns } from './graph-harness.ts';

/** A graph of one stage, in which item i fails `failures[i]` times before it succeeds. */
function failingGraph(failures: readonly number[], options: Parameters<GraphBuilder<never>['stage']>[3] = {}) {
  return graph('failing', (g: GraphBuilder<never>) => {
    const left = [...failures];
    const work = (item: number): number => {
      if (left[item]!-- > 0) throw new RangeError(`item ${item} broke`);
      return item;
    };
    const described = { describe: (item: number) => `tile-${item}`, ...(options as object) };
    const worked = g.stage('work', g.source('read', failures.keys()), work, { lanes: 3, ...described });
    return g.collect('collect', worked);
  });
}

const failureCounts = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 20 });

describe('an item that fails', () => {
  test.prop({ failures: failureCounts, retry: fc.integer({ min: 0, max: 3 }) })(
    'is retried as often as requested, then skipped, counted and reported by name',
    async ({ failures, retry }) => {
      const marks: TraceMark[] = [];
      const observer = { span: () => {}, occupancy: () => {}, mark: (mark: TraceMark) => void marks.push(mark) };
      const run = failingGraph(failures, { onError: { retry, orElse: 'skip' } }).run(undefined, { observer });
      const errors: ItemError[] = [];
      let completed = false;
      run.errors$.subscribe({ next: (error) => errors.push(error), complete: () => (completed = true) });
      const good = await run.result;

      const lost = range(failures.length).filter((item) => failures[item]! > retry);
      expect(good.toSorted((a, b) => a - b)).toEqual(range(failures.length).filter((item) => !lost.includes(item)));
      const itemErrors = errors.toSorted((a, b) => a.index - b.index);
      expect(
        itemErrors.map(({ index, item, attempts, outcome, place, code }) => ({
          index,
          item,
          attempts,
          outcome,
          place,
          code,
        })),
      ).toEqual(
        lost.map((index) => ({
          index,
          item: `tile-${index}`,
          attempts: retry + 1,
          outcome: 'skipped',
          place: { node: 'failing/work', record: `tile-${index}` },
          code: 'graph/item-failed',
        })),
      );
      expect(itemErrors.every(({ cause, index }) => (cause as Error).message === `item ${index} broke`)).toBe(true);
      const retried = failures.reduce((sum, count) => sum + Math.min(count, retry), 0);
      expect(run.counters()[1]).toMatchObject({
        in: failures.length,
        out: good.length,
        skipped: lost.length,
        retried,
      });
      expect(marks.filter(({ name }) => name === 'retry')).toHaveLength(retried);
      expect(marks.filter(({ name }) => name === 'error')).toHaveLength(lost.length);
      expect(completed).toBe(true);
    },
  );

  test.prop({ failures: failureCounts })(
    'ends the run by default, in its result and in errors$',
    async ({ failures }) => {
      const run = failingGraph(failures).run();
      const errors: ItemError[] = [];
      run.errors$.subscribe((error) => errors.push(error));
      const result = await run.result.catch((error: unknown) => error);
      if (failures.every((count) => count === 0)) expect(result).toHaveLength(failures.length);
      else {
        expect(result).toBeInstanceOf(ItemError);
        expect(result).toMatchObject({ outcome: 'stopped', attempts: 1, cause: expect.any(RangeError) });
        expect(errors).toContain(result);
      }
    },
  );

  test.prop({ failures: failureCounts, elsewhereFails: fc.boolean(), runsOn: fc.constantFrom('cpu', 'gpu') })(
    'is migrated to the other side before it is skipped',
    async ({ failures, elsewhereFails, runsOn }) => {
      const elsewhere = (item: number): number => {
        if (elsewhereFails) throw new Error('nor here');
        return item;
      };
      const onError = { retry: 1, migrate: true, orElse: 'skip' as const };
      const definition = failingGraph(failures, { onError, elsewhere: elsewhere as never, runsOn });
      const places = new Set<string>();
      const span = ({ node, runsOn }: WorkSpan): void => void (node === 'work' && places.add(runsOn));
      const observer = { span, occupancy: () => {}, mark: () => {} };
      const run = definition.run(undefined, { observer });
      const errors: ItemError[] = [];
      run.errors$.subscribe((error) => errors.push(error));
      const good = await run.result;
      const moved = failures.filter((count) => count > 1).length;
      // What is not on the GPU need not be on a GPU elsewhere.
      const elsewhereOn = runsOn === 'gpu' ? 'cpu' : 'either';
      expect(places).toEqual(new Set([...(failures.length > 0 ? [runsOn] : []), ...(moved > 0 ? [elsewhereOn] : [])]));
      expect(good).toHaveLength(failures.length - (elsewhereFails ? moved : 0));
      expect(run.counters()[1]).toMatchObject({ migrated: moved, skipped: elsewhereFails ? moved : 0 });
      expect(errors.every(({ attempts, cause }) => attempts === 3 && (cause as Error).message === 'nor here')).toBe(
        true,
      );
    },
  );

  test('waits for its backoff, which an abort shortens', async () => {
    const waits: number[] = [];
    const backoff = (attempt: number): number => {
      waits.push(attempt);
      return attempt < 3 ? 1 : 1e9;
    };
    const lanes = 20;
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warn);
    const run = failingGraph(Array(lanes).fill(9), { lanes, onError: { retry: 5, backoff } }).run();
    const result = run.result.catch((error: Error) => error.name);
    while (waits.length < 3 * lanes) await turns(1);
    run.abort();
    expect(await result).toBe('AbortError');
    expect(waits.toSorted()).toEqual([1, 2, 3].flatMap((attempt) => Array(lanes).fill(attempt)));
    await settled();
    process.off('warning', warn);
    expect(warnings).toEqual([]);
  });

  test('is reported by its index when its name cannot be found', async () => {
    const nameless = graph('nameless', (g: GraphBuilder<never>) => {
      const fail = (): never => {
        throw 'a string';
      };
      const describe = (): never => {
        throw new Error('no name');
      };
      return g.sink('sink', g.source('read', [7]), fail, { describe });
    });
    await expect(nameless.run().result).rejects.toMatchObject({
      message: 'nameless/sink, record 0: The item failed: a string',
      cause: 'a string',
      item: undefined,
    });
  });

  test('in a stage() of a pipe is reported under the path of its node', async () => {
    const broken = stage('inner', async (item: number) => {
      if (item === 3) throw new Error('three');
      return item;
    });
    const piped = graph('piped', (g: GraphBuilder<never>) =>
      g.collect('all', g.pipe('outer', g.source('read', range(9)), broken)),
    );
    const run = piped.run();
    const itemErrors: ItemError[] = [];
    run.errors$.subscribe((error) => itemErrors.push(error));
    const error = await run.result.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ place: { node: 'piped/outer', record: 3 }, cause: { message: 'three' } });
    expect(itemErrors).toEqual([error]);
  });
});

test('an item that a migrated stage skips is reported by name, like any other', async () => {
  const broken = (item: number): number => {
    if (item === 3) throw new Error('three');
    return item;
  };
  const onFailed = (): void => {};
  const moved = graph('moved', (g: GraphBuilder<never>) => {
    const read = g.source('read', range(9), { describe: (item) => `tile-${item}` });
    return g.collect(
      'all',
      g.pipe('outer', read, migrate('inner', { gpu: broken, cpu: broken, ordered: true, onFailed })),
    );
  });
  const run = moved.run();
  const itemErrors: ItemError[] = [];
  run.errors$.subscribe((error) => itemErrors.push(error));
  expect(await run.result).toEqual(range(9).filter((item) => item !== 3));
  expect(itemErrors).toMatchObject([{ index: 3, item: 'tile-3', outcome: 'skipped', place: { node: 'moved/outer' } }]);
  expect(run.counters()[1]).toMatchObject({ name: 'outer', out: 8, skipped: 1, retried: 1, migrated: 1 });
});

describe('a run that fails outside an item', () => {
  test('names the source, the operator or the copy that failed', async () => {
    const broken = (what: string) => (): never => {
      throw new Error(what);
    };
    const failing = (end: (g: GraphBuilder<never>, port: Port<number>) => Outcome<number>, source = meteredSource(5)) =>
      graph('failing', (g: GraphBuilder<never>) => end(g, g.source('read', source)));
    const sink = (g: GraphBuilder<never>, port: Port<unknown>) => g.sink('sink', port, () => {});
    const source = failing(sink, meteredSource(5, [0], 2));
    const pipe = failing((g, port) => sink(g, g.pipe('pipe', port, map(broken('operator')))));
    const tee = failing((g, port) => {
      const { a, b } = g.broadcast('tee', port, ['a', 'b'], { copy: broken('copy') });
      return sink(g, g.merge('merge', [a, b]));
    });
    const batch = failing((g, port) => sink(g, g.batch('batch', port, { bytes: 4, sizeOf: () => -1 })));
    const size = failing((g, port) =>
      g.sink('sink', port, () => {}, { capacity: { bytes: 9 }, sizeOf: broken('size') }),
    );
    const reasons = [source, pipe, tee, batch, size].map((each) => each.run().result.catch((e: GraphError) => e));
    const errors = (await Promise.all(reasons)) as GraphError[];
    expect(errors.map(({ code, place }) => [code, place?.node])).toEqual([
      ['graph/source-failed', 'failing/read'],
      ['graph/node-failed', 'failing/pipe'],
      ['graph/node-failed', 'failing/tee'],
      ['graph/bad-size', 'failing/batch'],
      ['graph/bad-size', 'failing/sink'],
    ]);
  });

  test('by an abort, through a signal or abort(), rejects with its reason after pending work has ended', async () => {
    let under = 0;
    const slow = graph('slow', (g: GraphBuilder<never>) => {
      const work = async (): Promise<void> => {
        under++;
        await turns(5);
        under--;
      };
      return g.sink('sink', g.source('read', meteredSource(100)), work, { lanes: 3 });
    });
    const reason = new Error('enough');
    for (const how of ['signal', 'hand', 'before', 'plain'] as const) {
      const controller = new AbortController();
      if (how === 'before') controller.abort(reason);
      const run = slow.run(undefined, { signal: controller.signal });
      const result = run.result.catch((error: unknown) => error);
      await turns(3);
      if (how === 'signal') controller.abort(reason);
      if (how === 'hand') run.abort(reason);
      if (how === 'plain') run.abort();
      if (how === 'plain') expect(await result).toMatchObject({ name: 'AbortError' });
      else expect(await result).toBe(reason);
      expect(under).toBe(0);
    }
  });

  test('is not affected by an abort after the end', async () => {
    const run = graph('short', (g) => g.sink('sink', g.source('read', range(3)), () => {})).run();
    expect(await run.result).toBe(3);
    run.abort();
    await settled();
    expect(await run.result).toBe(3);
  });

  test('by a reduction of no items without a seed', async () => {
    const sum = (...seed: number[]) =>
      graph('sum', (g: GraphBuilder<never>) => {
        const read = g.source('read', [] as number[]);
        const add = (a: number, b: number): number => a + b;
        return seed[0] === undefined ? g.reduce('sum', read, add) : g.reduce('sum', read, add, seed[0]);
      });
    await expect(sum().run().result).rejects.toMatchObject({
      code: 'graph/nothing-to-reduce',
      place: { node: 'sum/sum' },
    });
    expect(await sum(4).run().result).toBe(4);
  });
});

describe('a wrongly wired graph is refused when it is defined', () => {
  const codeAndPlace = (define: (g: GraphBuilder<never>, port: Port<number>) => unknown): unknown[] => {
    try {
      graph('bad', (g: GraphBuilder<never>) => define(g, g.source('read', [1, 2, 3])) as never);
    } catch (error) {
      return [(error as GraphError).code, (error as GraphError).place?.node];
    }
    return ['defined'];
  };
  let foreign: Port<number> | undefined;
  graph('other', (g) => {
    foreign = g.source('read', [1]);
    return g.sink('sink', foreign, () => {});
  });
  const sink = (g: GraphBuilder<never>, port: Port<unknown>, name = 'sink') => g.sink(name, port, () => {});

  const cases: [string, string, Parameters<typeof codeAndPlace>[0]][] = [
    ['graph/unused-output', 'bad/read', () => {}],
    ['graph/unused-output', 'bad/tee.b', (g, port) => sink(g, g.broadcast('tee', port, ['a', 'b']).a)],
    ['graph/port-taken', 'bad/again', (g, port) => [sink(g, port), sink(g, port, 'again')]],
    ['graph/port-taken', 'bad/merge', (g, port) => sink(g, g.merge('merge', [port, port]))],
    ['graph/duplicate-name', 'bad/read', (g, port) => sink(g, port, 'read')],
    ['graph/bad-name', 'bad/a/b', (g, port) => sink(g, port, 'a/b')],
    ['graph/bad-name', 'bad/', (g, port) => sink(g, port, '')],
    ['graph/foreign-port', 'bad/sink', (g) => sink(g, foreign!)],
    ['graph/foreign-port', 'bad/sink', (g) => sink(g, undefined as never)],
    ['graph/bad-lanes', 'bad/sink', (g, port) => g.sink('sink', port, () => {}, { lanes: 0 })],
    ['graph/bad-capacity', 'bad/sink', (g, port) => g.sink('sink', port, () => {}, { capacity: 0 })],
    ['graph/no-size', 'bad/sink', (g, port) => g.sink('sink', port, () => {}, { capacity: { bytes: 8 } })],
    ['graph/bad-policy', 'bad/sink', (g, port) => g.sink('sink', port, () => {}, { onError: { retry: -1 } })],
    ['graph/bad-policy', 'bad/sink', (g, port) => g.sink('sink', port, () => {}, { onError: 'ignore' as never })],
    [
      'graph/bad-policy',
      'bad/sink',
      (g, port) => g.sink('sink', port, () => {}, { onError: { attempts: 3 } as never }),
    ],
    ['graph/no-other-side', 'bad/sink', (g, port) => g.sink('sink', port, () => {}, { onError: 'migrate' })],
    ['graph/foreign-outcome', 'bad', (g, port) => [sink(g, port), { node: 'sink' }].at(1)],
    ['graph/foreign-outcome', 'bad', (g, port) => void sink(g, port)],
    ['graph/foreign-outcome', 'bad', async (g, port) => sink(g, port)],
    [
      'graph/bad-hold',
      'bad/join',
      (g, port) => g.join('join', { left: port, right: port }, { key: { left: Number, right: Number }, hold: 0 }),
    ],
  ];
  for (const [code, place, define] of cases) {
    test(`${code} at ${place}: ${String(define).slice(0, 60)}`, () => {
      expect(codeAndPlace(define)).toEqual([code, place]);
    });
  }

  test('graph/empty, an invalid name, and a builder used after its function returned', () => {
    expect(() => graph('empty', () => ({}))).toThrow(expect.objectContaining({ code: 'graph/empty' }));
    expect(() => graph('a/b', () => ({}))).toThrow(expect.objectContaining({ code: 'graph/bad-name' }));
    let builder: GraphBuilder<never> | undefined;
    graph('done', (g: GraphBuilder<never>) => {
      builder = g;
      return sink(g, g.source('read', [1]));
    });
    expect(() => builder?.source('late', [1])).toThrow(expect.objectContaining({ code: 'graph/closed' }));
  });

  test('an invalid policy of a run is refused at the run', () => {
    const fine = graph('fine', (g) => g.sink('sink', g.source('read', [1]), () => {}));
    expect(() => fine.run(undefined, { onError: { retry: 0.5 } })).toThrow(
      expect.objectContaining({ code: 'graph/bad-policy' }),
    );
  });
});
