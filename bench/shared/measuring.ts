import { cpus, loadavg } from 'node:os';
import type { Context } from '../../primitives/context/context.ts';

/** The cost of a run: wall-clock seconds, and processor seconds of all threads. */
export interface Took {
  readonly wall: number;
  readonly processor: number;
}

/** Runs some work. Returns its result, with the wall-clock seconds and processor seconds that it took. */
export async function timed<T>(work: () => T | Promise<T>): Promise<Took & { readonly result: T }> {
  const used = process.cpuUsage();
  const from = performance.now();
  const result = await work();
  const wall = (performance.now() - from) / 1000;
  const { user, system } = process.cpuUsage(used);
  return { result, wall, processor: (user + system) / 1e6 };
}

/** How often works run: `warmUps` rounds are not timed; one by default. */
export interface Rounds {
  readonly rounds: number;
  readonly warmUps?: number;
}

/**
 * Runs several works in rounds in which they take turns, so that disturbances of the machine meet all alike. Returns what
 * each took in each timed round. `check` is given every result, also those of untimed rounds.
 */
export async function inTurns<T>(
  works: { readonly [name: string]: () => T | Promise<T> },
  { rounds, warmUps = 1 }: Rounds,
  check: (result: T, name: string) => unknown = () => undefined,
): Promise<Map<string, Took[]>> {
  const times = new Map(Object.keys(works).map((name): [string, Took[]] => [name, []]));
  for (let round = -warmUps; round < rounds; round++) {
    for (const [name, took] of times) {
      const { result, ...cost } = await timed(works[name]!);
      if (round >= 0) took.push(cost);
      await check(result, name);
    }
  }
  return times;
}

/** Wall-clock milliseconds of some work in each timed round. `check` is as for {@link inTurns}. */
export async function timesOf<T>(
  work: () => T | Promise<T>,
  rounds: Rounds,
  check?: (result: T) => unknown,
): Promise<number[]> {
  const [took] = (await inTurns({ work }, rounds, check)).values();
  return took!.map(({ wall }) => 1000 * wall);
}

/** Milliseconds from each call until the device is done. Results are freed, untimed. */
export function timesUntilDone(
  context: Pick<Context, 'sync' | 'dispose'>,
  call: () => unknown,
  rounds: Rounds,
): Promise<number[]> {
  const untilDone = async (): Promise<unknown> => {
    const made = await call();
    await context.sync();
    return made;
  };
  return timesOf(untilDone, rounds, (made) => context.dispose(made));
}

/** Repeats some work for some time, because an idle device is slow at first. */
export async function keepBusy(work: () => unknown, milliseconds: number): Promise<void> {
  for (const from = performance.now(); performance.now() - from < milliseconds; ) await work();
}

/** Median, minimum and maximum of some numbers. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The median, minimum and maximum of at least one number. Of two numbers in the middle, the median is the greater. */
export function spreadOf(numbers: readonly number[]): Spread {
  const sorted = numbers.toSorted((a, b) => a - b);
  return { median: sorted[sorted.length >> 1]!, min: sorted[0]!, max: sorted.at(-1)! };
}

export function median(numbers: readonly number[]): number {
  return spreadOf(numbers).median;
}

/** The median as text, with minimum and maximum in brackets. */
export function spread(values: readonly number[], digits = 2): string {
  const { median, min, max } = spreadOf(values);
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
}

/** The machine, its load, and the version of Node. */
export function machine(): string {
  return `${cpus().length} × ${cpus()[0]!.model}, load ${loadavg()[0]!.toFixed(1)}, Node ${process.version}`;
}
