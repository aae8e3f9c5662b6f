import { createCache } from './cache.ts';

/** A list of numbers that is written anew again and again, so that telling structures apart makes no garbage. */
export class NumberList {
  words: Float64Array = new Float64Array(64);
  count = 0;

  clear(): void {
    this.count = 0;
  }

  push(word: number): void {
    if (this.count === this.words.length) this.#grow();
    this.words[this.count++] = word;
  }

  /** Any number: NaN and −0 are told from all others, too. */
  pushExactly(value: number): void {
    const isPlain = !Number.isNaN(value) && !Object.is(value, -0);
    this.push(isPlain ? 0 : Number.isNaN(value) ? 1 : 2);
    this.push(isPlain ? value : 0);
  }

  #grow(): void {
    const { words } = this;
    this.words = new Float64Array(2 * words.length);
    this.words.set(words);
  }
}

/** Values by lists of numbers, with one look-up: a hash finds the one list that may be the same. */
export interface Structures<V> {
  get(list: NumberList): V | undefined;
  set(list: NumberList, value: V): void;
  clear(): void;
}

interface Entry<V> {
  readonly words: Float64Array;
  readonly value: V;
}

/** What a list takes, however short it is, in numbers. */
const LIST_WORDS = 16;

/** Values for which the sum of `weigh` and of the lists' numbers is `most`; those used last are kept. */
export function createStructures<V>(most: number, weigh: (value: V) => number = () => 0): Structures<V> {
  const entries = createCache<number, Entry<V>>({
    most,
    weigh: ({ words, value }) => LIST_WORDS + words.length + weigh(value),
  });
  return {
    get(list) {
      const entry = entries.get(hashOf(list));
      return entry !== undefined && isSame(entry.words, list) ? entry.value : undefined;
    },
    set(list, value) {
      entries.set(hashOf(list), { words: list.words.slice(0, list.count), value });
    },
    clear: () => entries.clear(),
  };
}

/** Of 30 bits, which engines keep without a box. */
function hashOf({ words, count }: NumberList): number {
  let hash = count;
  for (let i = 0; i < count; i++) {
    hash = Math.imul(hash ^ words[i]!, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash >>> 2;
}

function isSame(known: Float64Array, { words, count }: NumberList): boolean {
  if (known.length !== count) return false;
  for (let i = 0; i < count; i++) if (known[i] !== words[i]) return false;
  return true;
}
