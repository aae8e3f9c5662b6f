import { FormatError } from '../../primitives/checks/errors.ts';
import { linkCorners } from './link-corners.ts';
import type { TileColumns } from './tile-columns.ts';

/**
 * A mask as run lengths in COCO's notation. A run consists of consecutive pixels down the columns. Runs are alternately
 * background and foreground, and the first run is background.
 */
export interface RunLengths {
  readonly width: number;
  readonly height: number;
  readonly counts: readonly number[];
}

/** Name and position of an annotation, for error messages. */
export interface AnnotationPlace {
  readonly called: string;
  readonly place: { readonly file: string; readonly record: number };
}

/**
 * Maximum number of pixels in a mask. A corner is encoded as a number: twice the corner's position, plus 0 or 1. With
 * this limit, these numbers are exact in f64.
 */
const MAX_PIXELS = 2 ** 50;

/**
 * Appends the boundary of a mask as rings to the current polygon.
 *
 * O(r log r) for r runs, regardless of the size of the mask. A foreground run consists of at most three rectangles: the
 * pixels in its first column, the complete columns, and the pixels in its last column. Each rectangle corner counts +1
 * or −1. The corners of the mask are the points at which the sum of these numbers is not 0.
 *
 * @throws FormatError if the runs do not add up to the mask's pixels.
 */
export function traceRuns(columns: TileColumns, mask: RunLengths, at: AnnotationPlace): void {
  checkRuns(mask, at);
  const keys = rectangleCorners(mask);
  const { x, y, turn } = uncancelled(keys, mask.width + 1);
  const ranks = new Map<number, number>();
  for (const value of x) if (!ranks.has(value)) ranks.set(value, ranks.size);
  const open = new Int32Array(ranks.size).fill(-1);
  linkCorners(columns, { x, y, turn }, 0, x.length, open, (value) => ranks.get(value)!);
}

function checkRuns({ width, height, counts }: RunLengths, { called, place }: AnnotationPlace): void {
  const sizes = [width, height].every((size) => Number.isSafeInteger(size) && size > 0 && size < 2 ** 31);
  const whole = counts.every((count) => Number.isSafeInteger(count) && count >= 0);
  const sum = counts.reduce((total, count) => total + count, 0);
  if (sizes && width * height <= MAX_PIXELS && whole && sum === width * height) return;
  throw new FormatError('format/bad-rle', `The run lengths of ${called} do not make a mask.`, {
    expected: 'counts that add up to the pixels of "size"',
    got: `${sum} for ${height} × ${width}`,
    remedy: 'Write the mask again, for example with pycocotools.',
    place,
  });
}

/**
 * Returns the corners of the rectangles of all foreground runs, sorted by row, then by column. A corner is encoded as
 * the number 2 · (row · (width + 1) + column), plus 1 for the upper left and the lower right corner of a rectangle.
 */
function rectangleCorners({ width, height, counts }: RunLengths): Float64Array {
  const keys: number[] = [];
  const stride = width + 1;
  const rectangle = (left: number, top: number, right: number, bottom: number): void => {
    if (left === right || top === bottom) return;
    keys.push(2 * (top * stride + left) + 1, 2 * (bottom * stride + right) + 1);
    keys.push(2 * (top * stride + right), 2 * (bottom * stride + left));
  };
  let pixel = 0;
  for (const [run, count] of counts.entries()) {
    if (run % 2 === 1 && count > 0) addRun(pixel, pixel + count, height, rectangle);
    pixel += count;
  }
  return Float64Array.from(keys).sort();
}

type Rectangle = (left: number, top: number, right: number, bottom: number) => void;

function addRun(from: number, to: number, height: number, rectangle: Rectangle): void {
  const [first, last] = [Math.floor(from / height), Math.floor(to / height)];
  const [top, bottom] = [from % height, to % height];
  if (first === last) {
    rectangle(first, top, first + 1, bottom);
    return;
  }
  const whole = top === 0 ? first : first + 1;
  if (top > 0) rectangle(first, top, whole, height);
  rectangle(whole, 0, last, height);
  rectangle(last, 0, last + 1, bottom);
}

/**
 * Finds the points at which the corners of rectangles do not cancel each other. The sum at a point counts +1 for every
 * upper left or lower right corner, and −1 for every upper right or lower left corner. Points with the sum 0 are left
 * out. A point with the sum ±2 is listed twice.
 */
function uncancelled(
  keys: Float64Array,
  stride: number,
): { readonly x: Uint32Array; readonly y: Uint32Array; readonly turn: Int8Array } {
  const x: number[] = [];
  const y: number[] = [];
  const turns: number[] = [];
  for (let at = 0; at < keys.length; ) {
    const point = Math.floor(keys[at]! / 2);
    let turn = 0;
    for (; at < keys.length && Math.floor(keys[at]! / 2) === point; at++) turn += keys[at]! % 2 === 1 ? 1 : -1;
    for (let times = Math.abs(turn); times > 0; times--) {
      x.push(point % stride);
      y.push(Math.floor(point / stride));
      turns.push(turn);
    }
  }
  return { x: Uint32Array.from(x), y: Uint32Array.from(y), turn: Int8Array.from(turns) };
}

/**
 * Decodes run lengths from COCO's compressed text. Subtracting 48 from the code of a character gives five bits of a
 * number, and a sixth bit that is set if another character follows. The fifth bit of the last character is the sign of
 * the number. From the fourth run on, a number is the run length minus the run length two positions before.
 *
 * @throws FormatError if a character is not allowed, or a number is truncated or needs more than 53 bits.
 */
export function decodeCounts(text: string, annotation: AnnotationPlace): number[] {
  const counts: number[] = [];
  for (let at = 0; at < text.length; ) {
    let value = 0;
    let scale = 1;
    let digit: number;
    do {
      digit = at < text.length ? text.charCodeAt(at) - 48 : -1;
      if (digit < 0 || digit > 63 || scale > 2 ** 45) throw badCounts(text, at, annotation);
      value += (digit & 31) * scale;
      scale *= 32;
      at++;
    } while (digit & 32);
    if (digit & 16) value -= scale;
    counts.push(counts.length > 2 ? value + counts[counts.length - 2]! : value);
  }
  return counts;
}

function badCounts(text: string, at: number, { called, place }: AnnotationPlace): FormatError {
  return new FormatError('format/bad-rle', `The run lengths of ${called} are not COCO's.`, {
    expected: "characters from '0' to 'o', no number cut off",
    got: at < text.length ? `character ${at + 1} is ${JSON.stringify(text[at])}` : 'the end of the text',
    remedy: 'Write the mask again, for example with pycocotools.',
    place,
  });
}
