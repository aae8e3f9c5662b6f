/** Values that are expensive to make. A few are kept for the next user, and closed when others take their place. */
export class Kept<T> {
  readonly #most: number;
  readonly #close: (value: T) => Promise<void> | void;
  /** The kept values, from the one whose last use is longest ago. */
  readonly #entries = new Map<string, { readonly value: Promise<T>; users: number }>();

  constructor(most: number, close: (value: T) => Promise<void> | void = () => undefined) {
    this.#most = most;
    this.#close = close;
  }

  /** Calls `body` with the value of a key, which is made if it is not kept. */
  async use<R>(key: string, make: () => Promise<T>, body: (value: T) => Promise<R>): Promise<R> {
    const entry = this.#entries.get(key) ?? { value: make(), users: 0 };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.users++;
    try {
      return await body(await entry.value);
    } finally {
      entry.users--;
      await entry.value.catch(() => this.#forget(key, entry));
      await this.#trim(this.#most);
    }
  }

  /** Closes all values that are not in use. */
  close(): Promise<void> {
    return this.#trim(0);
  }

  #forget(key: string, entry: object): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }

  async #trim(most: number): Promise<void> {
    for (const [key, { value, users }] of this.#entries) {
      if (this.#entries.size <= most) return;
      if (users > 0) continue;
      this.#entries.delete(key);
      await this.#close(await value);
    }
  }
}
