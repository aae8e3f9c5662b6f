import {
  type ArrayValue,
  array,
  type Bool,
  Break,
  bitsToI32,
  bool,
  type Column,
  type Context,
  copyIf,
  For,
  fn,
  type I32,
  If,
  i32,
  map,
  removeIf,
  select,
  sequence,
  type U32,
  u32,
  Var,
} from '../../primitives/index.ts';
import { BYTE, isBlank, isDigit, isRingBreak } from './bytes.ts';
import type { MarkedText } from './marks.ts';

/** Coordinate of a token that is not a vertex or cannot be read. No vertex has this coordinate. */
export const UNREAD: number = -(2 ** 31);

/**
 * Number of bytes in which a device searches for the end of a name, because one thread reads all of them. The host
 * reads names of this length or longer.
 */
const LONGEST_ID = 64;

/**
 * Whether a mark is treated as a vertex, that is, as a token that is not the name of its line. Marks that a device
 * cannot read are also treated as vertices, and `readVertex` finds them unreadable. Such marks are long names, names
 * that contain or directly precede `;` or `|`, comments, and a ring break that is the first mark of its line.
 */
const isVertex = fn('isVertex', { mark: u32, marks: array(u32), bytes: array(u32) }, bool, ({ mark, marks, bytes }) => {
  const at = marks.at(mark);
  const byte = bytes.at(at);
  const first = mark.eq(0).or(bytes.at(marks.at(mark.sub(1))).eq(BYTE.newline));
  const ends = byte.eq(BYTE.newline).or(isRingBreak(byte).and(first.not()));
  const found = Var(ends.not());
  If(first.and(ends.not()), () => found.set(isName(bytes, at).not()));
  return found;
});

/** Whether the token at a position is a name: short, without a comma, and followed by a blank or a newline. */
function isName(bytes: ArrayValue<'u32'>, at: U32): Bool {
  const name = Var(bool(false));
  If(bytes.at(at).ne(BYTE.hash), () => {
    For(at, at.add(LONGEST_ID), (next) => {
      const byte = bytes.at(next);
      name.set(isBlank(byte).or(byte.eq(BYTE.newline)));
      If(name.or(byte.eq(BYTE.comma)).or(isRingBreak(byte)).or(byte.eq(BYTE.return)), () => Break());
    });
  });
  return name;
}

/** Coordinates of the vertex at a position. Both are {@link UNREAD} if the device cannot read a vertex there. */
function readVertex(bytes: ArrayValue<'u32'>, at: U32): { readonly x: I32; readonly y: I32 } {
  const x = readWhole(bytes, at);
  const y = readWhole(bytes, x.end.add(1));
  const comma = bytes.at(x.end).eq(BYTE.comma);
  const read = x.read.and(comma).and(y.read).and(endsVertex(bytes, y.end));
  return { x: select(i32(UNREAD), x.value, read), y: select(i32(UNREAD), y.value, read) };
}

interface Whole {
  readonly value: I32;
  /** Position of the first byte after the number. */
  readonly end: U32;
  /** Whether the bytes are an integer with a magnitude below 2³¹. False for −0, which an integer cannot hold. */
  readonly read: Bool;
}

/** Reads an integer such as `-12` or `12`: up to ten digits, with a magnitude below 2³¹. */
function readWhole(bytes: ArrayValue<'u32'>, at: U32): Whole {
  const negative = bytes.at(at).eq(BYTE.minus);
  const start = at.add(u32(negative));
  const value = Var(u32(0));
  const end = Var(start);
  const fits = Var(bool(true));
  For(start, start.add(MAX_DIGITS), (next) => {
    const digit = bytes.at(next).sub(BYTE.zero);
    If(isDigit(digit).not(), () => Break());
    fits.set(fits.and(value.le(MAX_TENS)));
    value.set(value.mul(10).add(digit));
    end.set(next.add(1));
  });
  const magnitude = bitsToI32(value);
  const read = end
    .ne(start)
    .and(fits)
    .and(magnitude.ge(0))
    .and(negative.and(value.eq(0)).not());
  return { value: select(magnitude, magnitude.neg(), negative), end, read };
}

const MAX_DIGITS = 10;
/**
 * Largest value to which another digit is appended: 2³¹ / 10, rounded down. The result fits in u32, and `readWhole`
 * rejects results of 2³¹ or more.
 */
const MAX_TENS = 214748364;

function endsVertex(bytes: ArrayValue<'u32'>, at: U32): Bool {
  const byte = bytes.at(at);
  const newline = byte.eq(BYTE.newline);
  const both = byte.eq(BYTE.return).and(bytes.at(at.add(1)).eq(BYTE.newline));
  return isBlank(byte).or(isRingBreak(byte)).or(newline).or(both);
}

const coordinates = fn('coordinates', { at: u32, bytes: array(u32) }, { x: i32, y: i32 }, ({ at, bytes }) =>
  readVertex(bytes, at),
);

const vertexCount = fn('vertexCount', { mark: u32, other: u32 }, u32, ({ mark, other }) => mark.sub(other));

/** The vertices of a text, and its other marks: names, and ends of rings and lines. */
export interface ReadMarks {
  readonly vertices: { readonly x: Column<'i32'>; readonly y: Column<'i32'> };
  readonly others: {
    readonly at: Column<'u32'>;
    /** Number of vertices before the mark. */
    readonly vertices: Column<'u32'>;
  };
}

/**
 * Separates the vertices of a text from its other marks, and reads the coordinates of the vertices.
 *
 * - Work O(bytes of vertices and names), span O(log marks): a thread reads the bytes of its token one by one.
 */
export function readMarks(context: Context, { bytes, marks }: MarkedText): ReadMarks {
  return context.scope(() => {
    const mark = sequence(marks.length);
    const vertex = context.materialize(map(isVertex, { mark, marks, bytes }));
    const vertices = copyIf(context.materialize(map(coordinates, { at: marks, bytes })), vertex);
    const others = removeIf({ at: marks, mark }, vertex);
    const before = map(vertexCount, { mark: others.mark, other: sequence(others.mark.length) });
    return { vertices, others: { at: others.at, vertices: context.materialize(before) } };
  });
}
