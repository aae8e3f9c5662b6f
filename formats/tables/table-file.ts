import type { Note } from '../../algorithms/notes.ts';
import type { HostColumn, HostTable } from '../../algorithms/tables/host-table.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';

/** Type of the cells of a column. */
export type FieldType =
  | { readonly type: 'u32' | 'i32' | 'f32' | 'u64' | 'i64' | 'f64' | 'bool' | 'date' | 'string' }
  /** Decimal numbers, stored as integers of 64 bits: the value is the integer times 10^−scale. The scale is 0 to 38. */
  | { readonly type: 'decimal'; readonly scale: number }
  /**
   * Times since 1970-01-01, stored as i64. If `utc` is true, they are points in time; otherwise they are local times.
   */
  | { readonly type: 'timestamp'; readonly unit: TimestampUnit; readonly utc: boolean }
  /** Times of day, stored as i64: the time since midnight. */
  | { readonly type: 'time'; readonly unit: TimestampUnit };

export type TimestampUnit = 's' | 'ms' | 'us' | 'ns';

/** Number of decimal digits of a second that a unit has. */
export const UNIT_DIGITS: { readonly [unit in TimestampUnit]: number } = { s: 0, ms: 3, us: 6, ns: 9 };

/** A column of a table file: its name and type. */
export type TableField = FieldType & {
  readonly name: string;
  /** Whether cells may be null. */
  readonly nullable: boolean;
};

/** The field of a column in memory. */
export function fieldOfColumn(name: string, column: HostColumn): TableField {
  const nullable = column.validity !== undefined;
  return column.type === 'decimal'
    ? { type: 'decimal', scale: column.scale, name, nullable }
    : { type: column.type, name, nullable };
}

/** A column that cannot be read, because its type is not supported. */
export interface UnreadField {
  readonly name: string;
  /** Type of the column in the terms of its format, such as `BYTE_ARRAY (BSON)` of Parquet. */
  readonly type: string;
  /** Description of the column's contents, such as `lists`. */
  readonly what: string;
}

/** Supported formats of tables. */
export type TableFormat = 'parquet' | 'arrow' | 'csv';

/** A table in a file. The rows can be read several times, batch by batch. */
export interface TableFile {
  /** Name of the file in error messages. */
  readonly file: string;
  readonly format: TableFormat;
  /** The columns that can be read, in the order of the file. */
  readonly fields: readonly TableField[];
  /** The columns that cannot be read, with a description of their contents. */
  readonly unread: readonly UnreadField[];
  /** What the reader accepted but the user should know, such as numbers that are taken for the names of columns. */
  readonly notes: readonly Note[];
  /** Number of rows; undefined if it is unknown before the end of the file is reached. */
  readonly rows: number | undefined;
  /** Reads the rows in order. Can be called several times; strings have the same codes each time. */
  batches(options?: BatchOptions): AsyncGenerator<TableBatch, void, undefined>;
  /** Closes the file. Has no effect if it is already closed. */
  close(): Promise<void>;
}

/** Which columns of a table to read, and in which batches. */
export interface BatchOptions {
  /**
   * Names of columns to read. Default: all readable columns. Parquet and Arrow do not read the data of other columns.
   */
  readonly columns?: readonly string[] | undefined;
  /**
   * Number of rows in every batch except the last. Default: a batch is a row group of Parquet, a record batch of Arrow,
   * or 65,536 rows of CSV.
   */
  readonly rowsPerBatch?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A batch of consecutive rows. */
export interface TableBatch {
  /** Index of the batch's first row in the table, from 0. */
  readonly first: number;
  readonly rows: number;
  /**
   * Columns by name, in the requested order. Timestamps and times of day are columns of i64. The dictionary of a string column is the
   * same object in all batches. Strings may be appended to the dictionary while further batches are read; existing
   * codes stay valid.
   */
  readonly columns: HostTable;
}

/** A type that the user can declare for a CSV column. The declared type replaces the detected type. */
export type DeclaredType =
  | Exclude<FieldType['type'], 'decimal' | 'timestamp' | 'time'>
  | `decimal(${number})`
  | 'timestamp';

/** Options for opening a table. */
export interface TableOptions {
  /** Format of the file. Default: detected from the content; any text is assumed to be CSV. */
  readonly format?: TableFormat | undefined;
  /** For CSV: types of columns, by name. Default: the narrowest type to which all cells can be converted. */
  readonly types?: { readonly [column: string]: DeclaredType } | undefined;
  /** For CSV: the delimiter. Default: of `,`, `;`, tab and `|`, the one that occurs most often in the first line. */
  readonly delimiter?: string | undefined;
  /**
   * For CSV: whether the first line contains the names of the columns. Default true. If false, columns are named
   * `column1`, `column2`, …
   */
  readonly header?: boolean | undefined;
  /** For CSV: the decimal separator of numbers. Default: a point. */
  readonly decimal?: '.' | ',' | undefined;
  readonly signal?: AbortSignal | undefined;
}
