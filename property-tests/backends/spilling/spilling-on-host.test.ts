import { describe, expect, test as plainTest } from 'vitest';
import { compilePausing } from '../../../backends/reference/emit-javascript.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend, type SpillingBackend } from '../../../backends/spilling/index.ts';
import type { Column } from '../../../primitives/columns/column.ts';
import { Context } from '../../../primitives/context/context.ts';
import { For, If, Return, Var, While } from '../../../primitives/functors/control.ts';
import { array, fn, u32 } from '../../../primitives/functors/functor.ts';
import { lowerBound, map, reduce, sequence } from '../../../primitives/index.ts';
import { plus } from '../../../primitives/monoid.ts';
import { resultTypesOf } from '../../arbitraries/functor-sketch.ts';
import { moduleOfSketch } from '../../arbitraries/functor-sketch-ir.ts';
import { fuzzCases } from '../../arbitraries/functors.ts';
import { caseCount } from '../../cases.ts';
import { test } from '../../law-test.ts';
import { expectSame, runInterpreter } from '../../support/functor-comparison.ts';
import { SPECIFIED } from '../../support/ir-interpreter.ts';

/** Length of a table that exceeds the backend's memory, so that gathers from the table run on the host. */
const TABLE = 40_000;

async function withSmallMemory<T>(
  hangLimit: number | undefined,
  body: (context: Context, backend: SpillingBackend) => Promise<T>,
): Promise<T> {
  const inner = createReferenceBackend({ limits: { memoryBytes: 65536 } });
  const backend = createSpillingBackend(inner, { hangLimit });
  await using context = new Context(backend);
  return await body(context, backend);
}

/**
 * Searches the table for a value other than 1, beginning at a hash of x. The search takes many steps, or never ends.
 */
const search = fn('search', { x: u32, xs: array(u32) }, u32, ({ x, xs }) => {
  const at = Var(x.mul(2654435761).shr(16));
  While(
    () => xs.at(at).eq(1),
    () => at.set(at.add(1).rem(TABLE)),
  );
  return at;
});

function searchesOf(context: Context, rows: number, table: Uint32Array) {
  return map(search, { x: sequence(rows), xs: context.column(table) });
}

/**
 * Reads a column whose evaluation on the host never ends. Expects that the evaluation pauses, that the event loop turns
 * after the third pause, and that the read fails when the context is closed then. At every pause, the evaluation asks
 * the inner backend whether it still works, by `sync`.
 */
async function expectPauses(columnOf: (context: Context) => Column<'u32'>): Promise<void> {
  const inner = createReferenceBackend({ limits: { memoryBytes: 65536 } });
  let pauses = 0;
  let pausedThrice = (): void => {};
  const turn = new Promise<void>((resolve) => {
    pausedThrice = () => setImmediate(resolve);
  });
  const sync = (): Promise<void> => {
    if (++pauses === 3) pausedThrice();
    return inner.sync();
  };
  await using context = new Context(createSpillingBackend({ ...inner, sync }));
  const end = expect(context.read(columnOf(context))).rejects.toMatchObject({ code: 'device/closed' });
  await turn;
  await context.close();
  await end;
}

describe('evaluation on the host', () => {
  test.prop([fuzzCases()], { numRuns: caseCount(60) })(
    'pauses and resumes with the same results',
    ({ sketch, inputs }) => {
      const module = moduleOfSketch(sketch);
      const { rows, arrays, uniforms } = inputs;
      const readers = new Map(
        Object.entries(arrays).map(([name, values]) => [
          name,
          { at: (i: number) => values[i]!, length: () => values.length },
        ]),
      );
      const pause = { roundsLeft: 0 };
      const entry = compilePausing(module)(readers, new Map(Object.entries(uniforms)), pause);
      const results = rows.map((row) => {
        const evaluation = entry(...row);
        let step = evaluation.next();
        while (step.done !== true) {
          pause.roundsLeft = 1;
          step = evaluation.next();
        }
        return step.value;
      });
      expectSame(resultTypesOf(sketch), results, runInterpreter(module, inputs), SPECIFIED);
    },
  );

  plainTest('gives the results of a device, for loops with an unknown number of rounds too', async () => {
    const table = Uint32Array.from({ length: TABLE }, (_, i) => (i % 1000 === 7 ? 0 : 1));
    const sorted = Uint32Array.from({ length: TABLE }, (_, i) => 3 * i);
    const run = async (context: Context): Promise<unknown> => [
      await context.read(reduce(searchesOf(context, 3000, table), plus(u32))),
      await context.read(lowerBound(context.column(sorted), sequence(500))),
    ];
    await using roomy = new Context(createReferenceBackend());
    await withSmallMemory(undefined, async (context, backend) => {
      expect(await run(context)).toEqual(await run(roomy));
      expect(backend.counters.spilling.rowsOnHost).toBe(3500);
    });
  });

  plainTest.each([1, 1000])(
    'of %i rows that never end fails at the hang limit, and nothing else fails',
    async (rows) => {
      await withSmallMemory(100, async (context) => {
        const endless = context.read(searchesOf(context, rows, new Uint32Array(TABLE).fill(1)));
        await expect(endless).rejects.toMatchObject({ code: 'device/hang' });
        expect(
          await context.read(
            map(
              fn({ x: u32 }, u32, ({ x }) => x.add(1)),
              { x: sequence(3) },
            ),
          ),
        ).toEqual(Uint32Array.of(1, 2, 3));
      });
    },
  );

  plainTest.each([1, 5])(
    'of %i rows that never end yields to the event loop, and is dropped when the context closes',
    (rows) => expectPauses((context) => searchesOf(context, rows, new Uint32Array(TABLE).fill(1))),
  );

  plainTest('yields to the event loop when a row has a large bound', async () => {
    const far = fn('far', { x: u32, xs: array(u32) }, u32, ({ x, xs }) => {
      const sum = Var(xs.at(x.mul(2654435761).shr(17)));
      For(0, 2 ** 31, (i) => {
        If(sum.eq(0), () => Return(i));
        sum.set(sum.mul(5).add(xs.at(sum.shr(17))));
      });
      return sum;
    });
    const table = Uint32Array.from({ length: TABLE }, (_, i) => 2 * i + 1);
    await expectPauses((context) => map(far, { x: sequence(1), xs: context.column(table) }));
  });
});
