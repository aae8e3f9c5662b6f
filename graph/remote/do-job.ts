import { GraphError } from '../../primitives/checks/errors.ts';
import { messageOf } from '../../primitives/checks/message-of.ts';
import type { Column } from '../../primitives/columns/column.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import type { NodeContext, NodeFunction } from '../run/attempts.ts';
import { type ItemNews, type RemoteMark, readFacts, writeNews, writeThrown } from './job-wire.ts';
import { packed, unpacked } from './wire.ts';
import { badBytes } from './wire-form.ts';
import { disposeAll, readValue } from './wire-reader.ts';
import { writeValue } from './wire-writer.ts';
import type { RemoteFunction, RemoteJob, RemoteOutcome } from './work-queue.ts';

/** The modules whose exported functions a worker runs, by id. A module is loaded by its first job. */
export interface RemoteModules {
  readonly [id: string]: () => Promise<object>;
}

/**
 * Is thrown by a function that cannot do an item on this worker, though other workers may: a file is not there, say. The
 * job then goes to other workers, as one does whose module a worker lacks. It fails with `cause` if there are none.
 */
export class UnfitWorkerError extends Error {
  static {
    UnfitWorkerError.prototype.name = 'UnfitWorkerError';
  }

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
  }
}

export interface DoJobOptions {
  /** The context that functions receive as `ctx`. Columns in items land there. */
  readonly context?: unknown;
  /** If aborted, `doJob` begins no further item and rejects with the reason. Functions receive it. */
  readonly signal?: AbortSignal | undefined;
  /** Name of the worker in the outcome. Default `worker`. */
  readonly worker?: string | undefined;
}

/**
 * Does a job, as all workers do whatever the queue: finds the function, calls it for one item after the other, and
 * encodes the results. The function is given what the function of a node is given: the item, and `signal`, `index`,
 * `lane`, `attempt`, `ctx` and `mark`.
 *
 * The function owns the columns of an item and must free them; if it fails, they are freed for it. Columns in a result
 * are read and then freed. An item that fails, or whose result cannot be encoded, does not fail the job: its error is
 * in the outcome. A function that throws an {@link UnfitWorkerError} fails the job with its cause.
 *
 * @throws `GraphError` `graph/remote-module` for a module that the worker does not have or cannot load,
 * `graph/remote-function` for a name that is no exported function, `graph/remote-bytes` and `graph/remote-version` for
 * a payload that is not a job's.
 */
export async function doJob(
  job: RemoteJob,
  modules: RemoteModules,
  options: DoJobOptions = {},
): Promise<RemoteOutcome> {
  const { signal = new AbortController().signal, worker = 'worker' } = options;
  const started = performance.now();
  const work = await functionOf(job.function, modules);
  const pieces = unpacked(job.payload);
  if (pieces.length % 2 !== 0) throw badBytes('an item is missing', job.payload.length);
  const results: Uint8Array[] = [];
  for (let i = 0; i < pieces.length; i += 2) {
    signal.throwIfAborted();
    const found = await doItem(work, pieces[i]!, pieces[i + 1]!, { ...options, signal }, started);
    for (const piece of found) results.push(piece);
    signal.throwIfAborted();
  }
  const payload = await packed(results);
  return {
    payload,
    worker,
    started: performance.timeOrigin + started,
    ended: performance.timeOrigin + performance.now(),
  };
}

async function doItem(
  work: NodeFunction<unknown, unknown, unknown>,
  facts: Uint8Array,
  bytes: Uint8Array,
  { context, signal }: DoJobOptions & { readonly signal: AbortSignal },
  jobStart: number,
): Promise<readonly [Uint8Array, Uint8Array]> {
  const marks: RemoteMark[] = [];
  const since = (): number => performance.now() - jobStart;
  const surroundings: NodeContext<unknown> = {
    ...readFacts(facts),
    signal,
    get ctx() {
      if (context === undefined) throw noContext();
      return context;
    },
    mark: (name, detail) => void marks.push({ name, time: since(), detail }),
  };
  const start = since();
  const news = async (failed: boolean): Promise<Uint8Array> => {
    const told: ItemNews = { start, end: since(), failed, marks };
    return writeNews(told);
  };
  const taken: Column[] = [];
  const made: Column[] = [];
  try {
    const item = readValue(bytes, () => context, taken);
    const result = await work(item, surroundings);
    taken.length = 0;
    return [await news(false), await writeValue(result, 'result', made)];
  } catch (thrown) {
    if (thrown instanceof UnfitWorkerError) throw thrown.cause;
    return [await news(true), await writeThrown(thrown)];
  } finally {
    disposeAll([...taken, ...made]);
  }
}

async function functionOf(
  { module: id, name }: RemoteFunction,
  modules: RemoteModules,
): Promise<NodeFunction<unknown, unknown, unknown>> {
  if (!Object.hasOwn(modules, id)) {
    throw new GraphError('graph/remote-module', 'The worker has no such module.', {
      expected: Object.keys(modules).join(', '),
      got: id,
      remedy: 'Start all workers with this module.',
    });
  }
  const exported = await modules[id]!().catch((cause: unknown) => {
    const message = messageOf(cause);
    throw new GraphError('graph/remote-module', `The worker cannot load the module ${id}: ${message}`, { cause });
  });
  const work = Object.hasOwn(exported, name) ? (exported as Readonly<Record<string, unknown>>)[name] : undefined;
  if (typeof work === 'function') return work as NodeFunction<unknown, unknown, unknown>;
  throw new GraphError('graph/remote-function', `The module ${id} exports no such function.`, {
    expected: Object.keys(exported).join(', '),
    got: name,
    remedy: 'Export the function, and start all workers with the same version of the module.',
  });
}

function noContext(): GraphError {
  const remedy = 'Start the worker with a context.';
  return new GraphError('graph/no-context', 'The worker has no context.', { remedy });
}
