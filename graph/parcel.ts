import { type OnWarning, tell } from '../primitives/warnings.ts';

/** How the items of a port are freed, measured and named, where the node that takes them does not say. */
export interface ItemHandling<A> {
  readonly discard?: ((item: A) => void) | undefined;
  readonly sizeOf?: ((item: A) => number) | undefined;
  readonly describe?: ((item: A) => string) | undefined;
}

/**
 * An item on its way, with what came with it. The handling belongs to the item and not to the edge, since an edge may
 * carry items from several sources.
 */
export interface Parcel<A = unknown> {
  readonly item: A;
  /** What errors and traces call it. */
  readonly name: string | undefined;
  readonly discard: OwnItems<A, void> | undefined;
  readonly sizeOf: OwnItems<A, number> | undefined;
}

/** A function that is called with the parcel's own item alone: a method, so that a parcel of `A` is a parcel. */
type OwnItems<A, R> = { call(item: A): R }['call'];

/** `item` as its source hands it over. It is named now: a later stage may have freed what its name is made from. */
export function parcelOf<A>(item: A, { discard, sizeOf, describe }: ItemHandling<A>): Parcel<A> {
  return { item, name: nameOf(describe, item), discard, sizeOf };
}

/** `parcel` under what the node that takes it says. */
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

/** Frees the item; what `discard` throws is a warning, so that other items are freed as well. */
export function discardParcel<A>({ item, discard }: Parcel<A>, onWarning?: OnWarning): void {
  if (discard !== undefined) tell('discard', discard, item, onWarning);
}

/** A name that cannot be found must not hide the failure it is for. */
function nameOf<A>(describe: ((item: A) => string) | undefined, item: A): string | undefined {
  if (describe === undefined) return undefined;
  try {
    return `${describe(item)}`;
  } catch {
    return undefined;
  }
}

/** What several items together are called: the first three by their names. */
export function jointName(parcels: readonly Parcel[]): string | undefined {
  const names = parcels.flatMap(({ name }) => (name === undefined ? [] : [name]));
  if (names.length === 0) return undefined;
  const more = parcels.length - Math.min(names.length, 3);
  return [...names.slice(0, 3), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
