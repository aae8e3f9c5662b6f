import { GraphError } from '../../primitives/checks/errors.ts';

/** The error for work that comes after the end of a queue or a run, whatever the queue. */
export function closedError(what: 'queue' | 'run'): GraphError {
  return new GraphError('graph/remote-closed', `The ${what} is closed, and takes no more work.`, {
    remedy: 'Close it after all work is done.',
  });
}
