import { viewOf } from '../../bytes/byte-arrays.ts';
import {
  type FlatTable,
  rootTable,
  tableField,
  u8Field,
  u16Field,
  u64Field,
  vectorField,
} from '../../polygons/flatbuffer.ts';
import type { ByteSource } from '../../rasters/tiff/byte-source.ts';
import { asDamage, damaged } from '../table-errors.ts';
import { type ArrowField, fieldsOf } from './schema.ts';

/** The schema and the list of messages of an Arrow file or stream. */
export interface ArrowIndex {
  readonly fields: readonly ArrowField[];
  /** Whether the metadata have version 5 or later. From this version on, unions have no validity bits. */
  readonly isRecent: boolean;
  /** Dictionary batches and record batches, in the order in which they must be read. */
  readonly messages: readonly Message[];
}

/** A dictionary batch or a record batch. */
export interface Message {
  /** Id of the dictionary; undefined for a record batch. */
  readonly dictionary: { readonly id: number; readonly isDelta: boolean } | undefined;
  readonly rows: number;
  readonly at: number;
  readonly nodes: readonly Node[];
  readonly regions: readonly Region[];
  /** For each column of string or binary views, the number of its data buffers. */
  readonly variadic: readonly number[];
  readonly compression: 'lz4' | 'zstd' | undefined;
}

export interface Node {
  readonly length: number;
  readonly nulls: number;
}

/** Byte range of a buffer in the file. */
export interface Region {
  readonly start: number;
  readonly length: number;
}

const ARROW_MAGIC = 'ARROW1';
const MAGIC_BYTES = 8;
/** Bytes at the end of a file: the length of the footer (4) and `ARROW1` (6). */
const TAIL_BYTES = 10;
const BLOCK_BYTES = 24;

const SCHEMA = 1;
const DICTIONARY_BATCH = 2;
const RECORD_BATCH = 3;
/** Value of `MetadataVersion.V5` in Arrow's Schema.fbs. */
const RECENT = 4;

/** Reads the schema and the list of messages, without the contents of the messages. */
export async function readIndex(source: ByteSource): Promise<ArrowIndex> {
  const { file, size } = source;
  const magic = Buffer.from(await source.read(0, Math.min(MAGIC_BYTES, size))).toString(
    'latin1',
    0,
    ARROW_MAGIC.length,
  );
  try {
    return await (magic === ARROW_MAGIC ? readFileIndex(source) : readStreamIndex(source));
  } catch (error) {
    throw asDamage(error, 'The file', { file });
  }
}

async function readFileIndex(source: ByteSource): Promise<ArrowIndex> {
  const { file, size } = source;
  if (size < MAGIC_BYTES + TAIL_BYTES) throw damaged('The file', `it has ${size} bytes`, { file });
  const tail = Buffer.from(await source.read(size - TAIL_BYTES, TAIL_BYTES));
  if (tail.toString('latin1', 4) !== ARROW_MAGIC) throw damaged('The file', 'it does not end as Arrow does', { file });
  const length = tail.readInt32LE(0);
  const start = size - TAIL_BYTES - length;
  if (!(length > 0 && start >= MAGIC_BYTES))
    throw damaged('The file', `its footer would have ${length} bytes`, { file });
  const footer = rootTable(viewOf(await source.read(start, length)));
  const schema = tableField(footer, 1);
  if (schema === undefined) throw new RangeError('its footer has no schema');
  const messages: Message[] = [];
  for (const field of [2, 3]) {
    const blocks = vectorField(footer, field, BLOCK_BYTES);
    for (let i = 0; i < blocks.length; i++) {
      const at = Number(blocks.view.getBigInt64(blocks.start + i * BLOCK_BYTES, true));
      const wanted = field === 2 ? DICTIONARY_BATCH : RECORD_BATCH;
      const { kind, message } = await readMessage(source, at, start);
      if (kind !== wanted || message === undefined) throw new RangeError('its footer leads to another message');
      messages.push(message);
    }
  }
  return { fields: fieldsOf(schema), isRecent: u16Field(footer, 0, 0) >= RECENT, messages };
}

