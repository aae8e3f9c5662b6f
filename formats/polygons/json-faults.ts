import { FormatError } from '../../primitives/checks/errors.ts';
import { utf8Text } from '../bytes/byte-arrays.ts';
import { eachOf, type Steps } from '../bytes/steps.ts';
import { findJsonFault } from '../text/json-syntax.ts';
import type { LayerInput } from './layer-input.ts';

const REMEDY = 'Check that the file is complete and in this format.';

/** The first error in a text that is not JSON: its byte offset, and a sentence with the reason. */
export interface TextFault {
  readonly offset: number;
  readonly code: string;
  readonly sentence: string;
}

/** Finds the first error in a text that `JSON.parse` rejects. */
export function faultOf(bytes: Uint8Array): TextFault {
  const offset = invalidUtf8(bytes);
  if (offset !== undefined)
    return { offset, code: 'format/not-utf8', sentence: 'The text is not UTF-8, so it is not JSON.' };
  if (bytes.length === 0) return syntaxFault(0, 'expected a value');
  const text = utf8Text(bytes);
  const fault = findJsonFault(text);
  return syntaxFault(
    new TextEncoder().encode(text.slice(0, fault?.offset)).length,
    fault?.reason ?? 'the engine refuses it',
  );
}

/** The fault for a violation of the JSON grammar at a byte offset. */
export function syntaxFault(offset: number, reason: string): TextFault {
  return { offset, code: 'format/json-syntax', sentence: `The text is not valid JSON: ${reason}.` };
}

/**
 * Position of the first byte that is not valid UTF-8; undefined if all bytes are valid. It is the first byte that
 * changes if the bytes are decoded and encoded again.
 */
function invalidUtf8(bytes: Uint8Array): number | undefined {
  const again = new TextEncoder().encode(utf8Text(bytes));
  let at = 0;
  while (at < bytes.length && bytes[at] === again[at]) at++;
  return at === bytes.length && again.length === at ? undefined : at;
}

/** The `FormatError` for a fault whose place in the file is known. */
export function faultError({ code, sentence }: TextFault, place: FormatError['place']): FormatError {
  return new FormatError(code, sentence, { place, remedy: REMEDY });
}

/** The `FormatError` for a fault. Reads the file again to find the line and column of the fault's byte offset. */
export function* faultErrorIn(input: LayerInput, fault: TextFault, record?: number): Steps<FormatError> {
  let line = 1;
  let [start, read] = [0, 0];
  yield* eachOf(input.blocks(), (block) => {
    const bytes = block.subarray(0, fault.offset - read);
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) {
      line++;
      start = read + at + 1;
    }
    read += bytes.length;
    return read < fault.offset;
  });
  return faultError(fault, { file: input.file, line, column: fault.offset - start + 1, record });
}

const NEWLINE = 10;
