import { type Column, tableFromColumns, tableToIPC } from '@uwdata/flechette';
import { viewOf } from '../bytes/byte-arrays.ts';

/**
 * Writes an Arrow IPC file piece by piece. Only the positions of the record batches (24 bytes each) stay in memory
 * until the end.
 */
export interface ArrowFile<T> {
  begin(): Uint8Array;
  /** Returns the bytes of a record batch with all rows of the table. Returns no bytes if the table has no rows. */
  add(table: T): Uint8Array;
  end(): Uint8Array;
}

/**
 * Starts an Arrow file that has the same schema as the table `empty`.
 *
 * @param empty - A table without rows.
 * @param columnsOf - Returns the columns of a table as Arrow vectors. The rows are split into `batches` record batches.
 */
export function arrowFile<T extends { readonly rows: number }>(
  empty: T,
  columnsOf: (table: T, batches: number) => [name: string, column: Column<unknown>][],
): ArrowFile<T> {
  const encode = (table: T, batches: number, format: 'stream' | 'file'): Uint8Array =>
    tableToIPC(tableFromColumns(columnsOf(table, batches)), { format })!;
  const schema = encode(empty, 0, 'stream').subarray(0, -EOS_BYTES);
  const blocks: ArrowBlock[] = [];
  let offset = MAGIC.length + schema.length;
  return {
    begin: () => concatenate([MAGIC, schema]),
    add(table) {
      if (table.rows === 0) return new Uint8Array(0);
      const message = encode(table, 1, 'stream').subarray(schema.length, -EOS_BYTES);
      const metadata = CONTINUATION_BYTES + viewOf(message).getInt32(4, true);
      blocks.push({ offset, metadata, body: message.length - metadata });
      offset += message.length;
      return message;
    },
    end: () => concatenate([END_OF_STREAM, footerOf(encode(empty, blocks.length, 'file'), blocks)]),
  };
}

/**
 * Position of a record batch. The batch begins at byte `offset` of the file with a message header, which has `metadata`
 * bytes. The columns follow the header and have `body` bytes.
 */
interface ArrowBlock {
  readonly offset: number;
  readonly metadata: number;
  readonly body: number;
}

/** Magic number at the start of an Arrow file: `ARROW1`, padded to a multiple of eight bytes. */
const MAGIC = Uint8Array.of(0x41, 0x52, 0x52, 0x4f, 0x57, 0x31, 0, 0);
const END_OF_STREAM = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);
const EOS_BYTES = END_OF_STREAM.length;
/** Bytes in front of a message: a marker (4) and the length of the message (4). */
const CONTINUATION_BYTES = 8;

/** Bytes at the end of an Arrow file: the length of the footer (4) and `ARROW1` (6). */
const TAIL_BYTES = 4 + 6;

/**
 * The footer of a file with the given record batches. The Arrow library writes footers only for whole tables. Therefore
 * `file` is an encoded table with the same number of empty batches. This function takes the footer of `file`, and
 * replaces the positions of the batches.
 */
function footerOf(file: Uint8Array, blocks: readonly ArrowBlock[]): Uint8Array {
  const length = viewOf(file).getInt32(file.length - TAIL_BYTES, true);
  const footer = file.slice(file.length - TAIL_BYTES - length);
  const view = viewOf(footer);
  if (blocks.length > 0) {
    const first = blocksAt(view);
    for (const [i, { offset, metadata, body }] of blocks.entries()) {
      const at = first + i * BLOCK_BYTES;
      view.setBigInt64(at, BigInt(offset), true);
      view.setInt32(at + 8, metadata, true);
      view.setBigInt64(at + 16, BigInt(body), true);
    }
  }
  return footer;
}

const BLOCK_BYTES = 24;
/** Index of the field `recordBatches` in the schema of a footer. */
const RECORD_BATCHES = 3;

/** Byte offset in a footer (FlatBuffers layout) at which the positions of the record batches begin. */
function blocksAt(view: DataView): number {
  const root = view.getUint32(0, true);
  const vtable = root - view.getInt32(root, true);
  const field = root + view.getUint16(vtable + 4 + 2 * RECORD_BATCHES, true);
  return field + view.getUint32(field, true) + 4;
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/**
 * Packs booleans into bits in the format of Arrow. Each byte holds eight rows, the first of them in the lowest bit.
 * Pads the result to a multiple of eight bytes.
 */
export function bitsOf(length: number, isSet: (row: number) => boolean): Uint8Array {
  const bits = new Uint8Array(8 * Math.ceil(length / 64));
  for (let row = 0; row < length; row++) if (isSet(row)) bits[row >> 3]! |= 1 << (row & 7);
  return bits;
}
