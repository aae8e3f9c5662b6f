import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { graph } from '../../../graph/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { onEveryBackend, plainBackends } from '../../backends.ts';
import { someOf } from '../../cases.ts';
import { step, takeSteps } from '../../laws/fusion.ts';

const { fn, u32 } = q;

type U32 = q.Column<'u32'>;

const file = fileURLToPath(import.meta.url);
const lines = readFileSync(file, 'utf8').split('\n');
/** The number of the line in this file that ends with the given word as a comment. */
const lineOf = (word: string): number => lines.findIndex((line) => line.endsWith(`// ${word}`)) + 1;

const ROWS = 500;
const numbers = Uint32Array.from({ length: ROWS }, (_, i) => (i * 7919) % ROWS);
const open = (limits?: { memoryBytes: number }): Context => new Context(createReferenceBackend({ limits }));

const affine = fn('affine', { x: u32 }, u32, ({ x }) => x.mul(3).add(1));
const isSmall = fn('isSmall', { x: u32 }, q.bool, ({ x }) => x.lt(ROWS / 2));
const five = fn('five', { x: q.neighbours(u32) }, u32, ({ x }) =>
  [-2, -1, 1, 2].reduce((sum, dx) => sum.add(x.at(dx)), x.at(0).mul(3)),
);
const repeated = (column: U32, count: number, next: (column: U32) => U32): U32 =>
  Array.from({ length: count }).reduce<U32>(next, column);
const stencils = (column: U32, count = 4): U32 => repeated(column, count, (x) => q.stencil(five, { x })); // stencils
const gathers = (column: U32): U32 => repeated(column, 12, (x) => q.gather(x, x)); // gathers
const maps = (column: U32): U32 => repeated(column, 2000, (x) => q.map(affine, { x })); // maps

const storedIn = ({ views }: q.Explanation<unknown>): q.ExplainedView[] =>
  views.filter(({ outcome }) => outcome === 'stored');
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Counts the buffers and bytes that a context allocates during a run. */
async function taken(context: Context, run: () => Promise<unknown>): Promise<{ buffers: number; bytes: number }> {
  const allocate = vi.spyOn(context.backend as { allocate: (words: number) => unknown }, 'allocate');
  await run();
  const bytes = sum(allocate.mock.calls.map(([words]) => 4 * words));
  const buffers = allocate.mock.calls.length;
  allocate.mockRestore();
  return { buffers, bytes };
}

