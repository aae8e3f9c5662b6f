import type { Context, Table } from '../../primitives/index.ts';
import { spreadOf } from '../shared/measuring.ts';

/** One version of a computation. All steps of a ladder give the same result in different ways. */
export interface Step {
  readonly name: string;
  run(): Table | Promise<Table>;
}

/**
 * Versions of one computation, from one launch for every small task to the shipped code. A loop on a single thread
 * serves for comparison.
 */
export interface Ladder {
  readonly steps: readonly Step[];
  /** Computes the result in plain JavaScript on one thread. */
  plain(): unknown;
  /** Throws if a result differs from the result of plain JavaScript in any byte. */
  check(step: string, result: Table): Promise<void>;
}

export interface MeasuredStep {
  readonly name: string;
  readonly milliseconds: number;
  readonly launches: number;
  /** Time of plain JavaScript divided by the time of this step. */
  readonly speedup: number;
}

export interface MeasuredLadder {
  readonly plainMilliseconds: number;
  readonly steps: readonly MeasuredStep[];
}

/** Milliseconds after which a step starts no further round. A step whose first run takes longer is not repeated. */
const PATIENCE = 3000;

/** Checks the result of every step, and times all steps and the single-threaded loop. */
export async function measureLadder(context: Context, ladder: Ladder, rounds: number): Promise<MeasuredLadder> {
  const plainMilliseconds = await timeOf(async () => void ladder.plain(), rounds);
  const steps: MeasuredStep[] = [];
  for (const step of ladder.steps) {
    const { counters } = context.backend;
    const before = counters.dispatches;
    const from = performance.now();
    const first = await step.run();
    await context.sync();
    const alone = performance.now() - from;
    const launches = counters.dispatches - before;
    await ladder.check(step.name, first);
    context.dispose(first);
    const again = async () => {
      const made = await step.run();
      await context.sync();
      context.dispose(made);
    };
    const milliseconds = alone > PATIENCE ? alone : await timeOf(again, rounds);
    steps.push({ name: step.name, milliseconds, launches, speedup: plainMilliseconds / milliseconds });
  }
  return { plainMilliseconds, steps };
}

/**
 * The median time of `rounds` rounds, in milliseconds; slow work has fewer rounds. Three untimed rounds come first,
 * because kernels are slower in the beginning.
 */
async function timeOf(run: () => Promise<void>, rounds: number): Promise<number> {
  const times: number[] = [];
  const start = performance.now();
  for (let round = -3; round < rounds; round++) {
    const from = performance.now();
    await run();
    if (round >= 0) times.push(performance.now() - from);
    if (times.length > 0 && performance.now() - start > PATIENCE) break;
  }
  return spreadOf(times).median;
}

/** Throws if two columns differ in any byte. */
export function requireSameBytes(what: string, got: ArrayBufferView, expected: ArrayBufferView): void {
  const [a, b] = [got, expected].map((view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength)) as [
    Buffer,
    Buffer,
  ];
  if (!a.equals(b)) throw new Error(`${what} differs from that of plain JavaScript.`);
}
