import { utf8Text } from '../bytes/byte-arrays.ts';
import type { Steps } from '../bytes/steps.ts';
import { membersOf, skipJsonSpace } from '../result-sets/json-spans.ts';
import { jsonValueOf } from '../text/json-value.ts';
import { closeWindow, need, openWindow } from './byte-window.ts';
import { statedCrs } from './feature.ts';
import { readCollection, readSingle } from './geojson-collection.ts';
import { kindOfRoot } from './json-root.ts';
import type { LayerInput } from './layer-input.ts';
import type { OpenedFormat } from './layer-reading.ts';
import { HEAD_BYTES, type PolygonFormat } from './polygon-format.ts';

/** GeoJSON in one value: a FeatureCollection, a Feature or a geometry. */
export const GEOJSON: PolygonFormat = {
  name: 'geojson',
  title: 'GeoJSON',
  endings: ['.geojson', '.json'],
  hasPoints: true,
  isLayered: true,
  tells: ({ json }) => json !== undefined,
  open: openGeoJson,
};

/**
 * Opens a GeoJSON text. A FeatureCollection is read as a stream. A single Feature or geometry is read as one record.
 */
function* openGeoJson(input: LayerInput): Steps<OpenedFormat> {
  const window = openWindow(input);
  try {
    yield* need(window, HEAD_BYTES, 0);
    const head = window.bytes.subarray(0, window.end);
    const start = skipJsonSpace(head, head[0] === 0xef ? 3 : 0);
    const read = kindOfRoot(head, start) === 'single' ? readSingle : readCollection;
    return { read, stated: crsIn(head, start), geographic: true };
  } finally {
    yield* closeWindow(window);
  }
}

/**
 * Returns the coordinate system that the text states before its features; otherwise undefined. A coordinate system that
 * is stated after the features is found later, by `readCollection`.
 */
function crsIn(head: Uint8Array, start: number): string | null | undefined {
  for (const { key, start: from, end } of membersOf(head, start)) {
    if (key === 'features') return undefined;
    if (key !== 'crs') continue;
    try {
      return statedCrs({ crs: jsonValueOf(utf8Text(head.subarray(from, end))) });
    } catch {
      return undefined;
    }
  }
  return undefined;
}
