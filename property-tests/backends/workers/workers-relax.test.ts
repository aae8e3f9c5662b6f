import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/backend.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { caseCount, dealLaws } from '../../cases.ts';
import { createRun } from '../../laws/law.ts';
import { relaxLaws } from '../../laws/relax.ts';

const { bool, fn, neighbours, u32 } = q;

const dealt = dealLaws(relaxLaws, [1, 1, 1]);

describe.each([
  ['the calling thread', 1, Number.POSITIVE_INFINITY, dealt[0]!],
  ['one worker', 1, 0, dealt[1]!],
  ['three workers', 3, 0, dealt[2]!],
])('on %s', (_, workers, inlineNanoseconds, laws) => {
  let context: Context;
  let reference: Context;
  beforeAll(async () => {
    context = new Context(await createWorkersBackend({ workers, inlineNanoseconds }));
    reference = new Context(createReferenceBackend());
  });
  afterAll(async () => {
    await context.close();
    await reference.close();
  });

  test.each(laws)('$name', async ({ property }) => {
    await fc.assert(property(createRun(context, reference)), { numRuns: caseCount(40) });
  });
});

describe('one launch', () => {
  const step = fn({ x: neighbours(u32) }, u32, ({ x }) => x.at(0).max(1).sub(1));
  const change = fn({ after: u32 }, u32, ({ after }) => after);
  const until = fn({ total: u32 }, bool, ({ total }) => total.eq(0));
  const rule = { change, total: q.plus(u32), until };
  const options = { maxRounds: 2 ** 20, maxWidth: 2 ** 32 - 1, maxHeight: 2 ** 32 - 1 };

  test('is enough for relax, for any number of rounds', async () => {
    const context = new Context(await createWorkersBackend({ workers: 2, inlineNanoseconds: 0 }));
    const grids = { width: context.column(Uint32Array.of(3, 300)), height: context.column(Uint32Array.of(2, 1)) };
    const x = context.column(new Uint32Array(306).fill(1000));
    await context.sync();
    const { dispatches } = context.backend.counters;
    const { state, rounds } = q.relax(grids, step, { x }, rule, options);
    // One launch runs all rounds. The few other launches compute where the grids start, and copy the states.
    expect(context.backend.counters.dispatches - dispatches).toBeLessThan(10);
    expect(await context.read({ state, rounds })).toEqual({
      state: new Uint32Array(306),
      rounds: Uint32Array.of(1000, 1000),
    });
    await context.close();
  });

  test('over many grids is no hang as long as grids finish', async () => {
    const [hangLimit, maxRounds] = [500, 20_000];
    const context = new Context(await createWorkersBackend({ workers: 2, inlineNanoseconds: 0, hangLimit }));
    const relaxMany = async (count: number): Promise<number> => {
      const size = (cells: number): q.Column<'u32'> => context.column(new Uint32Array(count).fill(cells));
      const x = context.column(new Uint32Array(count * 64 * 32).fill(2 ** 20));
      const grids = { width: size(64), height: size(32) };
      const from = performance.now();
      const { rounds } = q.relax(grids, step, { x }, rule, { ...options, maxRounds });
      expect(await context.read(rounds)).toEqual(new Uint32Array(count).fill(maxRounds));
      return performance.now() - from;
    };
    await relaxMany(8);
    // The number of grids is derived from the measured time of 8 grids, so that all grids together take about four
    // times `hangLimit` on any machine.
    await relaxMany(Math.ceil((8 * 4 * hangLimit) / (await relaxMany(8))));
    await context.close();
  });
});
