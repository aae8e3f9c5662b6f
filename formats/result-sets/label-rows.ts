/** The labels of one row of pixels; 0 is background. In f64 they are whole numbers below 2⁵³. */
export type Labels = Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | Float64Array;

/** A label image that is read row by row. */
export interface LabelRows {
  readonly width: number;
  readonly height: number;
  /** Calls `visit` once for every row, from top to bottom. The memory of a row may be reused for the next row. */
  each(visit: (row: Labels) => void): void;
}

/** Visits the rows of labels that are already in memory. */
export function rowsOf(labels: Labels, width: number, height: number): LabelRows {
  return {
    width,
    height,
    each(visit) {
      for (let row = 0; row < height; row++) visit(labels.subarray(row * width, (row + 1) * width));
    },
  };
}
