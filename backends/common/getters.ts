/** An object whose properties are computed whenever they are read. */
export function withGetters<T extends object>(get: { readonly [K in keyof T]-?: () => T[K] }): T {
  const properties = Object.entries<() => unknown>(get).map(
    ([name, get]) => [name, { get, enumerable: true }] as const,
  );
  return Object.defineProperties({}, Object.fromEntries(properties)) as T;
}
