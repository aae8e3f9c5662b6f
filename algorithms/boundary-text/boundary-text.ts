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
  /** Its bytes are `from … to − 1`. */
  readonly from: number;
  readonly to: number;
  /** Results of the device; undefined if all lines are left to the host. */
  readonly found: FoundBoundaries | undefined;
}

/** Vertices and the marks between them. */
export interface FoundBoundaries {
  /**
   * Coordinates of all vertices in order. Both are NaN for a mark that was taken for a vertex but cannot be read as
   * one.
   */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /**
   * Positions where the name of a line begins, a ring ends or a line ends, in bytes from the start of the part. If the
   * last line has no newline, one is assumed after it.
   */
  readonly at: Uint32Array;
  /** Number of vertices before each mark. */
  readonly vertices: Uint32Array;
  /**
   * Number of vertices of the ring that ends there, without a closing vertex, if the ring is plain: it has an area, and
   * all of it was read. Otherwise 0.
   */
  readonly plain: Uint32Array;
}

export interface BoundaryTextOptions {
  /**
   * Approximate bytes on the device at a time, twice. A line is never cut. Default 2²⁶, or a 128th of the backend's
   * memory if that is less.
   */
  readonly partBytes?: number;
}

/**
 * Reads text with one polygon per line, `id x,y x,y … ; x,y …`, on a device, part by part. The next part is processed
 * while the caller uses the last one.
 *
 * The device reads the usual notation: vertices as `x,y` with integers of a magnitude below 2³¹, separated by blanks;
 * rings separated by `;` or `|`; an optional name of at most 64 bytes in front. Anything else in a line (a decimal
 * point, a comment, a mistake) becomes an unread vertex, so that the host can parse this line itself. No line is lost,
 * and no line affects another.
 *
 * - Steps: find the marks of the text, four bytes at a time; separate tokens from ends of rings and lines; read the
 *   numbers of the tokens; check the rings.
 * - Work O(bytes), span O(log bytes + bytes of the longest name or ring that the device reads). Deterministic: integers
 *   only. Waits twice per part: for the counts and for the results.
 * - Memory about 16 bytes for each byte of two parts. A part with more marks than a third of its bytes, or with a line
 *   above 2²⁸ bytes, is left to the host. An empty text has no parts.
 *
 * Source: GPU-Parser in Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on
 * CPU-GPU Hybrid Systems, 2012, section 4.2, which runs a state machine; here with scans, because the byte in front of
 * a token identifies it.
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

/** Parts on the device take at most about a quarter of its memory. */
const SHARE_OF_MEMORY = 128;

interface Lines {
  readonly from: number;
  readonly to: number;
}

/** Cuts a text after newlines into pieces of at most `bytes` bytes, or of a single longer line. */
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

/** Number of marks up to a position. Newlines follow the last mark of a text. */
function marksUpTo(at: Uint32Array, last: number): number {
  let count = at.length;
  while (count > 0 && at[count - 1]! > last) count--;
  return count;
}

/**
 * Room is allocated for one mark per this many bytes. Only texts full of mistakes have more marks; a vertex has four
 * bytes or more.
 */
const BYTES_A_MARK = 3;
/** Short texts may have a mark per byte, and newlines follow them. */
const MIN_ROOM = 64;
