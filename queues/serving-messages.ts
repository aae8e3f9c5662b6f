import type { RemoteJob } from '../graph/remote/work-queue.ts';
import type { FullSettings } from './queue-settings.ts';

/** What the thread that serves a queue is started with. */
export interface ServingSetup {
  readonly settings: FullSettings;
  readonly lanes: number;
  readonly label: string | undefined;
}

/** News of a worker, for those who show what it does. */
export type WorkerNews =
  /** The worker takes jobs from now on. */
  | { readonly kind: 'ready'; readonly name: string }
  | { readonly kind: 'began'; readonly run: string; readonly job: string }
  /** A job is done. Items that failed count as done. */
  | { readonly kind: 'ended'; readonly run: string; readonly job: string; readonly milliseconds: number }
  /** A job failed as a whole, for example because a module is missing. */
  | { readonly kind: 'failed'; readonly run: string; readonly job: string; readonly error: unknown }
  /** A job was taken back: its run has ended, or another worker has it. */
  | { readonly kind: 'lost'; readonly run: string; readonly job: string }
  /** The Redis server does not answer. The worker waits for it. */
  | { readonly kind: 'away' }
  | { readonly kind: 'back' };

/** From the thread to the process. Errors are in the wire form. */
export type FromThread =
  | { readonly kind: 'ready'; readonly name: string }
  | { readonly kind: 'work'; readonly key: string; readonly run: string; readonly job: RemoteJob }
  | { readonly kind: 'cancel'; readonly key: string }
  | { readonly kind: 'away' | 'back' }
  | { readonly kind: 'refused'; readonly error: Uint8Array }
  | { readonly kind: 'stopped' };

/** From the process to the thread. */
export type ToThread =
  | {
      readonly kind: 'done';
      readonly key: string;
      readonly payload: Uint8Array;
      readonly started: number;
      readonly ended: number;
    }
  /** The job failed as a whole, perhaps because it was to stop. */
  | { readonly kind: 'failed'; readonly key: string; readonly error: Uint8Array; readonly isAborted: boolean }
  /** Finish the jobs in progress, then stop. */
  | { readonly kind: 'stop' }
  /** Give the jobs in progress back, and stop. */
  | { readonly kind: 'stop now' };
