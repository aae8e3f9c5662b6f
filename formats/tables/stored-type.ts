import type { HostColumn } from '../../algorithms/tables/host-table.ts';
import type { FieldType } from './table-file.ts';

/** Type of the host column that holds the values of a field. Times have no host type of their own; they are i64. */
export function storedType({ type }: FieldType): HostColumn['type'] {
  return type === 'timestamp' || type === 'time' ? 'i64' : type;
}
