import { isRemoteId } from '../graph/remote/remote-options.ts';
import { GraphError } from '../primitives/checks/errors.ts';
import type { Parcel } from './results-folder.ts';

/** The progress of a job that waits in a worker until it may begin. */
export const WAITING = 'waiting';

/** What a job holds in Redis. */
export interface JobData {
  readonly run: string;
  /** The id of the job within its run. */
  readonly job: string;
  readonly module: string;
  readonly name: string;
  readonly payload: Parcel;
  /** Workers that should leave the job to others, if there are any. */
  readonly avoid?: readonly string[];
  /** Whether the worker should do nothing else at the same time, because workers died of this job or of one beside it. */
  readonly alone?: boolean;
}

/** What a finished job holds in Redis. Times are milliseconds since 1970 by the clock of the server. */
export type JobAnswer =
  | {
      readonly worker: string;
      readonly started: number;
      readonly ended: number;
      readonly payload: Parcel;
    }
  /** The worker left the job to others. */
  | { readonly worker: string; readonly declined: true }
  /** The job failed as a whole. The error is in the wire form, in Base64. */
  | { readonly worker: string; readonly error: string };

const isText = (value: unknown): value is string => typeof value === 'string';

/**
 * Checks what a worker was given. The parcel is checked when it is opened.
 *
 * @throws `GraphError` `graph/remote-message`.
 */
export function checkJobData(value: unknown): JobData {
  const { run, job, module, name, avoid, alone = false } = (value ?? {}) as Partial<Record<keyof JobData, unknown>>;
  const isGood = isRemoteId(run) && isRemoteId(job) && isRemoteId(module) && isText(name) && typeof alone === 'boolean';
  if (!isGood || (avoid !== undefined && !(Array.isArray(avoid) && avoid.every(isText)))) throw badMessage();
  return value as JobData;
}

/**
 * Checks what a worker answered. The parcel is checked when it is opened.
 *
 * @throws `GraphError` `graph/remote-message`.
 */
export function checkJobAnswer(value: unknown): JobAnswer {
  const { worker, started, ended, error, declined } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isTimed = Number.isFinite(started) && Number.isFinite(ended);
  const isGood = isText(worker) && (isText(error) || declined === true || isTimed);
  if (!isGood) throw badMessage();
  return value as JobAnswer;
}

function badMessage(): GraphError {
  return new GraphError('graph/remote-message', 'A message between processes is damaged.', {
    remedy: 'Check that only processes of this package write to the queue.',
  });
}
