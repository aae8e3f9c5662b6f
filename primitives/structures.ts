import { createCache } from './cache.ts';

/**
 * A list of numbers that is reused for one structure after another, so that comparing structures makes no garbage.
 * Numbers are compared as by `Object.is`.
 */
export class NumberList {
  #numbers = new Float64Array(64);
  /** The same memory as words, two a number. */
  #bits = new Uint32Array(this.#numbers.buffer);
  #count = 0;

  clear(): void {
    this.#count = 0;
  }

  push(number: number): void {
    if (this.#count === this.#numbers.length) this.#grow();
    this.#numbers[this.#count++] = number;
  }

  /** A hash of 30 bits, which JavaScript engines store without boxing. */
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

  /** Whether a copy equals the current list. */
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

/** A map whose keys are lists of numbers. One lookup by hash finds the only candidate. */
export interface Structures<V> {
  get(list: NumberList): V | undefined;
  set(list: NumberList, value: V): void;
  clear(): void;
}

interface Entry<V> {
  readonly list: Uint32Array;
  readonly value: V;
}

/** The additional weight of a list, in words. */
const LIST_WORDS = 32;

/**
 * A bounded map: the sum of `weigh` over all values plus the words of the lists, two a number, is at most `max`.
 * Recently used values are kept. Of two lists with the same hash, the later one replaces the earlier.
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
