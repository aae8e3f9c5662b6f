import { cellColumn, type Memory, type Source } from '../../primitives/columns/column.ts';
import {
  bool,
  Column,
  type Context,
  copyIf,
  fn,
  map,
  plus,
  popcount,
  sequence,
  slice,
  type U32,
  u32,
} from '../../primitives/index.ts';
import { scanResults, writeWords } from '../../primitives/rows/row-results.ts';
import { countIn } from '../../primitives/scan.ts';
import { BYTE, markBytes } from './bytes.ts';

/**
 * A text on a device, as a column of bytes with one to four newlines appended, and the positions of the marks in the
 * text.
 */
export interface MarkedText {
  readonly bytes: Column<'u32'>;
  /** Positions of the marks, in order; see {@link markBytes}. */
  readonly marks: Column<'u32'>;
  /** Number of marks in the text. If it exceeds the capacity of `marks`, the marks beyond the capacity are missing. */
  readonly count: Column<'u32'>;
}

/**
 * Uploads a text and finds its marks: the ends of lines and rings and the starts of tokens.
 *
 * - Work O(bytes), span O(log bytes): the bytes of a word are examined together, and words without a mark are dropped.
 * - The text is treated as if it ended with a newline. At most `capacity` marks are stored.
 */
export function markText(context: Context, text: Uint8Array, capacity: number): MarkedText {
  return context.scope(() => {
    const { words, shift } = uploadText(context, text);
    const length = words.capacity - 1;
    // Materialized, because a map computes the masks in vector lanes, while the filter below would compute them one by
    // one.
    const mask = context.materialize(map(markBytes, { before: slice(words, 0, length), here: slice(words, 1) }));
    const marked = copyIf({ mask, word: sequence(length) }, map(hasMarks, { mask }));
    return { bytes: bytesIn(words, 4 + shift), ...placeMarks(context, marked, shift, capacity) };
  });
}

const hasMarks = fn('hasMarks', { mask: u32 }, bool, ({ mask }) => mask.ne(0));

/**
 * Lists the positions of all marks in order. A scan counts the marks before each word. Each word then stores the
 * positions of its marks, four at most.
 */
function placeMarks(
  context: Context,
  { mask, word }: { readonly mask: Column<'u32'>; readonly word: Column<'u32'> },
  shift: number,
  capacity: number,
): Omit<MarkedText, 'bytes'> {
  const total = context.allocate(1);
  const marks = context.stored('u32', countIn(total, 0, capacity));
  scanResults('placeMarks', {
    context,
    length: mask.length,
    monoid: plus(u32),
    element: (index, loader) => [popcount(loader.load([mask], index)[0] as U32)],
    emit: (index, [before], _, loader) => {
      const [found, at] = loader.load([mask, word], index) as [U32, U32];
      const first = at.mul(4).sub(loader.uniform('u32', shift));
      let rank = before as U32;
      return LANES.flatMap((lane) => {
        const bit = found.shr(8 * lane + 7).and(1);
        const free = rank;
        rank = rank.add(bit);
        return [bit.ne(0), free, first.add(lane)];
      });
    },
    emitted: LANES.flatMap(() => ['bool', 'u32', 'u32'] as const),
    stores: LANES.map((lane) => ({ to: marks, guard: 3 * lane, index: 3 * lane + 1, value: 3 * lane + 2 })),
    total,
  });
  return { marks, count: cellColumn(total, 'u32', 0) };
}

const LANES = [0, 1, 2, 3] as const;

/** A text on a device, packed four bytes to a word. */
interface UploadedText {
  /**
   * Word 0 contains only blanks, and the text begins in word 1. In word 1, blanks precede the text; in the last word,
   * newlines follow the text.
   */
  readonly words: Column<'u32'>;
  /** Number of blanks before the text in word 1, from 0 to 3. */
  readonly shift: number;
}

/**
 * Uploads a text without copying it on the host, except for the first and last word, which may share bytes with other
 * data.
 */
function uploadText(context: Context, text: Uint8Array): UploadedText {
  const shift = text.byteOffset % 4;
  const whole = Math.floor((shift + text.length) / 4);
  const words = context.stored('u32', whole + 2);
  const write = (word: number, data: Uint32Array): void => writeWords(context, words, word, data);
  if (whole > 0) write(1, new Uint32Array(text.buffer, text.byteOffset - shift, whole));
  const head = new Uint8Array(8).fill(BYTE.space);
  const tail = new Uint8Array(4).fill(BYTE.newline);
  tail.set(text.subarray(Math.max(0, 4 * whole - shift)));
  if (whole === 0) tail.copyWithin(shift, 0).fill(BYTE.space, 0, shift);
  else head.set(text.subarray(0, 4 - shift), 4 + shift);
  write(0, new Uint32Array(head.buffer, 0, whole === 0 ? 1 : 2));
  write(whole + 1, new Uint32Array(tail.buffer));
  return { words, shift };
}

/** A column of the bytes of `words` from the byte `offset` on, as a view of the same memory. */
function bytesIn(words: Column<'u32'>, offset: number): Column<'u32'> {
  const source = { kind: 'stored', memory: memoryOf(words), storage: 'u8', offset } as const;
  return new Column(words.context, 'u32', 4 * words.capacity - offset, source);
}

function memoryOf({ source }: Column): Memory {
  return (source as Extract<Source, { kind: 'stored' }>).memory;
}
