import { config, lastValueFrom, type Observable, toArray } from 'rxjs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  batchBy,
  Channel,
  type GraphBuilder,
  type GraphObserver,
  graph,
  migrate,
  type Outcome,
  type Port,
  type ProgressReport,
  pull,
  type RunOptions,
  type SourceOptions,
  stage,
} from '../../graph/index.ts';
import type { GraphError } from '../../primitives/checks/errors.ts';
import { type QuadrilleWarning, tell, warn } from '../../primitives/checks/warnings.ts';
import { range, settled, turns } from './graph-harness.ts';

/** The warnings that the process has emitted during a test. */
let platform: Error[];
const collect = (warning: Error): void => void platform.push(warning);
beforeEach(() => {
  platform = [];
  process.on('warning', collect);
});
afterEach(() => process.off('warning', collect));

const broken = (): never => {
  throw new Error('broken callback');
};
const callbackFailed = { code: 'warning/callback-failed', cause: { message: 'broken callback' } };

describe('a callback that must not end the work', () => {
  const failing: [string, (value: number) => unknown][] = [
    ['throws', broken],
    ['returns a promise that rejects', async () => broken()],
  ];
  for (const [how, callback] of failing) {
    test(`${how}: is reported as a warning that names it`, async () => {
      const warnings: QuadrilleWarning[] = [];
      tell('onSomething', callback, 1, (warning) => warnings.push(warning));
      await settled();
      expect(warnings).toMatchObject([{ ...callbackFailed, message: expect.stringContaining('onSomething failed') }]);
      expect(platform).toEqual([]);
    });

    test(`${how}: without onWarning, or if that fails too, is reported to the platform`, async () => {
      tell('onSomething', callback, 1);
      tell('onSomething', callback, 1, callback as never);
      await settled();
      expect(platform.map(({ message }) => message.split(' ')[0])).toEqual(['onSomething', 'onSomething', 'onWarning']);
    });
  }

  test('is called once with its argument', () => {
    const got: number[] = [];
    tell('onSomething', (value) => got.push(value), 7, warn);
    expect(got).toEqual([7]);
  });
});

/** Makes a graph `g` with one source. The items of the source go to the node that `define` adds. */
const under = (
  define: (g: GraphBuilder<never>, port: Port<number>) => Outcome<unknown>,
  source: SourceOptions<number> = {},
) => graph('g', (g: GraphBuilder<never>) => define(g, g.source('read', range(20), source)));

