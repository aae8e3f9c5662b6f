import { isUtf8 } from 'node:buffer';
import type { ByteSource } from '../../rasters/tiff/byte-source.ts';
import type { StringDictionary } from '../string-dictionary.ts';
import type { TableField } from '../table-file.ts';
import { readingMemory } from './column.ts';
import { isUnmarked, type ParquetField, type ParquetFooter, type RowGroup, unreadOf } from './footer.ts';
import { bytesOf, decodedColumn } from './row-group.ts';

/**
 * Decides what the metadata leave open, by reading the columns in question:
 *
 * - Byte arrays without an annotation are text if those of the first row group that has any are UTF-8 without control
 *   characters. Otherwise they are not read.
 * - 96-bit timestamps are nanoseconds. If one of them does not fit 64 bits of nanoseconds, the column has microseconds,
 *   with a note.
 *
 * O(bytes of these columns); nothing is read if the file has none.
 */
export async function settledFields(source: ByteSource, footer: ParquetFooter): Promise<ParquetFooter> {
  const unread = [...footer.unread];
  const notes = [...footer.notes];
  const fields: ParquetField[] = [];
  for (const given of footer.fields) {
    const { element } = given;
    if (element.type === 'INT96' && !(await canRead(source, given, footer.groups))) {
      fields.push({ ...given, field: { ...given.field, type: 'timestamp', unit: 'us', utc: false } as TableField });
      const message = `The column ${JSON.stringify(element.name)} has times that 64 bits of nanoseconds cannot hold. All of its times are read in microseconds, rounded down.`;
      notes.push({ code: 'table/coarse-times', message });
    } else if (isUnmarked(element) && !(await canRead(source, given, footer.groups, textOnly()))) {
      unread.push(unreadOf(element, 'bytes that are no text'));
    } else fields.push(given);
  }
  return { ...footer, fields, unread, notes };
}

/** A dictionary that keeps nothing, and refuses what is not text. */
interface TextCheck extends StringDictionary {
  /** Number of values seen. */
  readonly seen: number;
}

function textOnly(): TextCheck {
  let seen = 0;
  return {
    strings: [],
    get seen() {
      return seen;
    },
    codeOf(bytes, from, to) {
      seen++;
      for (let at = from; at < to; at++) if (isControl(bytes[at]!)) return -1;
      return isUtf8(bytes.subarray(from, to)) ? 0 : -1;
    },
  };
}

const [TAB, LINE_FEED, RETURN, SPACE, DELETE] = [9, 10, 13, 32, 127];

function isControl(byte: number): boolean {
  return (byte < SPACE && byte !== TAB && byte !== LINE_FEED && byte !== RETURN) || byte === DELETE;
}

/**
 * Whether a column can hold its values. With a check of texts, only the first row group that has values is read. Damage
 * is reported when the column is asked for, so it does not matter here.
 */
async function canRead(
  source: ByteSource,
  given: ParquetField,
  groups: readonly RowGroup[],
  dictionary?: TextCheck,
): Promise<boolean> {
  const memory = readingMemory(true);
  try {
    for (const group of groups) {
      const [bytes] = await bytesOf(source, group, [given]);
      await decodedColumn(source.file, { ...given, dictionary }, group, bytes!, memory);
      if (dictionary !== undefined && dictionary.seen > 0) return true;
    }
    return true;
  } catch (error) {
    return (error as { readonly code?: unknown }).code !== 'format/unreadable-value';
  }
}
