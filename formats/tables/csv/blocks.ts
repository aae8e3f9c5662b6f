import { joinedArrays } from '../../bytes/byte-arrays.ts';
import type { LayerInput } from '../../polygons/layer-input.ts';
import { LONGEST_RECORD, longRecord, openQuote, type Reading } from './scan.ts';

/** A block of the file. It begins with the bytes that the previous block has left over. */
export interface CsvBlock {
  readonly bytes: Uint8Array;
  readonly last: boolean;
  /**
   * Position of the first byte that is left for the next block, because its row is not complete; undefined if no byte
   * was used.
   */
  left: number | undefined;
}

export async function* blocksOf(input: LayerInput, signal?: AbortSignal): AsyncGenerator<CsvBlock> {
  let parts: Uint8Array[] = [];
  let [bytes, wanted] = [0, 0];
  for await (const block of input.blocks(signal)) {
    parts.push(block.slice());
    bytes += block.length;
    if (bytes < wanted) continue;
    const whole: CsvBlock = { bytes: joinedArrays(parts, Uint8Array), last: false, left: undefined };
    yield whole;
    const rest = whole.bytes.subarray(whole.left ?? 0);
    // If the block contains no complete row, wait until twice as many bytes are available before scanning again.
    wanted = rest.length === bytes ? 2 * bytes : 0;
    [parts, bytes] = [[rest], rest.length];
  }
  if (bytes > 0) yield { bytes: joinedArrays(parts, Uint8Array), last: true, left: undefined };
}

export function checkLength({ bytes }: CsvBlock, from: number, reading: Reading): void {
  if (bytes.length - from <= LONGEST_RECORD) return;
  throw bytes.subarray(from, from + LONGEST_RECORD).includes(34) ? openQuote(reading) : longRecord(reading);
}
