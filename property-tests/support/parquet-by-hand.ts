import type { FileMetaData, PageHeader, SchemaElement } from 'hyparquet/src/types.js';
import { ByteWriter } from 'hyparquet-writer';
import { writeMetadata } from 'hyparquet-writer/src/metadata.js';
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js';

/** Parquet that no writer at hand writes: the pages are made byte by byte. */

type Codec = FileMetaData['row_groups'][number]['columns'][number]['meta_data'] extends infer M
  ? NonNullable<M> extends { codec: infer C }
    ? C
    : never
  : never;

export interface HandColumn {
  readonly element: SchemaElement;
  readonly codec?: Codec;
  /** For each row group, its pages: the dictionary page first, if there is one. */
  readonly groups: readonly (readonly Page[])[];
}

export interface Page {
  readonly isDictionary: boolean;
  readonly bytes: Buffer;
}

/** A file of columns, with the given numbers of rows in its row groups, which states a number of rows in all. */
export function parquetByHand(
  columns: readonly HandColumn[],
  rows: readonly number[],
  stated: number = rows.reduce((sum, each) => sum + each, 0),
): Uint8Array {
  const parts: Buffer[] = [Buffer.from('PAR1')];
  let at = 4;
  const put = (bytes: Buffer): number => {
    parts.push(bytes);
    at += bytes.length;
    return at - bytes.length;
  };
  const groups = rows.map((count, group) => ({
    columns: columns.map(({ element, codec = 'UNCOMPRESSED', groups: all }) => {
      const start = at;
      const [first, ...others] = all[group]!;
      const firstAt = first === undefined ? 0 : put(first.bytes);
      const otherAt = others.map(({ bytes }) => put(bytes));
      const isDictionary = first?.isDictionary === true;
      return {
        file_offset: 0n,
        meta_data: {
          type: element.type!,
          encodings: [],
          path_in_schema: [element.name],
          codec,
          num_values: BigInt(count),
          total_uncompressed_size: BigInt(at - start),
          total_compressed_size: BigInt(at - start),
          data_page_offset: BigInt(isDictionary ? (otherAt[0] ?? 0) : firstAt),
          ...(isDictionary ? { dictionary_page_offset: BigInt(firstAt) } : {}),
        },
      };
    }),
    total_byte_size: BigInt(at),
    num_rows: BigInt(count),
  }));
  const writer = new ByteWriter();
  writeMetadata(writer, {
    version: 2,
    // The writer has types of an older version of the reader.
    schema: [{ name: 'root', num_children: columns.length }, ...columns.map(({ element }) => element)] as never,
    num_rows: BigInt(stated),
    row_groups: groups,
    metadata_length: 0,
  });
  return Buffer.concat([...parts, Buffer.from(writer.getBytes()), Buffer.from('PAR1')]);
}

const TYPES: readonly PageHeader['type'][] = ['DATA_PAGE', 'INDEX_PAGE', 'DICTIONARY_PAGE', 'DATA_PAGE_V2'];
const [PLAIN, RLE, RLE_DICTIONARY] = [0, 3, 8];

function page(type: PageHeader['type'], body: Buffer, header: object): Page {
  const writer = new ByteWriter();
  const [size, kind] = [body.length, TYPES.indexOf(type)];
  serializeTCompactProtocol(writer, { field_1: kind, field_2: size, field_3: size, ...header });
  return { isDictionary: type === 'DICTIONARY_PAGE', bytes: Buffer.concat([Buffer.from(writer.getBytes()), body]) };
}

/** A page of version 1. With `valid`, the column is nullable, and `values` are those of the valid rows. */
export function dataPage(
  rows: number,
  values: Buffer,
  { valid, encoding = PLAIN }: { readonly valid?: readonly boolean[] | undefined; readonly encoding?: number } = {},
): Page {
  const head = { field_1: rows, field_2: encoding, field_3: RLE, field_4: RLE };
  const levels = valid === undefined ? Buffer.alloc(0) : packedBits(valid);
  const length = Buffer.alloc(valid === undefined ? 0 : 4);
  if (valid !== undefined) length.writeUInt32LE(levels.length);
  return page('DATA_PAGE', Buffer.concat([length, levels, values]), { field_5: head });
}

/** A dictionary page, and a page of version 1 with its codes. */
export function dictionaryPages(entries: number, plain: Buffer, codes: readonly number[]): Page[] {
  const bits = codes.flatMap((code) => Array.from({ length: 8 }, (_, bit) => ((code >> bit) & 1) === 1));
  return [
    emptyOrFullDictionary(entries, plain),
    dataPage(codes.length, Buffer.concat([Buffer.of(8), packedBits(bits, codes.length)]), { encoding: RLE_DICTIONARY }),
  ];
}

export function emptyOrFullDictionary(entries: number, plain: Buffer): Page {
  return page('DICTIONARY_PAGE', plain, { field_7: { field_1: entries, field_2: PLAIN } });
}

/** A page of version 2 with nulls only. It is marked as compressed, but has no bytes after the levels. */
export function nullPage(rows: number, encoding: number): Page {
  const levels = Buffer.of(rows * 2, 0);
  const head = {
    field_1: rows,
    field_2: rows,
    field_3: rows,
    field_4: encoding,
    field_5: 2,
    field_6: 0,
    field_7: true,
  };
  return page('DATA_PAGE_V2', levels, { field_8: head });
}

/** A bit-packed run of the hybrid encoding: a varint of the number of groups of eight values, then the bits. */
function packedBits(bits: readonly boolean[], values: number = bits.length): Buffer {
  const groups = Math.ceil(values / 8);
  const bytes = Buffer.alloc(Math.ceil((bits.length / values) * groups * 8) / 8 || 0);
  for (const [i, bit] of bits.entries()) if (bit) bytes[i >> 3]! |= 1 << (i & 7);
  const head = groups * 2 + 1;
  return Buffer.concat([Buffer.from(head < 128 ? [head] : [(head & 127) | 128, head >> 7]), bytes]);
}
