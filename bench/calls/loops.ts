import { bool, type Column, fn, gather, input, map, plus, reduce, u32, uniform } from '../../primitives/index.ts';
import { permutation, randomOf } from '../experiments/inputs.ts';
import { checksum } from '../harness/job.ts';
import { type Bench, share, timesOf } from './bench.ts';

const affine = fn('affine', { x: u32 }, u32, ({ x }) => x.mul(2654435761).add(1));
const isSought = fn('isSought', { number: u32, sought: uniform(u32) }, bool, ({ number, sought }) => number.eq(sought));

/** The inputs of a loop: the first state, and for each row of the next state the index of its source row. */
interface Start {
  readonly state: Uint32Array;
  readonly order: Uint32Array;
}

function startOf(n: number): Start {
  return { state: randomOf({ n, type: 'u32' }) as Uint32Array, order: permutation(n) };
}

/** Three loops: a plain one, one that reads a number in each round, and one whose stop rule tests that number. */
export const LOOPS = ['loop', 'loop, a number read each round', 'loop with a stop rule'] as const;
type Loop = (typeof LOOPS)[number];

/**
 * Functions for one round of a loop. Both compute the next state; `stepWithNumber` also computes the sum of the next
 * state, which is the number of the round.
 */
interface Rounds {
  step(state: Column<'u32'>): Column<'u32'>;
  stepWithNumber(state: Column<'u32'>): { readonly next: Column<'u32'>; readonly number: Column<'u32'> };
}

/**
 * Times loops (rounds of a gather and a map) in three ways: as ordinary calls, as prepared calls, and with
 * `context.iterate`.
 */
export async function measureLoops(bench: Bench, n: number): Promise<void> {
  const { context } = bench;
  const start = startOf(n);
  const [first, order] = [context.column(start.state), context.column(start.order)];
  const ends: Ends = { first, sought: sumAfter(start.state, bench.rounds) };
  const called: Rounds = {
    step: (state) => context.materialize(map(affine, { x: gather(state, order) })),
    stepWithNumber(state) {
      const next = called.step(state);
      return { next, number: reduce(next, plus(u32)) };
    },
  };
  await timeLoops(bench, 'quadrille, called', called, ends);
  const step = context.prepare({ state: input(u32, n) }, ({ state }) => called.step(state));
  const stepWithNumber = context.prepare({ state: input(u32, n) }, ({ state }) => called.stepWithNumber(state));
  const prepared: Rounds = { step: (state) => step({ state }), stepWithNumber: (state) => stepWithNumber({ state }) };
  await timeLoops(bench, 'quadrille, prepared', prepared, ends);
  step.dispose();
  stepWithNumber.dispose();
  await timeIterated(bench, called, ends);
  context.dispose(first, order);
}

/** The first state of a loop, and the number at which the stop rule ends the loop: the sum of the last state. */
interface Ends {
  readonly first: Column<'u32'>;
  readonly sought: number;
}

async function timeLoops(
  bench: Bench,
  library: string,
  { step, stepWithNumber }: Rounds,
  { first, sought }: Ends,
): Promise<void> {
  const { context, rounds } = bench;
  const n = first.length as number;
  let state: Column<'u32'> | undefined;
  const numbers = new Uint32Array(rounds);

  const goOn = (next?: Column<'u32'>): void => {
    context.dispose(state);
    state = next;
  };
  const numberOfNext = async (): Promise<number> => {
    const { next, number } = stepWithNumber(state ?? first);
    goOn(next);
    const read = context.read(number);
    context.dispose(number);
    return (await read)[0]!;
  };
  const works: Readonly<Record<Loop, () => Promise<void>>> = {
    async loop() {
      for (let round = 0; round < rounds; round++) goOn(step(state ?? first));
      await context.sync();
    },
    async 'loop, a number read each round'() {
      for (let round = 0; round < rounds; round++) numbers[round] = await numberOfNext();
    },
    async 'loop with a stop rule'() {
      let round = 0;
      do round++;
      while ((await numberOfNext()) !== sought && round < 2 * rounds);
      if (round !== rounds) throw new Error(`The loop ended after round ${round}.`);
    },
  };
  for (const what of LOOPS) {
    const ms = share(await timesOf(bench, works[what], goOn), rounds);
    const found = what === 'loop, a number read each round' ? numbers : await context.read(state!);
    bench.record({ what, n, library, way: 'a round', ...ms, rounds, checksum: checksum([found]) });
  }
  goOn();
}

