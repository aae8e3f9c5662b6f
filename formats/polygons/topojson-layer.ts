import { FormatError } from '../../primitives/checks/errors.ts';
import { type Steps, wait } from '../bytes/steps.ts';
import { parseJsonBytes } from '../result-sets/json-bytes.ts';
import { featureName } from '../text/record-name.ts';
import { need } from './byte-window.ts';
import { isJsonObject, type JsonObject, type RawFeature } from './feature.ts';
import { beginPart, beginPolygon, endRing, isFull } from './layer-columns.ts';
import { endRecord, type OpenedFormat, type Reading, readRecord } from './layer-reading.ts';
import type { PolygonFormat } from './polygon-format.ts';
import { appendPositions } from './rings.ts';
import { isTopoJson, topoJsonFeatures } from './topojson.ts';

/** TopoJSON. */
export const TOPOJSON: PolygonFormat = {
  name: 'topojson',
  title: 'TopoJSON',
  endings: ['.topojson'],
  isLayered: true,
  tells: ({ json }) => json === 'topology',
  open: () => wait<OpenedFormat>({ read: readTopology, stated: undefined, geographic: true }),
};

/**
 * Reads one object of a TopoJSON topology. The whole topology is held in memory, because any polygon may refer to any
 * arc.
 */
function* readTopology(reading: Reading): Steps {
  const { input, options } = reading;
  const root = yield* readRoot(reading);
  // Throws if the topology is malformed or `layer` is not one of its objects.
  const whole = topoJsonFeatures(root, options.layer, input.file, { memoryBytes: input.memoryBytes, holdsAll: false });
  reading.stated = whole.crs;
  let index = 0;
  for (const feature of whole.features) {
    const at = index++;
    readRecord(reading, at, () => readMember(reading, feature, at));
    if (isFull(reading.columns)) yield;
  }
}

function* readRoot({ window, input }: Reading): Steps<JsonObject> {
  yield* need(window, Number.POSITIVE_INFINITY);
  const root = parseJsonBytes(window.bytes.subarray(window.at, window.end), input.file, input.memoryBytes);
  window.at = window.end;
  if (isJsonObject(root) && isTopoJson(root)) return root;
  throw new FormatError('format/not-zones', 'The file is JSON, but not TopoJSON.', {
    expected: 'an object whose "type" is Topology',
    got: 'something else',
    remedy: 'Name its format, or convert it, for example with ogr2ogr.',
    place: { file: input.file },
  });
}

function readMember(reading: Reading, { id, properties, polygons, found }: RawFeature, index: number): void {
  const { columns, input, options } = reading;
  const at = { file: input.file, index, id };
  beginPolygon(columns, featureName(properties, options.id, at));
  for (const rings of polygons ?? []) {
    beginPart(columns);
    for (const ring of rings) {
      appendPositions(columns.vertices, ring, at);
      endRing(columns);
    }
  }
  if (endRecord(reading, found)) reading.forZones.attributes?.add(properties);
}
