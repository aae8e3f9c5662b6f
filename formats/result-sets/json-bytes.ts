import { FormatError } from '../../primitives/errors.ts';
import { findJsonFault } from '../json-syntax.ts';

/** The UTF-8 of a text of JSON as a string; a byte-order mark is dropped. */
export function decodeJson(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new FormatError('format/not-utf8', 'The text is not UTF-8 or too long for one string, so it is no JSON.', {
      remedy: 'Check that the file is complete and of that kind; split it where it is larger than 500 MB.',
      place: { file },
      cause,
    });
  }
}

/** Parses JSON; a syntax error becomes a `FormatError` with line and column. */
export function parseJsonBytes(bytes: Uint8Array, file: string): unknown {
  const text = decodeJson(bytes, file);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const fault = findJsonFault(text);
    throw new FormatError('format/json-syntax', `The text is not valid JSON: ${fault?.reason ?? String(cause)}.`, {
      place: { file, line: fault?.line, column: fault?.column },
      remedy: 'Check that the file is complete and of that kind.',
      cause,
    });
  }
}
