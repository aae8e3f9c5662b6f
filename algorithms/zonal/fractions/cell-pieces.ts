import { Let } from '../../../primitives/functors/control.ts';
import { type ArrayParameter, array, type Functor, fn, u32, uniform } from '../../../primitives/functors/functor.ts';
import { bitsToI32 } from '../../../primitives/functors/standard/bits.ts';
import { select } from '../../../primitives/functors/standard/choose.ts';
import { add64 } from '../../../primitives/functors/standard/wide.ts';
import { mulU32 } from '../../../primitives/functors/standard/wide-products.ts';
import type { Bool, U32 } from '../../../primitives/functors/value.ts';
import { ABSENT, ZONE_FIELDS, ZONE_STRIDE } from '../window-plan.ts';
import { ONE } from './line-numbers.ts';
import type { LineReader } from './line-reader.ts';
import { LONG_LINES } from './long-lines.ts';
import { SHORT_LINES } from './short-lines.ts';

type Word = typeof u32;
type UniformWord = ReturnType<typeof uniform<'u32'>>;
type Words = ArrayParameter<'u32'>;

/** The functors of a table of stretches. */
export interface PieceFunctors {
  /** The number of strips of a stretch that may reach into a window. */
  readonly stripsInWindow: Functor<StripParameters, Word>;
  /**
   * The pieces of a stretch in one strip. What a whole line has in a cell is computed from where the line crosses the borders
   * of the cell, and less is its difference at points of the line. So it does not matter into how many stretches a line is
   * cut, nor in which direction it goes: pieces of zones that share an edge cancel.
   */
  readonly piecesOfStrip: Functor<PieceParameters, Pieces>;
}

function functorsOf(name: string, reader: LineReader): PieceFunctors {
  return { stripsInWindow: countStrips(`stripsOf${name}`, reader), piecesOfStrip: cutStrip(`piecesOf${name}`, reader) };
}

type StripParameters = {
  readonly line: Word;
  readonly lines: Words;
  readonly local: Words;
  readonly firstRow: UniformWord;
  readonly endRow: UniformWord;
  readonly endColumn: UniformWord;
};

function countStrips(name: string, reader: LineReader): Functor<StripParameters, Word> {
  return fn(
    name,
    {
      line: u32,
      lines: array(u32),
      local: array(u32),
      firstRow: uniform(u32),
      endRow: uniform(u32),
      endColumn: uniform(u32),
    },
    u32,
    ({ line, lines, local, firstRow, endRow, endColumn }) => {
      const { zone, isFlat, strip, strips, top, bottom } = reader.spanOf(lines, line);
      const isMet = bitsToI32(top)
        .lt(bitsToI32(endRow))
        .and(bitsToI32(bottom).ge(bitsToI32(firstRow)))
        .and(local.at(zone).ne(ABSENT));
      const first = select(strip.max(firstRow), strip, isFlat);
      const end = strip.add(strips).min(select(endRow, endColumn, isFlat));
      return select(u32(0), end.sub(first), isMet.and(end.gt(first)));
    },
  );
}

/** A stretch in a strip: at most two pieces, one for each cell. */
type Pieces = {
  /** The bit of the cell in the bitmaps of the window; ABSENT if there is no piece. */
  readonly at1: Word;
  readonly at2: Word;
  /**
   * The area between the piece and the right side of its cell, and the height of the piece, both in units of 2⁻³⁰ of a
   * cell. Negative where the inside is to the left.
   */
  readonly area1: Word;
  readonly area2: Word;
  readonly height1: Word;
  readonly height2: Word;
  /** Whether the piece is inside its cell: 1 or 0. A piece on a border counts for the cell to its right. */
  readonly inside1: Word;
  readonly inside2: Word;
};

const PIECES: Pieces = {
  ...{ at1: u32, at2: u32, area1: u32, area2: u32 },
  ...{ height1: u32, height2: u32, inside1: u32, inside2: u32 },
};

type PieceParameters = {
  readonly line: Word;
  readonly rank: Word;
  readonly lines: Words;
  readonly local: Words;
  readonly zones: Words;
  readonly firstRow: UniformWord;
  readonly rows: UniformWord;
  readonly firstColumn: UniformWord;
  readonly columns: UniformWord;
  readonly tile: UniformWord;
};

const PIECE_PARAMETERS: PieceParameters = {
  ...{ line: u32, rank: u32, lines: array(u32), local: array(u32), zones: array(u32) },
  ...{ firstRow: uniform(u32), rows: uniform(u32), firstColumn: uniform(u32), columns: uniform(u32) },
  tile: uniform(u32),
};

/** Those of stretches of any length, and of short edges. */
export const LONG_PIECES: PieceFunctors = functorsOf('Line', LONG_LINES);
export const SHORT_PIECES: PieceFunctors = functorsOf('Edge', SHORT_LINES);

