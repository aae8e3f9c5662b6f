import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance, aWhole, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import type { Context } from '../../primitives/index.ts';
import { BYTE } from './bytes.ts';
import { doublesOf, doubleWords } from './doubles.ts';
import { markText } from './marks.ts';
import { plainRings } from './rings.ts';
import { readMarks } from './vertices.ts';

/** A piece of a text that consists of whole lines, and the polygons that the device read in the piece. */
export interface BoundaryPart {
  /** Byte range of the part in the text; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  /** The boundaries that the device read; undefined if the host must parse the whole piece of text. */
  readonly found: FoundBoundaries | undefined;
}

/** The vertices that the device read, and the marks between them: names and the ends of rings and lines. */
export interface FoundBoundaries {
  /**
   * X coordinates of all vertices in order. Where the device cannot read an expected vertex, `x` and `y` are both NaN.
   */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /**
   * Byte offsets of the marks from the start of the part. A mark is where a line's name begins, a ring ends or a line
   * ends. If the last line has no newline, one is assumed after it.
   */
  readonly at: Uint32Array;
  /** Number of vertices before each mark. */
  readonly vertices: Uint32Array;
  /**
   * For a mark that ends a plain ring, the number of vertices of the ring, not counting a repetition of the first
   * vertex at the end. For all other marks, 0. A plain ring is small enough for the device to check, and all its
   * vertices were read and are not collinear.
   */
  readonly plain: Uint32Array;
}

export interface BoundaryTextOptions {
  /**
   * Approximate number of bytes in a part, which is a piece of the text that consists of whole lines. Two parts are on
   * the device at a time. Default 2²⁶, or a 128th of the backend's memory if that is less.
   */
  readonly partBytes?: number;
}

/**
 * Reads text with one polygon per line, `id x,y x,y … ; x,y …`, on a device, part by part. While the caller uses one
 * part, the device processes the next part.
 *
 * The device reads the usual notation: vertices as `x,y` with integers of a magnitude below 2³¹, separated by blanks;
 * rings separated by `;` or `|`; an optional name of fewer than 64 bytes in front. The device turns any other token (a
 * decimal point, a comment, a mistake) into a vertex with NaN coordinates, which tells the host to parse the line. No
 * line is lost, and a mistake in one line does not affect other lines.
 *
 * - Steps: find the marks of the text (starts of tokens, ends of rings and lines), four bytes at a time; separate the
 *   vertices from the other marks; read the coordinates of the vertices; check the rings.
 * - Work O(bytes), span O(log bytes + bytes of the longest name or ring that the device reads). Deterministic: integers
 *   only. Waits twice per part: for the counts and for the results.
 * - Memory about 16 bytes for each byte of two parts. A part with more than one mark per three bytes, or with a line
 *   above 2²⁸ bytes, is left to the host. An empty text has no parts.
 *
 * Source: GPU-Parser in Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on
 * CPU-GPU Hybrid Systems, 2012, section 4.2, which runs a state machine. Scans replace the state machine here, because
 * a byte and the byte before it suffice to recognise the start of a token.
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

/** Validator of the options of {@link parseBoundaryText}. */
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

/**
 * Divisor that gives the default size of a part: the backend's memory divided by this number. Two parts, at 16 bytes
 * per byte of text, then take a quarter of the memory.
 */
const SHARE_OF_MEMORY = 128;

interface Lines {
  readonly from: number;
  readonly to: number;
}

/** Cuts a text after newlines into pieces of at most `bytes` bytes. A longer line is a piece of its own. */
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

/**
 * Number of marks at positions up to `last`. The marks after `last` belong to newlines that `markText` appended to the
 * text.
 */
function marksUpTo(at: Uint32Array, last: number): number {
  let count = at.length;
  while (count > 0 && at[count - 1]! > last) count--;
  return count;
}

/**
 * Number of bytes of a part for which there is room for one mark. A vertex and the blank after it take at least four
 * bytes, so usually only a text full of mistakes has more marks.
 */
const BYTES_A_MARK = 3;
/**
 * Number of marks for which every part has additional room, because a short text may have one mark per byte, and
 * newlines are appended to the text.
 */
const MIN_ROOM = 64;
