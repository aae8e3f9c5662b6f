import { FormatError } from '../../primitives/checks/errors.ts';
import { isJsonObject, type JsonObject } from '../polygons/feature.ts';

/** A format of segmentations in JSON that is not read: how it is told, and how to convert it. */
interface ForeignJson {
  readonly name: string;
  readonly isTold: (value: JsonObject) => boolean;
  readonly remedy: string;
}

const FOREIGN: readonly ForeignJson[] = [
  {
    name: 'COCO panoptic',
    isTold: (value) => Array.isArray(value.segments_info) || firstOf(value.annotations)?.segments_info !== undefined,
    remedy:
      'Its masks are in PNGs, whose colours are ids. Convert it to COCO with panoptic2detection_coco_format.py of panopticapi, or write the ids as label images.',
  },
  {
    name: 'Label Studio',
    isTold: (value) =>
      Array.isArray(value.result) ||
      firstOf(value.annotations)?.result !== undefined ||
      firstOf(value.completions)?.result !== undefined,
    remedy: 'Export the project as COCO in Label Studio, or with label-studio-converter.',
  },
  {
    name: 'LabelMe',
    isTold: (value) =>
      Array.isArray(value.shapes) && ('imagePath' in value || 'points' in (firstOf(value.shapes) ?? {})),
    remedy:
      'Convert it to COCO, for example with labelme2coco, or write the points of each of its "shapes" as a polygon of GeoJSON.',
  },
  {
    name: 'HoVerNet',
    isTold: (value) => isNuclei(value.nuc) || isNuclei(value),
    remedy: 'Write the "contour" of each nucleus as a polygon of GeoJSON or WKT, or its instance map as a label image.',
  },
];

/** Nuclei by number, each with a contour and a centroid. */
function isNuclei(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  for (const nucleus of Object.values(value))
    return isJsonObject(nucleus) && 'contour' in nucleus && 'centroid' in nucleus;
  return false;
}

function firstOf(list: unknown): JsonObject | undefined {
  const first: unknown = Array.isArray(list) ? list[0] : undefined;
  return isJsonObject(first) ? first : undefined;
}

/**
 * The error that a text is of a known format that is not read; undefined if it is of no such format. `value` is the
 * text, or an element of the array that it is.
 */
export function foreignJson(value: unknown, file: string): FormatError | undefined {
  const object = Array.isArray(value) ? firstOf(value) : value;
  if (!isJsonObject(object)) return undefined;
  const known = FOREIGN.find(({ isTold }) => isTold(object));
  if (known === undefined) return undefined;
  return new FormatError('format/foreign-json', `The file is of the format ${known.name}, which is not read.`, {
    expected: 'GeoJSON or COCO with polygons or run lengths',
    got: known.name,
    remedy: known.remedy,
    place: { file },
  });
}
