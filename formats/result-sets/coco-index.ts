import { type FileHandle, open } from 'node:fs/promises';
import type { Note } from '../../algorithms/notes.ts';
import { listNames, quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { fileError } from '../bytes/file-error.ts';
import { unpacked } from '../bytes/gzip.ts';
import { readBounded } from '../bytes/read-bounded.ts';
import { isJsonObject, type JsonObject } from '../polygons/feature.ts';
import { memberValueOf } from '../text/json-value.ts';
import { stemOf } from './file-kind.ts';
import { foreignJson } from './foreign-json.ts';
import { decodeJson, jsonFaultAt, parseJsonBytes } from './json-bytes.ts';
import {
  beginsArray,
  beginsObject,
  elementsOf,
  type JsonEnd,
  type JsonSpan,
  membersOf,
  skipJsonSpace,
} from './json-spans.ts';
import { readExactly } from './read-exactly.ts';
import type { TileParameters, TileSource } from './result-set.ts';

/**
 * Lists the images of a COCO file as tiles. The whole file is read once. Afterwards, only the byte positions of each
 * image's annotations are kept in memory and, if the file is gzipped, its unpacked bytes. `load()` returns the
 * annotations of one image as a COCO text.
 *
 * @throws FormatError if the text has no annotations, an annotation has no image, two images have the same id, or the
 * text is not valid JSON.
 */
export async function openCoco(
  file: string,
  parameters: TileParameters,
): Promise<{ tiles: TileSource[]; notes: Note[] }> {
  const { bytes, source } = await readWhole(file, parameters.memoryBytes);
  const { images, spans } = indexCoco(bytes, file);
  const unknown: string[] = [];
  const tiles: TileSource[] = [];
  for (const [id, { name, size }] of images)
    tiles.push(
      imageTile(source, name, spans.get(id) ?? [], size === undefined ? parameters : { ...parameters, image: size }),
    );
  for (const [id, annotations] of spans) {
    if (images.has(id)) continue;
    unknown.push(id);
    tiles.push(imageTile(source, id, annotations, parameters));
  }
  return { tiles, notes: images.size === 0 || unknown.length === 0 ? [] : [unknownImagesNote(unknown, file)] };
}

/** Where `load()` reads annotations: from the file or, if the file is gzipped, from its unpacked bytes in memory. */
interface CocoSource {
  readonly file: string;
  readonly unpacked: Uint8Array | undefined;
}

async function readWhole(
  file: string,
  memoryBytes: number = Number.POSITIVE_INFINITY,
): Promise<{ readonly bytes: Uint8Array; readonly source: CocoSource }> {
  try {
    const raw = await readBounded(file, memoryBytes);
    const bytes = await unpacked(raw, file, memoryBytes);
    return { bytes, source: { file, unpacked: bytes === raw ? undefined : bytes } };
  } catch (error) {
    throw fileError(file, error);
  }
}

interface CocoImage {
  /** Name of the tile. */
  readonly name: string;
  readonly size: TileParameters['image'];
}

interface CocoIndex {
  /** Images by id. */
  readonly images: ReadonlyMap<string, CocoImage>;
  readonly spans: ReadonlyMap<string, JsonSpan[]>;
}

function indexCoco(bytes: Uint8Array, file: string): CocoIndex {
  const start = skipJsonSpace(bytes, bytes[0] === 0xef ? 3 : 0);
  const images = new Map<string, CocoImage>();
  const spans = new Map<string, JsonSpan[]>();
  // A file of detections is a bare array of annotations. It has no list of images, so tiles are named by the ids of the
  // images.
  const ended = endOfText(bytes, file);
  if (beginsArray(bytes, start)) indexAnnotations(bytes, start, spans, file, ended);
  let annotated = beginsArray(bytes, start);
  if (beginsObject(bytes, start)) {
    for (const member of membersOf(bytes, start, ended)) {
      const list = beginsArray(bytes, member.start) ? member.key : undefined;
      if (list === 'images') indexImages(bytes, member.start, images, file);
      else if (list === 'annotations') indexAnnotations(bytes, member.start, spans, file);
      // Other members are not needed. They are parsed only to find unbalanced brackets, which could hide annotations.
      else parsedSpan(bytes, member, file);
      annotated ||= list === 'annotations';
    }
  }
  if (annotated) return { images, spans };
  // If the text is not JSON at all, this call throws an error with line and column.
  refuseForeign(parseJsonBytes(bytes, file), file);
  throw new FormatError('format/malformed-coco', 'The file has no array "annotations".', {
    remedy: 'Check that it is COCO: an object with "images" and "annotations".',
    place: { file },
  });
}

/**
 * Returns a callback that throws if an array or object is truncated or malformed. Without this callback, the data after
 * the syntax error would be lost silently.
 */
function endOfList(bytes: Uint8Array, file: string): JsonEnd {
  return (at, missing) => {
    if (missing !== undefined) throw jsonFaultAt(bytes, at, missing, file);
  };
}

/** Like `endOfList`, but for the outermost value: the callback also throws if anything follows the value. */
function endOfText(bytes: Uint8Array, file: string): JsonEnd {
  return (at, missing) => {
    const rest = missing === undefined ? skipJsonSpace(bytes, at) : at;
    if (rest < bytes.length || missing !== undefined) {
      throw jsonFaultAt(bytes, rest, missing ?? 'expected nothing after the value', file);
    }
  };
}

function indexImages(bytes: Uint8Array, start: number, images: Map<string, CocoImage>, file: string): void {
  let index = 0;
  for (const span of elementsOf(bytes, start, endOfList(bytes, file))) {
    const image = parsedSpan(bytes, span, file);
    const id = isJsonObject(image) ? idText(image.id) : undefined;
    if (!isJsonObject(image) || id === undefined) throw malformed(`Image ${index} has no id.`, index, file);
    if (images.has(id)) throw duplicateImage(id, index, file);
    const name = typeof image.file_name === 'string' ? stemOf(image.file_name) : id;
    images.set(id, { name, size: sizeOf(image) });
    index++;
  }
}

function sizeOf({ width, height }: JsonObject): TileParameters['image'] {
  return isLength(width) && isLength(height) ? { width, height } : undefined;
}

function isLength(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function indexAnnotations(
  bytes: Uint8Array,
  start: number,
  spans: Map<string, JsonSpan[]>,
  file: string,
  ended: JsonEnd = endOfList(bytes, file),
): void {
  let index = 0;
  for (const span of elementsOf(bytes, start, ended)) {
    if (index === 0) refuseForeign(parsedSpan(bytes, span, file), file);
    const image = imageOf(bytes, span, file);
    if (image === undefined) throw malformed(`${nameAnnotation(bytes, span, index)} has no "image_id".`, index, file);
    const list = spans.get(image);
    if (list === undefined) spans.set(image, [span]);
    else list.push(span);
    index++;
  }
}

function refuseForeign(value: unknown, file: string): void {
  const foreign = foreignJson(value, file);
  if (foreign !== undefined) throw foreign;
}

function imageOf(bytes: Uint8Array, span: JsonSpan, file: string): string | undefined {
  if (!beginsObject(bytes, span.start)) return undefined;
  for (const member of membersOf(bytes, span.start, endOfList(bytes, file))) {
    if (member.key === 'image_id') return idText(parsedSpan(bytes, member, file));
  }
  return undefined;
}

function nameAnnotation(bytes: Uint8Array, span: JsonSpan, index: number): string {
  for (const { key, start, end } of beginsObject(bytes, span.start) ? membersOf(bytes, span.start) : []) {
    if (key === 'id') return `The annotation with id ${new TextDecoder().decode(bytes.subarray(start, end))}`;
  }
  return `Annotation ${index}`;
}

function idText(id: unknown): string | undefined {
  return typeof id === 'number' || typeof id === 'string' ? String(id) : undefined;
}

function parsedSpan(bytes: Uint8Array, { start, end }: JsonSpan, file: string): unknown {
  try {
    return memberValueOf(decodeJson(bytes.subarray(start, end), file));
  } catch {
    // The value cannot be parsed. Parse the whole text, to throw an error with the line and column in the file.
    return parseJsonBytes(bytes, file);
  }
}

function imageTile(
  source: CocoSource,
  name: string,
  spans: readonly JsonSpan[],
  parameters: TileParameters,
): TileSource {
  const place = `${source.file} (image ${quoteName(name)})`;
  const load = (signal?: AbortSignal): Promise<Uint8Array> => readSpans(source, spans, signal);
  return { name, place, format: 'coco', load, parameters: { ...parameters, place } };
}

const HEAD = new TextEncoder().encode('[');
const SEPARATOR = new TextEncoder().encode(',\n');
const TAIL = new TextEncoder().encode(']\n');

/** Reads the annotations of one image, and returns them as the text of a JSON array. */
async function readSpans(
  { file, unpacked }: CocoSource,
  spans: readonly JsonSpan[],
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const size = spans.reduce((sum, { start, end }) => sum + end - start + SEPARATOR.length, HEAD.length + TAIL.length);
  const bytes = new Uint8Array(size);
  let at = append(bytes, 0, HEAD);
  let handle: FileHandle | undefined;
  try {
    if (unpacked === undefined) handle = await open(file, 'r');
    for (const [index, { start, end }] of spans.entries()) {
      signal?.throwIfAborted();
      if (index > 0) at = append(bytes, at, SEPARATOR);
      if (handle === undefined) append(bytes, at, unpacked!.subarray(start, end));
      else await readExactly(handle, bytes.subarray(at, at + end - start), start, file);
      at += end - start;
    }
  } catch (error) {
    throw fileError(file, error);
  } finally {
    await handle?.close();
  }
  return bytes.subarray(0, append(bytes, at, TAIL));
}

function append(bytes: Uint8Array, at: number, piece: Uint8Array): number {
  bytes.set(piece, at);
  return at + piece.length;
}

function malformed(sentence: string, record: number, file: string): FormatError {
  return new FormatError('format/malformed-coco', sentence, {
    expected: 'images with "id", annotations with "image_id"',
    got: 'something else',
    remedy: 'Write the file again as COCO.',
    place: { file, record },
  });
}

function duplicateImage(id: string, record: number, file: string): FormatError {
  return new FormatError('format/duplicate-image', `Two images have the id ${quoteName(id)}.`, {
    expected: 'one image per id; the number 1 and the text "1" are the same id',
    got: 'a second image with it',
    remedy: 'Give every image its own id, and change the annotations with it.',
    place: { file, record },
  });
}

function unknownImagesNote(ids: readonly string[], file: string): Note {
  const count = ids.length;
  const subject = count === 1 ? '1 image has' : `${count} images have`;
  const message = `${subject} annotations in ${file} but no entry in "images", so their ids are used as names: ${listNames(ids, 3)}.`;
  return { code: 'result-set/unknown-images', message, count };
}
