import type { HostColumn } from './experiment.ts';
import type { Job } from './job.ts';

/** A backend of this library, or a peer that does the same. */
export interface Candidate {
  /** The name in rows and plots. */
  readonly name: string;
  readonly kind: 'backend' | 'peer';
  /** Peers and backends on the same hardware are compared with the same memcpy. */
  readonly hardware: 'cpu' | 'gpu';
  /** A description with its version. */
  readonly description: string;
  /** Prepares a job; undefined if the candidate does not support it. */
  prepare(job: Job): Promise<Prepared | undefined>;
  close(): Promise<void>;
}

/** A candidate that is ready to run a job. */
export interface Prepared {
  /** The result: columns, or their checksum. */
  answer(): Promise<readonly HostColumn[] | number>;
  /** Times a number of consecutive calls; `warm` says that another candidate has just kept the hardware busy. */
  round(calls: number, warm?: boolean): Promise<Round>;
  close(): Promise<void>;
}

/** Times of one round, in nanoseconds per call. */
export interface Round {
  readonly time: number;
  /** Time of a single call from its start until its completion is known; undefined if `time` already is that. */
  readonly latency?: number | undefined;
  /** The clock that measured the time; latency is always measured by the host's. */
  readonly clock: 'host' | 'device';
}

/** After this idle time, a GPU has lowered its clocks or is about to. */
export const IDLE_MS = 20;

/** Nanoseconds of some work on the host. */
export async function hostTime(work: () => void | Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) * 1e6;
}
