import { FormatError } from '../../../primitives/checks/errors.ts';
import type { Beside } from '../../bytes/beside.ts';
import { latin1Text } from '../../bytes/byte-arrays.ts';
import { endingOf } from '../../bytes/path-names.ts';
import type { ByteSource } from './byte-source.ts';

/**
 * Opens the world file beside a TIFF: for `x.tif`, the first of `x.tfw`, `x.tifw` and `x.wld` that exists, each also in
 * upper case.
 */
export async function openWorldFile(beside: Beside): Promise<ByteSource | undefined> {
  const ending = endingOf(beside.path);
  const stem = beside.path.slice(0, beside.path.length - ending.length);
  const letters = ending.slice(1).toLowerCase();
  const short = letters.length < 2 ? [] : [`${letters[0]}${letters.at(-1)}w`, `${letters}w`];
  for (const name of [...short, 'wld']) {
    for (const cased of [name, name.toUpperCase()]) {
      const source = await beside.open(`${stem}.${cased}`).catch(() => undefined);
      if (source !== undefined) return source;
    }
  }
  return undefined;
}

/** Maximum bytes of a world file that are read. Six numbers need far fewer. */
const MAX_BYTES = 4096;

/**
 * Reads the six numbers of a world file, one per line: width of a cell, two terms of rotation, height of a cell
 * (negative if row 0 is in the north), x and y of the centre of the upper left cell. Blank lines and lines after the
 * sixth are ignored; the decimal sign may be a comma.
 *
 * @throws FormatError `format/bad-world-file` if a number is missing or malformed.
 */
export async function readWorldFile(source: ByteSource): Promise<readonly number[]> {
  const { file, size } = source;
  const lines = latin1Text(await source.read(0, Math.min(MAX_BYTES, size))).split(/\r\n|\r|\n/);
  const numbers: number[] = [];
  for (const [index, line] of lines.entries()) {
    const text = line.trim();
    if (text === '') continue;
    if (!NUMBER.test(text)) throw badWorldFile(JSON.stringify(text.slice(0, 40)), file, index + 1);
    if (numbers.push(Number(text.replace(',', '.'))) === 6) return numbers;
  }
  throw badWorldFile(`${numbers.length} numbers`, file);
}

const NUMBER = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i;

function badWorldFile(got: string, file: string, line?: number): FormatError {
  return new FormatError('format/bad-world-file', 'The world file beside the TIFF is malformed.', {
    expected: 'six lines with one number each',
    got,
    remedy: 'Correct the file; or give the TIFF a place of its own with gdal_translate -a_ullr.',
    place: { file, line },
  });
}
