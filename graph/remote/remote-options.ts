import { type ErrorPlace, GraphError } from '../../primitives/checks/errors.ts';
import { aFunction, aRecord, aText, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import type { OpenRunOptions, RemoteFunction, WorkQueue } from './work-queue.ts';

/** Where the function of a stage runs, if not in this process. */
export interface RemoteOptions<A = never> {
  /** The queue whose workers do the work. Each run of the graph opens a run on it, and closes this run at its end. */
  readonly queue: WorkQueue;
  /** The id of the module, among those that the workers were started with: letters, digits, `.`, `_` and `-`. */
  readonly module: string;
  /**
   * The name of the export. Default: the name of the stage's function. Give it if your code is minified, because that
   * changes names.
   */
  readonly name?: string | undefined;
  /** How the run appears on the queue, and which earlier run it takes over. */
  readonly run?: OpenRunOptions | undefined;
  /**
   * Names the job of an item: letters, digits, `.`, `_` and `-`, another name for each item of a run. Each item then
   * travels alone, and a run that is taken over does not do jobs of the same name again. Default: jobs are numbered.
   */
  readonly id?: ((item: A) => string) | undefined;
}

export const someRemoteOptions: Kind = someOptions<RemoteOptions>({
  queue: aRecord<WorkQueue>({ name: aText, openRun: aFunction, close: aFunction }),
  module: aText,
  name: optional(aText),
  run: optional(someOptions<OpenRunOptions>({ id: optional(aText), title: optional(aText) })),
  id: optional(aFunction),
});

/**
 * The function that a remote stage names.
 *
 * @throws `GraphError` `graph/bad-remote` for an id with other characters, or without a name.
 */
export function remoteFunction({ module: id, name, run }: RemoteOptions, fn: object, path: string): RemoteFunction {
  const named = name ?? (fn as { readonly name: string }).name;
  const place = { node: path };
  requireRemoteId(id, 'a module', place);
  if (run?.id !== undefined) requireRemoteId(run.id, 'a run', place);
  if (named !== '') return { module: id, name: named };
  const remedy = 'Give remote.name, the name of the export.';
  throw new GraphError('graph/bad-remote', 'The function of the remote stage has no name.', { remedy, place });
}

/** Whether a value can be part of the keys and file names of all queues: it leads out of no folder. */
export function isRemoteId(value: unknown): value is string {
  return typeof value === 'string' && /^\w[\w.-]*$/.test(value);
}

/** What {@link isRemoteId} takes, for people. */
export const REMOTE_ID = 'letters, digits, ., _ and -, the first of them a letter, a digit or _';

/**
 * Rejects an id that cannot be part of the keys and file names of all queues.
 *
 * @throws `GraphError` `graph/bad-remote`.
 */
export function requireRemoteId(id: unknown, of: string, place?: ErrorPlace): void {
  if (isRemoteId(id)) return;
  throw new GraphError('graph/bad-remote', `This is not the id of ${of}.`, {
    expected: REMOTE_ID,
    got: id,
    ...(place === undefined ? {} : { place }),
  });
}
