import { map, Observable, type OperatorFunction, Subscriber } from 'rxjs';
import type { OnWarning } from '../../primitives/checks/warnings.ts';
import { discardParcel, type Parcel } from './parcel.ts';

/**
 * Remembers the parcel of each item while the item passes through the RxJS operators of a pipe, because the operators
 * see only the items.
 *
 * If the operators emit an object that entered as an item, the object counts as this known item. A number or string
 * counts as known only while the equal item is being delivered to the operators. Any other value is a new item. A new
 * item is named after the item that is being delivered.
 */
export class Passage {
  #current: Parcel | undefined;
  readonly #inside: WeakMap<object, Parcel> = new WeakMap();
  readonly #onWarning: OnWarning | undefined;
  #hasFailed = false;
  #depth = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(onWarning: OnWarning | undefined) {
    this.#onWarning = onWarning;
  }

  /**
   * Delivers an item to the operators by calling `deliver`. If an operator fails meanwhile, frees the item, unless the
   * operators have already emitted the item.
   */
  enter(parcel: Parcel, deliver: () => void): void {
    const outer = this.#current;
    this.#depth++;
    this.#current = parcel;
    if (isObject(parcel.item)) this.#inside.set(parcel.item, parcel);
    try {
      deliver();
    } finally {
      if (this.#hasFailed && this.#isInside(parcel)) discardParcel(parcel, this.#onWarning);
      this.#current = outer;
      this.#depth--;
    }
    if (this.#depth === 0) for (const wait of this.#waiting.splice(0)) wait();
  }

  /**
   * Calls `leave`, which unsubscribes from the stream, as soon as no item is being delivered. Unsubscribing during a
   * delivery would drop the delivered item, and nobody would know whether an operator has freed this item.
   */
  afterDelivery(leave: () => void): void {
    if (this.#depth === 0) leave();
    else this.#waiting.push(leave);
  }

  /** Must be called when an operator has failed. Returns the name of the item that is being delivered, if any. */
  fail(): string | undefined {
    this.#hasFailed = true;
    return this.#current?.name;
  }

  /**
   * Returns the parcel of an item that the operators emit. An item that is emitted again counts as a new item, so that
   * the original item is freed only once.
   */
  leave<A>(item: A): Parcel<A> {
    const known = this.#knownAgain(item);
    return (known as Parcel<A> | undefined) ?? { ...UNKNOWN, item, name: this.#current?.name };
  }

  #isInside(parcel: Parcel): boolean {
    return isObject(parcel.item) ? this.#inside.get(parcel.item) === parcel : this.#current === parcel;
  }

  #knownAgain(item: unknown): Parcel | undefined {
    if (isObject(item)) {
      const inside = this.#inside.get(item);
      this.#inside.delete(item);
      return inside;
    }
    const current = this.#current;
    if (current === undefined || !Object.is(current.item, item)) return undefined;
    this.#current = { ...UNKNOWN, item: undefined, name: current.name };
    return current;
  }
}

const UNKNOWN: Omit<Parcel, 'item'> = { name: undefined, discard: undefined, sizeOf: undefined };

/** Puts items into parcels. Outside a graph, parcels have no functions to free or measure items. */
export function parcels<A>(passage: Passage | undefined): OperatorFunction<A, Parcel<A>> {
  return map((item) => passage?.leave(item) ?? { ...UNKNOWN, item });
}

/** Takes items out of their parcels, and delivers each item through `passage`. */
export function items<A>(passage: Passage | undefined): OperatorFunction<Parcel<A>, A> {
  if (passage === undefined) return map(({ item }) => item);
  return (source) =>
    new Observable<A>((out) => {
      const next = (parcel: Parcel<A>): void => passage.enter(parcel, () => out.next(parcel.item));
      // `destination` links this observer to the next stage, as RxJS's own operators do. Sources upstream follow such
      // links to find out whether the next stage has room.
      const observer = { next, error: (error: unknown) => out.error(error), complete: () => out.complete() };
      const inlet = new Subscriber<Parcel<A>>(Object.assign(observer, { destination: out }));
      out.add(inlet);
      source.subscribe(inlet);
    });
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
