import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { loadZstd, type Unpack } from '../../bytes/zstd.ts';
import type { ByteSource } from '../../rasters/tiff/byte-source.ts';
import { isSet } from '../bits.ts';
import { unpackLz4Frame } from '../lz4.ts';
import { type Chunk, rebatched } from '../rebatch.ts';
import { type StringDictionary, stringDictionary } from '../string-dictionary.ts';
import { asDamage, checkNames, chosenFields, ValueFault, valueError } from '../table-errors.ts';
import type { BatchOptions, TableField, TableFile } from '../table-file.ts';
import { type CodeMap, type ColumnData, hostColumn, textCodes } from './columns.ts';
import { type Message, type Region, readIndex } from './messages.ts';
import { type ArrowField, Type, tableFieldOf, unreadOf } from './schema.ts';

/** Maximum size of a decompressed buffer. A larger size indicates a damaged file. */
const MAX_BUFFER_BYTES = 2 ** 31 - 1;

/** Opens an Arrow IPC file or stream. Reads only the headers of its messages. */
export async function openArrow(source: ByteSource): Promise<TableFile> {
  const { file } = source;
  const { fields, isRecent, messages } = await readIndex(source);
  checkNames(
    file,
    fields.map(({ name }) => name),
  );
  const read = fields.map(tableFieldOf).filter((field): field is TableField => field !== undefined);
  const unread = fields.filter(({ type }) => typeof type === 'string').map(unreadOf);
  const dictionaries = new Map<string, StringDictionary>();

  function dictionaryOf({ name, type }: ArrowField): StringDictionary | undefined {
    if (typeof type === 'string' || type.type !== 'string') return undefined;
    const dictionary = dictionaries.get(name) ?? stringDictionary(file, name);
    dictionaries.set(name, dictionary);
    return dictionary;
  }

  async function* batchesOf(chosen: readonly ArrowField[], signal: AbortSignal | undefined): AsyncGenerator<Chunk> {
    const maps = new Map<ArrowField, CodeMap>();
    let first = 0;
    for (const message of messages) {
      signal?.throwIfAborted();
      if (message.dictionary !== undefined) {
        const { id, isDelta } = message.dictionary;
        for (const field of chosen.filter(({ dictionary }) => dictionary?.id === id)) {
          const map = await told(field, message, first, () => codeMap(field, message));
          maps.set(field, isDelta ? joined(maps.get(field) ?? new Int32Array(0), map) : map);
        }
        continue;
      }
      const columns: [string, HostColumn][] = [];
      for (const field of chosen) {
        signal?.throwIfAborted();
        const column = await told(field, message, first, async () => {
          const data = await dataOf(source, message, places(fields, isRecent, message), field);
          if (data.node.length !== message.rows)
            throw new RangeError(`it has ${data.node.length} of ${message.rows} rows`);
          return hostColumn(field, data, dictionaryOf(field), maps.get(field));
        });
        columns.push([field.name, column]);
      }
      yield { rows: message.rows, columns: Object.fromEntries(columns) };
      first += message.rows;
    }
  }

  async function told<A>({ name }: ArrowField, { at }: Message, first: number, work: () => Promise<A>): Promise<A> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ValueFault) throw valueError(file, name, first, error);
      throw asDamage(error, `The column "${name}"`, { file, byte: at });
    }
  }

  /**
   * Reads the strings of an Arrow dictionary. For each of these strings, returns the string's code in the dictionary
   * that the column uses for the whole file.
   */
  async function codeMap(field: ArrowField, message: Message): Promise<CodeMap> {
    const values: ArrowField = { ...field, dictionary: undefined };
    const data = await dataOf(source, message, places([values], isRecent, message), values);
    const { length, nulls } = data.node;
    const validity = nulls === 0 ? undefined : new Uint32Array(Math.ceil(length / 32));
    if (validity !== undefined)
      new Uint8Array(validity.buffer).set(data.buffers[0]!.subarray(0, Math.ceil(length / 8)));
    const codes = textCodes(values, data.buffers.slice(1), length, validity, dictionaryOf(field)!);
    return Int32Array.from(codes, (code, i) => (validity === undefined || isSet(validity, i) ? code : -1));
  }

  return {
    file,
    format: 'arrow',
    fields: read,
    unread,
    notes: [],
    rows: messages.reduce((sum, { dictionary, rows }) => sum + (dictionary === undefined ? rows : 0), 0),
    batches({ columns, rowsPerBatch, signal }: BatchOptions = {}) {
      const chosen = chosenFields(file, read, unread, columns);
      return rebatched(
        batchesOf(
          chosen.map(({ name }) => fields.find((field) => field.name === name)!),
          signal,
        ),
        rowsPerBatch,
      );
    },
    close: () => source.close(),
  };
}

