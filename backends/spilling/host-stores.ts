import type { AtomicCombination, DeviceBuffer, Store } from '../../primitives/backend.ts';
import { entryOf, type Module, type Operand } from '../../primitives/functors/ir.ts';
import { literal, operate } from '../../primitives/functors/recorder.ts';
import type { HostWords } from './host-words.ts';
import { variantOf, wrapModule } from './wrap-module.ts';

/**
 * Stores whose buffers lie on the host: a window writes columns of its own, the values and, where these do not simply
 * follow each other, their places, and the host puts them where they belong.
 */
export interface HostStores {
  /** Words that a window writes for each of its indices. */
  readonly columns: number;
  /** The storing module with the places among its results. */
  module(module: Module, start: string): Module;
  /** The stores of a window of so many rows into a buffer of its own. */
  stores(buffer: DeviceBuffer, rows: number): Store[];
  /** Puts what a window wrote where it belongs. */
  apply(words: Uint32Array, from: number, rows: number): void;
}

/** A store with the host words that it goes to. */
export interface HostStore {
  readonly store: Store;
  readonly target: HostWords;
}

/** What no place is. */
const NOWHERE = 2 ** 32 - 1;

export function createHostStores(hostStores: readonly HostStore[], results: number): HostStores {
  const placeKeys = new Map<string, Store>();
  for (const { store } of hostStores) if (!isPlain(store)) placeKeys.set(placeKey(store), store);
  const places = [...placeKeys.values()];
  const columns = places.length + hostStores.length;
  return {
    columns,
    module(module, start) {
      if (places.length === 0) return module;
      return variantOf(module, `places ${[...placeKeys.keys()].join()}`, () => withPlaces(module, places, start));
    },
    stores(buffer, rows) {
      const values = [...places.map((_, place) => results + place), ...hostStores.map(({ store }) => store.value)];
      return values.map((value, column) => ({ buffer, offset: column * rows, capacity: rows, value }));
    },
    apply(words, from, rows) {
      const column = (number: number): Uint32Array => words.subarray(number * rows, (number + 1) * rows);
      for (const [i, { store, target }] of hostStores.entries()) {
        const values = column(places.length + i);
        if (isPlain(store)) {
          const room = Math.max(0, Math.min(rows, store.capacity - from));
          target.write(store.offset + from, values.subarray(0, room));
        } else {
          const at = [...placeKeys.keys()].indexOf(placeKey(store));
          scatter(store, target, column(at), values);
        }
      }
    },
  };
}

/** Whether every index stores a word at its own place. */
function isPlain({ index, guard, combine }: Store): boolean {
  return index === undefined && guard === undefined && combine === undefined;
}

function placeKey({ index, guard }: Store): string {
  return `${index} ${guard}`;
}

function withPlaces(module: Module, places: readonly Store[], start: string): Module {
  const { parameters, results } = entryOf(module);
  return wrapModule(module, {
    name: 'places',
    parameters: parameters.map(({ type }) => type),
    results: [...results, ...places.map(() => 'u32' as const)],
    body: (locals, entry) => {
      const values = entry(locals);
      const launchIndex = operate('add', [locals[0]!, { kind: 'uniform', type: 'u32', name: start }]);
      const placeOf = ({ index, guard }: Store): Operand => {
        const place = index === undefined ? launchIndex : values[index]!;
        return guard === undefined ? place : operate('select', [literal('u32', NOWHERE), place, values[guard]!]);
      };
      return [...values, ...places.map(placeOf)];
    },
  });
}

/** How a value meets the word that stands there; typed arrays take the result modulo 2³². */
export const combinations: Readonly<Record<AtomicCombination, (old: number, value: number) => number>> = {
  add: (old, value) => old + value,
  and: (old, value) => old & value,
  or: (old, value) => old | value,
  xor: (old, value) => old ^ value,
  min: Math.min,
  max: Math.max,
};

function scatter({ offset, capacity, combine }: Store, target: HostWords, at: Uint32Array, values: Uint32Array): void {
  const combined = combine && combinations[combine];
  for (let i = 0; i < at.length; i++) {
    const place = at[i]!;
    if (place >= capacity) continue;
    const value = combined === undefined ? values[i]! : combined(target.get(offset + place), values[i]!);
    target.set(offset + place, value);
  }
}
