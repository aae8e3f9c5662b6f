import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { listNames, quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { byCodeUnits } from '../../primitives/host/code-units.ts';
import { ENDINGS, type FileKind, kindOf, stemOf } from './file-kind.ts';
import type { ResultSetFormat } from './result-set.ts';
import { type JsonFormat, sniffJson } from './sniff-json.ts';

/** Names of the files in a folder. `chosen` lists the files that are tiles, and `others` lists all other files. */
export interface ChosenFiles {
  readonly chosen: readonly string[];
  readonly format: ResultSetFormat;
  readonly others: readonly string[];
}

/**
 * Chooses the files of a folder that are tiles. If a format is requested, the tiles are the files of this format.
 * Otherwise all files with known extensions are tiles, and must have the same format.
 *
 * @throws FormatError if there are no tiles, or if no format is requested and the extensions indicate several formats.
 */
export async function chooseFiles(
  path: string,
  entries: readonly Dirent[],
  wanted: ResultSetFormat | undefined,
): Promise<ChosenFiles> {
  const kinds = kindsOf(entries);
  const chosen = wanted === undefined ? onlyKind(path, kinds) : await filesOf(path, wanted, kinds);
  if (chosen.length === 0) throw noTiles(path, wanted, kinds, entries);
  chosen.sort(byCodeUnits);
  const taken = new Set(chosen);
  // Companions of a Shapefile, such as a.dbf and a.shp.xml, belong to it.
  const shapes = new Set(chosen.filter((name) => kindOf(name) === 'shapefile').map(stemOf));
  const others = entries
    .map(({ name }) => name)
    .filter((name) => !(taken.has(name) || shapes.has(stemOf(name)) || shapes.has(stemOf(stemOf(name)))));
  const format = wanted ?? (await formatOf(kindOf(chosen[0]!)!, join(path, chosen[0]!)));
  return { chosen, format, others: others.sort(byCodeUnits) };
}

/** Names of files, grouped by the kinds that their extensions indicate. Hidden files and folders are not included. */
type FilesByKind = ReadonlyMap<FileKind | undefined, readonly string[]>;

function kindsOf(entries: readonly Dirent[]): FilesByKind {
  const kinds = new Map<FileKind | undefined, string[]>();
  for (const entry of entries) {
    if (entry.name.startsWith('.') || !(entry.isFile() || entry.isSymbolicLink())) continue;
    const kind = kindOf(entry.name);
    const names = kinds.get(kind);
    if (names === undefined) kinds.set(kind, [entry.name]);
    else names.push(entry.name);
  }
  return kinds;
}

function onlyKind(path: string, kinds: FilesByKind): string[] {
  const known = [...kinds].filter(([kind]) => kind !== undefined);
  if (known.length > 1) throw severalFormats(path, kinds);
  return known.flatMap(([, names]) => names);
}

async function filesOf(path: string, wanted: ResultSetFormat, kinds: FilesByKind): Promise<string[]> {
  const fitting = kinds.get(kindOfFormat(wanted)) ?? [];
  if (fitting.length > 0) {
    return isJsonFormat(wanted) ? await jsonOf(path, wanted, fitting) : [...fitting];
  }
  // No file has an extension of the requested format. Take files with unknown extensions and, for text formats, `.txt`.
  const text = wanted === 'png' || wanted === 'nifti' ? [] : (kinds.get('boundaries') ?? []);
  return [...(kinds.get(undefined) ?? []), ...text];
}

/** The JSON files whose content has the requested format. Files whose content does not reveal a format are included. */
async function jsonOf(path: string, wanted: JsonFormat, names: readonly string[]): Promise<string[]> {
  const chosen: string[] = [];
  for (const name of names) {
    const told = await sniffJson(join(path, name));
    if (told === undefined || told === wanted) chosen.push(name);
  }
  return chosen;
}

/**
 * The format of a file of the given kind. If the kind is JSON, the content of the file at `path` decides between
 * GeoJSON and COCO; the default is GeoJSON.
 */
export async function formatOf(kind: FileKind, path: string): Promise<ResultSetFormat> {
  return kind === 'json' ? ((await sniffJson(path)) ?? 'geojson') : kind;
}

function isJsonFormat(format: ResultSetFormat | undefined): format is JsonFormat {
  return format === 'geojson' || format === 'coco' || format === 'topojson';
}

/** The kind of file in which a format is stored. */
export function kindOfFormat(format: ResultSetFormat | undefined): FileKind | undefined {
  return isJsonFormat(format) ? 'json' : format;
}

function noTiles(
  path: string,
  wanted: ResultSetFormat | undefined,
  kinds: FilesByKind,
  entries: readonly Dirent[],
): FormatError {
  const known = [...kinds.keys()].some((kind) => kind !== undefined);
  if (wanted !== undefined && known) {
    const sentence = `There are no files of the format ${wanted} in the folder, only of others.`;
    return new FormatError('format/no-tiles', sentence, {
      expected: `files of the format ${wanted}`,
      got: listKinds(kinds),
      remedy: 'Omit the format if extensions give it; a given format applies to both sets of a comparison.',
      place: { file: path },
    });
  }
  const names = entries.map(({ name }) => name).sort(byCodeUnits);
  return new FormatError('format/no-tiles', 'There are no tiles in the folder.', {
    expected: wanted === undefined ? `files whose names end in ${ENDINGS}` : 'files that are not hidden',
    got: names.length === 0 ? 'an empty folder' : listNames(names, 3),
    remedy: remedyOfEnding(names, 'Name the folder that holds the files themselves; folders in it are not searched.'),
    place: { file: path },
  });
}

/** What to do about files with unknown extensions: converting label images in TIFF, otherwise `other`. */
export function remedyOfEnding(names: readonly string[], other: string): string {
  if (!names.some((name) => /\.tiff?$/i.test(name))) return other;
  return (
    'Labels are read from PNG (up to 16 bits) and NIfTI, not from TIFF: convert them, for example with ' +
    'gdal_translate -strict -of PNG labels.tif labels.png. It refuses types of other than 8 and 16 bits without a sign: ' +
    'write such labels as NIfTI or, if none is above 65535 (gdalinfo -mm tells), add -ot UInt16, which makes 65535 of larger ones.'
  );
}

function severalFormats(path: string, kinds: FilesByKind): FormatError {
  return new FormatError('format/several-formats', 'The files of the folder are of several formats.', {
    expected: 'one format per result set',
    got: listKinds(kinds),
    remedy: 'Name the format to read, or move the others away.',
    place: { file: path },
  });
}

function listKinds(kinds: FilesByKind): string {
  const known = [...kinds].filter(([kind]) => kind !== undefined);
  return known.map(([kind, names]) => `${names.length} ${kind} (${quoteName(names[0]!)})`).join(', ');
}
