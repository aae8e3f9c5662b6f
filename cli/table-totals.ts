import type { CellValue, HostColumn } from '../algorithms/tables/index.ts';
import { isSet } from '../formats/tables/bits.ts';

/** The total of a group in a part of a file. Decimals are in units of their last digit. Undefined if no row has a value. */
export type PartTotal = (group: number) => number | bigint | undefined;

/** Converts a cell to a total. */
export function cellTotal(cell: CellValue): PartTotal {
  const value = typeof cell === 'object' && cell !== null ? cell.units : cell;
  const total = typeof value === 'boolean' ? Number(value) : value;
  return () => (total === null ? undefined : (total as number | bigint));
}

/** Reads the totals from a column of groups. */
export function columnTotal(column: HostColumn): PartTotal {
  const { validity } = column;
  const values = column.type === 'string' ? column.codes : column.values;
  return (group) => (validity === undefined || isSet(validity, group) ? values[group]! : undefined);
}
