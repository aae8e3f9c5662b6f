/** Values by key, of which those that were not asked for lately are forgotten when there are too many. */
export interface Cache<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  clear(): void;
  /** How many values there are. */
  readonly size: number;
}

export interface CacheOptions<V> {
  /** Sum of the weights of all values, at most. What was used since half of it was added is still there. */
  readonly max: number;
  /** 1 where it is left out. */
  readonly weigh?: (value: V) => number;
  /** Is told what is forgotten to keep within the bound. */
  readonly onForget?: (values: Iterable<V>) => void;
}

/**
 * Two generations: values that are used move to the young one, and when that holds half of what there may be, the old one is
 * forgotten and the young one grows old. A hit costs one lookup, unlike in a list by last use.
 */
export function createCache<K, V>({ max, weigh = () => 1, onForget }: CacheOptions<V>): Cache<K, V> {
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  let weight = 0;

  const set = (key: K, value: V): void => {
    weight += weigh(value) - (young.has(key) ? weigh(young.get(key)!) : 0);
    young.set(key, value);
    old.delete(key);
    if (weight <= max / 2) return;
    const forgotten = old;
    old = young;
    young = new Map();
    weight = 0;
    if (forgotten.size > 0) onForget?.(forgotten.values());
  };

  return {
    get(key) {
      const found = young.get(key);
      if (found !== undefined) return found;
      const known = old.get(key);
      if (known !== undefined) set(key, known);
      return known;
    },
    set,
    clear() {
      young = new Map();
      old = new Map();
      weight = 0;
    },
    get size() {
      return young.size + old.size;
    },
  };
}
