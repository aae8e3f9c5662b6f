import type { DeviceBuffer, Store } from '../../primitives/contract/backend.ts';
import { literal, operate } from '../../primitives/functors/recorder.ts';
import { variantOf, wrapModule } from '../../primitives/functors/wrap-module.ts';
import { entryOf, type Module, type Operand } from '../../primitives/ir/ir.ts';
import { combinations } from '../common/atomic-combinations.ts';
import type { HostWords } from './host-words.ts';

/**
 * Executes stores to buffers that are on the host. On the device, a window (range of indices) writes the values to
 * temporary columns. Unless the indices to store at are contiguous, the window also writes these indices. The host
 * downloads the columns and writes each value to its place.
 */
export interface HostStores {
  /** Number of temporary columns, which is the number of words that a window (range of indices) writes per index. */
  readonly columns: number;
  /**
   * Returns a module with additional results: the indices to store at. `start` is the uniform with the window's first
   * index.
   */
  module(module: Module, start: string): Module;
  /**
   * The device stores that write the temporary columns of a window (range of indices) with `rows` rows into `buffer`.
   */
  stores(buffer: DeviceBuffer, rows: number): Store[];
  /** Writes the downloaded columns (`words`) of a window (range of indices) to their places on the host. */
  apply(words: Uint32Array, from: number, rows: number): void;
}

/** A store and the host memory that it writes to. */
export interface HostStore {
  readonly store: Store;
  readonly target: HostWords;
}

/** Stands for the index of a value that is not stored, because its guard is false. */
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

/**
 * Whether a store writes the value of every index to the element with this index and does not combine old and new
 * values.
 */
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

function scatter({ offset, capacity, combine }: Store, target: HostWords, at: Uint32Array, values: Uint32Array): void {
  const combined = combine && combinations[combine];
  for (let i = 0; i < at.length; i++) {
    const place = at[i]!;
    if (place >= capacity) continue;
    const value = combined === undefined ? values[i]! : combined(target.get(offset + place), values[i]!);
    target.set(offset + place, value);
  }
}
