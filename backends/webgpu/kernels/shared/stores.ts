import { capacityOf, type Extent, type Store } from '../../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { type Bindings, samePlace } from '../../launches/bindings.ts';
import { toWord } from '../../launches/link.ts';
import { type Parameters, parameter } from '../../launches/parameters.ts';
import { resultOf } from '../../wgsl/emit-wgsl.ts';
import { type IndexRange, type LinkedStore, type Placement, placeInPart } from './windows.ts';

export function linkStores(stores: readonly Store[], parameters: Parameters, extent: Extent): LinkedStore[] {
  return stores.map((store) => {
    const holdsExtent = store.capacity >= capacityOf(extent);
    return {
      ...store,
      memory: parameters.pool.resolve(store.buffer),
      offsetWord: parameters.word(store.offset),
      capacityWord: parameters.word(store.capacity),
      holdsExtent,
      hasRoom: store.index === undefined && holdsExtent,
    };
  });
}

/** How kernels access a store's buffer. Stores that combine values need atomic words. */
function accessOf({ combine }: Store): 'write' | 'atomic' {
  return combine === undefined ? 'write' : 'atomic';
}

/** A store as one launch executes it, on some of the parts (GPU buffers) of its buffer. */
export interface BoundStore {
  readonly store: LinkedStore;
  readonly slot: number;
  /**
   * Number of words of the bound parts (GPU buffers); undefined if all parts are bound. The launch skips places outside
   * these parts, which other launches write.
   */
  readonly window?: number | undefined;
}

/**
 * Binds stores for a window (range of indices). For a store at the launch index, only the part (GPU buffer) that the
 * window writes is bound; for other stores, all parts are bound.
 */
export function bindStoresAt(stores: readonly LinkedStore[], { from }: IndexRange, bindings: Bindings): BoundStore[] {
  return stores.map((store) => {
    if (store.index !== undefined) return { store, slot: bindings.bind(store.memory, accessOf(store)) };
    const { memory, first, count, offset } = placeInPart(store.memory, store.offset, 0, from);
    bindings.parameters.set(store.offsetWord, offset);
    return { store, slot: bindings.bind(memory, accessOf(store), first, count) };
  });
}

export function storesKey(stores: readonly BoundStore[]): string {
  return stores
    .map(({ store: { value, index, guard, combine, offsetWord, hasRoom }, slot, window }) =>
      [value, index, guard, combine, offsetWord, hasRoom, slot, window].join('.'),
    )
    .join();
}

/**
 * WGSL statements that store the results `r` of index `i`. If there are several results, `r` is a struct with fields
 * r0, r1, …
 */
export function emitStores(stores: readonly BoundStore[], results: readonly ScalarType[]): string {
  return emitStoresOf(stores, results, (at) => resultOf('r', at, results.length), 'i');
}

/**
 * As {@link emitStores}, but the caller gives the WGSL of each result and of the index. Consecutive stores with the
 * same condition share an `if`.
 */
export function emitStoresOf(
  stores: readonly BoundStore[],
  results: readonly ScalarType[],
  result: (at: number) => string,
  i: string,
): string {
  const writes: { readonly condition: string; readonly lines: string[] }[] = [];
  for (const { store, slot, window } of stores) {
    const at = store.index === undefined ? i : result(store.index);
    const word = `${at} + ${parameter(store.offsetWord)}`;
    const value = toWord(results[store.value]!, result(store.value));
    const conditions = [
      ...(store.guard === undefined ? [] : [result(store.guard)]),
      ...(store.hasRoom ? [] : [`(${at} < ${parameter(store.capacityWord)})`]),
      ...(window === undefined ? [] : [`(${word} < ${window}u)`]),
    ];
    const condition = conditions.join(' & ');
    const line = `${store.combine ?? 'store'}_${slot}(${word}, ${value});`;
    if (writes.at(-1)?.condition === condition) writes.at(-1)!.lines.push(line);
    else writes.push({ condition, lines: [line] });
  }
  return writes
    .map(({ condition, lines }) => (condition === '' ? lines.join(' ') : `if (${condition}) { ${lines.join(' ')} }`))
    .join('\n');
}

/** A store that a launch executes, with the parts (GPU buffers) of the store's buffer that are bound. */
export interface StoreGroup {
  readonly store: LinkedStore;
  readonly placement: Placement;
}

/** Distributes stores over launches, each of which binds at most `room` GPU buffers for its stores. */
export function groupStores(stores: readonly LinkedStore[], { from }: IndexRange, room: number): StoreGroup[][] {
  const groups: StoreGroup[][] = [];
  let bound = 0;
  for (const each of stores.flatMap((store) => placeStore(store, from, room))) {
    const group = groups.at(-1);
    const { count } = each.placement;
    const more = group?.some((other) => shareBinding(other, each)) ? 0 : count;
    if (group === undefined || bound + more > room) {
      groups.push([each]);
      bound = count;
    } else {
      group.push(each);
      bound += more;
    }
  }
  return groups;
}

function shareBinding(a: StoreGroup, b: StoreGroup): boolean {
  return samePlace(a.placement, b.placement) && accessOf(a.store) === accessOf(b.store);
}

function placeStore(store: LinkedStore, from: number, room: number): StoreGroup[] {
  const { memory, offset, index } = store;
  if (index === undefined) return [{ store, placement: placeInPart(memory, offset, 0, from) }];
  const parts = memory.parts.length;
  return Array.from({ length: Math.ceil(parts / room) }, (_, i) => {
    const first = i * room;
    const placement = {
      memory,
      first,
      count: Math.min(room, parts - first),
      offset: offset - first * 2 ** memory.shift,
    };
    return { store, placement };
  });
}

/** Binds the stores of one launch and writes their offsets to the parameters. */
export function bindGroup(group: readonly StoreGroup[], bindings: Bindings): BoundStore[] {
  return group.map(({ store, placement: { memory, first, count, offset } }) => {
    bindings.parameters.set(store.offsetWord, offset);
    const window = store.index !== undefined && count < memory.parts.length ? count * 2 ** memory.shift : undefined;
    return { store, slot: bindings.bind(memory, accessOf(store), first, count), window };
  });
}
