import { Observable, type OperatorFunction, Subscriber } from 'rxjs';
import { requireArguments } from '../primitives/arguments.ts';
import { type ErrorPlace, GraphError } from '../primitives/errors.ts';
import { aFunction, aNumber, aText, type FieldKinds, someRecord } from '../primitives/kinds.ts';
import { requireOptions } from '../primitives/options.ts';
import { tell } from '../primitives/warnings.ts';
import { type Capacity, checkedCapacity, type Occupancy } from './channel.ts';
import { deliver, demandOf } from './demand.ts';

/** What a batch may hold. At least one of the two bounds is finite. */
export interface BatchOptions<A> extends Capacity {
  /** Bytes of one item, not negative; asked once, when the item comes. Needed with a bound in bytes. */
  readonly sizeOf?: ((item: A) => number) | undefined;
  /**
   * Weight of one item, above 0: the number of pairs in a tile, for example. The bound in items counts weights. Asked
   * once per item. Default 1.
   */
  readonly weight?: ((item: A) => number) | undefined;
  /** Frees an item whose batch will never be emitted. Called once for each such item; what it throws is a warning. */
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
 * Groups small items into batches worth sending to a device: a batch closes when the next item would pass the bound
 * in items (as `weight` counts them) or in bytes (as `sizeOf` counts them).
 *
 * - The batches, one after another, are the input in its order. None is empty, and none exceeds a bound, except that
 *   an item which exceeds one by itself forms its own batch. No two neighbouring batches would fit into one.
 * - A batch is emitted when an item brings it to its bound in items, else with the item that does not fit, else when
 *   the source completes; an empty source gives no batch. No clock is involved: the same input gives the same batches.
 * - One batch is open at a time, and an item emits at most one. Demand passes through: {@link pull}, {@link pullMap}
 *   and stages upstream read on only while the next stage downstream has room for a batch; until then the open one
 *   stays as it is. The last batch waits for room before that stage. A source without demand cannot be told to wait.
 * - An error of the source, of `sizeOf` or of `weight`, and an unsubscribe, give what the open batch holds to
 *   `discard`. The subscriber frees emitted batches.
 *
 * Work is O(1) an item; memory is one batch.
 *
 * @throws `GraphError` `graph/bad-capacity` or `graph/no-size` at the call; `graph/bad-size` or
 * `graph/bad-weight` through the stream, with node and item, for an item whose size or weight is no such number.
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

/** As {@link batchBy}. `recordOf` names an item in errors. */
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
      // A source that asks for demand does not deliver its end in this way. The last batch must still wait for room;
      // it is not an overflow.
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

/** The cost of an item in its batch, or the error that says why it is unknown. */
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
