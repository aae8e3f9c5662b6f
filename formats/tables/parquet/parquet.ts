import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import type { ByteSource } from '../../tiff/byte-source.ts';
import { copiedBatches } from '../copied-batches.ts';
import { type Chunk, type ReadOptions, rebatched } from '../rebatch.ts';
import { type StringDictionary, stringDictionary } from '../string-dictionary.ts';
import { asDamage, chosenFields } from '../table-errors.ts';
import type { TableFile } from '../table-file.ts';
import { type ReadingMemory, readColumn, readingMemory } from './column.ts';
import { codecOf, type ParquetField, type RowGroup, readFooter } from './footer.ts';
import type { PlainColumn } from './plain.ts';

/** Opens a Parquet file. Reads only the metadata at its end. */
export async function openParquet(source: ByteSource): Promise<TableFile> {
  const { file } = source;
  const { fields, unread, groups } = await readFooter(source);
  const dictionaries = new Map<string, StringDictionary>();

  function columnOf({ field, element }: ParquetField): PlainColumn {
    if (field.type !== 'string') return { field, element, dictionary: undefined };
    const dictionary = dictionaries.get(field.name) ?? stringDictionary(file, field.name);
    dictionaries.set(field.name, dictionary);
    return { field, element, dictionary };
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
        columns.push([field.field.name, await decoded(columnOf(field), field, group, i, bytes[at]!, memory)]);
      }
      yield { rows: group.rows, columns: Object.fromEntries(columns) };
    }
  }

  async function decoded(
    column: PlainColumn,
    { field, index }: ParquetField,
    { rows, chunks }: RowGroup,
    group: number,
    bytes: Buffer,
    memory: ReadingMemory,
  ): Promise<HostColumn> {
    const { codec, start } = chunks[index]!;
    const unpack = await codecOf(codec, field.name, file);
    try {
      return readColumn(column, unpack, bytes, rows, memory);
    } catch (error) {
      throw asDamage(error, `The column "${field.name}" of row group ${group}`, { file, byte: start });
    }
  }

  const rows = groups.reduce((sum, { rows }) => sum + rows, 0);
  return {
    file,
    format: 'parquet',
    fields: fields.map(({ field }) => field),
    unread,
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

/** Reads the bytes of the chosen columns of a row group. */
async function bytesOf(
  source: ByteSource,
  group: RowGroup | undefined,
  chosen: readonly ParquetField[],
): Promise<readonly Buffer[]> {
  if (group === undefined) return [];
  const reading = chosen.map(({ index }) => source.read(group.chunks[index]!.start, group.chunks[index]!.length));
  const all = Promise.all(reading);
  // If reading fails, the error is thrown where the bytes are awaited. If the consumer stops before the bytes are
  // awaited, this handler prevents an unhandled rejection.
  all.catch(() => {});
  return (await all).map((bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}
