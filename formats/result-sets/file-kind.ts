import { withoutGz } from '../gzip.ts';
import type { ResultSetFormat } from './result-set.ts';

/** What the ending of a file's name tells: the format, or that it is JSON of one kind or the other. */
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

/** Files of every kind but PNG, which is compressed by itself, may be gzipped. */
const ENDINGS = PLAIN_ENDINGS.flatMap(([ending, kind]): (readonly [string, FileKind])[] =>
  kind === 'png'
    ? [[ending, kind]]
    : [
        [ending, kind],
        [`${ending}.gz`, kind],
      ],
);

/** The kind of file that a name tells; hidden files are of none. */
export function kindOf(name: string): FileKind | undefined {
  return name.startsWith('.') ? undefined : endingOf(name)?.[1];
}

/** A file's name without the ending that tells its kind; of unknown endings, without what follows the last point. */
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
