import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import type { ByteSource } from '../../rasters/tiff/byte-source.ts';
import { asDamage, ValueFault, valueError } from '../table-errors.ts';
import { type ReadingMemory, readColumn } from './column.ts';
import { codecOf, type ParquetField, type RowGroup } from './footer.ts';
import type { PlainColumn } from './plain.ts';

/** Decodes a column of a row group. */
export async function decodedColumn(
  file: string,
  column: PlainColumn,
  { index: group, first, rows, chunks }: RowGroup,
  bytes: Buffer,
  memory: ReadingMemory,
): Promise<HostColumn> {
  const { name } = column.field;
  const { codec, start } = chunks[column.index]!;
  const unpack = await codecOf(codec, name, file);
  try {
    return readColumn(column, unpack, bytes, rows, memory);
  } catch (error) {
    if (error instanceof ValueFault) throw valueError(file, name, first, error);
    throw asDamage(error, `The column "${name}" of row group ${group}`, { file, byte: start });
  }
}

/** Reads the bytes of the chosen columns of a row group. */
export async function bytesOf(
  source: ByteSource,
  group: RowGroup | undefined,
  chosen: readonly Pick<ParquetField, 'index'>[],
): Promise<readonly Buffer[]> {
  if (group === undefined) return [];
  const reading = chosen.map(({ index }) => source.read(group.chunks[index]!.start, group.chunks[index]!.length));
  const all = Promise.all(reading);
  // If reading fails, the error is thrown where the bytes are awaited. If the consumer stops before the bytes are
  // awaited, this handler prevents an unhandled rejection.
  all.catch(() => {});
  return (await all).map((bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}