function cutStrip(name: string, reader: LineReader): Functor<PieceParameters, Pieces> {
  return fn(name, PIECE_PARAMETERS, PIECES, (given) => {
    const { line, rank, lines, local, zones, firstRow, rows, firstColumn, columns, tile } = given;
    const span = reader.spanOf(lines, line);
    const own = reader.courseOf(lines, line, span);
    const { isFlat, strip: from } = span;
    const { descends, isLevel, isNegative } = own;
    const strip = Let(select(from.max(firstRow), from, isFlat).add(rank));
    const k = Let(strip.sub(from));

    // Where the line enters and leaves the strip.
    const enters = own.crossing(k);
    const leaves = own.crossing(k.add(1));
    const startsUpper = descends.and(enters.isBorder);
    const endsLower = descends.or(isLevel).not().and(leaves.isBorder);
    const cell1 = Let(enters.cell.sub(u32(startsUpper)));
    const cell2 = Let(select(leaves.cell.sub(u32(endsLower)), cell1, isLevel));
    const start = select(enters.fixed, u32(ONE), startsUpper);
    const end = select(select(leaves.fixed, u32(ONE), endsLower), start, isLevel);
    const isTwo = cell1.ne(cell2);

    // Where it crosses the border between the two cells.
    const border = select(cell1.add(1), cell1, descends);
    const middle = Let(own.borderCrossing(border, k));
    const side1 = select(u32(ONE), u32(0), descends);
    const side2 = select(u32(0), u32(ONE), descends);

    // What of it belongs to the stretch.
    const starts = own.starts.and(k.eq(0));
    const ends = own.ends.and(k.add(1).eq(span.strips));
    const startsLate = starts.and(own.start.cell.ne(cell1));
    const endsEarly = ends.and(own.end.cell.eq(cell1));
    const endsBetween = own.endsOnBorder.and(ends).and(isLevel.not());
    const isThere1 = startsLate.not();
    const isThere2 = isTwo.and(endsEarly.not()).and(endsBetween.not());
    const piece1 = pieceOf(isFlat, {
      ...{ t0: u32(0), s0: start },
      ...{ t1: select(u32(ONE), middle, isTwo), s1: select(end, side1, isTwo) },
      starts,
      ends: ends.and(isTwo.not().or(endsEarly)),
    });
    const piece2 = pieceOf(isFlat, {
      ...{ t0: middle, s0: side2, t1: u32(ONE), s1: end },
      starts: startsLate,
      ends,
    });

    // Where the pieces count.
    const zone = local.at(span.zone).mul(ZONE_STRIDE);
    const ofZone = (offset: number): U32 => zones.at(zone.add(offset));
    const width = ofZone(ZONE_FIELDS.tileColumns).mul(tile);
    const left = Let(ofZone(ZONE_FIELDS.firstTileColumn).mul(tile));
    const top = ofZone(ZONE_FIELDS.firstTileRow).mul(tile);
    const wordsOfZone = ofZone(ZONE_FIELDS.tiles).mul(tile).mul(tile.shr(5));
    const isOnBorder = isLevel.and(enters.isBorder);
    const place = (cell: U32, { area, height }: Piece, isThere: Bool) => {
      const row = select(strip, cell, isFlat).sub(firstRow);
      const column = select(cell, strip, isFlat).sub(firstColumn);
      const isBeside = bitsToI32(column).lt(bitsToI32(left));
      const across = select(column.sub(left), u32(0), isBeside);
      const down = row.sub(top).mul(width.shr(5));
      // Parts of a zone beside the window may lie above or below its bitmap.
      const isBetween = row.lt(rows).and(row.ge(top)).and(down.lt(wordsOfZone));
      const isKept = isThere.and(isBetween).and(isBeside.or(column.lt(columns.min(left.add(width)))));
      const word = ofZone(ZONE_FIELDS.word).add(down).add(across.shr(5));
      const turn = (value: U32): U32 => select(value, u32(0).sub(value), isNegative);
      return {
        at: select(u32(ABSENT), word.shl(5).add(across.and(31)), isKept),
        // Beside the bitmap, only heights matter: all cells of the row are to the right.
        area: turn(select(area, height, isBeside)),
        height: turn(height),
        inside: u32(isBeside.or(isOnBorder).not()),
      };
    };
    const [one, two] = [place(cell1, piece1, isThere1), place(cell2, piece2, isThere2)];
    return {
      ...{ at1: one.at, area1: one.area, height1: one.height, inside1: one.inside },
      ...{ at2: two.at, area2: two.area, height2: two.height, inside2: two.inside },
    };

    /** The area beside a piece, and its height, from where its line enters the cell and leaves it. */
    function pieceOf(flat: Bool, { t0, s0, t1, s1, starts: isCutBefore, ends: isCutAfter }: Course): Piece {
      const difference = (a: U32, b: U32): U32 => select(b.sub(a), a.sub(b), descends);
      const whole = select(t1.sub(t0), difference(s0, s1), flat);
      // Twice the mean distance from the right side of the cell.
      const distance = u32(2 ** 31).sub(select(s0.add(s1), t0.add(t1), flat));
      const { lo, hi } = add64({ a: mulU32({ a: whole, b: distance }), b: { lo: u32(ONE), hi: u32(0) } });
      const area = hi.shl(1).or(lo.shr(31));
      const before = select(u32(0), own.start.area, isCutBefore);
      const upTo = select(area, own.end.area, isCutAfter);
      const first = select(select(t0, s0, flat), own.start.row, isCutBefore);
      const last = select(select(t1, s1, flat), own.end.row, isCutAfter);
      return { area: upTo.sub(before), height: select(last.sub(first), difference(first, last), flat) };
    }
  });
}

/** Where a line enters a cell and leaves it, and whether its stretch starts or ends in between. */
interface Course {
  readonly t0: U32;
  readonly s0: U32;
  readonly t1: U32;
  readonly s1: U32;
  readonly starts: Bool;
  readonly ends: Bool;
}

interface Piece {
  readonly area: U32;
  readonly height: U32;
}
