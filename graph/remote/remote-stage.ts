import { tell } from '../../primitives/checks/warnings.ts';
import { turn } from '../../primitives/host/turn.ts';
import { type AttemptContext, type NodeFunction, RAN } from '../run/attempts.ts';
import { discard, type NodeProgram, type NodeRun } from '../run/node-run.ts';
import { type StageSteps, stageProgram, type WorkOf } from '../run/programs.ts';
import { Admission, MAX_GROUP, MAX_GROUP_BYTES } from './admission.ts';
import { type ItemNews, readNews, readResult, writeItem } from './job-wire.ts';
import { type RemoteOptions, requireRemoteId } from './remote-options.ts';
import { packed, unpacked } from './wire.ts';
import { badBytes } from './wire-form.ts';
import type { RemoteFunction, RemoteOutcome, RemoteRun } from './work-queue.ts';

/**
 * The program of a stage whose function runs in workers of a queue. The error policy, and with it retries, is that of
 * the stage: each attempt is an item of a job.
 */
export function remoteProgram<A, B>(
  remote: RemoteOptions<A>,
  fn: RemoteFunction,
  workOf: WorkOf<A, B>,
  steps: StageSteps<A, B>,
): NodeProgram {
  return async (node) => {
    const calls = new RemoteCalls(remote as RemoteOptions<unknown>, fn, node);
    const { admission } = calls;
    // The worker has a copy, so the item is free as soon as there is a result.
    const taken: StageSteps<A, B>['taken'] = (parcel) => discard(node, parcel);
    const work: WorkOf<A, B> = (run) => ({ ...workOf(run), fn: calls.call as NodeFunction<A, B, never> });
    try {
      return await stageProgram(work, { ...steps, taken, admission })(node);
    } finally {
      await calls.close();
    }
  };
}

/** An item that waits for a place in a job, or for the end of its job. */
interface Entry {
  readonly pieces: readonly [Uint8Array, Uint8Array];
  readonly id: string | undefined;
  /** Workers on which the item failed before. */
  readonly avoid: ReadonlySet<string>;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

interface Answer {
  readonly outcome: RemoteOutcome;
  readonly news: ItemNews;
  readonly result: Uint8Array;
}

/** The calls of a remote function in one run of a graph. */
class RemoteCalls {
  readonly admission: Admission;
  readonly #remote: RemoteOptions<unknown>;
  readonly #function: RemoteFunction;
  readonly #node: NodeRun;
  readonly #waiting: Entry[] = [];
  /** By the index of an item, the workers on which it failed. */
  readonly #failed: Map<number, Set<string>> = new Map();
  #run: Promise<RemoteRun> | undefined;
  #signal: AbortSignal | undefined;
  /** Number of jobs that are handed out. */
  #jobs = 0;
  #lastId = 0;
  #isPlanned = false;

  constructor(remote: RemoteOptions<unknown>, fn: RemoteFunction, node: NodeRun) {
    this.#remote = remote;
    this.#function = fn;
    this.#node = node;
    this.admission = new Admission(node.meta.lanes, remote.id === undefined ? MAX_GROUP : 1);
  }

