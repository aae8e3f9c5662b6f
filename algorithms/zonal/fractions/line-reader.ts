import type { ArrayValue, Bool, U32 } from '../../../primitives/functors/value.ts';

/**
 * Where a stretch of a line is. Strips are rows of cells, or columns if the line is flat (longer along rows than along
 * columns). Coordinate t goes across strips, s along them.
 */
export interface LineSpan {
  readonly zone: U32;
  /** Strips are columns. */
  readonly isFlat: Bool;
  /** The first strip that the stretch enters, and the number of them. */
  readonly strip: U32;
  readonly strips: U32;
  /** The rows of cells in which the stretch is: the first and the last. */
  readonly top: U32;
  readonly bottom: U32;
}

/** How a stretch of a line goes. */
export interface LineCourse {
  /** s decreases, or does not change. */
  readonly descends: Bool;
  readonly isLevel: Bool;
  /** The inside is where the column is smaller (of a horizontal line: the row). */
  readonly isNegative: Bool;
  /** Whether the stretch begins, or ends, inside a strip. */
  readonly starts: Bool;
  readonly ends: Bool;
  /** Whether it ends on a border of cells along a strip. */
  readonly endsOnBorder: Bool;
  /**
   * Where it begins and ends inside a strip: the cell along the strip, the position in the row of cells, and the area before
   * that point ({@link areaBefore}).
   */
  readonly start: LineEnd;
  readonly end: LineEnd;
  /** The cell in which the line is at the beginning of strip number k of the stretch, and where in it, rounded to the nearest. */
  crossing(k: U32): LineCrossing;
  /** Where in strip number k the line crosses the border between two cells, rounded to the nearest. */
  borderCrossing(border: U32, k: U32): U32;
}

interface LineEnd {
  readonly cell: U32;
  readonly row: U32;
  readonly area: U32;
}

interface LineCrossing {
  readonly cell: U32;
  readonly fixed: U32;
  /** Whether it is on a border of cells, exactly. */
  readonly isBorder: Bool;
}

/** How functors read a stretch of a table. */
export interface LineReader {
  spanOf(lines: ArrayValue<'u32'>, line: U32): LineSpan;
  courseOf(lines: ArrayValue<'u32'>, line: U32, span: LineSpan): LineCourse;
}
