import type { HostColumn } from './experiment.ts';
import type { Job } from './job.ts';

/** What is compared: a backend of this library, or a peer that does the same. */
export interface Candidate {
  /** As rows and plots call it. */
  readonly name: string;
  readonly kind: 'backend' | 'peer';
  /** Peers and backends on the same hardware share a memcpy. */
  readonly hardware: 'cpu' | 'gpu';
  /** What it is, with its version. */
  readonly description: string;
  /** Makes it ready for a job; undefined where it does nothing of the kind. */
  prepare(job: Job): Promise<Prepared | undefined>;
  close(): Promise<void>;
}

/** A candidate with everything that a job needs in place. */
export interface Prepared {
  /** What it finds: the columns, or their checksum. */
  answer(): Promise<readonly HostColumn[] | number>;
  /** Times so many calls, one right after the other; `warm` tells that another has just kept the hardware busy. */
  round(calls: number, warm?: boolean): Promise<Round>;
  close(): Promise<void>;
}

/** Times of one round, in nanoseconds a call. */
export interface Round {
  readonly time: number;
  /** From the call of one alone until it is known to be done; undefined where the time is that already. */
  readonly latency?: number | undefined;
  /** Whose clock told the time; the latency is always by the host's. */
  readonly clock: 'host' | 'device';
}

/** A GPU that was idle for longer has lowered its clocks, or is about to. */
export const IDLE_MS = 20;

/** Nanoseconds that something takes on the host. */
export async function hostTime(work: () => void | Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) * 1e6;
}
