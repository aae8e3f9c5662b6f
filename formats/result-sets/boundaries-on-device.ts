import { BOUNDARY_TEXT } from '../../algorithms/boundary-text/boundary-text.ts';
import {
  type BoundaryTextOptions,
  type FoundBoundaries,
  parseBoundaryText,
} from '../../algorithms/boundary-text/index.ts';
import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance, aText } from '../../primitives/checks/kinds.ts';
import type { Context } from '../../primitives/index.ts';
import { readLine } from './boundaries-text.ts';
import { char, startOf } from './byte-cursor.ts';
import type { PolygonTile } from './result-set.ts';
import {
  addVertex,
  adoptVertices,
  appendPlainRing,
  beginPolygon,
  beginPolygonNamed,
  emptyTile,
  endPolygon,
  endRing,
  finishTile,
  reserveVertices,
  type TileColumns,
} from './tile-columns.ts';

/**
 * Reads polygon boundaries from text on a device, such as a GPU. The columns, notes and errors are identical to those
 * of `parseBoundaries`.
 *
 * The text is split into parts of whole lines, and the device reads one part after another ({@link parseBoundaryText}).
 * The host reads lines in an unusual notation. If such lines make up more than half of the bytes of a part, the host
 * also reads all further parts.
 *
 * - Work O(bytes). Waits for the device twice per part. The text must not be changed before the promise settles.
 *
 * @param place - Name of the text in error messages.
 * @throws FormatError and GeometryError as in `parseBoundaries`; DeviceLostError and OutOfMemoryError of the device.
 * @example
 * const text = new TextEncoder().encode('a 0,0 4,0 4,3 0,0\nb 1,1 2.5,1 2,2\n');
 * const { polygons } = await parseBoundariesOn(ctx, text, 'a.txt');
 * [polygons.ringVertices, polygons.x]; // [Uint32Array [0, 3, 6], Float64Array [0, 4, 4, 1, 2.5, 2]]
 */
export async function parseBoundariesOn(
  context: Context,
  bytes: Uint8Array,
  place: string,
  options: BoundaryTextOptions = {},
): Promise<PolygonTile> {
  requireArguments('parseBoundariesOn', { context, bytes, place, options }, ARGUMENTS);
  const columns = emptyTile();
  const cursor = startOf(bytes);
  const text = bytes.subarray(cursor.at);
  const first = cursor.at;
  for await (const { from, to, found } of parseBoundaryText(context, text, options)) {
    if (found === undefined) break;
    if (to - from === text.length) adoptVertices(columns, found.x, found.y);
    else reserveVertices(columns, found.x.length * Math.ceil((text.length - from) / (to - from)));
    const readOnHost = (line: number): void => readLine({ ...cursor, at: first + from + line }, columns, place);
    const left = appendLines(columns, text.subarray(from, to), found, readOnHost);
    cursor.at = first + to;
    if (left > (to - from) / 2) break;
  }
  while (cursor.at < cursor.end) readLine(cursor, columns, place);
  return finishTile(columns);
}

const ARGUMENTS = { context: aContext, bytes: anInstance(Uint8Array), place: aText, options: BOUNDARY_TEXT };

/**
 * Appends the polygons of one part of the text to `columns`. Returns the total number of bytes in the lines that the
 * host read.
 */
function appendLines(
  columns: TileColumns,
  lines: Uint8Array,
  found: FoundBoundaries,
  readOnHost: (line: number) => void,
): number {
  const { at, vertices } = found;
  let left = 0;
  for (let mark = 0, line = 0; line < lines.length; ) {
    let end = mark;
    while (byteAt(lines, at[end]!) !== char.newline) end++;
    const behind = at[end]! + 1;
    if (hasUnread(found, mark, end)) {
      readOnHost(line);
      left += behind - line;
    } else if (end > mark || vertices[end]! > verticesBefore(found, mark)) {
      appendPolygon(columns, lines, found, mark, end);
    }
    line = behind;
    mark = end + 1;
  }
  return left;
}

/**
 * The byte at a position in a text. Returns a newline for positions after the end of the text, because the last line
 * may lack a newline.
 */
function byteAt(lines: Uint8Array, at: number): number {
  return at < lines.length ? lines[at]! : char.newline;
}

function verticesBefore({ vertices }: FoundBoundaries, mark: number): number {
  return mark === 0 ? 0 : vertices[mark - 1]!;
}

/**
 * Whether the host must read a line, because the device could not read some vertex of the line and returned NaN. The
 * marks of the line have the indices `first … end`. A mark is the start of the name or the end of a ring.
 */
function hasUnread(found: FoundBoundaries, first: number, end: number): boolean {
  const { plain, vertices, x } = found;
  for (let mark = first; mark <= end; mark++) {
    if (plain[mark]! > 0) continue;
    const last = vertices[mark]!;
    for (let vertex = verticesBefore(found, mark); vertex < last; vertex++) if (Number.isNaN(x[vertex]!)) return true;
  }
  return false;
}

function appendPolygon(
  columns: TileColumns,
  lines: Uint8Array,
  found: FoundBoundaries,
  first: number,
  end: number,
): void {
  const name = found.at[first]!;
  if (endsRing(byteAt(lines, name))) beginPolygonNamed(columns, columns.polygons + columns.empty);
  else beginPolygon(columns, lines, name, endOfName(lines, name));
  for (let mark = first; mark <= end; mark++) appendRing(columns, found, mark);
  endPolygon(columns);
}

function endsRing(byte: number): boolean {
  return byte === char.newline || byte === char.semicolon || byte === char.bar;
}

/**
 * Position after the name of a polygon. The name ends before a blank or a newline, and does not include a colon at its
 * end.
 */
function endOfName(lines: Uint8Array, start: number): number {
  let end = start;
  for (let byte = byteAt(lines, end); !isGap(byte); byte = byteAt(lines, end)) end++;
  return end - 1 > start && lines[end - 1] === char.colon ? end - 1 : end;
}

function isGap(byte: number): boolean {
  return byte === char.space || byte === char.tab || byte === char.newline;
}

function appendRing(columns: TileColumns, found: FoundBoundaries, mark: number): void {
  const { x, y, plain, vertices } = found;
  const from = verticesBefore(found, mark);
  const kept = plain[mark]!;
  if (kept > 0) {
    appendPlainRing(columns, x, y, from, from + kept);
  } else if (vertices[mark]! > from) {
    for (let vertex = from; vertex < vertices[mark]!; vertex++) addVertex(columns, x[vertex]!, y[vertex]!);
    endRing(columns, false);
  }
}
