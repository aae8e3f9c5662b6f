import type { Subscriber } from 'rxjs';

/**
 * Tells a pull source whether the nearest stage downstream has room *now*. Demand is a level, not a credit: an item
 * that a `filter` drops on the way does not change it, so no credit can leak.
 */
export interface Demand {
  hasRoom(): boolean;
  /** Resolves when {@link Demand.hasRoom} may have become true. */
  room(): Promise<void>;
  /**
   * True while a source delivers an item that it was asked for. Items that arrive at other times were pushed unasked.
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
 * The demand of the nearest stage downstream of `subscriber`, or `undefined` if there is none.
 *
 * RxJS links the subscribers of a chain by `destination`, including inner subscriptions of `concat`, `switchMap` and
 * the like. So plain operators between two stages need not know of demand. The field is internal to RxJS. If it
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

/** Delivers `item` to `subscriber`, marked as asked for. */
export function deliver<T>(subscriber: Subscriber<T>, demand: Demand | undefined, item: T): void {
  const outer = demand?.asked ?? false;
  if (demand !== undefined) demand.asked = true;
  try {
    subscriber.next(item);
  } finally {
    if (demand !== undefined) demand.asked = outer;
  }
}
