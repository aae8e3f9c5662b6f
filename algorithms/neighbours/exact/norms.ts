/** A measure of vectors by which a device, and a tree of boxes on the host, search for candidates. */
export interface Norm {
  /** The metric by which the device searches. */
  readonly metric: 'l1' | 'l2' | 'max' | 'inner';
  /** The norm of a difference in f64, or a lower bound of it. Absent for the negated inner product. */
  of?(sum: number, squares: number, max: number): number;
  /** The norm that belongs to a distance of the device. */
  ofDistance(distance: number): number;
}

const same = (distance: number): number => distance;

export const L1: Norm = { metric: 'l1', of: (sum) => sum, ofDistance: same };

export const L2: Norm = {
  metric: 'l2',
  of: (_, squares, max) => (squares > MIN_SQUARES && squares < MAX_SQUARES ? Math.sqrt(squares) : max),
  ofDistance: Math.sqrt,
};

export const MAX: Norm = { metric: 'max', of: (_sum, _squares, max) => max, ofDistance: same };

export const PRODUCT: Norm = { metric: 'inner', ofDistance: same };

/** Squares of differences between these bounds neither overflow nor lose digits in f64. */
export const MIN_SQUARES: number = 2 ** -900;
export const MAX_SQUARES: number = 2 ** 1000;
