import type { ImageSize } from '../../algorithms/cross-compare/tile-comparison.ts';
import type { Note } from '../../algorithms/notes.ts';
import { quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError, GeometryError } from '../../primitives/checks/errors.ts';
import { withArticle } from '../../primitives/checks/given.ts';
import { isJsonObject, type JsonObject, shallowText } from '../polygons/feature.ts';
import { foreignJson } from './foreign-json.ts';
import { parseJsonBytes } from './json-bytes.ts';
import type { PolygonTile, TileParameters } from './result-set.ts';
import { type AnnotationPlace, decodeCounts, traceRuns } from './rle.ts';
import {
  addVertex,
  beginPart,
  beginPolygonNamed,
  dropPolygon,
  emptyTile,
  endPolygon,
  endRing,
  finishTile,
  note,
  type TileColumns,
} from './tile-columns.ts';

/**
 * Reads the annotations of all images in a COCO text. The text is an object with a member `annotations`, or a bare
 * array of annotations.
 *
 * A segmentation is a list of polygons, each written `[x, y, x, y, …]`, or a mask as run lengths. COCO defines a
 * segmentation as the union of its polygons. So the polygons of a list become parts of one polygon, and each part has
 * one ring. Run lengths, plain or compressed, are traced into rings along pixel edges. Polygons are named by `id`, else
 * by their index. Crowd regions (`iscrowd`) are read like all other annotations, and noted as `polygons/crowd`.
 * Annotations without segmentation are left out and noted as `polygons/other-geometry`. Masks of another size than the
 * image are noted as `polygons/mask-size`.
 *
 * O(bytes), plus O(runs · log runs) for each mask, regardless of its number of pixels.
 *
 * @throws FormatError or GeometryError; the error names the index of the annotation, and its id if there is one.
 */
export function parseCoco(
  bytes: Uint8Array,
  { place: file, image, memoryBytes }: Omit<TileParameters, 'format'>,
): PolygonTile {
  const annotations = listAnnotations(parseJsonBytes(bytes, file, memoryBytes), file);
  const columns = emptyTile(0, { place: file, memoryBytes });
  for (const [record, annotation] of annotations.entries()) {
    const place = { file, record };
    if (!isJsonObject(annotation)) throw malformed({ called: `annotation ${record}`, place }, 'an object', annotation);
    readAnnotation(columns, annotation, place);
  }
  const tile = finishTile(columns);
  const masks = annotations.map(sizeOfMask);
  const size = image ?? onlySize(masks);
  const notes = [...tile.notes, ...(image === undefined ? [] : maskNotes(masks, image, annotations))];
  return { ...tile, notes, ...(size !== undefined && { size }) };
}

/** Size of the mask of an annotation that has been read; undefined for polygons. */
function sizeOfMask(annotation: unknown): ImageSize | undefined {
  const { segmentation } = annotation as JsonObject;
  if (!isJsonObject(segmentation)) return undefined;
  const [height, width] = segmentation.size as [number, number];
  return { width, height };
}

/** The size that all masks have in common, which is taken for that of the image if the file does not state it. */
function onlySize(masks: readonly (ImageSize | undefined)[]): ImageSize | undefined {
  const [first, ...others] = masks.filter((size) => size !== undefined);
  return first !== undefined && others.every((size) => isSameSize(size, first)) ? first : undefined;
}

function isSameSize(a: ImageSize, b: ImageSize): boolean {
  return a.width === b.width && a.height === b.height;
}

/** The note that masks are not of the size of their image. */
function maskNotes(
  masks: readonly (ImageSize | undefined)[],
  image: ImageSize,
  annotations: readonly unknown[],
): Note[] {
  const other = masks.flatMap((size, at) => (size === undefined || isSameSize(size, image) ? [] : [at]));
  if (other.length === 0) return [];
  const [first] = other;
  const { width, height } = masks[first!]!;
  const named = (annotations[first!] as JsonObject).id ?? first;
  const message =
    `${other.length === 1 ? '1 mask has' : `${other.length} masks have`} another size than the image, which has ` +
    `"height" ${image.height} and "width" ${image.width}: the mask of ${quoteName(String(named))} has "size" ` +
    `[${height}, ${width}], which is height, then width. Masks are compared from the same corner on.`;
  return [{ code: 'polygons/mask-size', message, count: other.length }];
}

