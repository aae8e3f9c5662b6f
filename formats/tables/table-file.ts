import type { HostTable } from '../../algorithms/tables/host-table.ts';

/** Type of the cells of a column. */
export type FieldType =
  | { readonly type: 'u32' | 'i32' | 'f32' | 'u64' | 'i64' | 'f64' | 'bool' | 'date' | 'string' }
  /** Numbers of up to 18 digits: integers times 10^−scale. */
  | { readonly type: 'decimal'; readonly scale: number }
  /** Times since 1970-01-01, in columns of i64. With `utc` they are moments, otherwise local times. */
  | { readonly type: 'timestamp'; readonly unit: TimestampUnit; readonly utc: boolean };

export type TimestampUnit = 's' | 'ms' | 'us' | 'ns';

/** A column of a file. */
export type TableField = FieldType & {
  readonly name: string;
  /** Whether cells may be null. */
  readonly nullable: boolean;
};

/** A column of a file that cannot be read. */
export interface UnreadField {
  readonly name: string;
  /** Description of its contents, such as `lists`. */
  readonly what: string;
}

/** Supported formats of tables. */
export type TableFormat = 'parquet' | 'arrow' | 'csv';

/** A table in a file, which can be read batch by batch, several times. */
export interface TableFile {
  /** Name of the file in errors. */
  readonly file: string;
  readonly format: TableFormat;
  /** The columns that can be read, in the order of the file. */
  readonly fields: readonly TableField[];
  /** The columns that cannot be read, and why. */
  readonly unread: readonly UnreadField[];
  /** Number of rows; undefined if it is only known at the end. */
  readonly rows: number | undefined;
  /** Reads the rows, in order. Several passes give the same rows, with the same codes for the same strings. */
  batches(options?: BatchOptions): AsyncGenerator<TableBatch, void, undefined>;
  /** Closes the file. A second call does nothing. */
  close(): Promise<void>;
}

/** The part of a table to read, and how. */
export interface BatchOptions {
  /** Names of columns to read. Default: all that can be read. Parquet and Arrow skip the data of other columns. */
  readonly columns?: readonly string[] | undefined;
  /**
   * Number of rows of every batch except the last. Default: row groups of Parquet, record batches of Arrow, blocks of
   * CSV.
   */
  readonly rowsPerBatch?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Some rows of a table. */
export interface TableBatch {
  /** Index of the first row, from 0. */
  readonly first: number;
  readonly rows: number;
  /**
   * Columns by name, in the requested order. Timestamps are columns of i64. The dictionary of a string column is shared
   * by the whole file. It grows during reading; existing codes stay valid.
   */
  readonly columns: HostTable;
}

/** A column type for CSV that replaces detection. */
export type DeclaredType = Exclude<FieldType['type'], 'decimal' | 'timestamp'> | `decimal(${number})` | 'timestamp';

/** Options for opening a table. */
export interface TableOptions {
  /** Default: detected from the content. Text is assumed to be CSV. */
  readonly format?: TableFormat | undefined;
  /** For CSV: types of columns, by name. Default: the type as which all cells can be read. */
  readonly types?: { readonly [column: string]: DeclaredType } | undefined;
  /** For CSV: the delimiter. Default: the most frequent of `,` `;` tab and `|` in the first line. */
  readonly delimiter?: string | undefined;
  /**
   * For CSV: whether the first line has the names of the columns. Default true. Without names, columns are `column1`, …
   */
  readonly header?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}
