import { createCache } from './cache.ts';

/**
 * A list of numbers that is written anew again and again, so that telling structures apart makes no garbage. Numbers are the
 * same as `Object.is` has it.
 */
export class NumberList {
  #numbers = new Float64Array(64);
  /** The same memory, two words a number. */
  #bits = new Uint32Array(this.#numbers.buffer);
  #count = 0;

  clear(): void {
    this.#count = 0;
  }

  push(number: number): void {
    if (this.#count === this.#numbers.length) this.#grow();
    this.#numbers[this.#count++] = number;
  }

  /** Of 30 bits, which engines keep without a box. */
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

  /** Whether a copy is one of this list as it is now. */
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

/** Values by lists of numbers, with one look-up: a hash finds the one list that may be the same. */
export interface Structures<V> {
  get(list: NumberList): V | undefined;
  set(list: NumberList, value: V): void;
  clear(): void;
}

interface Entry<V> {
  readonly list: Uint32Array;
  readonly value: V;
}

/** What a list takes, however short it is, in words. */
const LIST_WORDS = 32;

/**
 * Values for which the sum of `weigh` and of the lists' words, two a number, is `max` at most; those used last are kept. Of two
 * lists with one hash the later is.
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
