import type { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';

const { bool, fn, input, u32, uniform } = q;

type Outcome = PromiseSettledResult<unknown>;

const isAtLeast = fn({ x: u32, min: uniform(u32) }, bool, ({ x, min }) => x.ge(min));
const isSmall = fn({ x: u32, min: uniform(u32) }, bool, ({ x, min }) => x.le(min));
export const lessBy: q.Functor<{ x: typeof q.u32; by: q.UniformParameter<'u32'> }, typeof q.u32> = fn(
  { x: u32, by: uniform(u32) },
  u32,
  ({ x, by }) => x.sub(by.min(x)),
);
const two = fn({ x: u32 }, u32, ({ x }) => x.and(0).add(2));
const plusRank = fn({ x: u32, rank: u32 }, u32, ({ x, rank }) => x.mul(2).add(rank));
const plusTable = fn({ x: u32, table: q.array(u32) }, u32, ({ x, table }) => x.add(table.at(x.and(3))));

export const DATA: Uint32Array = Uint32Array.from({ length: 90 }, (_, i) => Math.imul(i, 2654435761) >>> 22);

/**
 * Runs three test parts. The first calls a prepared pipeline with two calls in flight, with a view, and with a row
 * count that only the device knows. The second runs loops with a stop rule. The third runs a loop that exceeds a
 * capacity. An error ends only the part in which the error occurs, and is recorded as the outcome of the part.
 */
export async function runPrepared(context: Context): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const held: unknown[] = [];
  const hold = <T>(made: T): T => {
    held.push(made);
    return made;
  };
  const prepared: q.Prepared[] = [];
  const part = async (run: () => Promise<readonly unknown[]>): Promise<void> => {
    const outcome = await Promise.allSettled([run()]);
    outcomes.push(...outcome);
    context.dispose(held.splice(0));
    for (const each of prepared.splice(0)) each.dispose();
  };
  await part(async () => {
    const x = hold(context.column(DATA));
    const table = hold(context.column(Uint32Array.of(3, 1, 4, 1)));
    const call = context.prepare({ x: input(u32, 90), min: uniform(u32) }, ({ x: rows, min }) => {
      const kept = q.copyIf(rows, q.map(isAtLeast, { x: rows, min }));
      const sorted = q.sort(q.map(plusTable, { x: kept, table }));
      return { sorted, sums: q.inclusiveScan(sorted, q.plus(u32)) };
    });
    prepared.push(call as never);
    const first = hold(call({ x, min: 100 }));
    const second = hold(call({ x: first.sorted, min: 200 }));
    const third = hold(call({ x: q.reverse(x), min: 300 }));
    const last = await context.read({ first, second, third });
    context.dispose(first, third);
    const again = hold(call({ x, min: 400 }));
    return [last, await context.read(again)];
  });
  await part(async () => {
    const step = context.prepare({ x: input(u32, 90), by: uniform(u32) }, ({ x: before, by }) => {
      const x = q.sort(q.map(lessBy, { x: before, by }));
      return { x, done: q.all(x, q.map(isSmall, { x, min: 40 })) };
    });
    prepared.push(step as never);
    const x = hold(context.column(DATA));
    const loops = [1, 4].map(async (batch) => {
      const { result, rounds } = await context.iterate(step, { x: q.reverse(x), by: 200 }, { maxRounds: 20, batch });
      return [await context.read(hold(result)), rounds];
    });
    const settled = await Promise.allSettled(loops);
    return settled.map((loop) => {
      if (loop.status === 'rejected') throw loop.reason;
      return loop.value;
    });
  });
  await part(async () => {
    const step = context.prepare({ x: input(u32, 100) }, ({ x }) => ({
      x: q.expand({ x }, q.map(two, { x }), plusRank, { capacity: 100 }),
    }));
    prepared.push(step as never);
    const x = hold(context.column(Uint32Array.of(1)));
    const { result } = await context.iterate(step, { x }, { maxRounds: 5, batch: 2 });
    const rows = await context.read(hold(result));
    const outgrown = context.iterate(step, { x }, { maxRounds: 20, batch: 3 });
    const { code } = await outgrown.then(
      ({ result: unexpected }) => hold({ ...unexpected, code: 'none' }),
      (error: { readonly code: string }) => (error.code === 'capacity/outgrown' ? error : Promise.reject(error)),
    );
    return [rows, code];
  });
  return outcomes;
}
