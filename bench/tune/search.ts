import type { Tuning, TuningChoice, WebGpuBackend } from '../../backends/webgpu/index.ts';
import { chosenTuning } from '../../backends/webgpu/tuning/tuning-choice.ts';
import { QuadrilleError } from '../../primitives/checks/errors.ts';
import type { Context } from '../../primitives/context/context.ts';
import { builtInExperiments } from '../experiments/index.ts';
import { backendCandidate } from '../harness/backend-candidate.ts';
import type { Prepared } from '../harness/candidate.ts';
import type { HostColumn } from '../harness/experiment.ts';
import { differenceOf, type Job, makeJob } from '../harness/job.ts';
import { spreadOf } from '../shared/measuring.ts';
import { choiceOf, memberOf, type TuningAxis } from './axes.ts';

export interface SearchOptions {
  /** Opens the WebGPU backend with a tuning. */
  open(tuning: TuningChoice): Promise<Context>;
  /** The tuning with which the search starts; undefined for the device's default. */
  readonly start: TuningChoice;
  readonly axes: readonly TuningAxis[];
  /** Number of elements of every measured experiment. */
  readonly n: number;
  readonly rounds: number;
  /** The time, by `performance.now()`, after which no further value is tried. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Called after each value, whether it was tried or skipped. */
  advance(): void;
  /**
   * Called after each trial. `outcome` is the time of the trial divided by the best time so far, or the reason why the
   * trial was not measured.
   */
  tried(member: string, value: unknown, outcome: number | string): void;
}

export interface SearchResult {
  readonly before: Tuning;
  readonly after: Tuning;
  readonly info: GPUAdapterInfo;
  /** Whether every value was tried; false if the time ran out or the search was aborted. */
  readonly complete: boolean;
}

/** A value is kept only if its time, divided by the best time so far, is below this ratio. */
const CLEARLY = 0.98;

/**
 * Coordinate search: tries every value of one parameter after another. Each value is compared with the best tuning so
 * far, in alternating rounds. The value is kept if it is clearly faster over all experiments that depend on its
 * parameter.
 */
export async function searchTuning(options: SearchOptions): Promise<SearchResult> {
  const first = await options.open(options.start);
  const { tuning: before, info } = first.backend as WebGpuBackend;
  let best = before;
  let context = first;
  let jobs: readonly Job[] = [];
  try {
    for (const axis of options.axes) {
      jobs = jobsOf(axis, options.n, jobs);
      const fault = await faultOf(context, jobs);
      if (fault !== undefined) throw wrongStart(fault);
      for (const value of axis.values) {
        if (options.signal.aborted || performance.now() > options.deadline) {
          return { before, after: best, info, complete: false };
        }
        if (memberOf(best, axis.member) !== value) {
          const changed = chosenTuning(best, choiceOf(axis.member, value));
          const rival = await rivalOf(changed, { axis, value, jobs, context }, options);
          if (rival !== undefined) {
            await context.close();
            [best, context] = [changed, rival];
          }
        }
        options.advance();
      }
    }
    return { before, after: best, info, complete: true };
  } finally {
    await context.close();
  }
}

/**
 * The jobs for the experiments of an axis (a tuning parameter). Jobs of the previous axis are reused if both axes have
 * the same experiment.
 */
function jobsOf({ experiments }: TuningAxis, n: number, before: readonly Job[]): Job[] {
  return experiments.map(
    ([name, type]) =>
      before.find((job) => job.experiment.name === name && job.type === type) ??
      makeJob(builtInExperiments.find((one) => one.name === name)!, { n, type }),
  );
}

interface Trial {
  readonly axis: TuningAxis;
  readonly value: unknown;
  readonly jobs: readonly Job[];
  /** A context that uses the best tuning so far. */
  readonly context: Context;
}

/**
 * Opens a context with another tuning. Returns the new context if it is clearly faster than the trial's context;
 * otherwise closes the new context and returns undefined.
 */
async function rivalOf(
  tuning: Tuning,
  { axis, value, jobs, context }: Trial,
  options: SearchOptions,
): Promise<Context | undefined> {
  let rival: Context | undefined;
  let keeps = false;
  try {
    rival = await options.open(tuning);
    const fault = await faultOf(rival, jobs);
    if (fault !== undefined) options.tried(axis.member, value, `wrong: ${fault}`);
    else {
      const ratio = await compare(context, rival, jobs, options);
      options.tried(axis.member, value, ratio);
      keeps = ratio < CLEARLY;
    }
  } catch (error) {
    options.tried(axis.member, value, firstLine(error instanceof Error ? error.message : String(error)));
    keeps = false;
  }
  if (keeps) return rival;
  await rival?.close();
  return undefined;
}

function firstLine(message: string): string {
  return message.split('\n')[0]!;
}

async function prepareAll(context: Context, jobs: readonly Job[]): Promise<Prepared[]> {
  const candidate = backendCandidate('webgpu', context, '');
  const all: Prepared[] = [];
  for (const job of jobs) all.push((await candidate.prepare(job))!);
  return all;
}

/** Describes the first wrong result of a context; undefined if all results are correct. */
async function faultOf(context: Context, jobs: readonly Job[]): Promise<string | undefined> {
  for (const [i, prepared] of (await prepareAll(context, jobs)).entries()) {
    const answer = (await prepared.answer()) as readonly HostColumn[];
    await prepared.close();
    const { experiment, expected } = jobs[i]!;
    const difference = differenceOf(answer, await expected(), 0);
    if (difference !== undefined) return `${experiment.name}: ${difference}`;
  }
  return undefined;
}

function wrongStart(fault: string): QuadrilleError {
  return new QuadrilleError('tune/wrong', 'The initial tuning gives wrong results on this device.', {
    got: fault,
    remedy:
      'Start with another one, or without --tuning; if that is wrong too, please report it with the device and driver.',
  });
}

/** Minimum duration of a round in nanoseconds. The number of calls in a round follows from it. */
const MIN_ROUND = 2e6;
const MAX_CALLS = 100;

/**
 * The geometric mean, over all jobs, of the second context's time divided by the first context's time. For each job,
 * two such ratios are computed, from medians and from minima, and the larger one is used.
 */
async function compare(
  first: Context,
  second: Context,
  jobs: readonly Job[],
  { rounds }: SearchOptions,
): Promise<number> {
  let logs = 0;
  for (const job of jobs) {
    const pair = [...(await prepareAll(first, [job])), ...(await prepareAll(second, [job]))];
    const times: number[][] = pair.map(() => []);
    // This round also warms up the device, which stays busy during all further rounds.
    const { time } = await pair[0]!.round(1);
    const calls = Math.min(MAX_CALLS, Math.max(1, Math.ceil(MIN_ROUND / Math.max(1, time))));
    for (let round = -1; round < rounds; round++) {
      for (const [i, prepared] of pair.entries()) {
        const { time: each } = await prepared.round(calls, true);
        if (round >= 0) times[i]!.push(each);
      }
    }
    for (const prepared of pair) await prepared.close();
    // Times count as at least 1 ns, because the clocks of software adapters report zero for short work.
    const ratioOf = (one: 'median' | 'min'): number => {
      const [a, b] = times.map((all) => Math.max(1, spreadOf(all)[one]));
      return b! / a!;
    };
    // On a noisy machine, one of the two ratios may be small by chance, but rarely both.
    logs += Math.log(Math.max(ratioOf('median'), ratioOf('min')));
  }
  return Math.exp(logs / jobs.length);
}
