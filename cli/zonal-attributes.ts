import type { Note } from '../algorithms/notes.ts';
import { listNames } from '../algorithms/quoted-names.ts';
import { DEFAULT_NAMES } from '../algorithms/zonal/zone-statistics.ts';
import type { ZoneAttribute } from '../formats/polygons/zone-attributes.ts';
import type { RowsOf } from '../formats/results/zonal-json.ts';
import { isJsonFile } from './values.ts';
import type { ZonalOptions } from './zonal-arguments.ts';

type Written = Pick<ZonalOptions, 'out' | 'format' | 'stats' | 'statistics' | 'pixels'>;

/**
 * Gives attributes names that no other column of the outputs has, and notes which were renamed. An attribute has one name in
 * all outputs.
 *
 * @param of - The raster and the band that rows have.
 * @param prefixes - What stands before the names of statistics, if they are columns for several rasters or bands.
 */
export function withFreeNames(
  attributes: readonly ZoneAttribute[],
  options: Written,
  of: RowsOf,
  prefixes: readonly string[] | undefined,
): { readonly attributes: readonly ZoneAttribute[]; readonly notes: readonly Note[] } {
  const { columns, shares } = columnsBeside(options, of, prefixes);
  const mayBe = (name: string): boolean =>
    shares.some((before) => name.startsWith(before) && isNumber(name.slice(before.length)));
  const isTaken = (name: string): boolean => columns.has(name) || mayBe(name);
  const names = new Set(attributes.map(({ name }) => name));
  const renamed: string[] = [];
  const free = attributes.map(({ name, column }) => {
    if (!isTaken(name)) return { name, column };
    let other = `zone_${name}`;
    while (names.has(other) || isTaken(other)) other = `zone_${other}`;
    names.add(other);
    renamed.push(name);
    return { name: other, column };
  });
  if (renamed.length === 0) return { attributes, notes: [] };
  const isSure = renamed.every((name) => columns.has(name));
  const [are, those] =
    renamed.length === 1
      ? ['1 attribute is', isSure ? 'it has' : 'it may have']
      : [`${renamed.length} attributes are`, isSure ? 'they have' : 'they may have'];
  const message = `${are} written with zone_ before the name, because ${those} the name of another column: ${listNames(renamed, 20)}.`;
  return { attributes: free, notes: [{ code: 'zonal/attributes-renamed', message, count: renamed.length }] };
}

/** The columns of all outputs but attributes, and what comes before the value in names of columns of shares. */
function columnsBeside(
  { out, format, stats, statistics, pixels }: Written,
  { raster, band }: RowsOf,
  prefixes: readonly string[] | undefined,
): { readonly columns: ReadonlySet<string>; readonly shares: readonly string[] } {
  const ofRows = [...(raster === undefined ? [] : ['raster']), ...(band === undefined ? [] : ['band'])];
  const columns = new Set(['zone']);
  const shares: string[] = [];
  const add = (names: readonly string[]): void => {
    for (const name of names) columns.add(name);
  };
  // In JSON, the attributes of histograms are an object of their own.
  if (out !== undefined && format !== 'json') add([...ofRows, 'lower', 'upper', 'count']);
  if (out !== undefined && format === 'arrow') add(['kind']);
  if (stats === undefined) return { columns, shares };
  if (prefixes === undefined) add(ofRows);
  const areas = pixels === 'fractional' ? ['count'] : [];
  for (const prefix of prefixes ?? ['']) {
    for (const name of statistics ?? ['cells', ...areas, 'nodata', ...DEFAULT_NAMES]) {
      if (name === 'frac' && !isJsonFile(stats)) shares.push(`${prefix}frac_`);
      else add([`${prefix}${name}`]);
    }
  }
  return { columns, shares };
}

/** Whether a text is a number as outputs write it. */
function isNumber(text: string): boolean {
  return /^-?\d+$/.test(text) || (text !== 'NaN' && String(Number(text)) === text);
}
