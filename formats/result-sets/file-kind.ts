import { withoutGz } from '../gzip.ts';
import type { ResultSetFormat } from './result-set.ts';

/** The kind of a file given by its extension: its format, or JSON of either format. */
export type FileKind = Exclude<ResultSetFormat, 'geojson' | 'coco'> | 'json';

const PLAIN_ENDINGS: readonly (readonly [string, FileKind])[] = [
  ['.geojson', 'json'],
  ['.json', 'json'],
  ['.wkt', 'wkt'],
  ['.csv', 'csv'],
  ['.tsv', 'csv'],
  ['.txt', 'boundaries'],
  ['.png', 'png'],
  ['.nii', 'nifti'],
];

/** Files of every kind except PNG, which is already compressed, may be gzipped. */
const ENDINGS = PLAIN_ENDINGS.flatMap(([ending, kind]): (readonly [string, FileKind])[] =>
  kind === 'png'
    ? [[ending, kind]]
    : [
        [ending, kind],
        [`${ending}.gz`, kind],
      ],
);

/** The kind of a file by its name. Hidden files have no kind. */
export function kindOf(name: string): FileKind | undefined {
  return name.startsWith('.') ? undefined : endingOf(name)?.[1];
}

/** A file's name without the extension of its kind, or without its last extension if that is unknown. */
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
