import { requireArguments } from '../../primitives/checks/arguments.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { isPlain, isRecord } from '../../primitives/checks/given.ts';
import { aFlag, aSignal, aText, aWord, optional, someOptions, where } from '../../primitives/checks/kinds.ts';
import { openFileBytes } from '../bytes/file-bytes.ts';
import { fileInput } from '../polygons/file-input.ts';
import type { TableFile, TableFormat, TableOptions } from './table-file.ts';

/**
 * Opens a table in a file, to be read batch by batch. The format is detected from the content:
 *
 * - Parquet: flat columns in all encodings, and all compressions except LZO. Each row group is one batch. Byte arrays
 *   without an annotation are text if those of the first row group are; 96-bit timestamps have nanoseconds, or
 *   microseconds if one of them does not fit nanoseconds. To tell, opening reads such columns.
 * - Arrow IPC, the file format and the stream format, also with buffers compressed by LZ4 or Zstandard. Each record
 *   batch is one batch.
 * - CSV according to RFC 4180, also gzipped; lines end with LF, CR LF or CR. A first line such as `sep=;` states the
 *   delimiter. Opening reads the whole file once, to find the
 *   number of rows and the types of the columns. A column has the first of these types that fits all its cells: bool,
 *   i32, i64, u64, f64, date, timestamp, string. An empty field is null; a quoted empty field is an empty string in a
 *   column of strings. Digits with a leading zero are a string, and so are integers that no type holds exactly. Numbers
 *   beyond f64, such as 1e400, are infinities. A first line of numbers, and a column of which half of the cells or more
 *   are numbers but not all, are listed in `notes`.
 *
 * Strings become codes of a dictionary. Each column of strings has one dictionary for the whole file. Nulls become
 * validity bits, which are omitted if a batch has no nulls in the column. Decimals are integers of 64 bits with a scale,
 * dates are days, and timestamps and times of day are i64 in the unit of the field. UUIDs are strings. A column that has
 * no type because it has only nulls is i32. Columns of other types (lists, records, bytes, intervals) are not read, but
 * listed in `unread`.
 *
 * Memory is proportional to a row group, a record batch or a block of a CSV, plus the distinct strings. O(bytes of the
 * columns read).
 *
 * @param path - Path of a file on disk.
 * @throws FormatError if the file does not exist, or is damaged, truncated or not supported; codes `format/…` and
 * `csv/…`, with the position if known; `format/unreadable-value` names the row of a value that its column cannot hold, such as a
 * decimal beyond 64 bits. If `options.signal` is aborted, the promise rejects with the signal's reason.
 * @example
 * const path = join(await mkdtemp(join(tmpdir(), 'example-')), 'rides.csv');
 * await writeFile(path, 'zone,fare\nsouth,12.5\nnorth,\n');
 * const table = await openTable(path);
 * const fares = [];
 * for await (const { columns } of table.batches({ columns: ['fare'] })) fares.push(...columns.fare.values);
 * await table.close();
 * [table.rows, table.fields.map(({ type }) => type), fares]; // [2, ['string', 'f64'], [12.5, 0]]
 */
export async function openTable(path: string, options: TableOptions = {}): Promise<TableFile> {
  requireArguments('openTable', { path, options }, ARGUMENTS);
  options.signal?.throwIfAborted();
  const format = options.format ?? (await tableFormatOf(path));
  if (format === undefined) throw emptyFile(path);
  // Each reader is imported only when needed, because importing takes longer than reading a small file.
  if (format === 'csv') return (await import('./csv/csv.ts')).openCsv(await fileInput(path), options);
  const source = await openFileBytes(path);
  try {
    const table =
      format === 'parquet'
        ? await (await import('./parquet/parquet.ts')).openParquet(source)
        : await (await import('./arrow/arrow.ts')).openArrow(source);
    options.signal?.throwIfAborted();
    return table;
  } catch (error) {
    await source.close();
    throw error;
  }
}

const TYPE = /^(u32|i32|f32|u64|i64|f64|bool|date|string|timestamp|decimal\((\d|1[0-8])\))$/;
const aType = where(
  'u32, i32, f32, u64, i64, f64, bool, date, string, timestamp or decimal(0 to 18)',
  (given) => typeof given === 'string' && TYPE.test(given),
);
const someTypes = where(
  'a record of types by names of columns',
  (given) =>
    isRecord(given) && isPlain(given) && Object.values(given).every((type) => aType(type, '', new Map()) === undefined),
);

const ARGUMENTS = {
  path: aText,
  options: someOptions<TableOptions>({
    format: optional(aWord(['parquet', 'arrow', 'csv'])),
    types: optional(someTypes),
    delimiter: optional(
      where(
        'one ASCII character that is neither a quote nor a line end',
        (given) => typeof given === 'string' && /^[\t -~]$/.test(given) && given !== '"',
      ),
    ),
    header: optional(aFlag),
    decimal: optional(aWord(['.', ','])),
    signal: optional(aSignal),
  }),
};

const MAGIC_BYTES = 8;
const PARQUET_MAGIC = 'PAR1';
const ARROW_MAGIC = 'ARROW1';
/** Marker in front of every message of an Arrow stream. Versions of Arrow before 0.15 wrote no marker. */
const CONTINUATION = '\xff\xff\xff\xff';

/** Tells the format of a table by its first bytes; undefined if there are none. */
export async function tableFormatOf(path: string): Promise<TableFormat | undefined> {
  const source = await openFileBytes(path);
  try {
    if (source.size === 0) return undefined;
    const magic = Buffer.from(await source.read(0, Math.min(MAGIC_BYTES, source.size))).toString('latin1');
    if (magic.startsWith(PARQUET_MAGIC)) return 'parquet';
    return magic.startsWith(ARROW_MAGIC) || magic.startsWith(CONTINUATION) ? 'arrow' : 'csv';
  } finally {
    await source.close();
  }
}

function emptyFile(file: string): FormatError {
  return new FormatError('format/not-table', 'The file is empty.', {
    expected: 'Parquet, Arrow IPC, or CSV',
    got: 'no bytes',
    remedy: 'Write the file again.',
    place: { file },
  });
}
