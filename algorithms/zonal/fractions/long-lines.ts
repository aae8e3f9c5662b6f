import { Let } from '../../../primitives/functors/control.ts';
import { u32 } from '../../../primitives/functors/functor.ts';
import { select } from '../../../primitives/functors/standard/choose.ts';
import { add64, type U64 } from '../../../primitives/functors/standard/wide.ts';
import { mul64 } from '../../../primitives/functors/standard/wide-products.ts';
import type { ArrayValue, Bool, U32 } from '../../../primitives/functors/value.ts';
import { quotientAt } from '../edge-quotients.ts';
import type { LineCourse, LineReader, LineSpan } from './line-reader.ts';

/**
 * Positions of the words of a stretch of a line in the table. Strips are rows of cells, or columns if the line is flat
 * (longer along rows than along columns). Coordinate t goes across strips, s along them.
 */
export const LINE_FIELDS = {
  zone: 0,
  flags: 1,
  /** The first strip that the stretch enters, and the number of them. */
  strip: 2,
  strips: 3,
  /** The rows of cells in which the stretch is: the first and the last. */
  top: 4,
  bottom: 5,
  /** Where the stretch begins and ends inside a strip: the cell along the strip. */
  startCell: 6,
  endCell: 7,
  /** There, the position in the row of cells; and the area before that point ({@link areaBefore}). */
  startRow: 8,
  endRow: 9,
  startArea: 10,
  endArea: 11,
  /** s at the beginnings of strips, in two words: {@link setCrossingsOfStrips}. */
  whole: 12,
  step: 14,
  quotient: 16,
  /** t at borders of cells along strips, in the lower words of {@link setCrossingsOfBorders}, from `border` on. */
  border: 23,
  borderWhole: 24,
  borderStep: 25,
  borderQuotient: 26,
} as const;
export const LINE_STRIDE = 33;

/** What the flags of a stretch say. */
export const LINE_FLAGS = {
  /** Strips are columns. */
  flat: 1,
  /** s decreases. */
  descending: 2,
  /** s does not change. */
  level: 4,
  /** The inside is where the column is smaller (of a horizontal line: the row). */
  negative: 8,
  /** The stretch begins, or ends, inside a strip. */
  starts: 16,
  ends: 32,
  /** The stretch ends on a border of cells along a strip. */
  endsOnBorder: 64,
} as const;

/** Stretches of any length: the host has computed where they cross borders of cells. */
export const LONG_LINES: LineReader = {
  spanOf(lines, line) {
    const field = fieldsOf(lines, line);
    return {
      ...{ zone: field(LINE_FIELDS.zone), isFlat: field(LINE_FIELDS.flags).and(LINE_FLAGS.flat).ne(0) },
      ...{ strip: field(LINE_FIELDS.strip), strips: field(LINE_FIELDS.strips) },
      ...{ top: field(LINE_FIELDS.top), bottom: field(LINE_FIELDS.bottom) },
    };
  },
  courseOf: longCourse,
};

function fieldsOf(lines: ArrayValue<'u32'>, line: U32): (offset: number) => U32 {
  const at = line.mul(LINE_STRIDE);
  return (offset) => lines.at(at.add(offset));
}

function longCourse(lines: ArrayValue<'u32'>, line: U32, { strip }: LineSpan): LineCourse {
  const at = line.mul(LINE_STRIDE);
  const field = fieldsOf(lines, line);
  const flags = Let(field(LINE_FIELDS.flags));
  const has = (flag: number): Bool => flags.and(flag).ne(0);
  const descends = has(LINE_FLAGS.descending);
  const endAt = (which: 0 | 1) => ({
    cell: field(LINE_FIELDS.startCell + which),
    row: field(LINE_FIELDS.startRow + which),
    area: field(LINE_FIELDS.startArea + which),
  });
  return {
    ...{ descends, isLevel: has(LINE_FLAGS.level), isNegative: has(LINE_FLAGS.negative) },
    ...{ starts: has(LINE_FLAGS.starts), ends: has(LINE_FLAGS.ends), endsOnBorder: has(LINE_FLAGS.endsOnBorder) },
    ...{ start: endAt(0), end: endAt(1) },
    crossing(k) {
      const pair = (offset: number): U64 => ({ lo: field(offset), hi: field(offset + 1) });
      const { quotient, remains } = quotientAt(lines, at.add(LINE_FIELDS.quotient), k);
      const steps = mul64({ a: pair(LINE_FIELDS.step), b: { lo: k, hi: u32(0) } });
      const whole = add64({ a: add64({ a: pair(LINE_FIELDS.whole), b: steps }), b: { lo: quotient, hi: u32(0) } });
      const inCell = Let(whole.lo.and(0x7fffffff));
      return {
        cell: Let(whole.hi.shl(1).or(whole.lo.shr(31))),
        fixed: inCell.add(1).shr(1),
        isBorder: inCell.or(remains).eq(0),
      };
    },
    borderCrossing(border, k) {
      const passed = border.sub(field(LINE_FIELDS.border));
      const m = select(passed, u32(0).sub(passed), descends);
      const t = field(LINE_FIELDS.borderWhole)
        .add(m.mul(field(LINE_FIELDS.borderStep)))
        .add(quotientAt(lines, at.add(LINE_FIELDS.borderQuotient), m).quotient)
        .sub(strip.add(k).shl(31));
      return t.add(1).shr(1);
    },
  };
}
