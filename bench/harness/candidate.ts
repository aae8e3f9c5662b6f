import type { HostColumn } from './experiment.ts';
import type { Job } from './job.ts';

/** A competitor in a measurement: a backend of this library, or a peer (another library or program). */
export interface Candidate {
  /** The name shown in rows and plots. */
  readonly name: string;
  readonly kind: 'backend' | 'peer';
  /** The hardware that the candidate runs on. Plots show the fastest memcpy of each kind of hardware for comparison. */
  readonly hardware: 'cpu' | 'gpu';
  /** A description for readers, with the version. */
  readonly description: string;
  /** Makes the candidate ready for a job. Returns undefined if the candidate does not support the job. */
  prepare(job: Job): Promise<Prepared | undefined>;
  close(): Promise<void>;
}

/** A candidate that is ready to run a job. */
export interface Prepared {
  /** The result of the job: its columns, or only their checksum. */
  answer(): Promise<readonly HostColumn[] | number>;
  /** Times a number of consecutive calls. `warm` means that another candidate has just kept the same hardware busy. */
  round(calls: number, warm?: boolean): Promise<Round>;
  close(): Promise<void>;
}

/** Times of one round, in nanoseconds per call. */
export interface Round {
  readonly time: number;
  /** Time of a single call until the host knows that it is done; undefined if `time` already includes this wait. */
  readonly latency?: number | undefined;
  /** The clock that measured `time`. For `latency`, it is always the host's clock. */
  readonly clock: 'host' | 'device';
}

/** Milliseconds without work after which a GPU lowers its clock frequency. */
export const IDLE_MS = 20;

/** Times a round of calls by the host's clock. Calls that return promises are awaited one by one. */
export async function hostRound(call: () => unknown, calls: number): Promise<Round> {
  const time = await hostTime(async () => {
    for (let done = 0; done < calls; done++) {
      const running = call();
      if (running instanceof Promise) await running;
    }
  });
  return { time: time / calls, clock: 'host' };
}

/** Runs work and returns its duration on the host, in nanoseconds. */
export async function hostTime(work: () => void | Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) * 1e6;
}
