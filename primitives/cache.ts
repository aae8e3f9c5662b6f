/** A bounded map. If it grows too large, it drops values that were not used lately. */
export interface Cache<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  clear(): void;
  /** The number of values. */
  readonly size: number;
}

export interface CacheOptions<V> {
  /**
   * Upper bound of the sum of the weights of all values. A value is kept at least until half of this weight has been
   * added since its last use.
   */
  readonly max: number;
  /** The weight of a value; 1 by default. */
  readonly weigh?: (value: V) => number;
  /** Called with the values that are dropped to keep the bound. */
  readonly onForget?: (values: Iterable<V>) => void;
}

/**
 * Two generations: values that are used move to the young one. When the young one exceeds half of `max`, the old one is
 * dropped and the young one becomes the old one. A hit costs one or two lookups, and no list by last use is needed.
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