function joined(first: CodeMap, second: CodeMap): CodeMap {
  const all = new Int32Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/**
 * Where a column is stored in a record batch: the index of its node (its length and number of nulls), the index of its
 * first buffer, and the number of its buffers.
 */
interface Place {
  readonly node: number;
  readonly buffer: number;
  readonly buffers: number;
}

function places(fields: readonly ArrowField[], isRecent: boolean, { variadic }: Message): Map<ArrowField, Place> {
  const found = new Map<ArrowField, Place>();
  let [node, buffer, view] = [0, 0, 0];
  const visit = (field: ArrowField): void => {
    const buffers = field.dictionary === undefined ? ownBuffers(field, isRecent) : 2;
    const isView = field.typeId === Type.utf8View || field.typeId === Type.binaryView;
    const all = buffers + (isView && field.dictionary === undefined ? (variadic[view++] ?? 0) : 0);
    found.set(field, { node: node++, buffer, buffers: all });
    buffer += all;
    if (field.dictionary === undefined) field.children.forEach(visit);
  };
  fields.forEach(visit);
  return found;
}

/** Number of buffers of a column, not counting its child columns. */
function ownBuffers({ typeId, isDense }: ArrowField, isRecent: boolean): number {
  switch (typeId) {
    case Type.null:
    case Type.runEnds:
      return 0;
    case Type.struct:
    case Type.fixedList:
      return 1;
    case Type.union:
      return (isDense ? 2 : 1) + (isRecent ? 0 : 1);
    case Type.utf8:
    case Type.largeUtf8:
    case Type.binary:
    case Type.largeBinary:
    case Type.listView:
    case Type.largeListView:
      return 3;
    default:
      return 2;
  }
}

async function dataOf(
  source: ByteSource,
  message: Message,
  all: Map<ArrowField, Place>,
  field: ArrowField,
): Promise<ColumnData> {
  const { node, buffer, buffers } = all.get(field)!;
  const own = message.nodes[node];
  const regions = message.regions.slice(buffer, buffer + buffers);
  const isSound = own !== undefined && own.length >= 0 && own.nulls >= 0 && own.length <= message.rows;
  if (!isSound || regions.length < buffers || (buffers < 2 && field.typeId !== Type.null))
    throw new RangeError('its buffers are missing');
  const unpack = await unpackOf(message);
  return { node: own, buffers: await Promise.all(regions.map((region) => bytesOf(source, region, unpack))) };
}

async function unpackOf({ compression }: Message): Promise<Unpack | undefined> {
  if (compression === undefined) return undefined;
  return compression === 'zstd' ? loadZstd() : unpackLz4Frame;
}

const LENGTH_BYTES = 8;

async function bytesOf(
  source: ByteSource,
  { start, length }: Region,
  unpack: Unpack | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = (await source.read(start, length)) as Uint8Array<ArrayBuffer>;
  if (unpack === undefined || length === 0) return bytes;
  const unpacked = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(0, true));
  const rest = bytes.subarray(LENGTH_BYTES);
  // A decompressed length of −1 marks a buffer that is stored uncompressed. Writers do so if compression does not pay.
  if (unpacked === -1) return rest;
  if (!(unpacked >= 0 && unpacked <= MAX_BUFFER_BYTES)) throw new RangeError(`a buffer would have ${unpacked} bytes`);
  const whole = unpack(rest, unpacked) as Uint8Array<ArrayBuffer>;
  if (whole.length !== unpacked) throw new RangeError('a buffer does not unpack to the stated size');
  return whole;
}
