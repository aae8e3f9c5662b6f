/** A map of bounded size. When it grows too large, it drops the values that were not used recently. */
export interface Cache<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  clear(): void;
  /** The number of values in the cache. */
  readonly size: number;
}

export interface CacheOptions<V> {
  /**
   * Approximate upper bound for the total weight of all values: the total can exceed `max` by the weight of one value.
   * After its last use, a value stays at least until values with a total weight of `max / 2` have been used or added.
   */
  readonly max: number;
  /** Weight of a value, which counts towards `max`; 1 by default. */
  readonly weigh?: (value: V) => number;
  /** Called with the values that the cache drops to stay within `max`. */
  readonly onForget?: (values: Iterable<V>) => void;
}

/**
 * Creates a cache that keeps its values in two generations. A value that is used moves to the young generation. When
 * the weight of the young generation exceeds half of `max`, the cache drops the old generation, and the young
 * generation becomes the old one. So a hit takes one or two lookups, and the cache needs no list in the order of last
 * use.
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

/** The value of a key; made and kept if there is none. */
export function cached<K, V>(cache: Pick<Map<K, V>, 'get'> & Pick<Cache<K, V>, 'set'>, key: K, make: () => V): V {
  let value = cache.get(key);
  if (value === undefined) {
    value = make();
    cache.set(key, value);
  }
  return value;
}
