import { type OnWarning, tell } from '../../primitives/checks/warnings.ts';

/** Functions that free, measure and name the items of a port. Functions set on the consuming node override these. */
export interface ItemHandling<A> {
  readonly discard?: ((item: A) => void) | undefined;
  readonly sizeOf?: ((item: A) => number) | undefined;
  readonly describe?: ((item: A) => string) | undefined;
}

/**
 * An item on its way through a graph, with the functions that free and measure it. The functions are stored per item,
 * because an edge can have items from several sources.
 */
export interface Parcel<A = unknown> {
  readonly item: A;
  /** The item's name in errors and traces. */
  readonly name: string | undefined;
  readonly discard: OwnItems<A, void> | undefined;
  readonly sizeOf: OwnItems<A, number> | undefined;
}

/**
 * The type of a parcel's functions, which are only called with the item of that parcel. The type is that of a method,
 * because TypeScript checks methods less strictly: every `Parcel<A>` can be assigned to `Parcel`.
 */
type OwnItems<A, R> = { call(item: A): R }['call'];

/**
 * Makes the parcel of an item that was read from a source. The name is computed at once, because a later stage may free
 * the data that `describe` reads.
 */
export function parcelOf<A>(item: A, { discard, sizeOf, describe }: ItemHandling<A>): Parcel<A> {
  return { item, name: nameOf(describe, item), discard, sizeOf };
}

/** Returns `parcel` with its functions replaced by the functions that are set in `own`. */
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

/** Frees the item of a parcel. An error of `discard` becomes a warning, so that other items are still freed. */
export function discardParcel<A>({ item, discard }: Parcel<A>, onWarning?: OnWarning): void {
  if (discard !== undefined) tell('discard', discard, item, onWarning);
}

/**
 * The name of an item. An error of `describe` is ignored, because it must not hide the failure for which the name is
 * needed.
 */
function nameOf<A>(describe: ((item: A) => string) | undefined, item: A): string | undefined {
  if (describe === undefined) return undefined;
  try {
    return `${describe(item)}`;
  } catch {
    return undefined;
  }
}

/** The common name of several items: the names of the first three, and how many more there are. */
export function jointName(parcels: readonly Parcel[]): string | undefined {
  const names = parcels.flatMap(({ name }) => (name === undefined ? [] : [name]));
  if (names.length === 0) return undefined;
  const more = parcels.length - Math.min(names.length, 3);
  return [...names.slice(0, 3), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
