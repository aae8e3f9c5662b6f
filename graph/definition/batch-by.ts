import { Observable, type OperatorFunction, Subscriber } from 'rxjs';
import { requireArguments } from '../../primitives/arguments.ts';
import { type ErrorPlace, GraphError } from '../../primitives/errors.ts';
import { aFunction, aNumber, aText, type FieldKinds, someRecord } from '../../primitives/kinds.ts';
import { requireOptions } from '../../primitives/options.ts';
import { tell } from '../../primitives/warnings.ts';
import { type Capacity, checkedCapacity, type Occupancy } from '../run/channel.ts';
import { deliver, demandOf } from '../run/demand.ts';

/** Limits of one batch. At least one of the two bounds is finite. */
export interface BatchOptions<A> extends Capacity {
  /** Bytes of one item, 0 or more. Called once, when the item arrives. Required if `bytes` is bounded. */
  readonly sizeOf?: ((item: A) => number) | undefined;
  /**
   * Weight of one item, above 0, for example the number of pairs in a tile. The bound in items counts weights. Called
   * once per item. Default 1.
   */
  readonly weight?: ((item: A) => number) | undefined;
  /**
   * Frees an item whose batch will never be emitted. Called once for each such item. If it throws, that is a warning.
   */
  readonly discard?: ((item: A) => void) | undefined;
  /** Names the node in errors. Default `batchBy`. */
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
 * Groups small items into batches worth sending to a device: a batch closes when the next item would pass the bound in
 * items (as `weight` counts them) or in bytes (as `sizeOf` counts them).
 *
 * - Concatenated, the batches give the input in its order. No batch is empty. A batch exceeds a bound only if a single
 *   item does; such an item forms its own batch. No two neighbouring batches would fit into one.
 * - A batch is emitted as soon as it reaches its bound in items, when the next item does not fit, or when the source
 *   completes. An empty source gives no batch. No clock is involved: the same input gives the same batches.
 * - One batch is open at a time, and an item emits at most one batch. Demand passes through: {@link pull},
 *   {@link pullMap} and stages upstream read on only while the next stage downstream has room for a batch. The last
 *   batch waits for room, too. A source without demand cannot be told to wait.
 * - If the source, `sizeOf` or `weight` fails, or the subscriber unsubscribes, the items of the open batch are given to
 *   `discard`. The subscriber frees emitted batches.
 *
 * Work is O(1) an item; memory is one batch.
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

/** Same as {@link batchBy}, with `recordOf`, which names an item in errors. */
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
      // The end of a source is not marked as asked for, so `deliver` marks the last batch. It then waits for room and
      // causes no overflow.
      const complete = (): void => {
        if (open.members.length > 0) deliver(out, demand, takeOpen());
        out.complete();
      };
      // Called before a batch is emitted: from then on the batch belongs to the subscriber, which may unsubscribe
      // when it receives it.
      const takeOpen = (): A[] => {
        const { members } = open;
        open = emptyBatch();
        return members;
      };
      const discardOpen = (): void => {
        for (const item of takeOpen()) discard(item);
      };

      // Sources upstream find the next stage's demand along `destination`, as they do through RxJS's own operators.
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

/** The cost of an item in its batch, or an error if `sizeOf` or `weight` gave no valid number. */
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
