import { FormatError } from '../../primitives/errors.ts';
import { findJsonFault } from '../json-syntax.ts';
import type { LayerInput } from './layer-input.ts';

const REMEDY = 'Check that the file is complete and in this format.';

/** The first error in a text that is not JSON: its byte offset, and a sentence with the reason. */
export interface TextFault {
  readonly offset: number;
  readonly code: string;
  readonly sentence: string;
}

/** Finds the first error of a value that `JSON.parse` rejects. */
export function faultOf(bytes: Buffer): TextFault {
  const offset = invalidUtf8(bytes);
  if (offset !== undefined)
    return { offset, code: 'format/not-utf8', sentence: 'The text is not UTF-8, so it is not JSON.' };
  if (bytes.length === 0) return syntaxFault(0, 'expected a value');
  const text = bytes.toString('utf8');
  const fault = findJsonFault(text);
  return syntaxFault(Buffer.byteLength(text.slice(0, fault?.offset)), fault?.reason ?? 'the engine refuses it');
}

/** A violation of the grammar of JSON. */
export function syntaxFault(offset: number, reason: string): TextFault {
  return { offset, code: 'format/json-syntax', sentence: `The text is not valid JSON: ${reason}.` };
}

/**
 * Position of the first byte that is not valid UTF-8. At this position, decoding the text and encoding it again yields
 * a different byte.
 */
function invalidUtf8(bytes: Buffer): number | undefined {
  const again = Buffer.from(bytes.toString('utf8'));
  if (again.equals(bytes)) return undefined;
  let at = 0;
  while (bytes[at] === again[at]) at++;
  return at;
}

/** The `FormatError` for an error in a text at a known place. */
export function faultError({ code, sentence }: TextFault, place: FormatError['place']): FormatError {
  return new FormatError(code, sentence, { place, remedy: REMEDY });
}

/** The `FormatError` for an error at a byte offset. The file is read again to determine the line and column. */
export async function faultErrorIn(input: LayerInput, fault: TextFault, record?: number): Promise<FormatError> {
  let line = 1;
  let [start, read] = [0, 0];
  for await (const block of input.blocks()) {
    const bytes = Buffer.from(block.buffer, block.byteOffset, Math.min(block.length, fault.offset - read));
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) {
      line++;
      start = read + at + 1;
    }
    read += bytes.length;
    if (read === fault.offset) break;
  }
  return faultError(fault, { file: input.file, line, column: fault.offset - start + 1, record });
}

const NEWLINE = 10;
