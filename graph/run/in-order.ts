/** Lets tasks proceed in the order of their indices 0, 1, 2 …, no matter in which order the tasks become ready. */
export class InOrder {
  #next = 0;
  #ended = false;
  readonly #passed: Set<number> = new Set();
  readonly #waiting: Map<number, () => void> = new Map();

  /** Resolves when `pass` was called for all lower indices, or when `end` is called. */
  async come(index: number): Promise<void> {
    if (this.#ended || index <= this.#next) return;
    await new Promise<void>((resolve) => this.#waiting.set(index, resolve));
  }

  /**
   * Must be called when the task `index` has proceeded, or will never proceed. The next task may then proceed.
   */
  pass(index: number): void {
    this.#passed.add(index);
    while (this.#passed.delete(this.#next)) this.#next++;
    this.#wake(this.#next);
  }

  /** Lets all waiting tasks proceed at once. */
  end(): void {
    this.#ended = true;
    for (const index of [...this.#waiting.keys()]) this.#wake(index);
  }

  #wake(index: number): void {
    this.#waiting.get(index)?.();
    this.#waiting.delete(index);
  }
}
