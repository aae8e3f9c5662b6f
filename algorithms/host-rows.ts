export type Words = Uint32Array<ArrayBuffer>;

/** Rows of a few words each, in host memory that grows. */
export class HostRows {
  /** Index behind the last word that is used. Whoever writes words moves it. */
  end = 0;
  readonly #width: number;
  #words: Words = new Uint32Array(8192);

  constructor(width: number) {
    this.#width = width;
  }

  /** Memory with room for some more rows behind the end. */
  take(rows: number): Words {
    const needed = this.end + rows * this.#width;
    if (needed > this.#words.length) {
      const larger = new Uint32Array(2 * needed);
      larger.set(this.#words);
      this.#words = larger;
    }
    return this.#words;
  }

  /** The rows, column by column. */
  columns(): Words[] {
    const count = this.end / this.#width;
    return Array.from({ length: this.#width }, (_, field) => {
      const column = new Uint32Array(count);
      for (let row = 0, at = field; row < count; row++, at += this.#width) column[row] = this.#words[at]!;
      return column;
    });
  }
}
