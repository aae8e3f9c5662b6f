import { defer, map, type Observable, Subject, startWith } from 'rxjs';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { GraphError } from '../../primitives/checks/errors.ts';
import {
  aFunction,
  aNumber,
  aRecord,
  aSignal,
  aText,
  eitherOf,
  type Kind,
  optional,
  someOptions,
  wanted,
} from '../../primitives/checks/kinds.ts';
import { tell } from '../../primitives/checks/warnings.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';

/** Limits of an edge: a bound in items and a bound in bytes. At least one of them must be finite. */
export interface Capacity {
  /** Maximum number of items. Default: no bound. */
  readonly items?: number | undefined;
  /** Maximum number of bytes, as `sizeOf` measures them. Default: no bound. */
  readonly bytes?: number | undefined;
}

/** Validator of the types in a capacity. {@link checkedCapacity} checks the numbers. */
export const aCapacity: Kind = eitherOf(
  'a number of items, or { items, bytes }',
  aNumber,
  aRecord<Capacity>({ items: optional(aNumber), bytes: optional(aNumber) }),
);

/** Number of items and bytes on an edge at one moment. */
export interface Occupancy {
  readonly items: number;
  readonly bytes: number;
}

export interface ChannelOptions<T> extends Capacity {
  /** Returns the bytes of an item, 0 or more. Called at every `push` and `tryPush`. Required if `bytes` is given. */
  readonly sizeOf?: ((item: T) => number) | undefined;
  /**
   * Frees an item that will never be taken. Called once for each such item. An error thrown by `onDiscard` becomes a
   * warning.
   */
  readonly onDiscard?: ((item: T) => void) | undefined;
  /** When this signal is aborted, the channel closes with the signal's reason as the error. */
  readonly signal?: AbortSignal | undefined;
  /** Name of the channel in errors. */
  readonly name?: string | undefined;
}

const CHANNEL: Kind = someOptions<ChannelOptions<never>>({
  items: optional(aNumber),
  bytes: optional(aNumber),
  sizeOf: optional(aFunction),
  onDiscard: optional(aFunction),
  signal: optional(aSignal),
  name: optional(aText),
});

/**
 * A first-in first-out queue between an asynchronous producer and an asynchronous consumer, bounded in items and bytes.
 * `push` waits while the channel is full. `take` waits while the channel is empty.
 *
 * - The channel owns an item as soon as `push` is called. Each item is either taken or given to `onDiscard`, exactly
 *   once. This holds even if the channel is closed or aborted while the push waits.
 * - An item larger than the byte bound enters when the channel is empty; otherwise it would wait for ever. So
 *   `peakBytes` is at most the larger of the byte bound and the largest item.
 * - After `close()`, queued items can still be taken. `close(error)` discards the queued items, and all pending and
 *   later calls of `push` and `take` reject.
 *
 * @example
 * ```ts
 * const tiles = new Channel<Uint8Array>({ items: 8, bytes: 64 << 20, sizeOf: (tile) => tile.byteLength });
 * void (async () => {
 *   for (let i = 0; i < 100; i++) await tiles.push(new Uint8Array(1 << 20));
 *   tiles.close();
 * })();
 * let count = 0;
 * for await (const tile of tiles) count += tile.byteLength >> 20;
 * count; // 100
 * ```
 */
export class Channel<T> implements AsyncIterable<T, undefined> {
  /** The bounds. A missing bound is `Infinity`. */
  readonly capacity: Required<Occupancy>;
  /**
   * Emits the number of items and bytes in the channel, on subscription and after every change. Completes when the
   * channel is closed and empty.
   */
  readonly occupancy$: Observable<Occupancy>;
  /** Number of items in the channel. Items whose `push` still waits for room are not counted. */
  depth = 0;
  /** Bytes of the items in the channel. */
  bytes = 0;
  /** Highest value of `depth` so far. */
  peak = 0;
  /** Highest value of `bytes` so far. */
  peakBytes = 0;
  /** How often a producer had to wait. */
  stalls = 0;
  /** Whether the consumer has left; see {@link Channel.abandon}. */
  abandoned = false;

  readonly #options: ChannelOptions<T>;
  readonly #changes: Subject<void> = new Subject<void>();
  /** Entries in order of their pushes. The first `depth` entries are in the channel; the others wait for room. */
  #queue: Entry<T>[] = [];
  #takers: Taker<T>[] = [];
  #roomWaiters: (() => void)[] = [];
  #closed: { readonly error?: unknown } | undefined;

