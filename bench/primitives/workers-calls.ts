import { createWorkersBackend } from '../../backends/workers/index.ts';
import { Context } from '../../primitives/context/context.ts';
import { bool, type Column, fn, input, map, plus, reduce, u32, uniform } from '../../primitives/index.ts';
import { printHead } from '../shared/markdown-table.ts';
import { machine } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { primitiveCalls, primitiveInputs } from './primitive-calls.ts';

/**
 * Measures what calls of primitives on the workers backend cost the caller, in µs per call: until the call returns,
 * until 40 consecutive calls are done, and until a single call is done. By default, calls with 2^10 rows run on the
 * calling thread and calls with 2^17 rows on the workers. Then measures prepared pipelines of one and two launches in
 * the same way. Finally measures one round of a loop; each round runs a map, a reduce and a stop rule.
 *
 * node --import tsx bench/primitives/workers-calls.ts [--workers 2] [--log2 10,17] [--prepared 2,10,17] [--rounds 60] [--only name,…]
 *   [--inline nanoseconds]
 *
 * tsx adds code that keeps the names of functions. This code makes the calls a quarter slower, so compile the sources
 * to measure what users of the package get.
 */
const options = programOptions({
  ...{ workers: 2, log2: [10, 17], prepared: [2, 10, 17], rounds: 60 },
  ...{ only: 'map,reduce,scan,copyIf,gather', inline: undefined },
});
const IN_A_ROW = 40;
const ALONE = 20;
const WARM_UPS = 60;
const LOOP_ROUNDS = 200;

const inlineNanoseconds = options.inline === undefined ? undefined : Number(options.inline);
const context = new Context(await createWorkersBackend({ workers: options.workers, inlineNanoseconds }));
console.log(`${machine()}; medians of ${options.rounds} rounds with quartiles, µs per call\n`);
printHead('rows | primitive | until the call returns | 40 calls, then a wait | one call and its wait');
for (const log2 of options.log2) {
  const calls = primitiveCalls(context, 2 ** log2, primitiveInputs(context, log2));
  for (const name of options.only.split(',')) await measure(`2^${log2}`, name, calls[name]!);
}
for (const log2 of options.prepared) await measurePrepared(log2);
await context.close();

async function measurePrepared(log2: number): Promise<void> {
  const n = 2 ** log2;
  const rows = `2^${log2}`;
  const affine = fn('affine', { x: u32, by: uniform(u32) }, u32, ({ x, by }) => x.mul(2654435761).add(by));
  const isSought = fn('isSought', { sum: u32 }, bool, ({ sum }) => sum.eq(1));
  const mapped = (x: Column<'u32'>, by: number) => context.materialize(map(affine, { x, by }));
  const x = context.column(new Uint32Array(n).map((_, i) => i));
  const one = context.prepare({ x: input(u32, n), by: uniform(u32) }, (given) => mapped(given.x, given.by));
  await measure(rows, 'prepared: map', () => one({ x, by: 1 }));
  const two = context.prepare({ x: input(u32, n), by: uniform(u32) }, (given) => {
    const y = mapped(given.x, given.by);
    return { y, sum: reduce(y, plus(u32)) };
  });
  await measure(rows, 'prepared: map, reduce', () => two({ x, by: 1 }));
  const step = context.prepare({ x: input(u32, n), by: uniform(u32) }, (given) => {
    const next = mapped(given.x, given.by);
    const done = context.materialize(map(isSought, { sum: reduce(next, plus(u32)) }));
    return { x: next, done };
  });
  await measureLoop(rows, async (max) => {
    const { result, rounds } = await context.iterate(step, { x, by: 2 }, { maxRounds: max });
    context.dispose(result);
    if (rounds !== max) throw new Error(`The loop ended after ${rounds} rounds.`);
  });
}

/** Times the rounds of a loop whose stop rule never holds. */
async function measureLoop(rows: string, loop: (max: number) => Promise<void>): Promise<void> {
  const times: number[] = [];
  for (let round = -WARM_UPS; round < options.rounds; round++) {
    const start = performance.now();
    await loop(LOOP_ROUNDS);
    if (round >= 0) times.push((performance.now() - start) / LOOP_ROUNDS);
  }
  console.log(`| ${rows} | iterate: map, reduce, stop rule; µs per round | | ${quartiles(times)} | |`);
}

async function measure(rows: string, name: string, call: () => unknown): Promise<void> {
  const times = { host: [] as number[], row: [] as number[], alone: [] as number[] };
  for (let round = -WARM_UPS; round < options.rounds; round++) {
    const start = performance.now();
    for (let i = 0; i < IN_A_ROW; i++) context.dispose(call());
    const called = performance.now();
    await context.sync();
    const done = performance.now();
    for (let i = 0; i < ALONE; i++) {
      context.dispose(call());
      await context.sync();
    }
    const end = performance.now();
    if (round < 0) continue;
    times.host.push((called - start) / IN_A_ROW);
    times.row.push((done - start) / IN_A_ROW);
    times.alone.push((end - done) / ALONE);
  }
  console.log(`| ${[rows, name, ...Object.values(times).map(quartiles)].join(' | ')} |`);
}

function quartiles(milliseconds: readonly number[]): string {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  const [low, median, high] = [0.25, 0.5, 0.75].map((part) =>
    (sorted[Math.floor(part * sorted.length)]! * 1e3).toFixed(1),
  );
  return `${median} (${low} … ${high})`;
}
