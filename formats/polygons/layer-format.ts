import { FormatError } from '../../primitives/checks/errors.ts';
import { latin1Text } from '../bytes/byte-arrays.ts';
import { withoutGz } from '../bytes/gzip-files.ts';
import { endingOf } from '../bytes/path-names.ts';
import type { Steps } from '../bytes/steps.ts';
import { beginsArray, beginsObject, skipJsonSpace } from '../result-sets/json-spans.ts';
import { type ByteWindow, closeWindow, need, openWindow } from './byte-window.ts';
import { kindOfRoot } from './json-root.ts';
import type { LayerInput } from './layer-input.ts';
import { type FileStart, HEAD_BYTES, type PolygonFormat } from './polygon-format.ts';
import { POLYGON_FORMATS } from './polygon-formats.ts';

/**
 * Detects the format of a file from its first bytes or, if these are of no format, from its extension.
 *
 * @throws FormatError `format/unknown-layer` if neither the bytes nor the extension identify a format.
 */
export function* formatOf(input: LayerInput): Steps<PolygonFormat> {
  const window = openWindow(input);
  try {
    const file = yield* startOf(window, input.file);
    for (const format of POLYGON_FORMATS) {
      const told = format.tells(file);
      if (typeof told === 'boolean' ? told : yield* told) return format;
    }
    const byEnding = POLYGON_FORMATS.find(({ endings }) => endings.includes(file.ending));
    if (byEnding !== undefined) return byEnding;
    throw unknownFormat(file, input.file);
  } finally {
    yield* closeWindow(window);
  }
}

function* startOf(window: ByteWindow, file: string): Steps<FileStart> {
  yield* need(window, HEAD_BYTES, 0);
  const head = window.bytes.subarray(0, window.end);
  const start = skipJsonSpace(head, head[0] === 0xef ? 3 : 0);
  const json = beginsObject(head, start)
    ? kindOfRoot(head, start)
    : beginsArray(head, start)
      ? 'collection'
      : undefined;
  return { head, start, json, ending: endingOf(withoutGz(file)).toLowerCase(), window };
}

/**
 * Common files that cannot be read as a polygon layer. Each entry has the first bytes of the file, and texts for the
 * error message: what the file is, and the remedy.
 */
const FOREIGN: readonly (readonly [bytes: string, what: string, remedy: string])[] = [
  ['\x1f\x8b', 'compressed by gzip', 'Unpack it first.'],
  ['MAQTREE\n', 'a tree, written by quadrille index build', 'Name the files of polygons that the tree was built from.'],
  ['\xff\xfe', 'text in UTF-16', 'Write it as UTF-8.'],
  ['\xfe\xff', 'text in UTF-16', 'Write it as UTF-8.'],
  ['II*\0', 'a TIFF image', 'Name a file of polygons.'],
  ['MM\0*', 'a TIFF image', 'Name a file of polygons.'],
  ['<', 'XML, such as KML or GML', 'Convert it, for example with ogr2ogr.'],
];

/** Companion files of a Shapefile, which users may name by mistake instead of the `.shp` file. */
const BESIDE: ReadonlySet<string> = new Set(['.dbf', '.shx', '.prj', '.cpg']);

/** What a file of an unknown format is, if its content or its extension tell. */
function foreignOf({ head, ending }: FileStart): readonly [what: string, remedy: string] | undefined {
  const text = latin1Text(head, 0, 16);
  const [, what, remedy] = FOREIGN.find(([bytes]) => text.startsWith(bytes)) ?? [];
  if (BESIDE.has(ending)) return [what ?? 'a companion file of a Shapefile', 'Name the file that ends in .shp.'];
  return what === undefined ? undefined : [what, remedy!];
}

function unknownFormat(file: FileStart, name: string): FormatError {
  const [what, remedy] = foreignOf(file) ?? [file.head.length === 0 ? 'an empty file' : 'something else'];
  return new FormatError(
    'format/unknown-layer',
    'The format of the file is not known, so its polygons cannot be read.',
    {
      expected: POLYGON_FORMATS.map(({ title }) => title).join(', '),
      got: what,
      remedy: remedy ?? 'Convert it, for example with ogr2ogr.',
      place: { file: name },
    },
  );
}
