import { FormatError } from '../../primitives/checks/errors.ts';
import { utf8Text, viewOf } from '../bytes/byte-arrays.ts';
import { type Steps, wait } from '../bytes/steps.ts';
import { truncated } from '../rasters/tiff/byte-source.ts';
import { missingColumn } from '../text/record-name.ts';
import { attributeColumns } from './attribute-columns.ts';
import { type ByteWindow, bytesThere, need, offsetOf, withWindow } from './byte-window.ts';
import { decoderOfLanguage, decoderOfPage, namesPage, westernText } from './code-pages.ts';
import { type LayerInput, platformOf, readWhole } from './layer-input.ts';
import type { Reading } from './layer-reading.ts';

/**
 * The attribute table of a Shapefile (`.dbf`, dBASE format). The values of one column may be used as names of the
 * polygons, and those of some or all as their attributes.
 */
export interface AttributeTable {
  readonly file: string;
  readonly records: number;
  /** Reads the next record. Must not be called after the last record. */
  next(): Steps<AttributeRecord>;
  readonly window: ByteWindow;
  /** The code page that the `.cpg` file or, without it, the language byte states, if it is unknown. */
  readonly unknownPage: string | undefined;
}

export interface AttributeRecord {
  readonly deleted: boolean;
  /**
   * The record's value in the column that names the polygons. Undefined if no column was chosen; null if the value is
   * blank.
   */
  readonly value: string | null | undefined;
  /** The values of the columns that are attributes, by name; null where a value is blank. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Letters of the column types whose values are stored as text: characters, numbers, dates and booleans. */
const TEXTS = 'CNFDL';
const DELETED = 42;
/** Byte offset of the language byte in the head. */
const LANGUAGE = 29;

/**
 * Opens the attribute table, and finds the columns that name the polygons and that are attributes.
 *
 * @throws FormatError if the header is malformed, the file is shorter than the header states, or the column does not
 * exist or cannot name the polygons.
 */
export function openAttributes(input: LayerInput, reading: Reading): Steps<AttributeTable> {
  return withWindow(input, reading.signal, (window) => startTable(window, input, reading));
}

function* startTable(window: ByteWindow, input: LayerInput, reading: Reading): Steps<AttributeTable> {
  yield* requireBytes(window, input, 32);
  const { decode, unknownPage } = yield* decoderFor(input, window.bytes[window.at + LANGUAGE]!);
  const head = viewOf(window.bytes);
  const records = head.getUint32(window.at + 4, true);
  const headBytes = head.getUint16(window.at + 8, true);
  const recordBytes = head.getUint16(window.at + 10, true);
  if (headBytes < 33 || recordBytes < 1) throw malformed(input.file, 'lengths of a head and a record', 'none');
  yield* requireBytes(window, input, headBytes);
  const fields = fieldsOf(window.bytes.subarray(window.at, window.at + headBytes), recordBytes, decode);
  const { id } = reading.options;
  const field = id === undefined ? undefined : namingField(fields, id, input.file);
  const read = attributeColumns(reading, fields, ({ type }) => TEXTS.includes(type));
  for (const { start, length } of field === undefined ? read : [field, ...read])
    if (start + length > recordBytes)
      throw malformed(input.file, `columns in ${recordBytes} bytes`, `one up to byte ${start + length}`);
  window.at += headBytes;
  if (headBytes + records * recordBytes > input.size) {
    throw truncated(input.file, input.size, headBytes, records * recordBytes);
  }
  return {
    file: input.file,
    records,
    window,
    unknownPage,
    *next() {
      if (bytesThere(window) < recordBytes) yield* requireBytes(window, input, recordBytes);
      const { bytes, at } = window;
      window.at += recordBytes;
      const textOf = ({ start, length }: Field): string | null => decode(bytes, at + start, length);
      return {
        deleted: bytes[at] === DELETED,
        value: field && nameOf(field, textOf(field)),
        properties: Object.fromEntries(read.map((one) => [one.name, valueOfText(one, textOf(one))])),
      };
    },
  };
}

function* requireBytes(window: ByteWindow, input: LayerInput, length: number): Steps {
  if (!(yield* need(window, length))) throw truncated(input.file, input.size, offsetOf(window), length);
}

/** A column, and its byte range within each record. */
interface Field {
  readonly name: string;
  /** Letter of the type of its values. */
  readonly type: string;
  readonly start: number;
  readonly length: number;
}

const END_OF_FIELDS = 0x0d;

function fieldsOf(head: Uint8Array, recordBytes: number, decode: Decoder): Field[] {
  const fields: Field[] = [];
  const places: number[] = [];
  for (let at = 32; at + 32 <= head.length && head[at] !== END_OF_FIELDS; at += 32) places.push(at);
  // For a text column, some writers use the byte for the number of decimals as the upper byte of the length: those whose
  // columns fill a record only so.
  const isWide = places.reduce((sum, at) => sum + head[at + 16]!, 1) !== recordBytes;
  let start = 1;
  for (const at of places) {
    const end = head.indexOf(0, at);
    const name = decode(head, at, Math.min(end === -1 ? 11 : end - at, 11)) ?? '';
    const type = String.fromCharCode(head[at + 11]!);
    const length = head[at + 16]! + (isWide && type === 'C' ? 256 * head[at + 17]! : 0);
    fields.push({ name, type, start, length });
    start += length;
  }
  return fields;
}

function namingField(fields: readonly Field[], naming: string, file: string): Field {
  const found = fields.find(({ name }) => name === naming);
  if (found !== undefined) {
    if (TEXTS.includes(found.type)) return found;
    throw unnameable(file, naming, found.type);
  }
  throw missingColumn(
    naming,
    fields.map(({ name }) => name),
    { file },
  );
}

/** The text that names a polygon: as it stands, unless it stands for no value. */
function nameOf(field: Field, text: string | null): string | null {
  return valueOfText(field, text) === null ? null : text;
}

/**
 * The value that a text of a column stands for. Whole numbers that f64 does not have keep their digits, as in
 * `jsonValueOf`. Texts that are no value of the type stay texts.
 */
function valueOfText({ type }: Field, text: string | null): unknown {
  if (text === null) return null;
  switch (type) {
    case 'N':
    case 'F':
      // A number that did not fit in its field was written as asterisks.
      return /^\*+$/.test(text) ? null : numberOf(text);
    case 'L':
      if (/^[TtYy]$/.test(text)) return true;
      if (/^[FfNn]$/.test(text)) return false;
      return text === '?' ? null : text;
    case 'D':
      return text === '00000000' ? null : text.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3');
    default:
      return text;
  }
}

function numberOf(text: string): unknown {
  const number = Number(text);
  if (!Number.isFinite(number) || !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(text)) return text;
  return /^[+-]?\d+$/.test(text) && !Number.isSafeInteger(number) ? String(BigInt(text.replace(/^\+/, ''))) : number;
}

/** Decodes a value and trims blanks; returns null if nothing is left. */
type Decoder = (bytes: Uint8Array, start: number, length: number) => string | null;

/**
 * Returns the decoder for the code page that the `.cpg` file states or, if it is missing or states an unknown page, that
 * the language byte of the table states. Without either, a value is decoded as UTF-8 or, if it is not valid UTF-8, as
 * Windows-1252. `unknownPage` is what the `.cpg` file or, without it, the language byte states, if it is unknown.
 */
function* decoderFor(
  input: LayerInput,
  language: number,
): Steps<{ readonly decode: Decoder; readonly unknownPage: string | undefined }> {
  const beside = yield* wait(input.beside('.cpg'));
  const written = beside === undefined ? '' : utf8Text(yield* readWhole(beside, 1024));
  const label = written.replace(/^\uFEFF/, '').trim();
  const { decoderOf } = platformOf(input);
  const stated = label === '' ? undefined : yield* wait(decoderOfPage(label, decoderOf));
  const page = stated ?? (yield* wait(decoderOfLanguage(language, decoderOf)));
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const decode: Decoder = (bytes, start, length) => {
    const field = bytes.subarray(start, start + length);
    const end = field.indexOf(0);
    // A zero byte ends a text.
    const part = end === -1 ? field : field.subarray(0, end);
    const text = page?.(part) ?? utf8TextOf(strict, part) ?? westernText(part);
    const trimmed = text.replace(/^ +| +$/g, '');
    return trimmed === '' ? null : trimmed;
  };
  const told = label === '' && namesPage(language) ? `LDID/${language}` : label;
  return { decode, unknownPage: told === '' || (label === '' ? page : stated) !== undefined ? undefined : told };
}

function utf8TextOf(decoder: TextDecoder, bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function malformed(file: string, expected: string, got: string): FormatError {
  return new FormatError('format/malformed-dbase', 'The attributes are not a dBASE file.', {
    expected,
    got,
    remedy: 'Copy the file again, or take it away if the polygons need no names.',
    place: { file },
  });
}

function unnameable(file: string, column: string, type: string): FormatError {
  return new FormatError('format/bad-name', `The column ${JSON.stringify(column)} cannot name the polygons.`, {
    expected: 'texts, numbers or dates',
    got: `values of type ${JSON.stringify(type)}`,
    remedy: 'Name the polygons by another column.',
    place: { file },
  });
}
