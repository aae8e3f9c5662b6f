import { UsageError } from '../formats/usage-error.ts';
import { remedyFor, suggest } from '../primitives/checks/suggest.ts';
import { largestOf } from '../primitives/host/extremes.ts';
import type { QueueStatus, RunStatus, WorkerStatus } from '../queues/index.ts';
import { counted, grouped } from './grouped.ts';
import type { QueueListOptions, QueueRunOptions } from './queue-arguments.ts';
import type { QueuePlace } from './queue-options.ts';
import type { Surroundings } from './run-support.ts';
import { writeToStdout } from './standard-output.ts';
import { textTable } from './text-table.ts';
import { RunRecord } from './zonal-record.ts';

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface QueueParts {
  listRuns(place: Pick<QueuePlace, 'url' | 'queue'>): Promise<QueueStatus>;
  cancelRun(place: QueuePlace, id: string): Promise<void>;
  /** The URL of a queue without its password. */
  shownUrl(url: string): string;
}

/**
 * Runs `quadrille queue list`: prints the runs and the workers of a queue.
 *
 * @throws Errors of the functions in `parts`; if {@link Surroundings.signal} is aborted, its abort reason.
 */
export async function runQueueList(
  { url, queue, json }: QueueListOptions,
  parts: QueueParts,
  { log, stdout, signal }: Surroundings,
): Promise<void> {
  const { runs, workers } = await parts.listRuns({ url, queue });
  const told = { runs: runs.map(runFields), workers: workers.map(workerFields) };
  const tables = [
    ...(runs.length === 0 ? [] : [textTable([RUN_HEADER, ...runs.map(runRow)])]),
    ...(workers.length === 0 ? [] : [textTable([WORKER_HEADER, ...workers.map(workerRow)])]),
  ];
  const text = tables.length === 0 ? '' : `${tables.join('\n\n')}\n`;
  await writeToStdout(stdout, [json ? `${JSON.stringify(told, null, 2)}\n` : text], signal);
  const place = `${queue ?? 'quadrille'} on ${parts.shownUrl(url)}`;
  const line = `${counted(runs.length, 'run')} and ${counted(workers.length, 'worker')} on the queue ${place}.`;
  log.summary({ lines: [line], fields: { runs: runs.length, workers: workers.length } });
}

/**
 * Runs `quadrille queue status`: prints how far a run is.
 *
 * @throws UsageError `queue/no-run` if the queue has no such run; errors of the functions in `parts`; if
 * {@link Surroundings.signal} is aborted, its abort reason.
 */
export async function runQueueStatus(
  options: QueueRunOptions,
  parts: QueueParts,
  { log, stdout, signal }: Surroundings,
): Promise<void> {
  const { run, workers } = await findRun(options, parts);
  const told = { ...runFields(run), workers: workers.length };
  await writeToStdout(stdout, [options.json ? `${JSON.stringify(told, null, 2)}\n` : statusText(run, workers)], signal);
  log.summary({ lines: [], fields: told });
}

/**
 * Runs `quadrille queue cancel`: ends a run.
 *
 * @throws UsageError `queue/no-run` if the queue has no such run; errors of the functions in `parts`; if
 * {@link Surroundings.signal} is aborted, its abort reason.
 */
export async function runQueueCancel(
  options: QueueRunOptions,
  parts: QueueParts,
  { log, stdout, signal }: Surroundings,
): Promise<void> {
  const { run } = await findRun(options, parts);
  const { url, queue, folder, json } = options;
  await parts.cancelRun({ url, queue, folder }, run.id);
  // A program that is still there removes what it keeps for --resume itself.
  if (!run.isAlive) await new RunRecord(folder ?? run.folder, run.id).remove();
  const told = { ...runFields(run), cancelled: true };
  if (json) await writeToStdout(stdout, [`${JSON.stringify(told, null, 2)}\n`], signal);
  const line = run.isAlive
    ? `Run ${run.id} is cancelled: its program on ${run.host} (process ${run.pid}) ends with an error.`
    : `Run ${run.id} is cancelled: what it left is removed, also in ${folder ?? run.folder}.`;
  log.summary({ lines: [line], fields: told });
}

async function findRun(
  { run: id, url, queue }: QueueRunOptions,
  parts: QueueParts,
): Promise<{ readonly run: RunStatus; readonly workers: readonly WorkerStatus[] }> {
  const { runs, workers } = await parts.listRuns({ url, queue });
  const run = runs.find((each) => each.id === id);
  if (run !== undefined) return { run, workers };
  const ids = runs.map((each) => each.id);
  const others = ids.length === 0 ? 'It has none: a run leaves the queue when it ends.' : `It has ${ids.join(', ')}.`;
  throw new UsageError('queue/no-run', `The queue has no run ${id}.`, {
    remedy: remedyFor(suggest(id, ids), others),
  });
}

const RUN_HEADER = ['run', 'title', 'program', 'started', 'jobs', 'done', 'failed'];

function runRow(run: RunStatus): string[] {
  const { id, title, jobs, done, failed } = run;
  return [id, title === '' ? '–' : title, programOf(run), timeText(run.started), ...[jobs, done, failed].map(grouped)];
}

function programOf({ host, pid, isAlive }: RunStatus): string {
  return `${host} (${pid})${isAlive ? '' : ', orphaned'}`;
}

const WORKER_HEADER = ['worker', 'on', 'process', 'version', 'started', 'jobs at a time', 'done'];

function workerRow({ name, host, pid, version, started, lanes, done, label = '–' }: WorkerStatus): string[] {
  return [name, label, `${host} (${pid})`, version, timeText(started), grouped(lanes), grouped(done)];
}

function statusText(run: RunStatus, workers: readonly WorkerStatus[]): string {
  const { id, title, started, jobs, done, failed } = run;
  const left = jobs - done - failed;
  const rows: [what: string, told: string][] = [
    ['run', title === '' ? id : `${id}, ${title}`],
    ['program', programOf(run)],
    ['started', timeText(started)],
    ['jobs', `${grouped(jobs)} so far: ${grouped(done)} done, ${grouped(failed)} failed, ${grouped(left)} left`],
    ['workers', `${grouped(workers.length)} on this queue`],
  ];
  const indent = largestOf(rows.map(([what]) => what.length));
  return rows.map(([what, told]) => `${what.padEnd(indent)}  ${told}\n`).join('');
}

/** Times of other machines are absolute, because their clocks may be off. */
const timeText = (time: number): string => new Date(time).toISOString().replace(/\.\d+/, '');

const runFields = ({ started, ...run }: RunStatus): object => ({ ...run, started: timeText(started) });
const workerFields = ({ started, ...worker }: WorkerStatus): object => ({ ...worker, started: timeText(started) });
