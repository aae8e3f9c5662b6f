/** A row of labels; 0 is background. */
export type Labels = Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array;

/** A label image that is read row by row. */
export interface LabelRows {
  readonly width: number;
  readonly height: number;
  /** Visits all rows in order, once. A row is valid until the next one. */
  each(visit: (row: Labels) => void): void;
}

/** The rows of labels that are completely in memory. */
export function rowsOf(labels: Labels, width: number, height: number): LabelRows {
  return {
    width,
    height,
    each(visit) {
      for (let row = 0; row < height; row++) visit(labels.subarray(row * width, (row + 1) * width));
    },
  };
}