onEveryBackend((opened, { runs }) => {
  test('reports a view as stored exactly when memory is allocated for it, and changes neither values nor launches', async () => {
    const { context } = opened();
    const graph = fc.record({
      values: fc.uint32Array({ minLength: 1, maxLength: 300 }),
      steps: fc.array(step, { minLength: 6, maxLength: 30 }),
    });
    const sixStencils = Array.from({ length: 6 }, () => ({ kind: 'stencil', a: 0, b: 0 }) as const);
    let stored = 0;
    const property = fc.asyncProperty(graph, async ({ values, steps }) => {
      const column = context.column(values);
      const run = async (): Promise<Uint32Array> => {
        const last = takeSteps(column, steps, (view) => view).at(-1)!;
        const read = await context.read(last);
        context.dispose(last === column ? [] : last);
        return read;
      };
      const launches = async (of: () => Promise<unknown>): Promise<number> => {
        const before = context.backend.counters.dispatches;
        await of();
        return context.backend.counters.dispatches - before;
      };
      let plain: Uint32Array | undefined;
      const without = await launches(async () => {
        plain = await run();
      });
      let explained: q.Explanation<Uint32Array> | undefined;
      const found = await taken(context, async () => {
        const explaining = async (): Promise<void> => {
          explained = await q.explain(context, run);
        };
        expect(await launches(explaining)).toBe(without);
      });
      expect(explained!.result).toEqual(plain);
      const storedViews = storedIn(explained!);
      // The stored views take buffers, and the result that is read takes one more.
      expect({
        buffers: sum(storedViews.map(({ types, times }) => types.length * times)),
        bytes: sum(storedViews.map(({ bytes, times }) => bytes * times)),
      }).toEqual({ buffers: found.buffers - 1, bytes: found.bytes - 4 * values.length });
      stored += storedViews.length;
      context.dispose(column);
    });
    await fc.assert(property, { numRuns: runs, examples: [[{ values: numbers, steps: sixStencils }]] });
    expect(stored).toBeGreaterThan(0);
  }, 120_000);

  const chains: readonly (readonly [string, (column: U32) => U32, q.ExplainedView['kind'], string])[] = [
    ['stencils', stencils, 'stencil', 'five'],
    ['gathers', gathers, 'gather', 'gather'],
    ['maps', maps, 'map', 'affine'],
  ];

  test.each(someOf(chains, 1))(
    'reports where %s were written, what they are and what they cost',
    async (word, chain, kind, name) => {
      const { context } = opened();
      const column = context.column(numbers);
      const explanation = await q.explain(context, () => {
        const view = chain(column);
        const total = context.scope(() => q.reduce(view, q.plus(u32))); // command
        return context.read(total);
      });
      const stored = storedIn(explanation);
      expect(stored.length).toBeGreaterThan(0);
      for (const { place, command, ...view } of stored) {
        expect(place).toMatchObject({ file, line: lineOf(word) });
        expect(command).toMatchObject({ name: 'reduce', place: { file, line: lineOf('command') } });
        expect(view).toMatchObject({ kind, name, rows: ROWS, types: ['u32'], bytes: 4 * ROWS });
        if (word !== 'maps') expect(view.storing).toBeLessThan(view.evaluating);
        expect(view.reason).toMatch(word === 'maps' ? /code .* more than 1,024 statements/ : /saves \d+ operations/);
        expect(explanation.text).toContain(`${file}:${lineOf(word)}: ${name === kind ? kind : `${kind} ${name}`} (`);
      }
      expect(explanation.views.length).toBeGreaterThan(stored.length);
      context.dispose(column);
    },
  );

  test('views already stored are reported as reused, without memory', async () => {
    const { context } = opened();
    const column = context.column(numbers);
    const view = stencils(column);
    const before = context.backend.counters.liveBytes;
    const first = await q.explain(context, () => context.read(view));
    // A view that was stored only because another view reads it has been freed.
    const kept = context.backend.counters.liveBytes - before;
    const bytes = sum(storedIn(first).map((each) => each.bytes));
    expect([bytes, bytes - 4 * ROWS]).toContain(kept);
    const second = await q.explain(context, () => context.read(view));
    expect(storedIn(second)).toEqual([]);
    const reused = second.views.filter(({ outcome }) => outcome === 'reused');
    expect(sum(reused.map((each) => each.bytes))).toBe(kept);
    expect(reused[0]).toMatchObject({ kind: 'stencil', name: 'five', place: undefined, command: { name: 'read' } });
    expect(reused.map(({ evaluating }) => evaluating)).toEqual(
      reused.map(({ reads }) => (reads * storedIn(first).at(-1)!.evaluating) / storedIn(first).at(-1)!.reads),
    );
    expect(second.result).toEqual(first.result);
    context.dispose(view, column);
    expect(context.backend.counters.liveBytes).toBe(before - 4 * ROWS);
  });
}, plainBackends);

describe('reasons', () => {
  const reasonsOf = (context: Context, pipeline: () => U32): string[] =>
    q.explain(context, () => context.materialize(pipeline())).views.map(({ reason }) => reason);

  test('for views that are not stored', () => {
    const context = open();
    const column = context.column(numbers);
    expect(reasonsOf(context, () => q.map(affine, { x: q.map(affine, { x: column }) }))).toEqual([
      'It is evaluated at most once a row.',
      'It is evaluated at most once a row.',
    ]);
    expect(reasonsOf(context, () => q.gather(q.gather(column, column), q.gather(column, column)))).toEqual([
      'It is evaluated at most once a row.',
      'It is evaluated at most once a row.',
      'It is evaluated at most once a row.',
    ]);
    const twice = q.gather(column, column);
    expect(reasonsOf(context, () => q.gather(twice, twice))[0]).toBe('Storing it saves nothing.');
    const fourth = repeated(column, 4, (x) => q.gather(x, x));
    expect(reasonsOf(context, () => fourth)[1]).toMatch(/saves \d+ operations .* less than the minimum of 112/);
  });

  test('when memory is short', () => {
    const context = open({ memoryBytes: 4 * ROWS * 2 + 100 });
    const column = context.column(numbers);
    const { result, views, text } = q.explain(context, () => q.reduce(stencils(column, 3), q.plus(u32)));
    expect(views.map(({ outcome }) => outcome)).not.toContain('stored');
    const [short] = views.filter(({ reason }) => /takes more than half of the [\d,]+ bytes available/.test(reason));
    expect(short).toMatchObject({ outcome: 'evaluated', bytes: 4 * ROWS });
    expect(short!.evaluating).toBeGreaterThan(short!.storing);
    expect(text).toContain('takes more than half');
    expect(result.capacity).toBe(1);
  });

  test('for rows counted on the device, and when memory spills', async () => {
    await using context = new Context(
      createSpillingBackend(createReferenceBackend({ limits: { memoryBytes: 20_000 } })),
    );
    const rows = q.copyIf(context.column(numbers), isSmall);
    const explanation = await q.explain(context, () => context.read(stencils(rows)));
    const stored = storedIn(explanation);
    expect(stored.length).toBeGreaterThan(0);
    for (const view of stored) expect(view).toMatchObject({ rows: ROWS, bytes: 4 * ROWS });
    expect(explanation.result).toHaveLength(ROWS / 2);
  });
});

