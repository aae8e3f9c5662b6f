import type { Column } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context/context.ts';
import type { Bounds } from './bounds.ts';
import type { ColumnKind } from './host-table.ts';

/** Integer type of the keys in a column. A key is an integer that stands for a value; keys compare like the values. */
export type KeyType = 'u32' | 'i32' | 'u64' | 'i64';

/**
 * A column on a device. The values are stored as integer keys, which compare like the values; see {@link createTable}.
 */
export interface TableColumn {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly key: KeyType;
  /** The words of the keys: one column for 32-bit keys, or two columns for 64-bit keys, low words first. */
  readonly words: readonly Column<'u32' | 'i32'>[];
  /** Which rows are valid (not null), one bit per row. Undefined if all rows are valid. */
  readonly validity: Column<'u32'> | undefined;
  /** Bounds of the keys of all rows. For 64-bit keys, the bounds may be wider than the minimum and maximum. */
  readonly bounds: Bounds;
  /** Only for f32: the bits of the smallest magnitude that is not zero, if known. */
  readonly smallestMagnitude?: number | undefined;
  /** For string columns, the sorted strings, to which the keys are indices. Empty for columns of other types. */
  readonly dictionary: readonly string[];
  /** For decimals, the number of decimal places. */
  readonly scale: number;
}

/** Columns of equal length on a device, by name. All columns belong to one context. */
export interface DeviceTable {
  readonly context: Context;
  readonly rows: number;
  readonly columns: { readonly [name: string]: TableColumn };
}