async function readStreamIndex(source: ByteSource): Promise<ArrowIndex> {
  let index: Omit<ArrowIndex, 'messages'> | undefined;
  const messages: Message[] = [];
  for (let at = 0; at < source.size; ) {
    const { kind, message, table, next } = await readMessage(source, at, source.size);
    if (kind === 0) break;
    at = next;
    if (kind === SCHEMA && index === undefined) {
      index = { fields: fieldsOf(headerOf(table!)), isRecent: u16Field(table!, 0, 0) >= RECENT };
    } else if (index === undefined) throw new RangeError('it does not begin with a schema');
    else if (message !== undefined) messages.push(message);
    else throw new RangeError('one of its messages is of an unknown kind');
  }
  if (index === undefined) throw new RangeError('it has no schema');
  return { ...index, messages };
}

/** A message of any kind, and the position of the next message. The kind 0 marks the end of a stream. */
interface Found {
  readonly kind: number;
  readonly table: FlatTable | undefined;
  readonly message: Message | undefined;
  readonly next: number;
}

async function readMessage(source: ByteSource, at: number, end: number): Promise<Found> {
  if (!(at >= 0 && at + 4 <= end)) throw new RangeError(`a message would begin at byte ${at}`);
  const head = viewOf(await source.read(at, Math.min(8, end - at)));
  // Versions of Arrow before 0.15 wrote no marker in front of the length of a message.
  const isMarked = head.getInt32(0, true) === -1;
  const length = head.getInt32(isMarked ? 4 : 0, true);
  const start = at + (isMarked ? 8 : 4);
  if (length === 0) return { kind: 0, table: undefined, message: undefined, next: start };
  if (!(length > 0 && start + length <= end))
    throw new RangeError(`the message at byte ${at} would have ${length} bytes`);
  const table = rootTable(viewOf(await source.read(start, length)));
  const body = start + length;
  const bodyLength = u64Field(table, 3, 0);
  if (!(body + bodyLength <= end)) throw new RangeError(`the message at byte ${at} is cut off`);
  const kind = u8Field(table, 1, 0);
  const message = messageOf(kind, table, { start: body, length: bodyLength });
  return { kind, table, message, next: body + bodyLength };
}

function headerOf(message: FlatTable): FlatTable {
  const header = tableField(message, 2);
  if (header === undefined) throw new RangeError('one of its messages has no header');
  return header;
}

function messageOf(kind: number, message: FlatTable, body: Region): Message | undefined {
  if (kind === RECORD_BATCH) return batchOf(headerOf(message), body, undefined);
  if (kind !== DICTIONARY_BATCH) return undefined;
  const header = headerOf(message);
  const data = tableField(header, 1);
  if (data === undefined) throw new RangeError('one of its dictionaries has no data');
  return batchOf(data, body, { id: u64Field(header, 0, 0), isDelta: u8Field(header, 2, 0) !== 0 });
}

function batchOf(batch: FlatTable, body: Region, dictionary: Message['dictionary']): Message {
  const rows = u64Field(batch, 0, 0);
  if (!(rows < 2 ** 31)) throw new RangeError(`one of its batches would have ${rows} rows`);
  const nodes = vectorField(batch, 1, 16);
  const buffers = vectorField(batch, 2, 16);
  const variadic = vectorField(batch, 4, 8);
  const number = (view: DataView, at: number): number => Number(view.getBigInt64(at, true));
  return {
    dictionary,
    rows,
    at: body.start,
    nodes: Array.from({ length: nodes.length }, (_, i) => ({
      length: number(nodes.view, nodes.start + 16 * i),
      nulls: number(nodes.view, nodes.start + 16 * i + 8),
    })),
    regions: Array.from({ length: buffers.length }, (_, i) =>
      regionOf(number(buffers.view, buffers.start + 16 * i), number(buffers.view, buffers.start + 16 * i + 8), body),
    ),
    variadic: Array.from({ length: variadic.length }, (_, i) => number(variadic.view, variadic.start + 8 * i)),
    compression: compressionOf(tableField(batch, 3)),
  };
}

function regionOf(offset: number, length: number, body: Region): Region {
  if (offset >= 0 && length >= 0 && offset + length <= body.length) return { start: body.start + offset, length };
  throw new RangeError('one of its buffers lies beyond its message');
}

function compressionOf(compression: FlatTable | undefined): Message['compression'] {
  if (compression === undefined) return undefined;
  const codec = u8Field(compression, 0, 0);
  if (codec > 1 || u8Field(compression, 1, 0) !== 0)
    throw new RangeError(`its buffers are packed by the unknown codec ${codec}`);
  return codec === 0 ? 'lz4' : 'zstd';
}
