import { GraphError } from '../../primitives/errors.ts';
import { aFunction, aRecord, aText, type Kind, optional, someOptions } from '../../primitives/kinds.ts';
import type { RemoteFunction, WorkQueue } from './work-queue.ts';

/** Where the function of a stage runs, if not in this process. */
export interface RemoteOptions {
  /** The queue whose workers do the work. Each run of the graph opens a run on it, and closes this run at its end. */
  readonly queue: WorkQueue;
  /** The id of the module, among those that the workers were started with: letters, digits, `.`, `_` and `-`. */
  readonly module: string;
  /**
   * The name of the export. Default: the name of the stage's function. Give it if your code is minified, because that
   * changes names.
   */
  readonly name?: string | undefined;
}

export const someRemoteOptions: Kind = someOptions<RemoteOptions>({
  queue: aRecord<WorkQueue>({ name: aText, openRun: aFunction, close: aFunction }),
  module: aText,
  name: optional(aText),
});

/**
 * The function that a remote stage names.
 *
 * @throws `GraphError` `graph/bad-remote` for an id with other characters, or without a name.
 */
export function remoteFunction({ module: id, name }: RemoteOptions, fn: object, path: string): RemoteFunction {
  const named = name ?? (fn as { readonly name: string }).name;
  const place = { node: path };
  if (!/^[\w.-]+$/.test(id)) {
    const expected = 'letters, digits, ., _ and -';
    throw new GraphError('graph/bad-remote', 'This is not the id of a module.', { expected, got: id, place });
  }
  if (named !== '') return { module: id, name: named };
  const remedy = 'Give remote.name, the name of the export.';
  throw new GraphError('graph/bad-remote', 'The function of the remote stage has no name.', { remedy, place });
}
