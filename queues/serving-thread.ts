// The thread of a worker that speaks with Redis. Jobs are done in the main thread, so locks are extended in time however
// long a function takes, and files are read, hashed and written beside the work.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Job, Worker } from 'bullmq';
import { writeThrown } from '../graph/remote/job-wire.ts';
import type { RemoteJob } from '../graph/remote/work-queue.ts';
import { checkJobData, type JobAnswer, WAITING } from './job-messages.ts';
import { Membership, soon } from './membership.ts';
import { MAX_DEATHS } from './queue-settings.ts';
import { loadRedisPackages, type RedisPackages } from './redis-packages.ts';
import { pack, unpack } from './results-folder.ts';
import type { FromThread, ServingSetup, ToThread } from './serving-messages.ts';

type Answer = Extract<ToThread, { readonly key: string }> | { readonly kind: 'given back' };

interface Pending {
  readonly answer: Promise<Answer>;
  readonly alone: boolean;
  resolve(answer: Answer): void;
}

/** Milliseconds between two looks whether a job may begin that waits for others. */
const LONELY_PAUSE = 50;
const port = parentPort!;
const { settings, lanes, label } = workerData as ServingSetup;
/**
 * Jobs that the main thread works on, by their id. If a job is lost and comes again while its function is still at work,
 * it waits for this function.
 */
const pending = new Map<string, Pending>();
/** Number of jobs that wait until they are alone. */
let lonely = 0;
let isGivingBack = false;
/** Jobs until their answers can be stored. */
const active = new Set<Promise<unknown>>();
let done = 0;
/** Milliseconds that closing waits for the server when all jobs are answered. */
const CLOSE_TIMEOUT = 3000;

