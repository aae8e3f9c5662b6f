export type Words = Uint32Array<ArrayBuffer>;

/** Rows of a few words each, in host memory that grows, column by column. */
export class HostRows {
  /** Number of rows. Whoever writes rows raises it. */
  count = 0;
  /** Number of words from a column to the next. */
  stride = 8192;
  readonly #width: number;
  #words: Words;

  constructor(width: number) {
    this.#width = width;
    this.#words = new Uint32Array(width * this.stride);
  }

  /** Memory with room for some more rows. Word `f` of row `r` is at `r + f · stride`. */
  take(rows: number): Words {
    if (this.count + rows > this.stride) {
      const stride = 2 * (this.count + rows);
      const larger = new Uint32Array(this.#width * stride);
      for (const [field, column] of this.columns().entries()) larger.set(column, field * stride);
      this.#words = larger;
      this.stride = stride;
    }
    return this.#words;
  }

  /** Copies of the columns. */
  columns(): Words[] {
    return Array.from({ length: this.#width }, (_, field) =>
      this.#words.slice(field * this.stride, field * this.stride + this.count),
    );
  }
}
