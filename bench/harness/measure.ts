import { OutOfMemoryError } from '../../primitives/checks/errors.ts';
import { type Candidate, IDLE_MS, type Prepared, type Round } from './candidate.ts';
import { type Case, type Experiment, type HostColumn, typesOf } from './experiment.ts';
import { differenceOf, type Job, makeJob } from './job.ts';
import { type Row, rowOf } from './row.ts';

/** What to measure. */
export interface MeasurementPlan {
  readonly experiments: readonly Experiment[];
  /** Undefined for u32, or the first type of an experiment without it. */
  readonly types?: readonly Case['type'][] | undefined;
  readonly sizes: readonly number[];
  readonly rounds: number;
  /** Maximum number of elements for which results are compared with the reference; unlimited by default. */
  readonly checkUpTo?: number | undefined;
}

/** A case that a candidate did not complete, and the reason. */
export interface Omission {
  readonly experiment: string;
  readonly type: string;
  readonly n: number;
  readonly candidate: string;
  readonly reason: string;
  /** True if the result was wrong, or if a backend failed for any reason except lack of memory. */
  readonly wrong: boolean;
}

/** Receives progress and results of a run. */
export interface Listener {
  /** Called when rounds of the plan are completed or skipped. `rounds` is the number of these rounds. */
  advance(rounds: number): void;
  rows(rows: readonly Row[]): void;
  omitted(omission: Omission): void;
  readonly signal: AbortSignal;
}

/** The cases of a run, in the order in which they are measured. */
export function casesOf({
  experiments,
  types,
  sizes,
}: MeasurementPlan): (Case & { readonly experiment: Experiment })[] {
  return experiments.flatMap((experiment) => {
    const known = typesOf(experiment);
    const usual = known.includes('u32') ? 'u32' : known[0]!;
    const chosen = types === undefined ? [usual] : types.filter((type) => known.includes(type));
    return chosen.flatMap((type) => sizes.map((n) => ({ experiment, type, n })));
  });
}

/**
 * Measures every case of a plan on every candidate that supports it. Results are compared with the reference before
 * anything is timed; candidates with wrong results are left out. Candidates then take turns, round by round, so that
 * disturbances of the machine affect all of them alike. If the run is aborted, completed rounds still give rows.
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

/** A candidate that is ready and whose result was correct. */
interface Runner {
  readonly candidate: Candidate;
  readonly prepared: Prepared;
  readonly checked: boolean;
  readonly calls: number;
  /** Whether an untimed call precedes each round; see {@link WARMED_CALL}. */
  readonly warms: boolean;
}

/** Minimum duration of a round in nanoseconds, unless {@link MAX_CALLS} ends it earlier. */
const MIN_ROUND = { cpu: 1e7, gpu: 2e6 };
/**
 * A CPU candidate whose calls take fewer nanoseconds than this makes one untimed call before each round. While other
 * candidates run, the candidate's columns leave the caches and its threads go to sleep. Without the untimed call, calls
 * of a few milliseconds took up to twice as long as in a loop, except for peers (other libraries and programs) that
 * share columns with the candidate before them.
 */
const WARMED_CALL = 1e8;
const MAX_CALLS = 100;
/** If the first call takes more nanoseconds than this, this call alone warms up the candidate. */
const LONG_CALL = 5e8;
/** A candidate stops when its rounds have taken this many nanoseconds, but not before {@link MIN_ROUNDS} rounds. */
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

/** Milliseconds after which measuring pauses for one turn of the event loop. */
const TURN_MS = 50;

/**
 * Measures the rounds of all runners (candidates that are ready), which take turns. A runner whose measurements have
 * taken enough time skips its turns, and a runner that fails is dropped. An abort ends all rounds.
 */
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
      // Lets the event loop run: otherwise a backend on this thread would block Ctrl-C and the progress bar.
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

/** Runs a candidate until it is warm. Returns the nanoseconds per call, and the number of calls that a round needs. */
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
  // Lack of memory is no fault of a backend, and a peer may have limits of its own.
  const wrong = kind === 'backend' && !(error instanceof OutOfMemoryError);
  return { experiment: experiment.name, type, n, candidate: name, reason, wrong };
}

/**
 * The result that the experiment's function `bytes` is given: the expected result if any candidate was checked,
 * otherwise the result of the first candidate that returns columns and not a checksum.
 */
async function resultOf(runners: readonly Runner[], job: Job): Promise<readonly HostColumn[]> {
  if (runners.some(({ checked }) => checked)) return job.expected();
  for (const { prepared } of runners) {
    const answer = await prepared.answer();
    if (typeof answer !== 'number') return answer;
  }
  return [];
}
