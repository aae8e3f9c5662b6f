import type { Cache } from '../../primitives/host/cache.ts';

/** The value of a key; made and kept if there is none. */
export function cached<K, V>(cache: Pick<Map<K, V>, 'get'> & Pick<Cache<K, V>, 'set'>, key: K, make: () => V): V {
  let value = cache.get(key);
  if (value === undefined) {
    value = make();
    cache.set(key, value);
  }
  return value;
}
