import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import type { ByteSource } from '../../rasters/tiff/byte-source.ts';
import { copiedBatches } from '../copied-batches.ts';
import { type Chunk, type ReadOptions, rebatched } from '../rebatch.ts';
import { type StringDictionary, stringDictionary } from '../string-dictionary.ts';
import { chosenFields } from '../table-errors.ts';
import type { TableFile } from '../table-file.ts';
import { type ReadingMemory, readingMemory } from './column.ts';
import { type ParquetField, type ParquetFooter, readFooter } from './footer.ts';
import type { PlainColumn } from './plain.ts';
import { bytesOf, decodedColumn } from './row-group.ts';
import { settledFields } from './settle.ts';

export { readFooter, settledFields };

/**
 * Opens a Parquet file. Reads the metadata at its end, and what {@link settledFields} needs to know of columns whose
 * type the metadata leave open.
 */
export async function openParquet(source: ByteSource): Promise<TableFile> {
  return tableOf(source, await settledFields(source, await readFooter(source)));
}

/** What a reader of geometries asks for: dictionaries to use, by the names of columns, and sizes of pages. */
interface TableReading extends Pick<PlainColumn, 'onPage'> {
  readonly dictionaries?: Map<string, StringDictionary>;
}

/** The table of a file whose metadata are read, with these columns. */
export function tableOf(
  source: ByteSource,
  { fields, unread, groups, notes }: Pick<ParquetFooter, 'fields' | 'unread' | 'groups' | 'notes'>,
  { dictionaries = new Map(), onPage }: TableReading = {},
): TableFile {
  const { file } = source;

  function columnOf({ field, element, index }: ParquetField): PlainColumn {
    if (field.type !== 'string') return { field, element, index, onPage, dictionary: undefined };
    const dictionary = dictionaries.get(field.name) ?? stringDictionary(file, field.name);
    dictionaries.set(field.name, dictionary);
    return { field, element, index, onPage, dictionary };
  }

  async function* groupsOf(
    chosen: readonly ParquetField[],
    memory: ReadingMemory,
    signal?: AbortSignal,
  ): AsyncGenerator<Chunk> {
    let ahead = bytesOf(source, groups[0], chosen);
    for (const [i, group] of groups.entries()) {
      signal?.throwIfAborted();
      const bytes = await ahead;
      // Start to read the next row group while the current one is being decoded.
      ahead = bytesOf(source, groups[i + 1], chosen);
      const columns: [string, HostColumn][] = [];
      for (const [at, field] of chosen.entries()) {
        signal?.throwIfAborted();
        columns.push([field.field.name, await decodedColumn(file, columnOf(field), group, bytes[at]!, memory)]);
      }
      yield { rows: group.rows, columns: Object.fromEntries(columns) };
    }
  }

  const rows = groups.reduce((sum, { rows }) => sum + rows, 0);
  return {
    file,
    format: 'parquet',
    fields: fields.map(({ field }) => field),
    unread,
    notes,
    rows,
    batches({ columns, rowsPerBatch, signal, narrow = false }: ReadOptions = {}) {
      const names = chosenFields(
        file,
        fields.map(({ field }) => field),
        unread,
        columns,
      );
      const chosen = names.map(({ name }) => fields.find(({ field }) => field.name === name)!);
      // If batches are larger than row groups, the row groups are copied into batches. In this case, the memory of a
      // row group can be reused.
      const isCopied =
        rowsPerBatch !== undefined && groups.length > 1 && groups.every(({ rows }) => rows < rowsPerBatch);
      const chunks = groupsOf(chosen, readingMemory(isCopied), signal);
      return isCopied ? copiedBatches(chunks, { rowsPerBatch, rows, narrow }) : rebatched(chunks, rowsPerBatch);
    },
    close: () => source.close(),
  };
}
