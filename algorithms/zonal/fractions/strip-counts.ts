import type { Window } from '../../geometry/raster.ts';

/** For each row, the number of strips of the stretches that begin above it, and of those that end above it. */
export interface StripCounts {
  readonly begun: Float64Array;
  readonly ended: Float64Array;
}

/** The most strips of stretches that may reach into some rows. */
export function stripsIn({ begun, ended }: StripCounts, { row, rows }: Pick<Window, 'row' | 'rows'>): number {
  return begun[row + rows]! - ended[row]!;
}

/** Counts strips by the rows in which stretches begin and end. */
export class StripCounter {
  readonly #begun: Float64Array;
  readonly #ended: Float64Array;

  constructor(rows: number) {
    this.#begun = new Float64Array(rows + 1);
    this.#ended = new Float64Array(rows + 1);
  }

  count(top: number, bottom: number, strips: number): void {
    this.#begun[Math.max(0, top)]! += strips;
    this.#ended[Math.min(this.#ended.length - 2, bottom)]! += strips;
  }

  finished(): StripCounts {
    return { begun: sumsBefore(this.#begun), ended: sumsBefore(this.#ended) };
  }
}

/** For each row, the sum over all rows before it. */
function sumsBefore(changes: Float64Array): Float64Array {
  const before = new Float64Array(changes.length);
  for (let row = 1; row < before.length; row++) before[row] = before[row - 1]! + changes[row - 1]!;
  return before;
}
