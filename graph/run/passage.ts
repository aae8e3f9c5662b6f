import { map, Observable, type OperatorFunction, Subscriber } from 'rxjs';
import type { OnWarning } from '../../primitives/warnings.ts';
import { discardParcel, type Parcel } from './parcel.ts';

/**
 * Follows items through the operators of a pipe, which see items without their parcels. An emitted value is recognised
 * as an item that entered if it is the same object, or the same number or string while that item is being delivered.
 * Any other value is new, and is named after the item being delivered.
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

  /** Calls `deliver`, which passes the item to the operators. If an operator fails, the item is freed. */
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
   * Calls `leave` once no item is being delivered. Unsubscribing in the middle of a delivery would drop the item; this
   * could not be told from an operator that drops and frees it.
   */
  afterDelivery(leave: () => void): void {
    if (this.#depth === 0) leave();
    else this.#waiting.push(leave);
  }

  /** Called when the operators have failed. Returns the name of the item being delivered, if any. */
  fail(): string | undefined {
    this.#hasFailed = true;
    return this.#current?.name;
  }

  /**
   * The parcel of a value that an operator emits. An item that is emitted twice is recognised only once, so that it is
   * freed once.
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

/** Wraps items in parcels. Outside a graph these have no handling. */
export function parcels<A>(passage: Passage | undefined): OperatorFunction<A, Parcel<A>> {
  return map((item) => passage?.leave(item) ?? { ...UNKNOWN, item });
}

/** Unwraps items from their parcels and delivers each through `passage`. */
export function items<A>(passage: Passage | undefined): OperatorFunction<Parcel<A>, A> {
  if (passage === undefined) return map(({ item }) => item);
  return (source) =>
    new Observable<A>((out) => {
      const next = (parcel: Parcel<A>): void => passage.enter(parcel, () => out.next(parcel.item));
      // Sources upstream find the next stage's demand along `destination`, as they do through RxJS's own operators.
      const observer = { next, error: (error: unknown) => out.error(error), complete: () => out.complete() };
      const inlet = new Subscriber<Parcel<A>>(Object.assign(observer, { destination: out }));
      out.add(inlet);
      source.subscribe(inlet);
    });
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
