import { createCache } from './cache.ts';

/**
 * A list of numbers, used as the key of a lookup. One list is cleared and filled again for every lookup, so that
 * lookups create no garbage. Numbers are compared as by `Object.is`.
 */
export class NumberList {
  #numbers = new Float64Array(64);
  /** The memory of the numbers as u32 words, two for each number. */
  #bits = new Uint32Array(this.#numbers.buffer);
  #count = 0;

  clear(): void {
    this.#count = 0;
  }

  push(number: number): void {
    if (this.#count === this.#numbers.length) this.#grow();
    this.#numbers[this.#count++] = number;
  }

  /** A hash of 30 bits. JavaScript engines store integers of this size without boxing. */
  hash(): number {
    const bits = this.#bits;
    const end = 2 * this.#count;
    let hash = end;
    for (let i = 0; i < end; i++) {
      hash = Math.imul(hash ^ bits[i]!, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash >>> 2;
  }

  copy(): Uint32Array {
    return this.#bits.slice(0, 2 * this.#count);
  }

  /** Whether a copy, made by `copy`, equals the current list. */
  matches(copy: Uint32Array): boolean {
    const bits = this.#bits;
    if (copy.length !== 2 * this.#count) return false;
    for (let i = 0; i < copy.length; i++) if (copy[i] !== bits[i]) return false;
    return true;
  }

  #grow(): void {
    const numbers = new Float64Array(2 * this.#numbers.length);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
    this.#bits = new Uint32Array(numbers.buffer);
  }
}

/**
 * A map whose keys are lists of numbers. For each hash there is at most one list, so a lookup compares at most one
 * list.
 */
export interface Structures<V> {
  get(list: NumberList): V | undefined;
  set(list: NumberList, value: V): void;
  clear(): void;
}

interface Entry<V> {
  readonly list: Uint32Array;
  readonly value: V;
}

/** Weight of the map entry of one list, in 32-bit words. It is added to the weight of the list and its value. */
const LIST_WORDS = 32;

/**
 * Makes a bounded map. The weight of an entry is `LIST_WORDS`, plus two for each number of the list, plus `weigh` of
 * the value. The total weight is at most `max`; recently used values are kept. If two lists have the same hash, the
 * list that is set later replaces the other list.
 */
export function createStructures<V>(max: number, weigh: (value: V) => number = () => 0): Structures<V> {
  const entries = createCache<number, Entry<V>>({
    max,
    weigh: ({ list, value }) => LIST_WORDS + list.length + weigh(value),
  });
  return {
    get(list) {
      const entry = entries.get(list.hash());
      return entry !== undefined && list.matches(entry.list) ? entry.value : undefined;
    },
    set: (list, value) => entries.set(list.hash(), { list: list.copy(), value }),
    clear: () => entries.clear(),
  };
}