function post(message: FromThread, transfer: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

try {
  await serve();
} catch (error) {
  post({ kind: 'refused', error: await writeThrown(error) });
}

async function serve(): Promise<void> {
  const packages = await loadRedisPackages();
  const membership = await Membership.join(settings, packages, () => ({ kind: 'worker', lanes, done, label }));
  const worker: Worker = new packages.bullmq.Worker(
    settings.queue,
    (job, token, signal) => work(job, { token, signal: signal!, membership, bullmq: packages.bullmq }),
    {
      connection: membership.redis,
      // Jobs remember who has them, and the id is that of the connection.
      name: membership.id,
      concurrency: lanes,
      lockDuration: settings.lock,
      lockRenewTime: settings.lock / 4,
      stalledInterval: settings.lock / 2,
      maxStalledCount: MAX_DEATHS - 1,
      runRetryDelay: 500,
      autorun: false,
    },
  );
  worker.on('error', () => undefined);
  // The function stops if it heeds its signal. BullMQ tells this again and again while it does not.
  worker.on('lockRenewalFailed', (keys) => {
    for (const key of keys) worker.cancelJob(key);
  });
  let closing: Promise<void> | undefined;
  const stop = async (isForced: boolean): Promise<void> => {
    closing ??= worker.close();
    isGivingBack ||= isForced;
    if (isForced) for (const { resolve } of pending.values()) resolve({ kind: 'given back' });
    // Closing waits for the jobs in progress, but also for a server that is away.
    while (active.size > 0) await Promise.race([closing, Promise.all(active)]);
    await soon(closing, CLOSE_TIMEOUT);
    await membership.leave();
    post({ kind: 'stopped' });
    port.close();
  };
  membership.onRefused = (refusal) => {
    void writeThrown(refusal).then((error) => {
      post({ kind: 'refused', error });
      void stop(true);
    });
  };
  let isAway = false;
  const tell = (kind: 'away' | 'back'): void => {
    if (isAway === (kind === 'away')) return;
    isAway = kind === 'away';
    post({ kind });
  };
  membership.redis.on('close', () => tell('away'));
  membership.redis.on('ready', () => tell('back'));
  port.on('message', (message: ToThread) => {
    if (message.kind === 'stop') void stop(false);
    else if (message.kind === 'stop now') void stop(true);
    else pending.get(message.key)?.resolve(message);
  });
  await worker.waitUntilReady();
  void worker.run();
  post({ kind: 'ready', name: membership.id });
}

interface Surroundings {
  readonly token: string | undefined;
  /** Is aborted when the job was lost. */
  readonly signal: AbortSignal;
  readonly membership: Membership;
  readonly bullmq: RedisPackages['bullmq'];
}

/** Does a job. One without an answer waits for another worker, if it was not lost anyway. */
async function work(job: Job, surroundings: Surroundings): Promise<JobAnswer> {
  const working = answerTo(job, surroundings);
  active.add(working);
  const answer = await working.finally(() => active.delete(working));
  if (answer !== undefined) return answer;
  await job.moveToWait(surroundings.token).catch(() => undefined);
  throw new surroundings.bullmq.WaitingError();
}

async function answerTo(job: Job, { signal, membership }: Surroundings): Promise<JobAnswer | undefined> {
  const worker = membership.id;
  try {
    const { run, job: id, module, name, payload: parcel, avoid = [], alone = false } = checkJobData(job.data);
    if (avoid.includes(worker) && (await membership.workers()).some((other) => !avoid.includes(other)))
      return { worker, declined: true };
    const folder = join(settings.folder, run);
    const payload = await unpack(parcel, folder);
    signal.throwIfAborted();
    const key = job.id!;
    signal.addEventListener('abort', () => post({ kind: 'cancel', key }), { once: true });
    const remote: RemoteJob = { id, function: { module, name }, payload };
    const isFirst = !pending.has(key);
    // It waited in a worker that died.
    if (job.progress === WAITING && !(await isTold(job, 0))) return undefined;
    if (alone) lonely++;
    try {
      while (isFirst && mustWait(alone)) {
        // Until it begins, the death of this process is not blamed on it.
        await isTold(job, WAITING);
        while (mustWait(alone)) {
          await Promise.race([...[...pending.values()].map((other) => other.answer), delay(LONELY_PAUSE)]);
          signal.throwIfAborted();
        }
        if (!(await isTold(job, 0))) return undefined;
      }
    } finally {
      if (alone) lonely--;
    }
    if (isGivingBack) return undefined;
    const answer = await (pending.get(key)?.answer ?? begin(key, run, remote, alone));
    if (answer.kind === 'given back') return undefined;
    if (answer.kind === 'failed') return answer.isAborted ? undefined : { worker, error: base64(answer.error) };
    const [started, ended] = [membership.toServerClock(answer.started), membership.toServerClock(answer.ended)];
    return { worker, started, ended, payload: await pack(answer.payload, folder, `${id}.results`) };
  } catch (error) {
    return signal.aborted ? undefined : { worker, error: base64(await writeThrown(error)) };
  }
}

/** Stores the progress of a job. A server that is full refuses, and one may have removed the job. */
function isTold(job: Job, progress: string | number): Promise<boolean> {
  return job.updateProgress(progress).then(
    () => true,
    () => false,
  );
}

/** Whether a job must wait for others: one that is to be alone for all, and all for it. */
function mustWait(alone: boolean): boolean {
  if (isGivingBack) return false;
  return alone ? pending.size > 0 : lonely > 0 || [...pending.values()].some((other) => other.alone);
}

/** Has the main thread begin a job. */
function begin(key: string, run: string, job: RemoteJob, alone: boolean): Promise<Answer> {
  let resolve: (answer: Answer) => void = () => {};
  const answer = new Promise<Answer>((resolveAnswer) => {
    resolve = (found) => {
      pending.delete(key);
      done++;
      resolveAnswer(found);
    };
  });
  pending.set(key, { answer, resolve, alone });
  post({ kind: 'work', key, run, job }, [job.payload.buffer as ArrayBuffer]);
  return answer;
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