function listAnnotations(root: unknown, file: string): readonly unknown[] {
  const foreign = foreignJson(root, file);
  if (foreign !== undefined) throw foreign;
  const list = isJsonObject(root) ? root.annotations : root;
  if (Array.isArray(list)) return list;
  throw new FormatError('format/malformed-coco', 'The text has no array "annotations".', {
    remedy: 'Check that it is COCO: an object with "images" and "annotations".',
    place: { file },
  });
}

function readAnnotation(columns: TileColumns, annotation: JsonObject, place: AnnotationPlace['place']): void {
  const { id, segmentation, iscrowd } = annotation;
  const named = typeof id === 'number' || typeof id === 'string';
  // The file may contain many images, so the index of the annotation within its tile says little. Errors name the id of
  // the annotation if it has one.
  const at = {
    called: named ? `the annotation with id ${quoteName(String(id))}` : `annotation ${place.record}`,
    place,
  };
  beginPolygonNamed(columns, named ? id : place.record);
  if (segmentation === undefined || segmentation === null) {
    note(columns, 'polygons/other-geometry');
    dropPolygon(columns);
    return;
  }
  if (iscrowd === 1 || iscrowd === true) note(columns, 'polygons/crowd');
  if (Array.isArray(segmentation)) {
    for (const ring of segmentation) {
      beginPart(columns);
      readRing(columns, ring, at);
    }
  } else readMask(columns, segmentation, at);
  endPolygon(columns);
}

function readRing(columns: TileColumns, ring: unknown, annotation: AnnotationPlace): void {
  if (!Array.isArray(ring) || ring.length % 2 !== 0) {
    throw malformed(annotation, 'polygons as arrays of x, y, x, y …', ring);
  }
  for (let at = 0; at < ring.length; at += 2) {
    const [x, y] = [ring[at], ring[at + 1]];
    if (Number.isFinite(x) && Number.isFinite(y)) addVertex(columns, x, y);
    else throw notFinite(x, y, annotation);
  }
  endRing(columns, false);
}

function readMask(columns: TileColumns, mask: unknown, annotation: AnnotationPlace): void {
  const { size, counts } = isJsonObject(mask) ? mask : { size: undefined, counts: undefined };
  const sized = Array.isArray(size) && size.length === 2 && size.every((length) => typeof length === 'number');
  if (!sized || !(typeof counts === 'string' || isNumbers(counts))) {
    throw malformed(annotation, 'polygons, or { size: [height, width], counts }', mask);
  }
  const [height, width] = size as [number, number];
  const lengths = typeof counts === 'string' ? decodeCounts(counts, annotation) : counts;
  traceRuns(columns, { width, height, counts: lengths }, annotation);
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((member) => typeof member === 'number');
}

function malformed({ called, place }: AnnotationPlace, expected: string, got: unknown): FormatError {
  return new FormatError('format/malformed-coco', `The segmentation of ${called} cannot be read.`, {
    expected,
    got: Array.isArray(got) ? `an array of ${got.length}` : got === null ? 'null' : withArticle(typeof got),
    remedy: 'Write the file again as COCO.',
    place,
  });
}

function notFinite(x: unknown, y: unknown, { called, place }: AnnotationPlace): GeometryError {
  return new GeometryError('geometry/not-finite', `A coordinate of ${called} is not a finite number.`, {
    expected: 'finite numbers',
    got: `(${shallowText(x)}, ${shallowText(y)})`.slice(0, 60),
    remedy: 'Correct or remove the annotation.',
    place,
  });
}
