import { open } from 'node:fs/promises';
import { extname } from 'node:path';
import { FormatError } from '../../../primitives/checks/errors.ts';
import { fileError } from '../../bytes/file-error.ts';

/**
 * Finds the world file beside a TIFF: for `x.tif`, the first of `x.tfw`, `x.tifw` and `x.wld` that exists, each also in
 * upper case.
 */
export async function findWorldFile(path: string): Promise<string | undefined> {
  const ending = extname(path);
  const stem = ending === '' ? path : path.slice(0, -ending.length);
  const letters = ending.slice(1).toLowerCase();
  const short = letters.length < 2 ? [] : [`${letters[0]}${letters.at(-1)}w`, `${letters}w`];
  for (const name of [...short, 'wld']) {
    for (const cased of [name, name.toUpperCase()]) {
      const handle = await open(`${stem}.${cased}`).catch(() => undefined);
      if (handle === undefined) continue;
      const isFile = (await handle.stat()).isFile();
      await handle.close();
      if (isFile) return `${stem}.${cased}`;
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
export async function readWorldFile(path: string): Promise<readonly number[]> {
  const lines = (await readStart(path)).split(/\r\n|\r|\n/);
  const numbers: number[] = [];
  for (const [index, line] of lines.entries()) {
    const text = line.trim();
    if (text === '') continue;
    if (!NUMBER.test(text)) throw badWorldFile(JSON.stringify(text.slice(0, 40)), path, index + 1);
    if (numbers.push(Number(text.replace(',', '.'))) === 6) return numbers;
  }
  throw badWorldFile(`${numbers.length} numbers`, path);
}

const NUMBER = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i;

async function readStart(path: string): Promise<string> {
  try {
    const handle = await open(path);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
      return buffer.toString('latin1', 0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw fileError(path, error);
  }
}

function badWorldFile(got: string, file: string, line?: number): FormatError {
  return new FormatError('format/bad-world-file', 'The world file beside the TIFF is malformed.', {
    expected: 'six lines with one number each',
    got,
    remedy: 'Correct the file; or give the TIFF a place of its own with gdal_translate -a_ullr.',
    place: { file, line },
  });
}
