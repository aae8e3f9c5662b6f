import type { Reading } from './layer-reading.ts';

/**
 * The columns of a table of attributes that are read: those that are wanted, of equal names the first. Notes which are wanted
 * and not read, because of their name or because `isReadable` is false.
 */
export function attributeColumns<C extends { readonly name: string }>(
  { columns: { tally }, forZones: { attributes } }: Reading,
  columns: readonly C[],
  isReadable: (column: C) => boolean,
): C[] {
  if (attributes === undefined) return [];
  attributes.list(columns.map(({ name }) => name));
  const met = new Set<string>();
  return columns.filter((column) => {
    const { name } = column;
    if (!attributes.wants(name)) return false;
    const isRepeated = met.has(name);
    met.add(name);
    if (!isRepeated && isReadable(column)) return true;
    tally.add(isRepeated ? 'zones/repeated-attributes' : 'zones/unread-attributes', name);
    return false;
  });
}
