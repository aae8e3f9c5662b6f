import type { Subscriber } from 'rxjs';

/**
 * Tells a source upstream whether the next stage downstream has room at the moment. Demand is not a number of items
 * that the source may still send. So no demand is lost if a `filter` on the way drops an item.
 */
export interface Demand {
  hasRoom(): boolean;
  /** Resolves when {@link Demand.hasRoom} may have become true. */
  room(): Promise<void>;
  /**
   * True while a source delivers an item because the stage downstream has room. An item that arrives while `asked` is
   * false was pushed without being requested.
   */
  asked: boolean;
}

/** The property key of a stage's {@link Demand} on the RxJS observer of the stage. */
export const DEMAND: unique symbol = Symbol('quadrille.demand');

interface Link {
  readonly [DEMAND]?: Demand;
  readonly destination?: Link | null;
}

/**
 * Finds the demand of the next stage downstream of `subscriber`. Returns `undefined` if there is none.
 *
 * RxJS links the subscribers of a chain by `destination`, also through inner subscriptions of `concat`, `switchMap` and
 * similar operators. So plain operators between two stages need not support demand. The field `destination` is internal
 * to RxJS. If it disappears, or if a `Subject` breaks the chain, items count as pushed without being requested, and the
 * overflow policy of the stage applies.
 */
export function demandOf(subscriber: Subscriber<never>): Demand | undefined {
  let link = subscriber as unknown as Link | null | undefined;
  while (link) {
    if (link[DEMAND] !== undefined) return link[DEMAND];
    link = link.destination;
  }
  return undefined;
}

/** Delivers `item` to `subscriber`, marked as requested. */
export function deliver<T>(subscriber: Subscriber<T>, demand: Demand | undefined, item: T): void {
  const outer = demand?.asked ?? false;
  if (demand !== undefined) demand.asked = true;
  try {
    subscriber.next(item);
  } finally {
    if (demand !== undefined) demand.asked = outer;
  }
}
