import { type NodeContext, type NodeFunction, type RemoteModules, UnfitWorkerError } from '../graph/index.ts';
import { messageOf } from '../primitives/checks/message-of.ts';
import type { ServeQueueOptions, WorkerNews } from '../queues/index.ts';
import { counted } from './grouped.ts';
import type { News, RunSummary } from './log.ts';
import type { RunContext, Surroundings } from './run-support.ts';
import type { WorkerOptions } from './worker-arguments.ts';
import type { WorkerModules } from './worker-modules.ts';
import { jobsDone, type WorkerTally, workerTally } from './worker-tally.ts';

/** A context on which a worker computes, and what lists of workers show of it. */
export interface WorkerContext<C> {
  readonly context: C;
  /** The name of the GPU, or of the backend. */
  readonly label: string;
}

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface WorkerParts<C> {
  /** Loads the modules that jobs may name. */
  loadModules(options: WorkerOptions): Promise<WorkerModules>;
  openContext(options: WorkerOptions, signal: AbortSignal): Promise<WorkerContext<C>>;
  serveQueue(options: ServeQueueOptions): Promise<void>;
  /** The error of a context whose device is lost; undefined if it works. */
  lossOf(context: C): Promise<unknown>;
  /** The URL of a queue without its password. */
  shownUrl(url: string): string;
}

/**
 * Runs `quadrille worker`: does jobs of a queue until {@link Surroundings.signal} is aborted and the jobs in progress
 * are finished or given back. That is no error. The loss of the device is one, since all further jobs would fail.
 *
 * @throws Errors of the functions in `parts`; the `DeviceLostError` of the context.
 */
export async function runWorker<C extends RunContext>(
  options: WorkerOptions,
  parts: WorkerParts<C>,
  { log, signal }: Pick<Surroundings, 'log' | 'signal'>,
): Promise<void> {
  const { modules, close } = await parts.loadModules(options);
  const opened = await parts.openContext(options, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return undefined;
  });
  if (opened === undefined) return;
  const { context, label } = opened;
  const tally = workerTally(log);
  const loss = new AbortController();
  const afterError = async (work: string, error: unknown, isCancelled: boolean): Promise<void> => {
    // A job that this worker cannot do has news of its own, and so has one that was taken back.
    if (!isCancelled && !(error instanceof UnfitWorkerError)) log.news(itemFailed(work, error));
    const lost = await parts.lossOf(context);
    if (lost !== undefined) loss.abort(lost);
  };
  try {
    const { queue, url, folder, lanes } = options;
    const place = `the queue ${queue ?? 'quadrille'} on ${parts.shownUrl(url)}`;
    const facts = { label, place, lanes, modules: Object.keys(modules) };
    await parts.serveQueue({
      ...{ url, folder, queue, lanes, label, context },
      modules: watched(modules, afterError),
      signal: AbortSignal.any([signal, loss.signal]),
      onNews(news) {
        const line = sentenceOf(news, facts);
        if (line !== undefined) log.news({ line, fields: fieldsOf(news) });
        tally.take(news);
      },
    });
    tally.end();
    log.summary(summaryOf(tally));
    loss.signal.throwIfAborted();
  } finally {
    tally.end();
    await close();
    await context.close();
  }
}

/** Modules whose functions call `afterError`, with their name, when they have failed. */
function watched(
  modules: RemoteModules,
  afterError: (work: string, error: unknown, isCancelled: boolean) => Promise<void>,
): RemoteModules {
  const watch =
    (id: string, work: NodeFunction<unknown, unknown, unknown>) =>
    async (item: unknown, context: NodeContext<unknown>): Promise<unknown> => {
      try {
        return await work(item, context);
      } catch (error) {
        await afterError(id, error, context.signal.aborted);
        throw error;
      }
    };
  const watchAll = async (id: string, load: () => Promise<object>): Promise<object> =>
    Object.fromEntries(
      Object.entries(await load()).map(([name, value]) => [
        name,
        typeof value === 'function' ? watch(`${id}.${name}`, value) : value,
      ]),
    );
  return Object.fromEntries(Object.entries(modules).map(([id, load]) => [id, () => watchAll(id, load)]));
}

function itemFailed(work: string, error: unknown): News {
  const message = messageOf(error);
  return { line: `${work} failed: ${message}`, fields: { kind: 'item failed', work, message } };
}

interface WorkerFacts {
  readonly label: string;
  readonly place: string;
  readonly lanes: number;
  readonly modules: readonly string[];
}

/** What people are told of an event; undefined if nothing. Jobs that go well are counted only. */
function sentenceOf(news: WorkerNews, { label, place, lanes, modules }: WorkerFacts): string | undefined {
  const jobs = lanes === 1 ? 'one job at a time' : `${lanes} jobs at a time`;
  switch (news.kind) {
    case 'ready':
      return `Worker ${news.name} serves ${place}: on ${label}, ${jobs}, modules ${modules.join(', ') || 'none'}.`;
    case 'failed':
      return `Run ${news.run}: job ${news.job} failed: ${messageOf(news.error)}`;
    case 'lost':
      return `Run ${news.run}: job ${news.job} was taken back, because the run has ended or another worker has the job.`;
    case 'away':
      return 'The Redis server does not answer. Waiting for it.';
    case 'back':
      return 'The Redis server is back.';
    default:
      return undefined;
  }
}

function fieldsOf(news: WorkerNews): object {
  return news.kind === 'failed' ? { ...news, error: messageOf(news.error) } : news;
}

function summaryOf({ sums, runs }: WorkerTally): RunSummary {
  return { lines: [`${jobsDone(sums)}, of ${counted(runs, 'run')}.`], fields: { ...sums, runs } };
}
