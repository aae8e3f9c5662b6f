import { open } from 'node:fs/promises';
import { fileError } from '../bytes/file-error.ts';
import { unpackedPrefix } from '../bytes/gzip.ts';
import { beginsArray, beginsObject, elementsOf, membersOf, skipJsonSpace } from './json-spans.ts';

/** The formats of a tile that are JSON. */
export type JsonFormat = 'coco' | 'geojson' | 'topojson';

/** Number of bytes at the start of a file that are examined. */
const PREFIX = 65_536;

/**
 * Detects whether a JSON file is COCO, GeoJSON or TopoJSON, from the first keys in the file. Undefined if these keys do not
 * decide.
 */
export async function sniffJson(file: string): Promise<JsonFormat | undefined> {
  const bytes = await prefixOf(file);
  const start = skipJsonSpace(bytes, bytes[0] === 0xef ? 3 : 0);
  if (!beginsArray(bytes, start)) return kindOfObject(bytes, start);
  // COCO detections are a bare array of annotations, so examine its first element.
  for (const first of elementsOf(bytes, start)) return kindOfObject(bytes, first.start);
  return undefined;
}

async function prefixOf(file: string): Promise<Uint8Array> {
  try {
    await using handle = await open(file, 'r');
    const bytes = new Uint8Array(PREFIX);
    const { bytesRead } = await handle.read(bytes, 0, PREFIX, 0);
    return unpackedPrefix(bytes.subarray(0, bytesRead));
  } catch (error) {
    throw fileError(file, error);
  }
}

const GEOJSON_KEYS: ReadonlySet<string> = new Set(['features', 'geometry', 'coordinates', 'geometries']);
const COCO_KEYS: ReadonlySet<string> = new Set(['images', 'annotations', 'categories', 'info', 'licenses', 'image_id']);

/**
 * Keys of GeoJSON take precedence over keys of COCO, because GeoJSON may contain foreign keys. For the key "type", the
 * value is checked, because COCO may also have this key.
 */
function kindOfObject(bytes: Uint8Array, start: number): JsonFormat | undefined {
  if (!beginsObject(bytes, start)) return undefined;
  let coco = false;
  for (const { key, start: from, end } of membersOf(bytes, start)) {
    if (GEOJSON_KEYS.has(key) || (key === 'type' && namesGeoJson(bytes, from, end))) return 'geojson';
    if (key === 'arcs' || key === 'objects' || (key === 'type' && textOf(bytes, from, end) === '"Topology"'))
      return 'topojson';
    coco ||= COCO_KEYS.has(key);
  }
  return coco ? 'coco' : undefined;
}

const GEOJSON_TYPE = /^"(Feature|FeatureCollection|(Multi)?(Point|LineString|Polygon)|GeometryCollection)"$/;

function namesGeoJson(bytes: Uint8Array, from: number, end: number): boolean {
  return GEOJSON_TYPE.test(textOf(bytes, from, end));
}

function textOf(bytes: Uint8Array, from: number, end: number): string {
  return new TextDecoder().decode(bytes.subarray(from, Math.min(end, from + LONGEST_TYPE)));
}

const LONGEST_TYPE = 32;
