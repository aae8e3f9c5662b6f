import type { Dirent, Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Note } from '../../algorithms/notes.ts';
import { listNames, quoteName } from '../../algorithms/quoted-names.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { aText, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { byCodeUnits } from '../../primitives/host/code-units.ts';
import { fileError } from '../bytes/file-error.ts';
import { unpacked } from '../bytes/gzip.ts';
import { readBounded } from '../bytes/read-bounded.ts';
import { unknownLayer } from '../polygons/choose-layer.ts';
import { chooseFiles, formatOf, kindOfFormat, remedyOfEnding } from './choose-files.ts';
import { openCoco } from './coco-index.ts';
import { ENDINGS, kindOf, stemOf } from './file-kind.ts';
import { layerFormat } from './layer-tile.ts';
import { openNifti } from './nifti-volume.ts';
import { type ResultSet, type ResultSetFormat, type TileParameters, type TileSource, tileKinds } from './result-set.ts';

/** Options for opening a result set. */
export interface ResultSetOptions
  extends Pick<TileParameters, 'geometryColumn' | 'idColumn' | 'layer' | 'regions' | 'memoryBytes'> {
  /**
   * Format of the files. Default: detected from the files' extensions. In a folder, only files with an extension of
   * this format are read. JSON files whose content has another format are skipped. If no file has such an extension,
   * files with unknown extensions are read and, for text formats, also `.txt` files.
   */
  readonly format?: ResultSetFormat | undefined;
}

/**
 * Lists the tiles of a result set: one file, or a folder with one file per tile (without subfolders).
 *
 * The format is detected from the files' extensions: those of all formats of polygon layers (`.json` may be GeoJSON,
 * TopoJSON or COCO, according to the content), `.txt` (boundaries `id x,y x,y …`), `.png` (label images), `.nii` and `.nii.gz` (label volumes, one slice per tile). A tile is named by its file's name without the
 * extension. A slice is named `slice-000017`, or `volume/slice-000017` in a folder of volumes. An image of a COCO file
 * is named by its `file_name` without the extension.
 *
 * Polygons are not read before `load()`. Listing reads only the names in the folder, the headers of volumes, and COCO
 * files as a whole. Files that are left out are noted as `result-set/other-files`.
 *
 * @throws FormatError if the path does not exist, no file has a known extension or the requested format, or the files
 * of a folder have several formats; also if a volume or a COCO file is malformed.
 * @example
 * const { tiles } = await openResultSet('property-tests/fixtures/result-sets/aal.nii.gz');
 * const tile = tiles[70];
 * const { ids } = parseTile(await tile.load(), tile.parameters);
 * [tiles.length, tile.name, ids.starts.length - 1, textAt(ids, 0)]; // [181, 'slice-000070', 79, '43']
 */
export async function openResultSet(path: string, options: ResultSetOptions = {}): Promise<ResultSet> {
  requireArguments('openResultSet', { path, options }, { path: aText, options: OPTIONS });
  const found = await statOf(path);
  return found.isDirectory() ? openFolder(path, options) : openFile(path, options);
}

const OPTIONS: Kind = someOptions<ResultSetOptions>({ ...tileKinds, format: optional(tileKinds.format) });

async function statOf(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (error) {
    throw fileError(path, error);
  }
}

async function openFile(path: string, options: ResultSetOptions): Promise<ResultSet> {
  const kind = kindOf(basename(path)) ?? kindOfFormat(options.format);
  if (kind === undefined) throw unknownEnding(path);
  const format = options.format ?? (await formatOf(kind, path));
  const { tiles, notes } = await listTiles(path, format, '', options);
  return { path, format, tiles: inOrder(tiles, path), notes };
}

async function openFolder(path: string, options: ResultSetOptions): Promise<ResultSet> {
  const { chosen, format, others } = await chooseFiles(path, await entriesOf(path), options.format);
  const tiles: TileSource[] = [];
  const notes: Note[] = others.length === 0 ? [] : [otherFilesNote(others, path)];
  for (const name of chosen) {
    const listed = await listTiles(join(path, name), format, `${stemOf(name)}/`, options);
    for (const tile of listed.tiles) tiles.push(tile);
    for (const note of listed.notes) notes.push(note);
  }
  return { path, format, tiles: inOrder(tiles, path), notes };
}

async function entriesOf(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    throw fileError(path, error);
  }
}

interface Listed {
  readonly tiles: readonly TileSource[];
  readonly notes: readonly Note[];
}

async function listTiles(
  file: string,
  format: ResultSetFormat,
  prefix: string,
  { geometryColumn, idColumn, layer, regions, memoryBytes }: ResultSetOptions,
): Promise<Listed> {
  if (layer !== undefined && layerFormat(format)?.isLayered !== true) throw unknownLayer(layer, file);
  const parameters = { format, place: file, geometryColumn, idColumn, layer, regions, memoryBytes };
  if (format === 'nifti') return { tiles: await openNifti(file, prefix, parameters), notes: [] };
  if (format === 'coco') return openCoco(file, parameters);
  const load = (signal?: AbortSignal): Promise<Uint8Array> => readBytes(file, memoryBytes, signal);
  return { tiles: [{ name: stemOf(basename(file)), place: file, format, file, load, parameters }], notes: [] };
}

async function readBytes(
  file: string,
  memoryBytes: number = Number.POSITIVE_INFINITY,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  signal?.throwIfAborted();
  try {
    return await unpacked(await readBounded(file, memoryBytes, signal), file, memoryBytes);
  } catch (error) {
    signal?.throwIfAborted();
    throw fileError(file, error);
  }
}

function inOrder(tiles: readonly TileSource[], path: string): TileSource[] {
  const sorted = tiles.toSorted((a, b) => byCodeUnits(a.name, b.name));
  const again = sorted.findIndex((tile, index) => index > 0 && tile.name === sorted[index - 1]!.name);
  if (again === -1) return sorted;
  throw new FormatError('format/duplicate-tile', `Two tiles are called ${quoteName(sorted[again]!.name)}.`, {
    expected: 'unique names, because the tiles of two result sets are paired by name',
    got: `${sorted[again - 1]!.place} and ${sorted[again]!.place}`,
    remedy: 'Rename or remove one of them.',
    place: { file: path },
  });
}

function otherFilesNote(others: readonly string[], path: string): Note {
  const count = others.length;
  const subject = count === 1 ? '1 entry' : `${count} entries`;
  const message = `${subject} of the folder ${path} ${count === 1 ? 'is' : 'are'} left out: ${listNames(others, 3)}.`;
  return { code: 'result-set/other-files', message, count };
}

function unknownEnding(path: string): FormatError {
  return new FormatError('format/unknown-ending', 'The file name does not show the format.', {
    expected: `a name that ends in ${ENDINGS}`,
    got: basename(path),
    remedy: remedyOfEnding([basename(path)], 'Name its format, if it has one of these; or convert it.'),
    place: { file: path },
  });
}
