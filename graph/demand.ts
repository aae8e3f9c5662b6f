import type { Subscriber } from 'rxjs';

/**
 * What a pull source asks of the nearest stage downstream: is there room *now*. Demand is a level, not a token: an
 * item that a `filter` drops on the way does not change the level, so no credit can leak.
 */
export interface Demand {
  hasRoom(): boolean;
  /** Resolves when it is worth asking {@link Demand.hasRoom} again. */
  room(): Promise<void>;
  /**
   * True while a source that asked first is delivering. Items that arrive at other times were pushed without asking.
   */
  asked: boolean;
}

/** The key under which a stage's observer carries its {@link Demand}. */
export const DEMAND: unique symbol = Symbol('quadrille.demand');

interface Link {
  readonly [DEMAND]?: Demand;
  readonly destination?: Link | null;
}

/**
 * The demand of the nearest stage downstream of `subscriber`, or `undefined` if there is none to wait for.
 *
 * RxJS links the subscribers of a chain by `destination`, inner subscriptions of `concat`, `switchMap` and their kin
 * included, so plain operators between two stages need not know of demand. The field is internal to RxJS. If it
 * disappears, or a `Subject` breaks the chain, items arrive unasked and the overflow policy of the stage applies.
 */
export function demandOf(subscriber: Subscriber<never>): Demand | undefined {
  let link = subscriber as unknown as Link | null | undefined;
  while (link) {
    if (link[DEMAND] !== undefined) return link[DEMAND];
    link = link.destination;
  }
  return undefined;
}

/** Delivers `item` to `subscriber` as an item for which `demand` was asked. */
export function deliver<T>(subscriber: Subscriber<T>, demand: Demand | undefined, item: T): void {
  const outer = demand?.asked ?? false;
  if (demand !== undefined) demand.asked = true;
  try {
    subscriber.next(item);
  } finally {
    if (demand !== undefined) demand.asked = outer;
  }
}
