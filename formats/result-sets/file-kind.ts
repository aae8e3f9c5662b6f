import { withoutGz } from '../bytes/gzip.ts';
import type { ResultSetFormat } from './result-set.ts';

/**
 * The kind of a file, as its extension indicates: a format, or `json` for GeoJSON, TopoJSON and COCO, which share
 * extensions.
 */
export type FileKind = Exclude<ResultSetFormat, 'geojson' | 'coco' | 'topojson'> | 'json';

const PLAIN_ENDINGS: readonly (readonly [string, FileKind])[] = [
  ['.geojson', 'json'],
  ['.json', 'json'],
  ['.topojson', 'json'],
  ...['.ndjson', '.jsonl', '.geojsonl', '.geojsons', '.geojsonseq'].map((ending) => [ending, 'geojson-lines'] as const),
  ['.fgb', 'flatgeobuf'],
  ['.wkt', 'wkt'],
  ['.csv', 'csv'],
  ['.tsv', 'csv'],
  ['.txt', 'boundaries'],
  ['.png', 'png'],
  ['.nii', 'nifti'],
];

/** Extensions with and without `.gz`. PNG has no `.gz`, because it is already compressed. */
const ENDINGS = PLAIN_ENDINGS.flatMap(([ending, kind]): (readonly [string, FileKind])[] =>
  kind === 'png'
    ? [[ending, kind]]
    : [
        [ending, kind],
        [`${ending}.gz`, kind],
      ],
);

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
  return ENDINGS.find(([ending]) => lower.endsWith(ending) && lower.length > ending.length);
}
