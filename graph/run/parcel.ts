import { type OnWarning, tell } from '../../primitives/warnings.ts';

/** Functions that free, measure and name the items of a port. The consuming node may override them. */
export interface ItemHandling<A> {
  readonly discard?: ((item: A) => void) | undefined;
  readonly sizeOf?: ((item: A) => number) | undefined;
  readonly describe?: ((item: A) => string) | undefined;
}

/**
 * An item in transit, with its handling. The handling belongs to the item, because an edge may carry items from several
 * sources.
 */
export interface Parcel<A = unknown> {
  readonly item: A;
  /** The item's name in errors and traces. */
  readonly name: string | undefined;
  readonly discard: OwnItems<A, void> | undefined;
  readonly sizeOf: OwnItems<A, number> | undefined;
}

/**
 * A function that is only called with the parcel's own item. It is typed as a method, so that a parcel of `A` is a
 * `Parcel`.
 */
type OwnItems<A, R> = { call(item: A): R }['call'];

/**
 * A parcel for an item from its source. The name is made now, because a later stage may free the data that it depends
 * on.
 */
export function parcelOf<A>(item: A, { discard, sizeOf, describe }: ItemHandling<A>): Parcel<A> {
  return { item, name: nameOf(describe, item), discard, sizeOf };
}

/** `parcel`, with its handling overridden by `own`. */
export function handledBy<A>(own: ItemHandling<A>, parcel: Parcel<A>): Parcel<A> {
  const { discard, sizeOf, describe } = own;
  if (discard === undefined && sizeOf === undefined && describe === undefined) return parcel;
  const { item, name } = parcel;
  return {
    item,
    name: nameOf(describe, item) ?? name,
    discard: discard ?? parcel.discard,
    sizeOf: sizeOf ?? parcel.sizeOf,
  };
}

export function sizeOfParcel<A>({ item, sizeOf }: Parcel<A>): number {
  return sizeOf?.(item) ?? 0;
}

/** Frees the item. If `discard` throws, that is only a warning, so that other items are still freed. */
export function discardParcel<A>({ item, discard }: Parcel<A>, onWarning?: OnWarning): void {
  if (discard !== undefined) tell('discard', discard, item, onWarning);
}

/** The name of an item. An error in `describe` must not hide the failure being reported. */
function nameOf<A>(describe: ((item: A) => string) | undefined, item: A): string | undefined {
  if (describe === undefined) return undefined;
  try {
    return `${describe(item)}`;
  } catch {
    return undefined;
  }
}

/** The joint name of several items: the names of the first three. */
export function jointName(parcels: readonly Parcel[]): string | undefined {
  const names = parcels.flatMap(({ name }) => (name === undefined ? [] : [name]));
  if (names.length === 0) return undefined;
  const more = parcels.length - Math.min(names.length, 3);
  return [...names.slice(0, 3), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
