import { type Note, noteTally } from '../../algorithms/notes.ts';
import { isGeographicCrs, normalizeCrs } from '../crs.ts';
import { LEFT_OUT_SENTENCES, withFirstErrors } from '../left-out.ts';
import type { Reading } from './layer-reading.ts';
import { JUMP_SENTENCES, OTHER_GEOMETRY_SENTENCE, RING_SENTENCES, ringsThat } from './polygon-notes.ts';

/**
 * The coordinate system of a layer, as far as it is known from the options and from the bytes that have been read.
 *
 * @param geographic - Whether coordinates are assumed to be longitudes and latitudes if no system is stated.
 */
export function crsOf(
  { options, stated }: Pick<Reading, 'options' | 'stated'>,
  geographic: boolean,
): string | undefined {
  const named = options.crs ?? stated;
  if (named === undefined) return geographic ? 'OGC:CRS84' : undefined;
  return named === null ? undefined : normalizeCrs(named);
}

/**
 * The notes on what has been read of a layer so far. Notes on jumps of longitudes are omitted if `crs` is not
 * geographic.
 *
 * @param geographic - Whether coordinates are assumed to be longitudes and latitudes if no system is stated.
 */
export function notesOf(reading: Reading, crs: string | undefined, geographic: boolean): Note[] {
  const { noun = 'polygon' } = reading.forZones;
  const sentences = { ...SENTENCES, 'zones/no-geometry': noGeometry(noun) };
  const notes = withFirstErrors(reading.columns.tally.notes(sentences), reading);
  const told = isGeographicCrs(crs) ? notes : notes.filter(({ code }) => !(code in JUMP_SENTENCES));
  return crs === undefined ? [...told, crsNote(reading, geographic)] : told;
}

const SENTENCES: Readonly<Record<string, (count: number) => string>> = {
  ...RING_SENTENCES,
  ...JUMP_SENTENCES,
  'polygons/short-rings': (n) =>
    `${ringsThat(n, 'has', 'have')} fewer than three vertices and ${n === 1 ? 'was' : 'were'} left out, in`,
  ...OTHER_GEOMETRY_SENTENCE,
  'zones/repeated-attributes': (n) =>
    `${n === 1 ? '1 attribute has' : `${n} attributes have`} the name of another before and ${n === 1 ? 'was' : 'were'} left out`,
  'zones/unread-attributes': (n) =>
    `${n === 1 ? '1 attribute is of a type that is not read and was' : `${n} attributes are of types that are not read and were`} left out`,
  'polygons/deleted-records': (n) =>
    `${n === 1 ? '1 record is marked as deleted and was' : `${n} records are marked as deleted and were`} left out`,
  'polygons/unknown-code-page': () =>
    'The code page of the names is not known here, so they may be wrong; it is stated as',
  'polygons/undecoded-names': (n) =>
    `${n === 1 ? '1 name has' : `${n} names have`} bytes that do not exist in the code page of the file`,
  'polygons/unused-bytes': (n) =>
    `${n === 1 ? '1 gap' : `${n} gaps`} without records, as the .shx file states, ${n === 1 ? 'was' : 'were'} skipped`,
  'polygons/named-by-row': () =>
    'The layer is a view, which has no key, so polygons are named by the number of their row:',
  'polygons/spherical-edges': () =>
    'Edges are stated to be arcs of great circles, and are taken as straight lines between longitudes and latitudes, of',
  'polygons/other-geometry-columns': (n) =>
    `${n === 1 ? '1 other column has geometries and was' : `${n} other columns have geometries and were`} not read`,
  'polygons/bounds-beyond-degrees': () =>
    'The coordinates are stated to be longitudes and latitudes, but the stated bounds are no such degrees',
  'polygons/trailing-bytes': () => 'Bytes after the end that the header states were not read',
  ...LEFT_OUT_SENTENCES,
};

function crsNote({ stated, forZones: { noun = 'polygon' } }: Reading, geographic: boolean): Note {
  const doubt = geographic ? ' and its coordinates are no longitudes and latitudes' : '';
  const reason =
    stated === null ? 'has a "crs" member that names no coordinate system' : `states no coordinate system${doubt}`;
  return { code: 'zones/crs-unknown', message: `The file of ${noun}s ${reason}.` };
}

/** The note on a layer without polygons. */
export function noPolygonsNote(noun: string): Note {
  return { code: 'zones/none', message: `There are no ${noun}s in the file.` };
}

function noGeometry(noun: string): (count: number) => string {
  return (n) => `${n === 1 ? `1 ${noun} has` : `${n} ${noun}s have`} no geometry`;
}

/** The note that several polygons have the same name; an empty list if all names are different. */
export function duplicateNotes(names: readonly string[], noun: string): Note[] {
  const seen = new Map<string, number>();
  for (const name of names) seen.set(name, (seen.get(name) ?? 0) + 1);
  const tally = noteTally();
  for (const [name, times] of seen) if (times > 1) tally.add('zones/duplicate-names', name);
  return tally.notes({
    'zones/duplicate-names': (n) =>
      `${n === 1 ? '1 name is' : `${n} names are`} shared by several ${noun}s, which stay separate`,
  });
}
