import { FormatError } from '../../primitives/checks/errors.ts';
import { requireJsonRoom } from '../memory.ts';
import { findJsonFault } from '../text/json-syntax.ts';
import { jsonValueOf } from '../text/json-value.ts';
import { placeIn } from './byte-cursor.ts';

/** Decodes the UTF-8 bytes of a JSON text, without a byte-order mark. */
export function decodeJson(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new FormatError('format/not-utf8', 'The text is not UTF-8 or too long for one string, so it is not JSON.', {
      remedy: 'Check that the file is complete and in this format; split it if it is larger than 500 MB.',
      place: { file },
      cause,
    });
  }
}

/**
 * Parses JSON with {@link jsonValueOf}; a syntax error becomes a `FormatError` with line and column.
 *
 * @throws OutOfMemoryError `memory/limit` if the parsed values would take more than `memoryBytes`.
 */
export function parseJsonBytes(bytes: Uint8Array, file: string, memoryBytes?: number): unknown {
  requireJsonRoom(bytes, file, memoryBytes);
  const text = decodeJson(bytes, file);
  try {
    return jsonValueOf(text);
  } catch (cause) {
    const fault = findJsonFault(text);
    throw new FormatError('format/json-syntax', `The text is not valid JSON: ${fault?.reason ?? String(cause)}.`, {
      place: { file, line: fault?.line, column: fault?.column },
      remedy: 'Check that the file is complete and in this format.',
      cause,
    });
  }
}

/**
 * The error for a JSON syntax error at a byte position. Line and column are found even if the file is too long for one
 * string.
 */
export function jsonFaultAt(bytes: Uint8Array, at: number, reason: string, file: string): FormatError {
  const told = at >= bytes.length ? 'the text ends too early' : reason;
  return new FormatError('format/json-syntax', `The text is not valid JSON: ${told}.`, {
    place: placeIn(bytes, at, file),
    remedy: 'Check that the file is complete and in this format.',
  });
}
