import { type Cache, createCache } from '../cache.ts';

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
 * Makes a cache for variants of objects. A variant is made if no variant of the object is cached for its key. At most
 * `max` variants of each object are kept.
 */
export function createVariants<K extends object, V extends object>(
  max: number,
): (object: K, key: string, make: () => V) => V {
  const variantsOf = memoized((_: K): Cache<string, V> => createCache({ max }));
  return (object, key, make) => {
    const variants = variantsOf(object);
    const found = variants.get(key);
    if (found !== undefined) return found;
    const variant = make();
    variants.set(key, variant);
    return variant;
  };
}
