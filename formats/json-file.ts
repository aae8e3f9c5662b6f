import { constants, isUtf8 } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { FormatError } from '../primitives/errors.ts';
import { fileError } from './file-error.ts';
import { findJsonFault } from './json-syntax.ts';

/**
 * Reads a whole file as text. Files larger than one JavaScript string (512 MB) and files that are not UTF-8 are
 * refused by a `FormatError`, as are missing and unreadable ones; a gzipped file is unpacked, a byte-order mark dropped.
 */
export async function readTextFile(file: string): Promise<string> {
  const bytes = await inflated(await readWhole(file), file);
  if (!isUtf8(bytes)) {
    throw new FormatError('format/not-utf8', 'The file is not UTF-8 text, so it cannot be JSON.', {
      place: { file },
      remedy: 'Zones are read from GeoJSON or TopoJSON: convert other formats, for example with ogr2ogr.',
    });
  }
  const text = bytes.toString('utf8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** What a gzipped file holds, no more than fits into a string; other files as they are. */
async function inflated(bytes: Buffer, file: string): Promise<Buffer> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: constants.MAX_STRING_LENGTH });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(file);
    throw new FormatError('format/gzip', `The file is gzipped, and cannot be unpacked: ${(cause as Error).message}.`, {
      remedy: 'Check that the file is complete.',
      place: { file },
      cause,
    });
  }
}

async function readWhole(file: string): Promise<Buffer> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    const { size } = await handle.stat();
    if (size > constants.MAX_STRING_LENGTH) throw tooLarge(file, size);
    return await handle.readFile();
  } catch (error) {
    throw fileError(file, error);
  } finally {
    await handle?.close();
  }
}

function tooLarge(file: string, size?: number): FormatError {
  return new FormatError('format/too-large', 'The file is larger than one string of this JavaScript engine.', {
    expected: `at most ${constants.MAX_STRING_LENGTH} bytes`,
    got: size === undefined ? 'more, once it is unpacked' : `${size} bytes`,
    remedy: 'Split the zones into several files.',
    place: { file },
  });
}

/** Parses JSON; a syntax error becomes a `FormatError` with the line and column where the text goes wrong. */
export function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const fault = findJsonFault(text);
    throw new FormatError('format/json-syntax', `The file is not valid JSON: ${fault?.reason ?? String(cause)}.`, {
      place: { file, line: fault?.line, column: fault?.column },
      remedy: 'Zones are read from GeoJSON or TopoJSON: check that the file is complete and of that kind.',
      cause,
    });
  }
}
