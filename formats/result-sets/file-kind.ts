import { withoutGz } from '../bytes/gzip-files.ts';
import { POLYGON_FORMATS } from '../polygons/polygon-formats.ts';
import { needsFile } from './layer-tile.ts';
import type { ResultSetFormat } from './result-set.ts';

/**
 * The kind of a file, as its extension indicates: a format, or `json` for GeoJSON, TopoJSON and COCO, which share
 * extensions.
 */
export type FileKind = Exclude<ResultSetFormat, 'geojson' | 'coco' | 'topojson'> | 'json';

const PLAIN_ENDINGS: readonly (readonly [string, FileKind])[] = [
  ...POLYGON_FORMATS.flatMap(({ name, endings }) =>
    endings.map((ending) => [ending, name === 'geojson' || name === 'topojson' ? 'json' : name] as const),
  ),
  ['.txt', 'boundaries'],
  ['.png', 'png'],
  ['.nii', 'nifti'],
];

/** Whether files of a kind may be gzipped. Others are compressed themselves, or are only read from files as they are. */
function mayBeGzipped(kind: FileKind): boolean {
  return kind !== 'png' && (kind === 'json' || !needsFile(kind));
}

const ALL_ENDINGS = PLAIN_ENDINGS.flatMap(([ending, kind]): (readonly [string, FileKind])[] => [
  [ending, kind],
  ...(mayBeGzipped(kind) ? [[`${ending}.gz`, kind] as const] : []),
]);

/** The extensions of all kinds, for messages. */
export const ENDINGS: string = PLAIN_ENDINGS.map(([ending, kind]) =>
  mayBeGzipped(kind) ? `${ending}[.gz]` : ending,
).join(', ');

/** The kind of file that a name indicates; undefined for unknown extensions and hidden files. */
export function kindOf(name: string): FileKind | undefined {
  return name.startsWith('.') ? undefined : endingOf(name)?.[1];
}

/**
 * The name of a file without its known extension (such as `.csv.gz`). If the extension is unknown, `.gz` and the last
 * extension before it are removed.
 */
export function stemOf(name: string): string {
  const ending = endingOf(name)?.[0];
  if (ending !== undefined) return name.slice(0, -ending.length);
  const bare = withoutGz(name);
  const point = bare.lastIndexOf('.');
  return point > 0 ? bare.slice(0, point) : bare;
}

function endingOf(name: string): readonly [string, FileKind] | undefined {
  const lower = name.toLowerCase();
  return ALL_ENDINGS.find(([ending]) => lower.endsWith(ending) && lower.length > ending.length);
}
