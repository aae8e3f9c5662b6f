import { type Column, fn, gather, map, plus, reduce, u32 } from '../../primitives/index.ts';
import { permutation, randomOf } from '../experiments/inputs.ts';
import { checksum } from '../harness/job.ts';
import { type Bench, share, timesOf } from './bench.ts';

const affine = fn('affine', { x: u32 }, u32, ({ x }) => x.mul(2654435761).add(1));

/** What a loop starts with: its state, and where each row of the next one comes from. */
interface Start {
  readonly state: Uint32Array;
  readonly order: Uint32Array;
}

function startOf(n: number): Start {
  return { state: randomOf({ n, type: 'u32' }) as Uint32Array, order: permutation(n) };
}

/** The loop itself, the same with a number that is read each round, and with a rule that ends it by that number. */
export const LOOPS = ['loop', 'loop, a number read each round', 'loop with a stop rule'] as const;
type Loop = (typeof LOOPS)[number];

/** Loops of gather and map in calls of their own. */
export async function measureLoops(bench: Bench, n: number): Promise<void> {
  const { context, rounds } = bench;
  const start = startOf(n);
  const [first, order] = [context.column(start.state), context.column(start.order)];
  const sought = sumAfter(start.state, rounds);
  let state: Column<'u32'> | undefined;
  const numbers = new Uint32Array(rounds);

  const restart = (): void => {
    context.dispose(state);
    state = undefined;
  };
  const step = (): void => {
    const next = context.materialize(map(affine, { x: gather(state ?? first, order) }));
    context.dispose(state);
    state = next;
  };
  const number = async (): Promise<number> => {
    const sum = reduce(state!, plus(u32));
    const read = context.read(sum);
    context.dispose(sum);
    return (await read)[0]!;
  };
  const works: Readonly<Record<Loop, () => Promise<void>>> = {
    async loop() {
      for (let round = 0; round < rounds; round++) step();
      await context.sync();
    },
    async 'loop, a number read each round'() {
      for (let round = 0; round < rounds; round++) {
        step();
        numbers[round] = await number();
      }
    },
    async 'loop with a stop rule'() {
      let round = 0;
      do {
        step();
        round++;
      } while ((await number()) !== sought && round < 2 * rounds);
      if (round !== rounds) throw new Error(`The loop ended after round ${round}.`);
    },
  };
  for (const what of LOOPS) {
    const ms = share(await timesOf(bench, works[what], restart), rounds);
    const found = what === 'loop, a number read each round' ? numbers : await context.read(state!);
    bench.record({ what, n, library: 'quadrille, called', way: 'a round', ...ms, rounds, checksum: checksum([found]) });
  }
  restart();
  context.dispose(first, order);
}

/** The same loops in plain JavaScript on one thread, in which a number is at hand. */
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
  const plain = await timesOf(
    bench,
    () => {
      for (let round = 0; round < rounds; round++) step();
    },
    restart,
  );
  record({ ...row, what: LOOPS[0], ...share(plain, rounds), checksum: checksum([states[0]]) });
  const read = await timesOf(
    bench,
    () => {
      for (let round = 0; round < rounds; round++) {
        step();
        numbers[round] = sumOf(states[0]);
      }
    },
    restart,
  );
  record({ ...row, what: LOOPS[1], ...share(read, rounds), checksum: checksum([numbers]) });
}

function sumOf(words: Uint32Array): number {
  let sum = 0;
  for (let i = 0; i < words.length; i++) sum = (sum + words[i]!) | 0;
  return sum >>> 0;
}

/** The sum of the state after so many rounds: a permutation does not change it. */
function sumAfter(state: Uint32Array, rounds: number): number {
  let sum = sumOf(state);
  for (let round = 0; round < rounds; round++) sum = (Math.imul(sum, 2654435761) + state.length) >>> 0;
  return sum;
}
