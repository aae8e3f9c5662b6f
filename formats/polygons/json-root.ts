import type { Steps } from '../bytes/steps.ts';
import { membersOf, skipJsonSpace } from '../result-sets/json-spans.ts';
import { type ByteWindow, needMore } from './byte-window.ts';
import { isGeoJson } from './geojson.ts';
import { emptyRecord, scanRecord } from './json-record.ts';

/**
 * The kind of the JSON object that begins at `start`, detected from its first keys. If no key decides, a collection is
 * assumed.
 */
export function kindOfRoot(head: Uint8Array, start: number): 'topology' | 'single' | 'collection' {
  for (const { key, start: from, end } of membersOf(head, start)) {
    if (key === 'arcs' || key === 'objects') return 'topology';
    if (key === 'features') return 'collection';
    if (key === 'geometry' || key === 'coordinates' || key === 'geometries') return 'single';
    if (key !== 'type') continue;
    const type = typeOf(head.subarray(from, end));
    if (type === 'Topology') return 'topology';
    if (type === 'FeatureCollection') return 'collection';
    if (isGeoJson({ type })) return 'single';
  }
  return 'collection';
}

function typeOf(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes.subarray(1, Math.min(bytes.length - 1, 30)));
}

/**
 * Whether the value at `start` is on one line, and whether more text follows it, as in a file with one feature per line.
 */
export function* firstValue(window: ByteWindow, start: number): Steps<'of several lines' | 'alone' | 'followed'> {
  const record = emptyRecord();
  let end = scanRecord(record, window.bytes, start, window.end);
  while (end === -1 && (yield* needMore(window))) end = scanRecord(record, window.bytes, start, window.end);
  const hasLineEnd = window.bytes.subarray(start, end === -1 ? window.end : end).includes(10);
  if (end === -1) return hasLineEnd ? 'followed' : 'alone';
  if (hasLineEnd) return 'of several lines';
  let next = skipJsonSpace(window.bytes, end);
  while (next === window.end && (yield* needMore(window))) next = skipJsonSpace(window.bytes, end);
  return next < window.end ? 'followed' : 'alone';
}
