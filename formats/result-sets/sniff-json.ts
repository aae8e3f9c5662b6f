import { open } from 'node:fs/promises';
import { fileError } from '../file-error.ts';
import { beginsArray, beginsObject, elementsOf, membersOf, skipJsonSpace } from './json-spans.ts';

/** So much of a file is looked at. */
const PREFIX = 65_536;

/** Whether a file of JSON is COCO or GeoJSON, by the first keys in it; GeoJSON where they do not tell. */
export async function sniffJson(file: string): Promise<'coco' | 'geojson'> {
  return isCoco(await prefixOf(file)) ? 'coco' : 'geojson';
}

async function prefixOf(file: string): Promise<Uint8Array> {
  try {
    await using handle = await open(file, 'r');
    const bytes = new Uint8Array(PREFIX);
    const { bytesRead } = await handle.read(bytes, 0, PREFIX, 0);
    return bytes.subarray(0, bytesRead);
  } catch (error) {
    throw fileError(file, error);
  }
}

/** COCO is an object with images and annotations, or, of detections, an array of annotations, which have an image. */
function isCoco(bytes: Uint8Array): boolean {
  const start = skipJsonSpace(bytes, bytes[0] === 0xef ? 3 : 0);
  if (beginsArray(bytes, start)) {
    for (const first of elementsOf(bytes, start)) return hasKey(bytes, first.start, new Set(['image_id']));
    return false;
  }
  if (!beginsObject(bytes, start) || hasKey(bytes, start, GEOJSON_KEYS)) return false;
  return hasKey(bytes, start, COCO_KEYS);
}

const GEOJSON_KEYS: ReadonlySet<string> = new Set(['type', 'features', 'geometry', 'coordinates', 'geometries']);
const COCO_KEYS: ReadonlySet<string> = new Set(['images', 'annotations', 'categories', 'info', 'licenses']);

function hasKey(bytes: Uint8Array, start: number, keys: ReadonlySet<string>): boolean {
  if (!beginsObject(bytes, start)) return false;
  for (const { key } of membersOf(bytes, start)) if (keys.has(key)) return true;
  return false;
}
