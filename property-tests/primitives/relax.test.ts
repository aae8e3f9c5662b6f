import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';
import { onEveryBackend, testLaws } from '../backends.ts';
import { caseCount } from '../cases.ts';
import { createRun } from '../laws/law.ts';
import { relaxLaws } from '../laws/relax.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

const { bool, f32, fn, neighbours, u32 } = q;

testLaws(relaxLaws);

describe('grids too large for the kernel', () => {
  test.each(relaxLaws.map((law) => [law.name, law] as const))(
    'round by round: %s',
    async (_, { property }) => {
      const backend = createReferenceBackend();
      const context = new Context(Object.assign(Object.create(backend), { relax: undefined }));
      const reference = openReference();
      await fc.assert(property(createRun(context, reference)), { numRuns: caseCount(15) });
      await context.close();
      await reference.close();
    },
    60_000,
  );
});

onEveryBackend((opened) => {
  test('windows of cells of radius 20, 161 × 81 pixels, give the same bytes as on the reference', async () => {
    const sizes = [161 * 81, 40 * 30, 150 * 80];
    const cells = sizes.reduce((a, b) => a + b);
    const start = Float32Array.from({ length: cells }, (_, i) => (Math.imul(i, 2654435761) >>> 20) / 64);
    const mean = fn({ u: neighbours(f32) }, f32, ({ u }) =>
      u.at(-1).add(u.at(1)).add(u.at(0, -1)).add(u.at(0, 1)).mul(0.25),
    );
    const moved = fn({ before: f32, after: f32 }, u32, ({ before, after }) => u32(after.sub(before).abs()));
    const isStill = fn({ total: u32, cells: u32 }, bool, ({ total, cells }) => total.le(cells.mul(3)));
    const result = await opened().run((context) => {
      const width = context.column(Uint32Array.of(161, 40, 150));
      const height = context.column(Uint32Array.of(81, 30, 80));
      const rule = { change: moved, total: q.plus(u32), until: isStill };
      const options = { maxRounds: 12, maxWidth: 161, maxHeight: 81 };
      return q.relax({ width, height }, mean, { u: context.column(start) }, rule, options);
    });
    expect(Math.max(...(result as { readonly rounds: Uint32Array }).rounds)).toBeGreaterThan(1);
  });
});

