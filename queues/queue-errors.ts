// The errors of runs, and what errors of Redis mean.
import type { RemoteFunction } from '../graph/remote/work-queue.ts';
import { GraphError } from '../primitives/checks/errors.ts';
import { shownUrl } from './connection.ts';
import { MAX_DEATHS } from './queue-settings.ts';
import { NO_ROOM } from './results-folder.ts';

/** Whether Redis refused a command because its memory or its disk is full. */
export function isFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { previousErrors = [] } = error as { readonly previousErrors?: readonly unknown[] };
  return /\b(OOM|MISCONF)\b/.test(error.message) || previousErrors.some(isFull);
}

/** Whether an error says that a file or a message is damaged or missing. Doing the job again may help. */
export function isDamage(error: unknown): boolean {
  return DAMAGES.includes(codeOf(error));
}

const DAMAGES: readonly string[] = [
  'graph/remote-file',
  'graph/remote-parcel',
  'graph/remote-message',
  'graph/remote-bytes',
];

/** Whether an error says that the disk of the folder is full. */
export function isWithoutRoom(error: unknown): boolean {
  return codeOf(error) === NO_ROOM;
}

/** The code of an error; empty if it has none. */
export function codeOf(error: unknown): string {
  return (error as { readonly code?: string } | undefined | null)?.code ?? '';
}

export function sameIdError(id: string): GraphError {
  return new GraphError('graph/remote-same-id', 'Two jobs of a run have the same id.', {
    got: id,
    remedy: 'Give each item another id.',
  });
}

export function sameRunError(id: string, who: string): GraphError {
  return new GraphError('graph/remote-same-run', `The run ${id} goes on elsewhere, so it cannot be taken over.`, {
    got: who,
    remedy: 'Wait for its end, or end that process.',
  });
}

export function deathsError(job: string, { module, name }: RemoteFunction): GraphError {
  return new GraphError('graph/remote-deaths', `The workers that did job ${job} died, ${MAX_DEATHS} times.`, {
    remedy: `Look for what ends the process in the logs of the workers: memory, say. Leave the item out, or mend ${name} of ${module}.`,
  });
}

export function cancelledError(run: string): GraphError {
  return new GraphError('graph/remote-cancelled', `The run ${run} was cancelled.`, {});
}

export function lostError(url: string, milliseconds: number): GraphError {
  return new GraphError('graph/remote-lost', `The Redis server ${shownUrl(url)} has been away for too long.`, {
    expected: `an answer within ${milliseconds / 1000} s`,
    remedy: 'Start the server again.',
  });
}

/** The server is full, now or for `milliseconds`. */
export function memoryError(milliseconds = 0, cause?: unknown): GraphError {
  const message = `The memory or the disk of the Redis server ${milliseconds === 0 ? 'is' : 'has been'} full`;
  return new GraphError('graph/remote-memory', milliseconds === 0 ? `${message}.` : `${message} for too long.`, {
    ...(milliseconds === 0 ? {} : { expected: `room within ${milliseconds / 1000} s` }),
    remedy: 'Raise maxmemory, or remove what others keep there.',
    cause,
  });
}