describe('an explanation', () => {
  test('covers the commands between the call and its end, on its context', async () => {
    const [context, other] = [open(), open()];
    const [column, others] = [context.column(numbers), other.column(numbers)];
    const before = stencils(column);
    const explanation = await q.explain(context, async () => {
      await other.read(stencils(others));
      await context.read(before);
      return q.explain(other, () => other.materialize(stencils(others, 3)));
    });
    expect(storedIn(explanation).map(({ place, command }) => [place, command.name])).toEqual(
      storedIn(explanation).map(() => [undefined, 'read']),
    );
    expect(storedIn(explanation).length).toBeGreaterThan(0);
    expect(explanation.text).toContain('Made before');
    expect(storedIn(explanation.result).every(({ command }) => command.name === 'materialize')).toBe(true);
    expect(storedIn(explanation.result).length).toBeGreaterThan(0);
  });

  test('covers the stages of a graph', async () => {
    const context = open();
    const sums = graph('sums', (g) => {
      const tiles = g.source('tiles', [numbers, numbers]);
      const stage = (tile: Uint32Array, { ctx }: { ctx: Context }): Promise<Uint32Array> =>
        ctx.read(ctx.scope(() => q.reduce(stencils(ctx.column(tile)), q.plus(u32)))); // stage
      return g.collect('all', g.stage('sum', tiles, stage));
    });
    const plain = await sums.run(context).result;
    const explanation = await q.explain(context, () => sums.run(context).result);
    expect(explanation.result).toEqual(plain);
    expect(storedIn(explanation).length).toBeGreaterThan(0);
    for (const { place, command } of storedIn(explanation)) {
      expect(place).toMatchObject({ file, line: lineOf('stencils') });
      expect(command).toMatchObject({ name: 'reduce', place: { file, line: lineOf('stage') } });
    }
  });

  test('ends with the pipeline, even if it fails, and records no source places afterwards', async () => {
    const context = open();
    const column = context.column(numbers);
    const failure = new Error('no further');
    const viewOf = ({ source }: U32): { place: unknown } => (source as unknown as { view: { place: unknown } }).view;
    const fail = (): never => {
      expect(viewOf(stencils(column)).place).toBeDefined();
      throw failure;
    };
    expect(() => q.explain(context, fail)).toThrow(failure);
    await expect(q.explain(context, async () => fail())).rejects.toBe(failure);
    expect(q.explain(context, () => 5)).toEqual({ result: 5, views: [], text: '' });
    expect(await q.explain(context, async () => 5)).toEqual({ result: 5, views: [], text: '' });
    expect(viewOf(stencils(column)).place).toBeUndefined();
    expect(context.automatic.explainers.size).toBe(0);
  });

  test('merges repeated entries into one with a count', () => {
    const context = open();
    const column = context.column(numbers);
    const explanation = q.explain(context, () => {
      for (let i = 0; i < 9; i++) context.dispose(context.scope(() => q.reduce(stencils(column), q.plus(u32))));
    });
    // Two of the stored views have equal programs. They differ only in that one of them reads the other.
    expect(storedIn(explanation).map(({ times }) => times % 9)).toEqual(storedIn(explanation).map(() => 0));
    expect(explanation.text).toContain(' 9 times. ');
  });
});
