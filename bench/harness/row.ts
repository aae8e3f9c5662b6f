import { type Spread, spreadOf } from '../shared/measuring.ts';
import type { Candidate, Round } from './candidate.ts';
import type { ElementType } from './experiment.ts';
import type { Job } from './job.ts';

/** The measured times of one candidate for one case, in nanoseconds per call. */
export interface Row {
  readonly experiment: string;
  readonly type: ElementType;
  readonly n: number;
  readonly candidate: string;
  readonly kind: Candidate['kind'];
  readonly hardware: Candidate['hardware'];
  readonly time: Spread;
  /** Time of a single call until the host knows that it is done; undefined if `time` already includes this wait. */
  readonly latency: Spread | undefined;
  readonly clock: Round['clock'];
  readonly rounds: number;
  /** Calls per round. */
  readonly calls: number;
  /** Minimum bytes to read and write; undefined if the experiment does not define `bytes`. */
  readonly bytes: number | undefined;
  /** Whether the result was compared with the reference. */
  readonly checked: boolean;
}

/** Summarizes the rounds of a candidate; there must be at least one. */
export function rowOf(
  { experiment, type, n }: Job,
  { name, kind, hardware }: Candidate,
  rounds: readonly Round[],
  facts: Pick<Row, 'bytes' | 'checked' | 'calls'>,
): Row {
  const latencies = rounds.map(({ latency }) => latency).filter((latency) => latency !== undefined);
  return {
    experiment: experiment.name,
    type,
    n,
    candidate: name,
    kind,
    hardware,
    time: spreadOf(rounds.map(({ time }) => time)),
    latency: latencies.length === 0 ? undefined : spreadOf(latencies),
    clock: rounds[0]!.clock,
    rounds: rounds.length,
    ...facts,
  };
}

/** Gigabytes per second at the median time, or at another; undefined if `bytes` is undefined. */
export function rateOf({ bytes, time }: Row, at: number = time.median): number | undefined {
  return bytes === undefined ? undefined : bytes / at;
}

/** Whether some round of the one was not slower than some round of the other, and the reverse. */
export function withinNoise(a: Spread, b: Spread): boolean {
  return a.min <= b.max && b.min <= a.max;
}