  constructor(options: ChannelOptions<T>) {
    requireArguments('new Channel', { options }, { options: wanted(CHANNEL) });
    this.#options = options;
    this.capacity = checkedCapacity(options);
    this.occupancy$ = defer(() =>
      this.#changes.pipe(
        startWith(undefined),
        map(() => ({ items: this.depth, bytes: this.bytes })),
      ),
    );
    if (options.signal?.aborted === true) this.close(options.signal.reason);
    else options.signal?.addEventListener('abort', this.#onAbort);
  }

  /**
   * Pushes `item`, and resolves when the item is in the channel. If the channel is closed, discards the item and
   * rejects.
   */
  async push(item: T): Promise<void> {
    const size = this.#measure(item);
    await new Promise<void>((resolve, reject) => this.#enqueue({ item, size, resolve, reject }));
  }

  /**
   * Pushes `item` and returns true if there is room now. Otherwise returns false, and the caller still owns the item.
   */
  tryPush(item: T): boolean {
    const size = this.#measure(item);
    if (this.#closed !== undefined || !this.#fits(this.#queue.length, size)) return false;
    this.#enqueue({ item, size });
    return true;
  }

  /** Resolves to the oldest item, or to `done` if the channel is closed and empty. */
  take(): Promise<IteratorResult<T, undefined>> {
    return new Promise((resolve, reject) => {
      this.#takers.push({ resolve, reject });
      this.#settle();
    });
  }

  /** Returns the items in the channel, oldest first. Items whose `push` still waits for room are not included. */
  held(): readonly T[] {
    return this.#queue.slice(0, this.depth).map(({ item }) => item);
  }

  /** Removes and returns the item at an index of {@link Channel.held}. Returns `undefined` if there is no such item. */
  takeAt(position: number): T | undefined {
    if (!Number.isInteger(position) || position < 0 || position >= this.depth) return undefined;
    const item = this.#remove(position);
    this.#settle();
    return item;
  }

  /** Discards the oldest item. Returns false if the channel is empty. */
  dropOldest(): boolean {
    if (this.depth === 0) return false;
    const item = this.#remove(0);
    this.#discard(item);
    this.#settle();
    return true;
  }

  /**
   * Whether a producer may push: no push is waiting, and neither bound is reached. Always true for a closed channel.
   */
  hasRoom(): boolean {
    return this.#closed !== undefined || this.#fits(this.#queue.length, 1);
  }

  /**
   * Resolves when there may be room. Another producer may take the room first, so check {@link Channel.hasRoom} again.
   */
  async room(): Promise<void> {
    if (this.hasRoom()) return;
    this.stalls++;
    await new Promise<void>((resolve) => this.#roomWaiters.push(resolve));
  }

  /**
   * Closes the channel to new items. Queued items can still be taken. If `error` is given, discards the queued items
   * and rejects all waiting calls of `push` and `take` with the error.
   */
  close(error?: unknown): void {
    const over = this.#closed !== undefined && (this.#closed.error !== undefined || this.#queue.length === 0);
    if (over) return;
    if (error !== undefined) this.#discardAll(error);
    this.#closed = error === undefined ? {} : { error };
    this.#settle();
  }

  /**
   * Must be called when the consumer takes no more items. Closes the channel and discards its items. From now on `push`
   * rejects, and `take` resolves to `done`.
   */
  abandon(): void {
    this.abandoned = true;
    this.#closed ??= {};
    this.#discardAll(closedError(this.#options.name));
    this.#settle();
  }

  /** Iterates over the items. `return()` of the iterator abandons the channel. */
  [Symbol.asyncIterator](): AsyncIterator<T, undefined, undefined> {
    return {
      next: () => this.take(),
      return: async () => {
        this.abandon();
        return { done: true, value: undefined };
      },
    };
  }

  readonly #onAbort = (): void => this.close(this.#options.signal?.reason);

  #measure(item: T): number {
    const { sizeOf, name } = this.#options;
    let size = Number.NaN;
    let cause: unknown;
    try {
      size = sizeOf?.(item) ?? 0;
    } catch (error) {
      cause = error;
    }
    if (size >= 0) return size;
    this.#discard(item);
    const details = { expected: 'a number of bytes, 0 or more', got: cause ?? size, place: { node: name }, cause };
    throw new GraphError('graph/bad-size', 'sizeOf returned no valid size for an item.', details);
  }

  #enqueue(entry: Entry<T>): void {
    if (this.#closed !== undefined) {
      this.#discard(entry.item);
      entry.reject?.(this.#closed.error ?? closedError(this.#options.name));
      return;
    }
    this.#queue.push(entry);
    this.#settle();
    if (this.#queue.length > this.depth) this.stalls++;
  }

  /**
   * Moves entries into the channel and out to takers, as far as possible, and wakes waiting producers. Called after
   * every change.
   */
  #settle(): void {
    for (;;) {
      const next = this.#queue[this.depth];
      if (next !== undefined && this.#fits(this.depth, next.size)) this.#admit(next);
      else if (this.depth > 0 && this.#takers.length > 0) {
        this.#takers.shift()!.resolve({ done: false, value: this.#remove(0) });
      } else break;
    }
    if (this.hasRoom()) for (const wake of this.#roomWaiters.splice(0)) wake();
    if (this.#closed !== undefined && this.#queue.length === 0) this.#finish(this.#closed);
    else if (this.#changes.observed) this.#changes.next();
  }

  /** Whether an item of `size` bytes may enter the channel if `ahead` entries are in front of it. */
  #fits(ahead: number, size: number): boolean {
    if (ahead === 0) return true;
    return ahead === this.depth && ahead < this.capacity.items && this.bytes + size <= this.capacity.bytes;
  }

  #admit(entry: Entry<T>): void {
    this.depth++;
    this.bytes += entry.size;
    this.peak = Math.max(this.peak, this.depth);
    this.peakBytes = Math.max(this.peakBytes, this.bytes);
    entry.resolve?.();
  }

  #remove(position: number): T {
    const [{ item, size }] = this.#queue.splice(position, 1) as [Entry<T>];
    this.depth--;
    this.bytes -= size;
    return item;
  }

  #discardAll(error: unknown): void {
    const entries = this.#queue;
    this.#queue = [];
    this.depth = 0;
    this.bytes = 0;
    for (const { item, reject } of entries) {
      this.#discard(item);
      reject?.(error);
    }
  }

  /** Discards an item. An error of `onDiscard` becomes a warning, so that other items are still freed. */
  #discard(item: T): void {
    const { onDiscard } = this.#options;
    if (onDiscard !== undefined) tell('onDiscard', onDiscard, item);
  }

  #finish(closed: { readonly error?: unknown }): void {
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    for (const taker of this.#takers.splice(0)) {
      if (closed.error === undefined) taker.resolve({ done: true, value: undefined });
      else taker.reject(closed.error);
    }
    this.#changes.next();
    this.#changes.complete();
  }
}

