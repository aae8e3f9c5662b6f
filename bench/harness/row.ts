import type { Candidate, Round } from './candidate.ts';
import type { ElementType } from './experiment.ts';
import type { Job } from './job.ts';

/** The middle of some numbers, and the least and the greatest. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** How long one candidate took for one case; times are nanoseconds a call. */
export interface Row {
  readonly experiment: string;
  readonly type: ElementType;
  readonly n: number;
  readonly candidate: string;
  readonly kind: Candidate['kind'];
  readonly hardware: Candidate['hardware'];
  readonly time: Spread;
  /** From one call until it is known to be done, where that is not the time already. */
  readonly latency: Spread | undefined;
  readonly clock: Round['clock'];
  readonly rounds: number;
  /** Calls of a round. */
  readonly calls: number;
  /** Bytes read and written at least; undefined where the experiment does not tell. */
  readonly bytes: number | undefined;
  /** Whether the answer was compared with the reference. */
  readonly checked: boolean;
}

/** A row of some rounds, at least one. */
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

/** The spread of some numbers, at least one. */
export function spreadOf(numbers: readonly number[]): Spread {
  const sorted = [...numbers].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1]!, min: sorted[0]!, max: sorted.at(-1)! };
}

/** Gigabytes a second; undefined where the bytes are not known. */
export function rateOf({ bytes, time }: Row): number | undefined {
  return bytes === undefined ? undefined : bytes / time.median;
}