/** Times the plain loop and the loop with the stop rule, both run on the device by `context.iterate`. */
async function timeIterated(bench: Bench, { step, stepWithNumber }: Rounds, { first, sought }: Ends): Promise<void> {
  const { context, rounds, record } = bench;
  const n = first.length as number;
  const once = context.prepare({ state: input(u32, n) }, ({ state }) => ({ state: step(state) }));
  const until = context.prepare({ state: input(u32, n), sought: uniform(u32) }, (given) => {
    const { next, number } = stepWithNumber(given.state);
    return { state: next, done: map(isSought, { number, sought: given.sought }) };
  });
  const loops = {
    loop: () => context.iterate(once, { state: first }, { maxRounds: rounds }),
    'loop with a stop rule': () => context.iterate(until, { state: first, sought }, { maxRounds: 2 * rounds }),
  };
  for (const [what, iterate] of Object.entries(loops)) {
    let last: Awaited<ReturnType<typeof iterate>> | undefined;
    const drop = (): void => {
      context.dispose(last?.result);
      last = undefined;
    };
    const work = async (): Promise<void> => {
      last = await iterate();
      await context.sync();
    };
    const ms = share(await timesOf(bench, work, drop), rounds);
    if (last!.rounds !== rounds) throw new Error(`The loop ended after round ${last!.rounds}.`);
    const sum = checksum([await context.read(last!.result.state)]);
    record({ what, n, library: 'quadrille, iterate', way: 'a round', ...ms, rounds, checksum: sum });
    drop();
  }
  once.dispose();
  until.dispose();
}

/** Times the first two of {@link LOOPS} in plain JavaScript on one thread, where reading the number costs nothing. */
export async function measurePlainLoops(bench: Bench, n: number): Promise<void> {
  const { rounds, record } = bench;
  const start = startOf(n);
  let states: [Uint32Array, Uint32Array] = [start.state, start.state];
  const numbers = new Uint32Array(rounds);
  const restart = (): void => {
    states = [start.state.slice(), new Uint32Array(n)];
  };
  const step = (): void => {
    const [from, to] = states;
    for (let i = 0; i < n; i++) to[i] = Math.imul(from[start.order[i]!]!, 2654435761) + 1;
    states = [to, from];
  };
  const row = { n, library: 'plain JavaScript', way: 'a round', rounds };
  for (const [reads, what] of [LOOPS[0], LOOPS[1]].entries()) {
    const work = (): void => {
      for (let round = 0; round < rounds; round++) {
        step();
        if (reads === 1) numbers[round] = sumOf(states[0]);
      }
    };
    const ms = share(await timesOf(bench, work, restart), rounds);
    record({ ...row, what, ...ms, checksum: checksum([reads === 1 ? numbers : states[0]]) });
  }
}

function sumOf(words: Uint32Array): number {
  let sum = 0;
  for (let i = 0; i < words.length; i++) sum = (sum + words[i]!) | 0;
  return sum >>> 0;
}

/** The sum of the state after a number of rounds, computed from the first sum: permuting rows does not change a sum. */
function sumAfter(state: Uint32Array, rounds: number): number {
  let sum = sumOf(state);
  for (let round = 0; round < rounds; round++) sum = (Math.imul(sum, 2654435761) + state.length) >>> 0;
  return sum;
}
