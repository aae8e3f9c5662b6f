import { OutOfMemoryError } from '../../primitives/errors.ts';
import { type Candidate, IDLE_MS, type Prepared, type Round } from './candidate.ts';
import { type Case, type Experiment, type HostColumn, typesOf } from './experiment.ts';
import { differenceOf, type Job, makeJob } from './job.ts';
import { type Row, rowOf } from './row.ts';

/** What is to be measured. */
export interface MeasurementPlan {
  readonly experiments: readonly Experiment[];
  readonly types: readonly Case['type'][];
  readonly sizes: readonly number[];
  readonly rounds: number;
  /** Results of more elements than so many are not compared with the reference; all are if left out. */
  readonly checkUpTo?: number | undefined;
}

/** Something that was not measured, and why. */
export interface Omission {
  readonly experiment: string;
  readonly type: string;
  readonly n: number;
  readonly candidate: string;
  readonly reason: string;
  /** Whether its answer was wrong, or a backend failed for want of anything but memory. */
  readonly wrong: boolean;
}

/** Hears of a run while it goes on. */
export interface Listener {
  /** So many of the rounds of the plan are done, or will not be. */
  advance(rounds: number): void;
  rows(rows: readonly Row[]): void;
  omitted(omission: Omission): void;
  readonly signal: AbortSignal;
}

/** What a run consists of, in the order in which it is measured. */
export function casesOf({
  experiments,
  types,
  sizes,
}: MeasurementPlan): (Case & { readonly experiment: Experiment })[] {
  return experiments.flatMap((experiment) =>
    types
      .filter((type) => typesOf(experiment).includes(type))
      .flatMap((type) => sizes.map((n) => ({ experiment, type, n }))),
  );
}

/**
 * Measures every case of a plan on every candidate that knows it. Answers are compared with the reference before anything is
 * timed, and a candidate whose answer is wrong is left out. Then come rounds in which the candidates take turns, so that what
 * disturbs the machine disturbs all of them alike. An abort ends the run: rows that have rounds by then are kept.
 */
export async function measure(
  plan: MeasurementPlan,
  candidates: readonly Candidate[],
  listener: Listener,
): Promise<void> {
  for (const { experiment, type, n } of casesOf(plan)) {
    if (listener.signal.aborted) return;
    const job = makeJob(experiment, { type, n });
    const runners = await prepareAll(job, candidates, plan, listener);
    try {
      const rounds = await takeTurns(job, runners, plan.rounds, listener);
      const expected = runners.length === 0 || experiment.bytes === undefined ? [] : await resultOf(runners, job);
      const bytes = runners.length === 0 ? undefined : experiment.bytes?.({ type, n }, expected);
      listener.rows(
        runners.flatMap(({ candidate, checked, calls }, i) =>
          rounds[i]!.length === 0 ? [] : [rowOf(job, candidate, rounds[i]!, { bytes, checked, calls })],
        ),
      );
    } finally {
      for (const { prepared } of runners) await prepared.close();
    }
  }
}

/** A candidate that is ready and whose answer is right. */
interface Runner {
  readonly candidate: Candidate;
  readonly prepared: Prepared;
  readonly checked: boolean;
  readonly calls: number;
  /** Whether a call goes before each round that is not timed. */
  readonly warms: boolean;
}

/** A round is so long at least, in nanoseconds, where that takes no more calls than so many. */
const MIN_ROUND = { cpu: 1e7, gpu: 2e6 };
/**
 * A call on the CPU that takes less is made once before each round, untimed: while the others had their turns, its columns have
 * left the caches and its threads have gone to sleep, which made calls of some ms up to twice as long as in a loop, and peers
 * that share columns with the one before them were spared that.
 */
const WARMED_CALL = 1e8;
const MAX_CALLS = 100;
/** What takes so long is warm after one call. */
const LONG_CALL = 5e8;
/** A candidate has had enough once it took so long, by its third round. */
const ENOUGH = 3e9;
const MIN_ROUNDS = 3;

async function prepareAll(
  job: Job,
  candidates: readonly Candidate[],
  { checkUpTo = Number.POSITIVE_INFINITY, rounds }: MeasurementPlan,
  listener: Listener,
): Promise<Runner[]> {
  const runners: Runner[] = [];
  for (const candidate of candidates) {
    if (listener.signal.aborted) return runners;
    const runner = await prepareOne(job, candidate, job.n <= checkUpTo, listener);
    if (runner === undefined) listener.advance(rounds);
    else runners.push(runner);
  }
  return runners;
}

