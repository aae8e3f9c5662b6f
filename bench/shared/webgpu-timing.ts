import type { WebGpuBackend } from '../../backends/webgpu/index.ts';
import type { Context } from '../../primitives/context/context.ts';
import { type Column, plus, reduce, u32 } from '../../primitives/index.ts';
import { median, type Spread, spreadOf } from './measuring.ts';

/**
 * Warms up the device by repeated reductions of a column: an idle GPU needs some tenths of a second to raise its clock
 * frequency. Reductions keep the device busy because the host can record them quickly.
 */
export function reduceAgain(context: Context, column: Column<'u32'>, passes: number): void {
  for (let pass = 0; pass < passes; pass++) context.dispose(reduce(column, plus(u32)));
}

/** The times of a pipeline and of each of its kernels, by the device's own clock. */
export interface TimedPipeline {
  readonly total: Spread;
  readonly steps: readonly ({ readonly command: string } & Spread)[];
}

/**
 * Times `rounds` runs of a pipeline (`once`) and of each of its kernels. Before the runs, `heat` must keep the device
 * busy for half a second: an idle GPU needs some tenths of a second to raise its clock frequency. `heating` is the
 * prefix of the names of all commands of `heat`. No command of the pipeline may have a name with this prefix.
 */
export async function timePipeline(
  backend: WebGpuBackend,
  heat: () => void,
  heating: string,
  once: () => void,
  rounds: number,
): Promise<TimedPipeline> {
  const repeated = Array.from({ length: rounds }, () => once);
  await backend.time([heat, ...repeated]);
  const { compilations } = backend.counters;
  const [, ...totals] = await backend.time([heat, ...repeated]);
  const profile = await backend.profile(() => [heat, ...repeated].forEach((run) => void run()));
  if (backend.counters.compilations !== compilations) throw new Error('The steady state compiles.');
  const perRound = profile.filter(({ command }) => !command.startsWith(heating)).length / rounds;
  const steps = Array.from({ length: perRound }, (_, step) => {
    const times = profile.slice(-perRound * rounds).filter((_, i) => i % perRound === step);
    return { command: times[0]!.command, ...spreadOf(times.map(({ milliseconds }) => milliseconds)) };
  });
  return { total: spreadOf(totals), steps };
}

export function showSpread({ median, min, max }: Spread): string {
  return `${median.toFixed(4)} ms (${min.toFixed(4)} to ${max.toFixed(4)})`;
}

/** Prints a table of the kernels of a pipeline, with their shares of the total time. */
export function printSteps(steps: TimedPipeline['steps']): void {
  console.log('| command | ms | share |\n| --- | --- | --- |');
  const sum = steps.reduce((so, { median }) => so + median, 0);
  for (const { command, median } of steps) {
    console.log(`| ${command} | ${median.toFixed(4)} | ${((100 * median) / sum).toFixed(1)} % |`);
  }
  console.log(`| sum of all commands | ${sum.toFixed(4)} | |`);
}

/**
 * Milliseconds of a call by the device's clock, over many consecutive calls; undefined if the backend has no clock.
 *
 * @throws What the backend throws if the device has none.
 */
export async function deviceTime(context: Context, call: () => unknown): Promise<number | undefined> {
  const { backend } = context as { readonly backend: Partial<Pick<WebGpuBackend, 'time'>> };
  if (backend.time === undefined) return undefined;
  const calls = 20;
  const many = (): void => {
    for (let i = 0; i < calls; i++) context.dispose(call());
  };
  const times: number[] = [];
  for (let round = 0; round < 7; round++) times.push((await backend.time([many, many]))[1]! / calls);
  return median(times);
}