interface Entry<T> {
  readonly item: T;
  readonly size: number;
  readonly resolve?: () => void;
  readonly reject?: (error: unknown) => void;
}

interface Taker<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns the bounds as numbers, with `Infinity` for a missing bound. Throws if a bound is invalid, if neither bound is
 * finite, or if `bytes` is given without `sizeOf`.
 */
export function checkedCapacity<T>({ items, bytes, sizeOf, name }: ChannelOptions<T>): Required<Occupancy> {
  const capacity = { items: items ?? Number.POSITIVE_INFINITY, bytes: bytes ?? Number.POSITIVE_INFINITY };
  const bounded = Math.min(capacity.items, capacity.bytes) < Number.POSITIVE_INFINITY;
  const whole = items === undefined || Number.isInteger(items) || items === Number.POSITIVE_INFINITY;
  if (bounded && whole && capacity.items >= 1 && capacity.bytes > 0) {
    if (bytes === undefined || sizeOf !== undefined) return capacity;
    throw new GraphError('graph/no-size', 'A bound in bytes needs sizeOf, which measures an item.', {
      remedy: 'Give sizeOf: (item) => bytes.',
      place: { node: name },
    });
  }
  throw new GraphError('graph/bad-capacity', 'The capacity admits no item.', {
    expected: 'items an integer from 1, bytes above 0, at least one of them finite',
    got: `items ${items}, bytes ${bytes}`,
    place: { node: name },
  });
}

function closedError(name: string | undefined): GraphError {
  return new GraphError('graph/channel-closed', 'The channel is closed.', { place: { node: name } });
}
