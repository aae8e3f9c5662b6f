import type { Subscriber } from 'rxjs';

/**
 * What a pull source asks of the nearest stage downstream: is there room *now*. A level, not a token: an item that a
 * `filter` swallows on the way leaves the level as it was, so no credit can leak.
 */
export interface Demand {
  hasRoom(): boolean;
  /** Resolves when it is worth asking {@link Demand.hasRoom} again. */
  room(): Promise<void>;
  /** True while a source that asked first is delivering; what arrives at other times was pushed unasked. */
  asked: boolean;
}

/** A stage's observer carries its {@link Demand} here. */
export const DEMAND: unique symbol = Symbol('quadrille.demand');

interface Link {
  readonly [DEMAND]?: Demand;
  readonly destination?: Link | null;
}

/**
 * The demand of the nearest stage downstream of `subscriber`, or `undefined` if there is none to wait for.
 *
 * RxJS links the subscribers of a chain by `destination`, inner subscriptions of `concat`, `switchMap` and their kin
 * included, so plain operators between two stages need not know of demand. The field is RxJS's own: should it go, or
 * a `Subject` break the chain, the stage finds itself pushed at and its overflow policy applies.
 */
export function demandOf(subscriber: Subscriber<never>): Demand | undefined {
  let link = subscriber as unknown as Link | null | undefined;
  while (link) {
    if (link[DEMAND] !== undefined) return link[DEMAND];
    link = link.destination;
  }
  return undefined;
}

/** Hands `item` to `subscriber` as one that `demand` was asked about. */
export function deliver<T>(subscriber: Subscriber<T>, demand: Demand | undefined, item: T): void {
  const outer = demand?.asked ?? false;
  if (demand !== undefined) demand.asked = true;
  try {
    subscriber.next(item);
  } finally {
    if (demand !== undefined) demand.asked = outer;
  }
}
