import { extname } from 'node:path';
import { aHostTable } from '../../../algorithms/tables/argument-kinds.ts';
import type { HostTable } from '../../../algorithms/tables/host-table.ts';
import { requireArguments } from '../../../primitives/checks/arguments.ts';
import { anArrayOf, aSignal, aText, aWord, optional, someOptions, where } from '../../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../../primitives/host/platform-types.ts';
import { stageOutputs } from '../../bytes/atomic-write.ts';
import { UsageError } from '../../usage-error.ts';
import { fieldOfColumn, type TableField } from '../table-file.ts';
import { arrowRows } from './arrow-rows.ts';
import { aField, rowsOf } from './batch-kind.ts';
import { csvRows, jsonLines, jsonRows, type Rows, type RowsWriter } from './text-writers.ts';

/** Formats in which tables can be written. `ndjson` has one JSON object per line. */
export type WrittenTableFormat = 'csv' | 'json' | 'ndjson' | 'arrow';

const WRITERS: { readonly [format in WrittenTableFormat]: (fields: readonly TableField[]) => RowsWriter } = {
  csv: csvRows,
  json: jsonRows,
  ndjson: jsonLines,
  arrow: arrowRows,
};

const ENDINGS: { readonly [ending: string]: WrittenTableFormat } = {
  '.csv': 'csv',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.arrow': 'arrow',
  '.feather': 'arrow',
};

/** Options for writing a table. */
export interface WriteTableOptions {
  /** Format of the file. Default: indicated by the extension of the path. */
  readonly format?: WrittenTableFormat | undefined;
  readonly signal?: AbortSignal | undefined;
}

const ARGUMENTS = {
  path: aText,
  fields: anArrayOf(aField),
  batches: where(
    'an iterable of batches of rows',
    (given) =>
      typeof given === 'object' && given !== null && (Symbol.iterator in given || Symbol.asyncIterator in given),
  ),
  options: someOptions<WriteTableOptions>({ format: optional(aWord(Object.keys(WRITERS))), signal: optional(aSignal) }),
};

/**
 * Writes batches of rows as CSV, JSON, JSON lines or an Arrow IPC file. A file appears under its name only when all
 * batches have been written.
 *
 * Nulls become empty fields in CSV, `null` in JSON, and validity bits in Arrow. In CSV and JSON, a number has as few
 * digits as needed to restore the value. 64-bit integers and decimals are exact. In JSON, integers beyond 2⁵³ − 1,
 * decimals of more than 15 digits, NaN and infinities are strings. Dates and times are written as in ISO 8601. In CSV,
 * an empty string is `""`, which {@link openTable} distinguishes from null. In Arrow, each batch becomes one record
 * batch.
 *
 * @param fields - The columns to write, in order. Batches may have further columns, which are ignored.
 * @throws ArgumentError if a batch lacks a field; UsageError `output/unwritable`, `output/unknown-format`;
 * QuadrilleError `output/write-failed`; the signal's reason.
 * @example
 * const columns = { zone: { type: 'string', codes: Uint32Array.of(1, 0), dictionary: ['north', 'south'] } } as const;
 * const path = join(await mkdtemp(join(tmpdir(), 'example-')), 'zones.csv');
 * await writeTable(path, fieldsOfTable(columns), [{ rows: 2, columns }]);
 * await readFile(path, 'utf8'); // 'zone\nsouth\nnorth\n'
 */
export async function writeTable(
  path: string,
  fields: readonly TableField[],
  batches: AsyncIterable<Rows> | Iterable<Rows>,
  options: WriteTableOptions = {},
): Promise<void> {
  requireArguments('writeTable', { path, fields, batches, options }, ARGUMENTS);
  const { signal, format = formatOf(path) } = options;
  const outputs = await stageOutputs([path]);
  try {
    await outputs.write(path, chunksOf('writeTable', format, fields, batches), signal);
    await outputs.commit();
  } finally {
    await outputs.discard();
  }
}

/**
 * Returns the contents of the file that {@link writeTable} would write, in chunks. The caller can send them to any
 * destination.
 *
 * @example
 * const columns = { fare: { type: 'f64', values: Float64Array.of(2.5, NaN) } } as const;
 * let text = '';
 * for await (const chunk of tableChunks('ndjson', fieldsOfTable(columns), [{ rows: 2, columns }])) text += chunk;
 * text; // '{"fare":2.5}\n{"fare":"NaN"}\n'
 */
export function tableChunks(
  format: WrittenTableFormat,
  fields: readonly TableField[],
  batches: AsyncIterable<Rows> | Iterable<Rows>,
): AsyncGenerator<string | Uint8Array, void, undefined> {
  const { fields: aList, batches: anIterable } = ARGUMENTS;
  requireArguments(
    'tableChunks',
    { format, fields, batches },
    { format: aWord(Object.keys(WRITERS)), fields: aList, batches: anIterable },
  );
  return chunksOf('tableChunks', format, fields, batches);
}

async function* chunksOf(
  call: string,
  format: WrittenTableFormat,
  fields: readonly TableField[],
  batches: AsyncIterable<Rows> | Iterable<Rows>,
): AsyncGenerator<string | Uint8Array, void, undefined> {
  const writer = WRITERS[format](fields);
  const aBatch = rowsOf(fields);
  yield writer.begin();
  for await (const batch of batches) {
    requireArguments(call, { batches: batch }, { batches: aBatch });
    yield writer.add(batch);
  }
  yield writer.end();
}

function formatOf(path: string): WrittenTableFormat {
  const format = ENDINGS[extname(path).toLowerCase()];
  if (format !== undefined) return format;
  throw new UsageError('output/unknown-format', `The ending of ${path} is not that of a format for tables.`, {
    expected: Object.keys(ENDINGS).join(', '),
    got: extname(path) === '' ? 'no ending' : extname(path),
    remedy: 'Use a name with one of these endings.',
  });
}

/**
 * Derives the fields that {@link writeTable} needs from the columns of a table in memory.
 *
 * @example
 * fieldsOfTable({ fare: { type: 'f64', values: Float64Array.of(2.5) } }); // [{ type: 'f64', name: 'fare', nullable: false }]
 */
export function fieldsOfTable(table: HostTable): TableField[] {
  requireArguments('fieldsOfTable', { table }, { table: aHostTable });
  return Object.entries(table).map(([name, column]) => fieldOfColumn(name, column));
}
