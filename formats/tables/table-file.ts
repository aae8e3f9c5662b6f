import type { HostTable } from '../../algorithms/tables/host-table.ts';

/** What the cells of a column are. */
export type FieldType =
  | { readonly type: 'u32' | 'i32' | 'f32' | 'u64' | 'i64' | 'f64' | 'bool' | 'date' | 'string' }
  /** Numbers of up to 18 digits: whole numbers times 10^−scale. */
  | { readonly type: 'decimal'; readonly scale: number }
  /** Times since 1970-01-01, in columns of i64. With `utc` they are moments, else what a clock on a wall shows. */
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
  /** What it holds, such as `lists`. */
  readonly what: string;
}

/** Formats of tables that are read. */
export type TableFormat = 'parquet' | 'arrow' | 'csv';

/** A table in a file, to be read batch by batch, as often as needed. */
export interface TableFile {
  /** What errors call it. */
  readonly file: string;
  readonly format: TableFormat;
  /** The columns that can be read, in the order of the file. */
  readonly fields: readonly TableField[];
  /** The columns that cannot, and why. */
  readonly unread: readonly UnreadField[];
  /** How many rows there are; undefined where only reading to the end tells. */
  readonly rows: number | undefined;
  /** Reads the rows, in order. Several passes give the same rows, with the same codes for the same strings. */
  batches(options?: BatchOptions): AsyncGenerator<TableBatch, void, undefined>;
  /** Ends what is open; twice does nothing. */
  close(): Promise<void>;
}

/** Which part of a table is read, and how. */
export interface BatchOptions {
  /** Names of columns; all that can be read where left out. Of others nothing is read from Parquet and Arrow. */
  readonly columns?: readonly string[] | undefined;
  /** So many rows has every batch but the last. Where left out, they are row groups of Parquet, record batches of Arrow, blocks of CSV. */
  readonly rowsPerBatch?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Some rows of a table. */
export interface TableBatch {
  /** The first row's number, from 0. */
  readonly first: number;
  readonly rows: number;
  /**
   * Columns by their names, in the order that was asked for. Timestamps are columns of i64. The dictionary of a string column is
   * one for the whole file, and grows while it is read: codes stay.
   */
  readonly columns: HostTable;
}

/** Which types columns of a CSV have, where their text is not to tell. */
export type DeclaredType = Exclude<FieldType['type'], 'decimal' | 'timestamp'> | `decimal(${number})` | 'timestamp';

/** How a table is opened. */
export interface TableOptions {
  /** Taken from the content where left out; text is taken for CSV. */
  readonly format?: TableFormat | undefined;
  /** CSV only: types of columns, by name. Those of the others are what all of their cells can be read as. */
  readonly types?: { readonly [column: string]: DeclaredType } | undefined;
  /** CSV only: what stands between fields; of `,` `;` tab and `|`, what the first line has most of, where left out. */
  readonly delimiter?: string | undefined;
  /** CSV only: whether the first line has the names of the columns, as it has where left out; else they are `column1`, … */
  readonly header?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}
