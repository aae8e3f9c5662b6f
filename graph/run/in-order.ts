/** Lets the holders of indices 0, 1, 2 … proceed in this order, no matter which is ready first. */
export class InOrder {
  #next = 0;
  #ended = false;
  readonly #passed: Set<number> = new Set();
  readonly #waiting: Map<number, () => void> = new Map();

  /** Resolves when all lower indices have passed, or when `end` is called. */
  async come(index: number): Promise<void> {
    if (this.#ended || index <= this.#next) return;
    await new Promise<void>((resolve) => this.#waiting.set(index, resolve));
  }

  /** Marks `index` as done: its holder has proceeded, or never will. */
  pass(index: number): void {
    this.#passed.add(index);
    while (this.#passed.delete(this.#next)) this.#next++;
    this.#wake(this.#next);
  }

  /** Releases everyone who waits. */
  end(): void {
    this.#ended = true;
    for (const index of [...this.#waiting.keys()]) this.#wake(index);
  }

  #wake(index: number): void {
    this.#waiting.get(index)?.();
    this.#waiting.delete(index);
  }
}
