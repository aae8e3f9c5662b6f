import { Observable, type OperatorFunction, Subscriber } from 'rxjs';
import { requireArguments, requireOptions } from '../../primitives/checks/arguments.ts';
import { type ErrorPlace, GraphError } from '../../primitives/checks/errors.ts';
import { aFunction, aNumber, aText, type FieldKinds, someRecord } from '../../primitives/checks/kinds.ts';
import { tell } from '../../primitives/checks/warnings.ts';
import { type Capacity, checkedCapacity, type Occupancy } from '../run/channel.ts';
import { deliver, demandOf } from '../run/demand.ts';

/** Limits of one batch: a bound in items and a bound in bytes. At least one of them must be finite. */
export interface BatchOptions<A> extends Capacity {
  /**
   * Returns the bytes of an item, 0 or more. Called once per item, when the item arrives. Required if `bytes` is
   * bounded.
   */
  readonly sizeOf?: ((item: A) => number) | undefined;
  /**
   * Returns the weight of an item, above 0, for example the number of pairs in a tile. The bound `items` then limits
   * the total weight of a batch. Called once per item. Default: 1 for each item.
   */
  readonly weight?: ((item: A) => number) | undefined;
  /**
   * Frees an item whose batch will never be emitted. Called once for each such item. An error thrown by `discard`
   * becomes a warning.
   */
  readonly discard?: ((item: A) => void) | undefined;
  /** Name of the node in errors. Default `batchBy`. */
  readonly name?: string | undefined;
}

export const BATCH_OPTIONS: FieldKinds<BatchOptions<never>> = {
  items: aNumber,
  bytes: aNumber,
  sizeOf: aFunction,
  weight: aFunction,
  discard: aFunction,
  name: aText,
};

/**
 * Groups small items into batches that are large enough for a device. A batch is closed when the next item would exceed
 * the bound in items (as `weight` counts them) or the bound in bytes (as `sizeOf` counts them).
 *
 * - The batches, concatenated, are the input in its original order. No batch is empty. Only a batch of a single item
 *   can exceed a bound. Two neighbouring batches never fit into one batch.
 * - A batch is emitted when it reaches its bound in items, when the next item does not fit, or when the source
 *   completes. An empty source gives no batch. No clock is involved: the same input gives the same batches.
 * - One batch is open at a time, and an item causes at most one batch to be emitted. If an item closes a batch and
 *   fills the next batch by itself, the next batch is emitted later.
 * - {@link pull}, {@link pullMap} and stages upstream read their next item only while the next stage downstream has
 *   room for a batch. The last batch also waits for room. A source that pushes its items, such as a `Subject`, cannot
 *   be made to wait.
 * - If the source, `sizeOf` or `weight` fails, or the subscriber unsubscribes, the items of the open batch are given to
 *   `discard`. The subscriber must free the batches that it receives.
 *
 * Work is O(1) per item. Memory is one batch.
 *
 * @throws `GraphError` `graph/bad-capacity` or `graph/no-size` at the call; `graph/bad-size` or `graph/bad-weight`
 * through the stream, with node and item, for an item whose size or weight is out of range.
 *
 * @example
 * ```ts
 * const tiles = pull([3, 4, 2, 9, 1, 1, 1]);
 * const batches = tiles.pipe(batchBy({ items: 2, bytes: 8, sizeOf: (bytes: number) => bytes }));
 * await lastValueFrom(batches.pipe(toArray())); // [[3, 4], [2], [9], [1, 1], [1]]
 * ```
 */
export function batchBy<A>(options: BatchOptions<A>): OperatorFunction<A, A[]> {
  return namedBatches(options, (_, index) => index);
}

/** Like {@link batchBy}, but an error names its item by the result of `recordOf` instead of by the index. */
export function namedBatches<A>(
  options: BatchOptions<A>,
  recordOf: (item: A, index: number) => string | number,
): OperatorFunction<A, A[]> {
  requireOptions<BatchOptions<A>>('batchBy', BATCH_OPTIONS, options);
  requireArguments('batchBy', { options }, { options: someRecord });
  const { name = 'batchBy' } = options;
  const discard = (item: A): void => {
    if (options.discard !== undefined) tell('discard', options.discard, item);
  };
  const bound = checkedCapacity({ ...options, name });

  return (source) =>
    new Observable<A[]>((out) => {
      const demand = demandOf(out);
      let open = emptyBatch<A>();
      let index = 0;

      const next = (item: A): void => {
        const cost = costOf(item, options, { node: name, record: recordOf(item, index++) });
        if (cost instanceof GraphError) {
          discard(item);
          out.error(cost);
          return;
        }
        const fits = open.members.length === 0 || isWithin(bound, open, cost);
        const closed = fits ? undefined : takeOpen();
        add(open, item, cost);
        if (closed !== undefined) out.next(closed);
        else if (open.items >= bound.items) out.next(takeOpen());
      };
      // `deliver` marks the last batch as requested. So the next stage keeps the batch until there is room, instead of
      // treating the batch as overflow.
      const complete = (): void => {
        if (open.members.length > 0) deliver(out, demand, takeOpen());
        out.complete();
      };
      // Takes the items out of the open batch. Called before a batch is emitted, because the subscriber may unsubscribe
      // while it receives the batch, and the items then belong to the subscriber.
      const takeOpen = (): A[] => {
        const { members } = open;
        open = emptyBatch();
        return members;
      };
      const discardOpen = (): void => {
        for (const item of takeOpen()) discard(item);
      };

      // `destination` links this observer to the next stage, as RxJS's own operators do. Sources upstream follow such
      // links to find out whether the next stage has room.
      const observer = { next, error: (error: unknown) => out.error(error), complete, destination: out };
      const inlet = new Subscriber<A>(observer);
      out.add(inlet);
      out.add(discardOpen);
      source.subscribe(inlet);
    });
}

interface Batch<A> {
  readonly members: A[];
  items: number;
  bytes: number;
}

function emptyBatch<A>(): Batch<A> {
  return { members: [], items: 0, bytes: 0 };
}

function isWithin(bound: Occupancy, held: Occupancy, more: Occupancy): boolean {
  return held.items + more.items <= bound.items && held.bytes + more.bytes <= bound.bytes;
}

function add<A>(batch: Batch<A>, item: A, cost: Occupancy): void {
  batch.members.push(item);
  batch.items += cost.items;
  batch.bytes += cost.bytes;
}

/** Returns the weight and bytes of an item, or an error if `sizeOf` or `weight` gave no valid number. */
function costOf<A>(item: A, { sizeOf, weight }: BatchOptions<A>, place: ErrorPlace): Occupancy | GraphError {
  const size = sizeOf === undefined ? { value: 0 } : attempt(sizeOf, item);
  const count = weight === undefined ? { value: 1 } : attempt(weight, item);
  if (!(size.value >= 0)) {
    const details = {
      expected: 'a number of bytes, 0 or more',
      got: size.cause ?? size.value,
      place,
      cause: size.cause,
    };
    return new GraphError('graph/bad-size', 'sizeOf returned no valid size for an item.', details);
  }
  if (!(count.value > 0)) {
    const details = { expected: 'a number above 0', got: count.cause ?? count.value, place, cause: count.cause };
    return new GraphError('graph/bad-weight', 'weight returned no valid weight for an item.', details);
  }
  return { items: count.value, bytes: size.value };
}

function attempt<A>(measure: (item: A) => number, item: A): { readonly value: number; readonly cause?: unknown } {
  try {
    return { value: measure(item) };
  } catch (cause) {
    return { value: Number.NaN, cause };
  }
}
