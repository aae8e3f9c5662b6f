import { type Cache, createCache } from '../host/cache.ts';

/** Makes a function that computes a value once for each object, and caches the value as long as the object lives. */
export function memoized<K extends object, V>(make: (object: K) => V): (object: K) => V {
  const known = new WeakMap<K, V>();
  return (object) => {
    const found = known.get(object);
    if (found !== undefined || known.has(object)) return found as V;
    const value = make(object);
    known.set(object, value);
    return value;
  };
}

/**
 * Makes a cache for variants of objects. A variant is made if no variant of the object is cached for its key. Of each
 * object, its first variant and at most `max` others are kept. Most objects have one variant only, for which no cache is
 * made.
 */
export function createVariants<K extends object, V extends object>(
  max: number,
): (object: K, key: string, make: () => V) => V {
  const firsts = new WeakMap<K, { readonly key: string; readonly variant: V }>();
  const othersOf = memoized((_: K): Cache<string, V> => createCache({ max }));
  return (object, key, make) => {
    const first = firsts.get(object);
    if (first?.key === key) return first.variant;
    const found = first && othersOf(object).get(key);
    if (found !== undefined) return found;
    const variant = make();
    if (first === undefined) firsts.set(object, { key, variant });
    else othersOf(object).set(key, variant);
    return variant;
  };
}
