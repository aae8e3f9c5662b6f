import { constants, isUtf8 } from 'node:buffer';
import { stat } from 'node:fs/promises';
import { getHeapStatistics } from 'node:v8';
import { FormatError, OutOfMemoryError } from '../primitives/checks/errors.ts';
import { fileError } from './file-error.ts';
import { unpacked } from './gzip.ts';
import { findJsonFault } from './json-syntax.ts';
import { jsonValueOf } from './json-value.ts';
import { requireJsonRoom } from './memory.ts';
import { readBounded } from './read-bounded.ts';

/**
 * Reads a whole file as text. Decompresses a gzipped file, and drops a byte-order mark. Throws a `FormatError` if the
 * file is missing or unreadable, longer than a JavaScript string can be (512 MB), or not UTF-8.
 *
 * @throws OutOfMemoryError `memory/limit` if the text, or the value that `JSON.parse` would return for it, takes more
 * than `memoryBytes`.
 */
export async function readTextFile(file: string, memoryBytes: number = Number.POSITIVE_INFINITY): Promise<string> {
  const max = Math.min(constants.MAX_STRING_LENGTH, Math.floor(memoryBytes / TEXT_FACTOR));
  const bytes = await readWhole(file, max);
  if (!isUtf8(bytes)) {
    throw new FormatError('format/not-utf8', 'The file is not UTF-8 text, so it cannot be JSON.', {
      place: { file },
      remedy: 'Write it as UTF-8, or convert it, for example with ogr2ogr.',
    });
  }
  requireJsonRoom(bytes, file, Math.min(memoryBytes, HEAP_FACTOR * getHeapStatistics().heap_size_limit));
  const text = bytes.toString('utf8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** The estimate that `requireJsonRoom` uses, divided by the bytes of heap that coordinates take in practice. */
const HEAP_FACTOR = 1.5;

/**
 * Bytes of memory per byte of text before parsing: the text is held as compressed bytes, as decompressed bytes, and as
 * a string.
 */
const TEXT_FACTOR = 4;

async function readWhole(file: string, max: number): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size > constants.MAX_STRING_LENGTH) throw tooLarge(file, size);
    return await unpacked(await readBounded(file, max), file, max);
  } catch (error) {
    // In this case, the maximum length of a string was exceeded, not the memory limit. The error must say so.
    if (error instanceof OutOfMemoryError && max === constants.MAX_STRING_LENGTH) throw tooLarge(file);
    throw fileError(file, error);
  }
}

function tooLarge(file: string, size?: number): FormatError {
  return new FormatError('format/too-large', 'The file is larger than one string of this JavaScript engine.', {
    expected: `at most ${constants.MAX_STRING_LENGTH} bytes`,
    got: size === undefined ? 'more than that' : `${size} bytes`,
    remedy: 'Split the zones into several files.',
    place: { file },
  });
}

/** Parses JSON with {@link jsonValueOf}. A syntax error becomes a `FormatError` with its line and column. */
export function parseJson(text: string, file: string): unknown {
  try {
    return jsonValueOf(text);
  } catch (cause) {
    const fault = findJsonFault(text);
    throw new FormatError('format/json-syntax', `The file is not valid JSON: ${fault?.reason ?? String(cause)}.`, {
      place: { file, line: fault?.line, column: fault?.column },
      remedy: 'Zones are read from GeoJSON or TopoJSON: check that the file is complete and in one of these formats.',
      cause,
    });
  }
}
