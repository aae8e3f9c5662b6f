import { requireArguments } from '../../primitives/arguments.ts';
import { FormatError } from '../../primitives/errors.ts';
import { isPlain, isRecord } from '../../primitives/given.ts';
import { aFlag, aSignal, aText, aWord, optional, someOptions, where } from '../../primitives/kinds.ts';
import { fileInput } from '../polygon-layers/layer-input.ts';
import { openFileBytes } from '../tiff/byte-source.ts';
import type { TableFile, TableFormat, TableOptions } from './table-file.ts';

/**
 * Opens a table in a file, to be read batch by batch. The format is detected from the content:
 *
 * - Parquet: flat columns in all encodings, and all compressions except LZO. A row group is a batch.
 * - Arrow IPC, the file format and the stream format, without compression of buffers. A record batch is a batch.
 * - CSV after RFC 4180, also gzipped: quotes, LF or CR LF, a byte-order mark. It is read once when opened, to find the
 *   number of rows and the types of its columns. All cells decide the type: bool, i32, i64, u64, f64, date, timestamp,
 *   else string. An empty field is null; a quoted empty one is the empty string in a column of strings. Digits after a
 *   leading zero are a string, and so are integers that no type holds exactly.
 *
 * Strings become codes of one dictionary for the whole file. Nulls become validity bits; a column without nulls in a
 * batch has none. Decimals of up to 18 digits are integers with a scale, dates are days, timestamps are i64 in the unit
 * of the field. Columns of other kinds (lists, records, bytes, intervals, times of day) are named in `unread`; the
 * others are read.
 *
 * Memory is bounded by a row group, a record batch or a block of a CSV, plus the distinct strings, not by the file.
 * O(bytes of the columns read).
 *
 * @param path - Path of a file on disk.
 * @throws FormatError if the file does not exist, or is damaged, truncated or not supported; codes `format/…` and
 * `csv/…`, with the position if known. An aborted signal rejects with its reason.
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
  const format = options.format ?? (await formatOf(path));
  // Each reader is loaded on demand, because loading takes longer than reading a small file.
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
        'one character of ASCII but a quote or a line end',
        (given) => typeof given === 'string' && /^[\t -~]$/.test(given) && given !== '"',
      ),
    ),
    header: optional(aFlag),
    signal: optional(aSignal),
  }),
};

const MAGIC_BYTES = 8;
const PARQUET_MAGIC = 'PAR1';
const ARROW_MAGIC = 'ARROW1';
/** Precedes every message of a stream. */
const CONTINUATION = '\xff\xff\xff\xff';

async function formatOf(path: string): Promise<TableFormat> {
  const source = await openFileBytes(path);
  try {
    if (source.size === 0) throw emptyFile(path);
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
