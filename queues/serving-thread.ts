// The thread of a worker that speaks with Redis. Jobs are done in the main thread, so locks are extended in time however
// long a function takes, and files are read, hashed and written beside the work.
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { Job, Worker } from 'bullmq';
import { writeThrown } from '../graph/remote/job-wire.ts';
import { checkJobData, type JobAnswer } from './job-messages.ts';
import { Membership, soon } from './membership.ts';
import { MAX_DEATHS } from './queue-settings.ts';
import { loadRedisPackages } from './redis-packages.ts';
import { pack, unpack } from './results-folder.ts';
import type { FromThread, ServingSetup, ToThread } from './serving-messages.ts';

type Answer = Extract<ToThread, { readonly key: string }>;

const port = parentPort!;
const { settings, lanes, label } = workerData as ServingSetup;
/** Jobs that the main thread works on. */
const pending = new Map<string, (answer: Answer) => void>();
let done = 0;

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
    (job, _token, signal) => work(job, signal!, membership),
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
  const stop = async (isForced: boolean): Promise<void> => {
    // Without force, closing waits for the jobs in progress, and for a server that is away.
    await (isForced ? soon(worker.close(true)) : worker.close());
    await membership.leave();
    post({ kind: 'stopped' });
    port.close();
  };
  membership.onBeat = (problem) => {
    if (isRefusal(problem))
      void writeThrown(problem).then((error) => {
        post({ kind: 'refused', error });
        void stop(true);
      });
  };
  membership.redis.on('close', () => post({ kind: 'away' }));
  membership.redis.on('ready', () => post({ kind: 'back' }));
  port.on('message', (message: ToThread) => {
    if (message.kind === 'stop') void stop(false);
    else if (message.kind === 'stop now') void stop(true);
    else pending.get(message.key)?.(message);
  });
  await worker.waitUntilReady();
  void worker.run();
  post({ kind: 'ready', name: membership.id });
}

/** Has the main thread do a job. */
async function work(job: Job, signal: AbortSignal, membership: Membership): Promise<JobAnswer> {
  const key = job.id!;
  try {
    const { run, job: id, module, name, payload: parcel, avoid = [] } = checkJobData(job.data);
    if (avoid.includes(membership.id) && (await hasOthers(membership, avoid)))
      return { worker: membership.id, declined: true };
    const folder = join(settings.folder, run);
    const payload = await unpack(parcel, folder);
    signal.throwIfAborted();
    const answer = await new Promise<Answer>((resolve) => {
      pending.set(key, resolve);
      signal.addEventListener('abort', () => post({ kind: 'cancel', key }), { once: true });
      post({ kind: 'work', key, run, job: { id, function: { module, name }, payload } }, [
        payload.buffer as ArrayBuffer,
      ]);
    });
    pending.delete(key);
    done++;
    if (answer.kind === 'failed') return { worker: membership.id, error: base64(answer.error) };
    const [started, ended] = [membership.toServerClock(answer.started), membership.toServerClock(answer.ended)];
    return { worker: membership.id, started, ended, payload: await pack(answer.payload, folder, `${id}.results`) };
  } catch (error) {
    return { worker: membership.id, error: base64(await writeThrown(error)) };
  }
}

/** Whether there are workers on which the job has not failed. */
async function hasOthers(membership: Membership, avoid: readonly string[]): Promise<boolean> {
  return [...(await membership.members())].some(([id, { kind }]) => kind === 'worker' && !avoid.includes(id));
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

/** Whether the queue does not take this worker any more. Errors of the connection pass. */
function isRefusal(problem: unknown): boolean {
  const code = (problem as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' && code.startsWith('graph/');
}
