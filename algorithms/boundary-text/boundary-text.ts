import { aContext } from '../../primitives/argument-kinds.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import type { Context } from '../../primitives/index.ts';
import { anInstance, aWhole, type Kind, optional, someOptions } from '../../primitives/kinds.ts';
import { BYTE } from './bytes.ts';
import { doublesOf, doubleWords } from './doubles.ts';
import { markText } from './marks.ts';
import { plainRings } from './rings.ts';
import { readMarks } from './vertices.ts';

/** Whole lines of a text. */
export interface BoundaryPart {
  /** The bytes that they take up are `from … to − 1`. */
  readonly from: number;
  readonly to: number;
  /** What a device read in them; undefined where all of them are left to the host. */
  readonly found: FoundBoundaries | undefined;
}

/** Vertices, and what stands between them. */
export interface FoundBoundaries {
  /** Coordinates of all vertices in order; both NaN of what was taken for a vertex and cannot be read as one. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /**
   * Where the name of a line begins, a ring ends or a line ends, counted in bytes from the part's first. Where the last
   * line has no newline, one behind it is taken to be there.
   */
  readonly at: Uint32Array;
  /** Vertices in front of each of these. */
  readonly vertices: Uint32Array;
  /**
   * Vertices of the ring that ends there, less the one that closes it, where there is nothing odd about the ring: it has an
   * area, and all of it is read. Else 0.
   */
  readonly plain: Uint32Array;
}

export interface BoundaryTextOptions {
  /**
   * About so many bytes are on the device at a time, twice; a line is never cut. Default 2²⁶, or a 128th of the backend's
   * memory if that is less.
   */
  readonly partBytes?: number;
}

/**
 * Reads text with a polygon a line, `id x,y x,y … ; x,y …`, on a device, part by part. The next part is on its way while
 * the caller has one.
 *
 * A device reads what is written in the usual way: vertices as `x,y` with whole numbers of a magnitude below 2³¹, parted by
 * blanks; rings parted by `;` or `|`; a name of at most 64 bytes in front, or none. Whatever else stands in a line, a decimal
 * point, a comment, a mistake, becomes a vertex that is not read, so that the host can parse that line itself. No line is
 * lost, and none spoils another.
 *
 * - Steps: find the marks of the text, four bytes at a time; part tokens from ends of rings and lines; read the tokens'
 *   numbers; look at the rings.
 * - Work O(bytes), span O(log bytes + bytes of the longest name or ring that the device looks at). Deterministic: integers
 *   only. Two waits a part: for the counts, then for the results.
 * - Memory about 16 bytes for each byte of two parts. A part with more marks than a third of its bytes, or with a line above
 *   2²⁸ bytes, is left to the host. An empty text has no parts.
 *
 * Source: GPU-Parser in Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU
 * Hybrid Systems, 2012, section 4.2, which runs a state machine; here by scans, as tokens can be told apart by the byte in
 * front of them.
 *
 * @example
 * const text = new TextEncoder().encode('a 0,0 4,0 4,3 0,0\nb 1,1 2.5,1 2,2\n');
 * const { value: part } = await parseBoundaryText(ctx, text).next();
 * [part.found.x, part.found.plain]; // [Float64Array [0, 4, 4, 0, 1, NaN, 2], Uint32Array [0, 3, 0, 0]]
 */
export function parseBoundaryText(
  context: Context,
  text: Uint8Array,
  options: BoundaryTextOptions = {},
): AsyncGenerator<BoundaryPart, void, undefined> {
  requireArguments('parseBoundaryText', { context, text, options }, ARGUMENTS);
  return readParts(context, text, options.partBytes ?? defaultPart(context));
}

/** The options of {@link parseBoundaryText}. */
export const BOUNDARY_TEXT: Kind = someOptions<BoundaryTextOptions>({ partBytes: optional(aWhole(1, 2 ** 53)) });

const ARGUMENTS = { context: aContext, text: anInstance(Uint8Array), options: BOUNDARY_TEXT };

async function* readParts(
  context: Context,
  text: Uint8Array,
  partBytes: number,
): AsyncGenerator<BoundaryPart, void, undefined> {
  const under: Promise<BoundaryPart>[] = [];
  try {
    for (const lines of wholeLines(text, partBytes)) {
      under.push(readPart(context, text, lines));
      if (under.length === PARTS_AT_ONCE) yield await under.shift()!;
    }
    while (under.length > 0) yield await under.shift()!;
  } finally {
    await Promise.allSettled(under);
  }
}

const PARTS_AT_ONCE = 2;

function defaultPart({ backend }: Context): number {
  return Math.min(2 ** 26, Math.floor(backend.limits.memoryBytes / SHARE_OF_MEMORY));
}

/** Parts on the device take up about a quarter of its memory at most. */
const SHARE_OF_MEMORY = 128;

interface Lines {
  readonly from: number;
  readonly to: number;
}

/** Cuts a text behind newlines, at most so many bytes at a time but where a single line is longer. */
function* wholeLines(text: Uint8Array, bytes: number): Generator<Lines> {
  for (let from = 0; from < text.length; ) {
    const last = from + bytes >= text.length ? text.length - 1 : text.lastIndexOf(BYTE.newline, from + bytes - 1);
    const newline = last >= from ? last : text.indexOf(BYTE.newline, from + bytes);
    const to = newline < 0 ? text.length : newline + 1;
    yield { from, to };
    from = to;
  }
}

const LONGEST_LINE = 2 ** 28;

async function readPart(context: Context, text: Uint8Array, { from, to }: Lines): Promise<BoundaryPart> {
  const room = Math.ceil((to - from) / BYTES_A_MARK) + MIN_ROOM;
  if (to - from > LONGEST_LINE) return { from, to, found: undefined };
  const columns = context.scope(() => {
    const marked = markText(context, text.subarray(from, to), room);
    const { vertices, others } = readMarks(context, marked);
    const plain = context.materialize(plainRings(vertices, others));
    return { count: marked.count, ...doubleWords(context, vertices), at: others.at, vertices: others.vertices, plain };
  });
  try {
    const { count, x, y, ...marks } = await context.read(columns);
    if (count[0]! > room) return { from, to, found: undefined };
    const ends = marksUpTo(marks.at, text[to - 1] === BYTE.newline ? to - from - 1 : to - from);
    const cut = (column: Uint32Array): Uint32Array => column.subarray(0, ends);
    const found = { at: cut(marks.at), vertices: cut(marks.vertices), plain: cut(marks.plain) };
    return { from, to, found: { x: doublesOf(x), y: doublesOf(y), ...found } };
  } finally {
    context.dispose(columns);
  }
}

/** How many marks stand up to a place: there are newlines behind a text's last. */
function marksUpTo(at: Uint32Array, last: number): number {
  let count = at.length;
  while (count > 0 && at[count - 1]! > last) count--;
  return count;
}

/** Fewer bytes than this a mark, and there is no room: that many only texts of mistakes have. A vertex has four or more. */
const BYTES_A_MARK = 3;
/** Short texts may have a mark a byte, and there are newlines behind them. */
const MIN_ROOM = 64;
