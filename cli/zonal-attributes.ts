import { listNames, type Note } from '../algorithms/notes.ts';
import { DEFAULT_NAMES } from '../algorithms/zonal/zone-statistics.ts';
import type { ZoneAttribute } from '../formats/zone-attributes.ts';

/** Columns of the outputs that are no statistics. */
const OWN_COLUMNS = ['raster', 'band', 'zone', 'lower', 'upper', 'count', 'kind', 'cells', 'nodata'];

/**
 * Gives attributes names that no other column of the outputs has, and notes which were renamed.
 *
 * @param prefixes - What may stand before the names of columns, too.
 */
export function withFreeNames(
  attributes: readonly ZoneAttribute[],
  { statistics = DEFAULT_NAMES }: { readonly statistics?: readonly string[] | undefined },
  prefixes: readonly string[] = [],
): { readonly attributes: readonly ZoneAttribute[]; readonly notes: readonly Note[] } {
  const columns = new Set([...OWN_COLUMNS, ...statistics]);
  const isOwn = (name: string): boolean => columns.has(name) || (columns.has('frac') && name.startsWith('frac_'));
  const isColumn = (name: string): boolean =>
    isOwn(name) || prefixes.some((prefix) => name.startsWith(prefix) && isOwn(name.slice(prefix.length)));
  const names = new Set(attributes.map(({ name }) => name));
  const renamed: string[] = [];
  const free = attributes.map(({ name, column }) => {
    if (!isColumn(name)) return { name, column };
    let other = `zone_${name}`;
    while (names.has(other) || isColumn(other)) other = `zone_${other}`;
    names.add(other);
    renamed.push(name);
    return { name: other, column };
  });
  if (renamed.length === 0) return { attributes, notes: [] };
  const [are, those] =
    renamed.length === 1 ? ['1 attribute is', 'it has'] : [`${renamed.length} attributes are`, 'they have'];
  const message = `${are} written with zone_ before the name, because ${those} the name of another column: ${listNames(renamed, 20)}.`;
  return { attributes: free, notes: [{ code: 'zonal/attributes-renamed', message, count: renamed.length }] };
}
