/**
 * Number of rows of cells in a band. Tables of edges are ordered by the bands in which edges begin, and edges that leave
 * their band are cut, so that a window reads the edges of its own bands only.
 */
export const BAND_ROWS = 64;

/** The ranges of a table that belong to bands. Those of band b are from `starts[b]` to `starts[b + 1]`. */
export class Bands {
  readonly #starts: Float64Array;
  readonly #height: number;

  constructor(rows: number, height: number = BAND_ROWS) {
    this.#starts = new Float64Array(Math.ceil(rows / height) + 2);
    this.#height = height;
  }

  /** Counts `count` entries of the band of a row. Call it for all entries before {@link next}. */
  count(row: number, count: number): void {
    this.#starts[Math.floor(row / this.#height) + 2]! += count;
  }

  /** Ends the counting. Returns the number of entries. */
  total(): number {
    const starts = this.#starts;
    for (let band = 1; band < starts.length; band++) starts[band]! += starts[band - 1]!;
    return starts.at(-1)!;
  }

  /** The place of the next entry of the band of a row. Call it once for each entry that was counted. */
  next(row: number): number {
    return this.#starts[Math.floor(row / this.#height) + 1]!++;
  }

  /** The entries of the bands that some rows meet, once all have their places: from the first to before the end. */
  of(firstRow: number, rows: number): readonly [from: number, end: number] {
    return [
      this.#starts[Math.floor(firstRow / this.#height)]!,
      this.#starts[Math.ceil((firstRow + rows) / this.#height)]!,
    ];
  }
}
