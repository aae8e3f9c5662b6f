import { cellColumn, type Source } from '../../primitives/columns/column.ts';
import { destination } from '../../primitives/columns/program.ts';
import { Column, type Context, map, plus, popcount, slice, type U32, u32 } from '../../primitives/index.ts';
import { countIn, fusedScan } from '../../primitives/scan.ts';
import { BYTE, markBytes } from './bytes.ts';

/** A text on a device: its bytes one by one, zero past them, and where its marks are. */
export interface MarkedText {
  readonly bytes: Column<'u32'>;
  /** Positions of the marks, in order; see {@link markBytes}. */
  readonly marks: Column<'u32'>;
  /** How many marks there are, which may be more than there is room for. */
  readonly count: Column<'u32'>;
}

/**
 * Puts a text on the device and finds its marks: where lines and rings end and where tokens begin.
 *
 * - Work O(bytes), span O(log bytes): four bytes are looked at together, and one scan counts their marks and places them.
 * - The text is taken to end with a newline. At most `capacity` marks are stored.
 */
export function markText(context: Context, text: Uint8Array, capacity: number): MarkedText {
  const words = context.column(framed(text));
  const length = (words.length as number) - 1;
  const mask = map(markBytes, { before: slice(words, 0, length), here: slice(words, 1) });
  const total = context.allocate(1);
  const marks = context.stored('u32', countIn(total, 0, capacity));
  const place = destination(marks);
  fusedScan('marks', {
    context,
    length,
    monoid: plus(u32),
    element: (index, loader) => [popcount(loader.load([mask], index)[0] as U32)],
    emit: (index, [before], _, loader) => {
      const [found] = loader.load([mask], index) as [U32];
      let rank = before as U32;
      return LANES.flatMap((lane) => {
        const bit = found.shr(8 * lane + 7).and(1);
        const at = rank;
        rank = rank.add(bit);
        return [bit.ne(0), at, index.mul(4).add(lane)];
      });
    },
    emitted: LANES.flatMap(() => ['bool', 'u32', 'u32'] as const),
    stores: LANES.map((lane) => ({ ...place, guard: 3 * lane, index: 3 * lane + 1, value: 3 * lane + 2 })),
    total,
  });
  return { bytes: bytesIn(words, 4 * length), marks, count: cellColumn(total, 'u32', 0) };
}

const LANES = [0, 1, 2, 3] as const;

/** A word of newlines, the text, and newlines up to the end of a word, one at least. */
function framed(text: Uint8Array): Uint32Array {
  const words = new Uint32Array(Math.floor(text.length / 4) + 2);
  const bytes = new Uint8Array(words.buffer);
  bytes.fill(BYTE.newline, 0, 4);
  bytes.set(text, 4);
  bytes.fill(BYTE.newline, 4 + text.length);
  return words;
}

/** The bytes of words from the second word on, as a column of their own on the same memory. */
function bytesIn({ context, source }: Column<'u32'>, length: number): Column<'u32'> {
  const { memory } = source as Extract<Source, { kind: 'stored' }>;
  return new Column(context, 'u32', length, { kind: 'stored', memory, storage: 'u8', offset: 4 });
}