async function prepareOne(
  job: Job,
  candidate: Candidate,
  checked: boolean,
  listener: Listener,
): Promise<Runner | undefined> {
  let prepared: Prepared | undefined;
  try {
    prepared = await candidate.prepare(job);
    if (prepared === undefined) return undefined;
    const fault = await faultOf(await prepared.answer(), job, candidate, checked);
    if (fault !== undefined) {
      const { experiment, type, n } = job;
      const reason = `its answer is wrong: ${fault}`;
      listener.omitted({ experiment: experiment.name, type, n, candidate: candidate.name, reason, wrong: true });
      await prepared.close();
      return undefined;
    }
    const { calls, time } = await warmUp(prepared, MIN_ROUND[candidate.hardware]);
    return { candidate, prepared, checked, calls, warms: candidate.hardware === 'cpu' && time < WARMED_CALL };
  } catch (error) {
    await prepared?.close();
    if (!listener.signal.aborted) listener.omitted(omissionOf(job, candidate, error));
    return undefined;
  }
}

async function faultOf(
  answer: readonly HostColumn[] | number,
  job: Job,
  { kind }: Candidate,
  checked: boolean,
): Promise<string | undefined> {
  if (!checked) return undefined;
  if (typeof answer === 'number') {
    const expected = await job.expectedSum();
    return answer === expected ? undefined : `its result has the checksum ${answer} instead of ${expected}`;
  }
  const tolerance = kind === 'backend' ? 0 : (job.experiment.tolerance?.(job) ?? 0);
  return differenceOf(answer, await job.expected(), tolerance);
}

/** Milliseconds between two turns of the event loop. */
const TURN_MS = 50;

/** Rounds by runner: in each, all take their turn, but for those that had enough. One that fails is left out; an abort ends it. */
async function takeTurns(
  job: Job,
  runners: readonly Runner[],
  rounds: number,
  listener: Listener,
): Promise<readonly Round[][]> {
  const times: (Round[] | undefined)[] = runners.map(() => []);
  const spent = runners.map(() => 0);
  let lastUseOfGpu = Number.NEGATIVE_INFINITY;
  let lastTurn = performance.now();
  for (let round = 0; round < rounds; round++) {
    if (performance.now() - lastTurn > TURN_MS) {
      // A backend on this thread leaves no time for Ctrl-C and the progress bar.
      await new Promise((resolve) => setTimeout(resolve));
      lastTurn = performance.now();
    }
    for (const [i, { candidate, prepared, calls, warms }] of runners.entries()) {
      if (listener.signal.aborted) return times.map((done = []) => done);
      try {
        if (times[i] !== undefined && (round < MIN_ROUNDS || spent[i]! < ENOUGH)) {
          const onGpu = candidate.hardware === 'gpu';
          if (warms) await prepared.round(1);
          const taken = await prepared.round(calls, onGpu && performance.now() - lastUseOfGpu < IDLE_MS);
          if (onGpu) lastUseOfGpu = performance.now();
          times[i].push(taken);
          spent[i]! += taken.time * calls;
        }
      } catch (error) {
        if (listener.signal.aborted) return times.map((done = []) => done);
        times[i] = undefined;
        listener.omitted(omissionOf(job, candidate, error));
      }
      listener.advance(1);
    }
  }
  return times.map((done = []) => done);
}

/** Runs it until it is warm; how long a call takes, in nanoseconds, and how many of them a round is to have. */
async function warmUp(
  prepared: Prepared,
  minRound: number,
): Promise<{ readonly calls: number; readonly time: number }> {
  const first = await prepared.round(1);
  if (first.time > LONG_CALL) return { calls: 1, time: first.time };
  const { time } = await prepared.round(1);
  const calls = Math.min(MAX_CALLS, Math.max(1, Math.ceil(minRound / Math.max(1, time))));
  await prepared.round(calls);
  return { calls, time };
}

function omissionOf({ experiment, type, n }: Job, { name, kind }: Candidate, error: unknown): Omission {
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  // A size that does not fit is no fault, and peers may have limits of their own.
  const wrong = kind === 'backend' && !(error instanceof OutOfMemoryError);
  return { experiment: experiment.name, type, n, candidate: name, reason, wrong };
}

/** The result that rates go by: the expected one, or where that is not computed, a candidate's own. */
async function resultOf(runners: readonly Runner[], job: Job): Promise<readonly HostColumn[]> {
  if (runners.some(({ checked }) => checked)) return job.expected();
  for (const { prepared } of runners) {
    const answer = await prepared.answer();
    if (typeof answer !== 'number') return answer;
  }
  return [];
}
