import { basename, extname } from 'node:path';
import type { Note } from '../algorithms/notes.ts';
import { listNames } from '../algorithms/quoted-names.ts';
import { DEFAULT_NAMES } from '../algorithms/zonal/zone-statistics.ts';
import { UsageError } from '../formats/usage-error.ts';

/** What is counted by itself: a band of a raster, or of a surface of several rasters, which has no path. */
export interface CountedBand {
  /** Undefined if it is the same for all. */
  readonly path: string | undefined;
  readonly band: number;
}

/**
 * What stands before the names of statistics in a table with a row for each zone, for each of some rasters and bands:
 * `STEM_`, `band_N_` or `STEM_band_N_`, as exactextract names columns. The stem is the name of the file without its ending.
 * The band is there if several bands of a raster are counted. Rasters that would have columns of the same names have their
 * paths in place of stems, and a note says so.
 *
 * @throws UsageError `zonal/same-columns` if columns have the same names even so.
 */
export function columnPrefixes(
  counted: readonly CountedBand[],
  statistics: readonly string[] = ['cells', 'count', 'nodata', ...DEFAULT_NAMES],
): { readonly prefixes: readonly string[]; readonly notes: readonly Note[] } {
  const bandsOf = new Map<string | undefined, number>();
  for (const { path } of counted) bandsOf.set(path, (bandsOf.get(path) ?? 0) + 1);
  const byPath = new Set<string>();
  for (;;) {
    const prefixes = counted.map(({ path, band }) => {
      const name = path === undefined || byPath.has(path) ? path : basename(path, extname(path));
      return `${name === undefined ? '' : `${name}_`}${bandsOf.get(path)! > 1 ? `band_${band}_` : ''}`;
    });
    const same = withSameColumns(prefixes, statistics);
    if (same.length === 0) return { prefixes, notes: notesOn([...byPath]) };
    const paths = same.map((at) => counted[at]!.path!);
    if (paths.every((path) => byPath.has(path))) throw sameColumns(paths);
    for (const path of paths) byPath.add(path);
  }
}

/** The places of prefixes that make a name which another makes, too. */
function withSameColumns(prefixes: readonly string[], statistics: readonly string[]): number[] {
  const first = new Map<string, number>();
  const same = new Set<number>();
  for (const [at, prefix] of prefixes.entries()) {
    for (const statistic of statistics) {
      const name = `${prefix}${statistic}`;
      const other = first.get(name);
      if (other === undefined) first.set(name, at);
      else same.add(other).add(at);
    }
  }
  return [...same];
}

function notesOn(paths: readonly string[]): Note[] {
  if (paths.length === 0) return [];
  const message = `Columns of ${paths.length} rasters begin with their paths, as their names would be the same: ${listNames(paths, SHOWN)}.`;
  return [{ code: 'zonal/columns-by-path', message, count: paths.length }];
}

const SHOWN = 3;

function sameColumns(paths: readonly string[]): UsageError {
  const sentence = `Rasters have columns of the same names: ${listNames([...new Set(paths)], SHOWN)}.`;
  return new UsageError('zonal/same-columns', sentence, { remedy: 'Rename one of the files, or leave --wide out.' });
}
