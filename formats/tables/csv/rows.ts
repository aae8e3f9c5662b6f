import type { LayerInput } from '../../polygons/layer-input.ts';
import { blocksOf, checkLength } from './blocks.ts';
import type { Head } from './head.ts';
import { type Fields, type Reading, scanRows } from './scan.ts';

/** Scans the file block by block, and yields the fields of all rows after the header. */
export async function* rowsOf(
  input: LayerInput,
  head: Head,
  signal?: AbortSignal,
  keepsRagged = false,
): AsyncGenerator<Fields> {
  const { file } = input;
  const reading: Reading = {
    file,
    delimiter: head.delimiter,
    columns: head.names.length,
    line: head.line,
    keepsRagged,
  };
  let skipsHeader = head.hasHeader;
  let isFirst = true;
  for await (const block of blocksOf(input, signal)) {
    if (isFirst && !block.last && block.bytes.length < head.start) continue;
    let at = isFirst ? head.start : 0;
    if (skipsHeader) {
      const { fields, next } = scanRows(block.bytes, at, block.last, reading, 1);
      if (fields.rows === 0) {
        checkLength(block, 0, reading);
        continue;
      }
      at = next;
      skipsHeader = false;
    }
    isFirst = false;
    const { fields, next } = scanRows(block.bytes, at, block.last, reading);
    block.left = next;
    checkLength(block, next, reading);
    yield fields;
  }
}