  /** Calls the function for an item, and resolves to the result. Takes the place of the stage's own function. */
  readonly call = async (item: unknown, context: AttemptContext): Promise<unknown> => {
    const id = this.#remote.id?.(item);
    if (this.#remote.id !== undefined) requireRemoteId(id, 'a job', { node: this.#node.path });
    const pieces = await writeItem(item, context);
    this.#follow(context.signal);
    context.signal.throwIfAborted();
    const avoid = this.#failed.get(context.index) ?? new Set();
    this.#failed.delete(context.index);
    const { outcome, news, result } = await new Promise<Answer>((resolve, reject) => {
      this.#waiting.push({ pieces, id, avoid, resolve, reject });
      this.#handOutSoon();
    });
    const began = outcome.started - performance.timeOrigin;
    const marks = news.marks.map((mark) => ({ ...mark, time: began + mark.time }));
    context[RAN]({ worker: outcome.worker, start: began + news.start, end: began + news.end, marks });
    if (news.failed) this.#failed.set(context.index, avoid.add(outcome.worker));
    return readResult(result, news.failed, () => this.#node.run.context());
  };

  /** Closes the run on the queue. An error becomes a warning, because the results are there. */
  async close(): Promise<void> {
    // Closing may take some time, in which the run is not stalled.
    this.#node.run.began();
    try {
      await (await this.#run)?.close();
    } catch (cause) {
      const fail = (): never => {
        throw cause;
      };
      tell('RemoteRun.close', fail, undefined, this.#node.run.warn);
    } finally {
      this.#node.run.ended();
    }
  }

  /** Rejects the items that wait for a job when the stage ends early. All items of a stage have the same signal. */
  #follow(signal: AbortSignal): void {
    if (this.#signal !== undefined) return;
    this.#signal = signal;
    const rejectAll = (): void => {
      for (const { reject } of this.#waiting.splice(0)) reject(signal.reason);
    };
    signal.addEventListener('abort', rejectAll, { once: true });
  }

  /**
   * Hands out jobs that are full at once, and others in the next turn of the event loop. Items move in microtasks, so
   * all items that can come have come before the next turn.
   */
  #handOutSoon(): void {
    if (this.#waiting.length >= this.admission.group) this.#handOut(this.admission.group);
    if (this.#isPlanned || this.#waiting.length === 0) return;
    this.#isPlanned = true;
    void turn().then(() => {
      this.#isPlanned = false;
      this.#handOut(1);
    });
  }

  /** Hands out jobs while a lane is free and at least `fewest` items wait. Free lanes share the last items evenly. */
  #handOut(fewest: number): void {
    for (let free = this.#node.meta.lanes - this.#jobs; free > 0 && this.#waiting.length >= fewest; free--) {
      const share = Math.min(this.admission.group, Math.max(fewest, Math.ceil(this.#waiting.length / free)));
      let count = 0;
      // An item that failed travels alone, because other items failed on other workers.
      const isAlone = ({ avoid }: Entry): boolean => avoid.size > 0;
      for (let bytes = 0; count < share; count++) {
        bytes += this.#waiting[count]!.pieces[1].length;
        const [first, next] = [this.#waiting[0]!, this.#waiting[count]!];
        if (count > 0 && (bytes > MAX_GROUP_BYTES || isAlone(first) || isAlone(next))) break;
      }
      void this.#do(this.#waiting.splice(0, count));
    }
  }

  /** Does a job. If a job of several items fails as a whole, its items are done one by one, so that each fails alone. */
  async #do(entries: readonly Entry[]): Promise<void> {
    this.#jobs++;
    try {
      await this.#submit(entries);
    } catch (error) {
      if (entries.length === 1 || this.#signal?.aborted === true) for (const { reject } of entries) reject(error);
      else for (const entry of entries) await this.#submit([entry]).catch((own: unknown) => entry.reject(own));
    } finally {
      this.#jobs--;
      this.#handOutSoon();
    }
  }

  async #submit(entries: readonly Entry[]): Promise<void> {
    this.#run ??= this.#remote.queue.openRun(this.#remote.run);
    // The next attempt opens a run again.
    this.#run.catch(() => (this.#run = undefined));
    const run = await this.#run;
    const payload = await packed(entries.flatMap(({ pieces }) => pieces));
    const id = entries[0]!.id ?? `j${++this.#lastId}`;
    const avoid = [...entries[0]!.avoid];
    const outcome = await run.submit({ id, function: this.#function, payload, avoid }, this.#signal!);
    const pieces = unpacked(outcome.payload);
    if (pieces.length !== 2 * entries.length) throw badBytes('a result is missing', outcome.payload.length);
    const news = entries.map((_, i) => readNews(pieces[2 * i]!));
    const milliseconds = news.reduce((sum, { start, end }) => sum + end - start, 0);
    this.admission.learn(entries.length, milliseconds, Math.max(payload.length, outcome.payload.length));
    for (const [i, { resolve }] of entries.entries()) resolve({ outcome, news: news[i]!, result: pieces[2 * i + 1]! });
  }
}