describe('relax', () => {
  test('has no grids when they are larger than all cells', async () => {
    const context = openReference();
    const size = { width: 2 ** 20, height: 2 ** 20 };
    const until = fn({ total: u32 }, bool, ({ total }) => total.eq(0));
    const change = fn({ after: u32 }, u32, ({ after }) => after);
    const step = fn({ x: neighbours(u32) }, u32, ({ x }) => x.at(0).add(1));
    const x = context.column(Uint32Array.of(1, 2));
    const { state, rounds } = q.relax(size, step, { x }, { change, total: q.plus(u32), until }, { maxRounds: 3 });
    expect(await context.read({ state, rounds })).toEqual({ state: Uint32Array.of(1, 2), rounds: new Uint32Array() });
    for (const width of [0, 1.5, 2 ** 32]) {
      const sized = { width, height: 1 };
      expectRefusal(context, 'relax/size', () =>
        q.relax(sized, step, { x }, { change, total: q.plus(u32), until }, { maxRounds: 3 }),
      );
    }
    expectRefusal(context, 'relax/size', () =>
      q.relax({ width: 0, height: 1 }, step, { x }, { change, total: q.plus(u32), until }, { maxRounds: 3 }),
    );
  });

  const context = openReference();
  const step = fn({ x: neighbours(u32) }, u32, ({ x }) => x.at(0));
  const change = fn({ before: u32, after: u32 }, u32, ({ before, after }) => before.xor(after));
  const until = fn({ total: u32 }, bool, ({ total }) => total.eq(0));
  const rule = { change, total: q.plus(u32), until };
  const column = (...values: number[]) => context.column(Uint32Array.from(values));
  const options = { maxRounds: 3, maxWidth: 8, maxHeight: 8 };

  test('refuses invalid steps', () => {
    const grids = { width: column(2), height: column(1) };
    const x = column(1, 2);
    const none = fn({ x: u32 }, u32, ({ x }) => x);
    expectRefusal(context, 'relax/step', () => q.relax(grids, none, { x }, rule, options));
    const other = fn({ x: neighbours(u32) }, f32, ({ x }) => f32(x.at(0)));
    expectRefusal(context, 'relax/step', () => q.relax(grids, other, { x }, rule as never, options));
    const two = fn({ x: neighbours(u32), y: neighbours(u32) }, u32, ({ x }) => x.at(0));
    expectRefusal(context, 'relax/step', () => q.relax(grids, two, { x, y: x }, rule, options));
  });

  test('refuses grids of another width than the shape of the cells', () => {
    const x = q.asGrid(column(1, 2, 3, 4, 5, 6), { rows: 3, columns: 2 });
    const run = (width: number, height: number) => () =>
      q.relax({ width, height }, step, { x }, rule, { maxRounds: 1 });
    expectRefusal(context, 'relax/size', run(3, 2));
    expectRefusal(context, 'relax/size', run(3, 1));
    expectRefusal(context, 'relax/size', run(1, 3));
    expectRefusal(context, 'relax/size', run(2, 2));
    for (const height of [1, 3]) context.dispose(run(2, height)());
  });

  test('refuses invalid rules', () => {
    const grids = { width: column(2), height: column(1) };
    const x = column(1, 2);
    const inexact = q.monoid({ of: u32, identity: 0, combine: ({ a, b }) => a.add(b), exact: false });
    expectRefusal(context, 'relax/total', () => q.relax(grids, step, { x }, { ...rule, total: inexact }, options));
    const far = fn({ before: u32, after: f32 }, u32, ({ before }) => before);
    expectRefusal(context, 'relax/rule', () => q.relax(grids, step, { x }, { ...rule, change: far as never }, options));
    const odd = fn({ rounds: u32 }, bool, ({ rounds }) => rounds.eq(0));
    expectRefusal(context, 'relax/rule', () => q.relax(grids, step, { x }, { ...rule, until: odd }, options));
    expectRefusal(context, 'relax/rounds', () =>
      q.relax(grids, step, { x }, rule, { maxRounds: -1, maxWidth: 4, maxHeight: 4 }),
    );
    expectRefusal(context, 'relax/size', () =>
      q.relax(grids, step, { x }, rule, { maxRounds: 1, maxWidth: 0.5, maxHeight: 4 }),
    );
  });

  test.each([
    ['more cells than the state has', 3, 1, 16, 16],
    ['a grid that is too wide', 2, 1, 1, 2],
    ['a grid that is too high', 1, 2, 2, 1],
    ['sizes whose product exceeds 32 bits', 65536, 65536, 2 ** 32 - 1, 2 ** 32 - 1],
  ])('%s are reported when the result is read', async (_, width, height, maxWidth, maxHeight) => {
    const grids = { width: column(width), height: column(height) };
    const { state, rounds } = q.relax(grids, step, { x: column(1, 2) }, rule, { maxRounds: 3, maxWidth, maxHeight });
    await expect(context.read(state)).rejects.toMatchObject({ name: 'CapacityError' });
    await expect(context.read(rounds)).rejects.toMatchObject({ name: 'CapacityError' });
  });

  test('leaves cells after the last grid unchanged', async () => {
    const down = fn({ x: neighbours(u32) }, u32, ({ x }) => x.at(0).sub(1));
    const grids = { width: column(2, 0), height: column(1, 5) };
    const { state, rounds } = q.relax(grids, down, { x: column(5, 6, 7, 8) }, rule, options);
    expect(await context.read({ state, rounds })).toEqual({
      state: Uint32Array.of(2, 3, 7, 8),
      rounds: Uint32Array.of(3, 0),
    });
  });
});