describe('in a graph', () => {
  test('a discard that throws is a warning; all other items are discarded, and the run ends as usual', async () => {
    const discarded: number[] = [];
    const discard = (item: number): void => {
      discarded.push(item);
      if (item % 3 === 0) broken();
    };
    const warnings: QuadrilleWarning[] = [];
    const all = under((g, port) => g.sink('sink', port, broken, { capacity: 8 }), { discard });
    const run = all.run(undefined, { onError: 'skip', onWarning: (warning) => warnings.push(warning) });
    expect(await run.result).toBe(0);
    expect(discarded).toEqual(range(20));
    expect(warnings).toHaveLength(7);
    expect(warnings[0]).toMatchObject(callbackFailed);
  });

  test('an observer that throws is one warning per method; the run goes on', async () => {
    const warnings: QuadrilleWarning[] = [];
    const observer: GraphObserver = { span: broken, occupancy: broken, mark: broken };
    let failures = 2;
    const work = (item: number): number => (item === 3 && failures-- > 0 ? broken() : item);
    const options: RunOptions = { observer, onError: { retry: 3 }, onWarning: (warning) => warnings.push(warning) };
    expect(
      await under((g, port) => g.collect('all', g.stage('work', port, work))).run(undefined, options).result,
    ).toEqual(range(20));
    expect(warnings.map(({ message }) => message.split(' ')[0]).toSorted()).toEqual([
      'observer.mark',
      'observer.occupancy',
      'observer.span',
    ]);
  });

  test('a describe that throws leaves its item its earlier name or index', async () => {
    const named = under((g, port) => g.sink('sink', port, broken, { describe: broken }), {
      describe: (item: number) => `tile ${item}`,
    });
    await expect(named.run().result).rejects.toMatchObject({ place: { node: 'g/sink', record: 'tile 0' } });
    const nameless = under((g, port) => g.sink('sink', port, broken), { describe: broken });
    await expect(nameless.run().result).rejects.toMatchObject({ place: { node: 'g/sink', record: 0 } });
  });

  test('an error thrown by subscribers of progress$ and errors$ is reported as by RxJS; the run goes on', async () => {
    const reported: unknown[] = [];
    config.onUnhandledError = (error) => reported.push(error);
    const run = under((g, port) => g.sink('sink', port, broken)).run(undefined, { onError: 'skip' });
    run.progress$.subscribe(broken as (report: ProgressReport) => void);
    run.errors$.subscribe(broken);
    expect(await run.result).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    config.onUnhandledError = null;
    expect(reported.length).toBeGreaterThanOrEqual(21);
  });

  const sink = (g: GraphBuilder<never>, port: Port<unknown>) => g.sink('sink', port, () => {});
  const ends: [string, string, Parameters<typeof under>[0], object?][] = [
    ['the units of a source', 'graph/item-failed', sink, { units: broken }],
    ['progress', 'graph/item-failed', (g, port) => g.sink('node', port, () => {}, { progress: broken })],
    ['a function', 'graph/item-failed', (g, port) => g.sink('node', port, broken)],
    ['a fold', 'graph/item-failed', (g, port) => g.reduce('node', port, broken)],
    ['a rule', 'graph/item-failed', (g, port) => sink(g, g.branch('node', port, { all: broken }).all)],
    [
      'sizeOf',
      'graph/bad-size',
      (g, port) => g.sink('node', port, () => {}, { capacity: { bytes: 9 }, sizeOf: broken }),
    ],
    [
      'a sizeOf of a batch',
      'graph/bad-size',
      (g, port) => sink(g, g.batch('node', port, { bytes: 9, sizeOf: broken })),
    ],
    ['weight', 'graph/bad-weight', (g, port) => sink(g, g.batch('node', port, { items: 9, weight: broken }))],
    [
      'copy',
      'graph/node-failed',
      (g, port) => {
        const { a, b } = g.broadcast('node', port, ['a', 'b'], { copy: broken });
        return sink(g, g.merge('merge', [a, b]));
      },
    ],
    [
      'backoff',
      'graph/item-failed',
      (g, port) => g.sink('node', port, broken, { onError: { retry: 1, backoff: broken } }),
    ],
    [
      'a work function with a NaN backoff',
      'graph/item-failed',
      (g, port) => g.sink('node', port, broken, { onError: { retry: 1, backoff: () => Number.NaN } }),
    ],
    ['orElse', 'graph/item-failed', (g, port) => g.sink('node', port, broken, { onError: { orElse: broken } })],
  ];
  for (const [what, code, define, options = {}] of ends) {
    test(`${what} that throws ends the run with ${code} and the name of the item, and the item is discarded`, async () => {
      const discarded: number[] = [];
      const discard = (item: number): void => void discarded.push(item);
      const source = { discard, describe: (item: number) => `tile ${item}`, ...options };
      const error = await under(define, source)
        .run()
        .result.catch((reason: GraphError) => reason);
      await settled();
      const node = 'units' in options ? 'g/read' : 'g/node';
      // A fold without a seed takes its first item as the seed, so its function is called for the first time with the
      // second item.
      const failed = what === 'a fold' ? 1 : 0;
      expect(error).toMatchObject({ code, place: { node, record: `tile ${failed}` } });
      expect(discarded).toContain(failed);
      expect(new Set(discarded).size).toBe(discarded.length);
    });
  }

  test('the key of a join that throws ends the run with the name of its item', async () => {
    const joined = graph('g', (g: GraphBuilder<never>) => {
      const side = (name: string) => g.source(name, range(3), { describe: (item) => `${name} ${item}` });
      const key = { left: (item: number) => item, right: broken };
      const { pairs, leftOnly, rightOnly } = g.join('join', { left: side('l'), right: side('r') }, { key });
      return sink(g, g.merge('merge', [pairs, leftOnly, rightOnly]));
    });
    await expect(joined.run().result).rejects.toMatchObject({ place: { node: 'g/join', record: 'r 0' } });
  });

  test('a source function and a seed function that throw end the run', async () => {
    const opening = graph('g', (g: GraphBuilder<never>) => sink(g, g.source('read', broken)));
    const seeding = under((g, port) => g.reduce('sum', port, (a: number, b: number) => a + b, broken));
    await expect(opening.run().result).rejects.toMatchObject({
      code: 'graph/source-failed',
      place: { node: 'g/read' },
    });
    await expect(seeding.run().result).rejects.toMatchObject({ code: 'graph/node-failed', place: { node: 'g/sum' } });
  });
});

async function* endless(): AsyncGenerator<number> {
  for (let item = 0; ; item++) {
    yield item;
    await turns(item === 0 ? 0 : 3);
  }
}

describe('outside a graph', () => {
  test('a discard that throws in a channel, stage, batch or migrated stage is a warning of the platform', async () => {
    const channel = new Channel<number>({ items: 4, onDiscard: broken });
    for (const item of range(3)) await channel.push(item);
    channel.abandon();
    expect(channel.depth).toBe(0);
    const options = { discard: broken, discardResult: broken, capacity: 3 };
    const late = async (item: number): Promise<number> => {
      await turns(2);
      return item;
    };
    const pipelines: Observable<unknown>[] = [
      pull(range(9)).pipe(stage('s', late, options)),
      pull(range(9)).pipe(migrate('m', { gpu: late, cpu: late, ...options })),
      pull(endless()).pipe(batchBy({ items: 100, discard: broken })),
    ];
    for (const pipeline of pipelines) {
      const subscription = pipeline.subscribe();
      await turns(1);
      subscription.unsubscribe();
    }
    await settled();
    expect(platform.length).toBeGreaterThanOrEqual(3 + 4 + 5 + 1);
    for (const warning of platform) expect(warning).toMatchObject(callbackFailed);
  });

  test('an onFailed that throws is a warning, and its item is skipped', async () => {
    const work = (item: number): number => (item === 3 ? broken() : item);
    const moved = pull(range(5)).pipe(migrate('m', { gpu: work, cpu: work, ordered: true, onFailed: broken }));
    expect(await lastValueFrom(moved.pipe(toArray()))).toEqual([0, 1, 2, 4]);
    await settled();
    expect(platform).toMatchObject([callbackFailed]);
  });
});
