import {
  type Column,
  randomIntegers,
  randomNormal,
  randomUniform,
  sample,
  sampleWeighted,
  sequence,
  shuffle,
} from '../../primitives/index.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { inTurns, machine, spread } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Times random numbers, shuffles and samples beside plain loops in JavaScript on one thread: with `Math.random`, and
 * with Philox4x32-10, of whose blocks the loop uses all four words. The three take turns. Prints the nanoseconds a row,
 * and how many times as long the loops take, by the wall clock and in processor time of all threads.
 *
 * node --import tsx bench/primitives/random.ts [--backend webgpu|workers] [--adapter hardware|software] [--workers 2]
 *   [--rows 4194304] [--rounds 9]
 */
const options = programOptions({ ...BACKEND_OPTIONS, rows: 2 ** 22, rounds: 9 });
const { rows: ROWS, rounds } = options;
const seed = 1;

/** A function that returns the words of Philox4x32-10 one after the other. */
function philoxLoop(): () => number {
  const words = new Uint32Array(4);
  let [next, block] = [4, 0];
  return () => {
    if (next === 4) {
      fillBlock(words, block++);
      next = 0;
    }
    return words[next++]!;
  };
}

function fillBlock(words: Uint32Array, block: number): void {
  let [a, b, c, d, low, high] = [block, 0, 0, 0, seed, 0];
  for (let round = 0; round < 10; round++) {
    const first = highOf(0xd2511f53, a);
    const second = highOf(0xcd9e8d57, c);
    const [oldA, oldC] = [a, c];
    a = (second ^ b ^ low) >>> 0;
    b = Math.imul(0xcd9e8d57, oldC);
    c = (first ^ d ^ high) >>> 0;
    d = Math.imul(0xd2511f53, oldA);
    low = (low + 0x9e3779b9) >>> 0;
    high = (high + 0xbb67ae85) >>> 0;
  }
  words[0] = a;
  words[1] = b;
  words[2] = c;
  words[3] = d;
}

function highOf(a: number, b: number): number {
  const low = a * (b & 0xffff);
  return Math.floor((a * (b >>> 16) + Math.floor(low / 2 ** 16)) / 2 ** 16);
}

const uniform = (from: () => number): Float32Array => {
  const out = new Float32Array(ROWS);
  for (let i = 0; i < ROWS; i++) out[i] = from();
  return out;
};

const normal = (from: () => number): Float32Array => {
  const out = new Float32Array(ROWS);
  for (let i = 0; i < ROWS; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - from()));
    const angle = 2 * Math.PI * from();
    out[i] = radius * Math.cos(angle);
    out[i + 1] = radius * Math.sin(angle);
  }
  return out;
};

const integers = (from: () => number): Uint32Array => {
  const out = new Uint32Array(ROWS);
  for (let i = 0; i < ROWS; i++) out[i] = Math.floor(from() * 6);
  return out;
};

const shuffled = (from: () => number): Uint32Array => {
  const out = Uint32Array.from({ length: ROWS }, (_, i) => i);
  for (let i = ROWS - 1; i > 0; i--) {
    const j = Math.floor(from() * (i + 1));
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
};

const sampled = (from: () => number): Uint32Array => {
  const out = Uint32Array.from({ length: ROWS }, (_, i) => i);
  const k = ROWS >> 4;
  for (let i = 0; i < k; i++) {
    const j = i + Math.floor(from() * (ROWS - i));
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out.slice(0, k);
};

await using context = await openNamed(options);
const hostWeights = Float32Array.from({ length: ROWS }, (_, i) => 1 + (i % 7));
const weights = context.column(hostWeights);

const drawn = (from: () => number): Uint32Array => {
  const upTo = new Float64Array(ROWS);
  let sum = 0;
  for (let i = 0; i < ROWS; i++) upTo[i] = sum += hostWeights[i]!;
  const out = new Uint32Array(ROWS);
  for (let i = 0; i < ROWS; i++) {
    const place = from() * sum;
    let [low, high] = [0, ROWS];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (upTo[middle]! <= place) low = middle + 1;
      else high = middle;
    }
    out[i] = low;
  }
  return out;
};

const onDevice = async (made: Column): Promise<void> => {
  await context.sync(made);
  context.dispose(made);
};

const all = {
  'uniform f32': [() => context.materialize(randomUniform(ROWS, { seed })), uniform],
  'normal f32': [() => context.materialize(randomNormal(ROWS, { seed })), normal],
  'integers below 6': [() => context.materialize(randomIntegers(ROWS, 6, { seed })), integers],
  shuffle: [() => shuffle(sequence(ROWS), { seed, context }), shuffled],
  'a sixteenth of the rows': [() => sample(sequence(ROWS), ROWS >> 4, { seed, context }), sampled],
  'weighted, with replacement': [() => sampleWeighted(weights, ROWS, { seed, replacement: true }), drawn],
} as const;

console.log(`${ROWS} rows, ${rounds} rounds in turns, ${machine()}\n`);
printHead('task | ns a row | Math.random, wall | processor time | Philox loop, wall | processor time');
for (const [task, [own, plain]] of Object.entries(all)) {
  const works = {
    own: () => onDevice(own()),
    random: () => void plain(Math.random),
    philox: () => {
      const next = philoxLoop();
      plain(() => next() * 2 ** -32);
    },
  };
  const times = await inTurns<unknown>(works, { rounds, warmUps: 2 });
  const took = times.get('own')!;
  const ratios = (name: 'random' | 'philox', of: 'wall' | 'processor'): string =>
    spread(times.get(name)!.map((each, round) => each[of] / took[round]![of]));
  printRow([
    task,
    spread(
      took.map(({ wall }) => (wall * 1e9) / ROWS),
      1,
    ),
    ...(['random', 'philox'] as const).flatMap((name) => [ratios(name, 'wall'), ratios(name, 'processor')]),
  ]);
}
