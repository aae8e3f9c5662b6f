import type { Column } from '../../primitives/columns/column.ts';
import type { SortKeys } from '../../primitives/sort.ts';
import type { HostRows } from '../arbitraries/columns.ts';
import type { HostKind } from '../arbitraries/host-kinds.ts';

/** Kinds of sort keys. A key of u64 has two columns; every other kind has one. */
export type KeyKind = HostKind | 'u64';
export type KeyColumns = { readonly [name: string]: Column };
export type KeyRows = HostRows<{ readonly [name: string]: HostKind }>;

/** The key columns of a table. */
export function keysOf(kind: KeyKind, table: KeyColumns): SortKeys {
  return (kind === 'u64' ? { lo: table.lo, hi: table.hi } : table.key) as SortKeys;
}

/** Converts the key of a row to a number. Such numbers compare like the keys. */
export function keyOf(kind: KeyKind, rows: KeyRows, row: number): number {
  if (kind === 'u64') return Number(rows.hi![row]) * 2 ** 32 + Number(rows.lo![row]);
  if (kind !== 'f32') return Number(rows.key![row]);
  const { buffer, byteOffset } = rows.key as Float32Array;
  const [word] = new Int32Array(buffer, byteOffset + 4 * row, 1);
  return word! >= 0 ? word! : (word! ^ 0x7fffffff) | 0;
}
