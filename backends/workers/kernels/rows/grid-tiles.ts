import type { ForEachCommand } from '../../../../primitives/contract/backend.ts';
import { emitChunk, emitOwnWord, type KernelInputs } from '../../commands/kernel-arguments.ts';
import { fixedPhase, type Phase } from '../../commands/launch.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32 } from '../../wasm/wasm-encoder.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { lower, whileTrue } from '../../wasm/wasm-statements.ts';

/** Rows of a tile, and cells that are visited in one row before the next row. */
const [ROWS, BESIDE] = [64, 16];

/** Columns of a chunk. */
const STRIP = 512;

/** Number of kernel-specific words of a launch that visits tiles. */
export const TILE_WORDS = 3;

/** Whether to visit the indices of a command tile by tile: its rows are wide enough, and its stores are in place. */
export function isTiled({ extent, across, stores }: ForEachCommand): boolean {
  if (across === undefined || typeof extent !== 'number' || across < 4 * BESIDE || extent % across !== 0) return false;
  return stores.every(({ index, combine }) => index === undefined && combine === undefined);
}

/** The phase of a launch that visits tiles, and its kernel-specific words. A chunk is a tile of `STRIP` columns. */
export function tilePhase(
  run: number,
  cells: number,
  across: number,
): { readonly phase: Phase; readonly words: number[] } {
  const strips = Math.ceil(across / STRIP);
  const rows = cells / across;
  return { phase: fixedPhase(run, Math.ceil(rows / ROWS) * strips), words: [rows, across, strips] };
}

/**
 * Visits the indices of a chunk: `BESIDE` columns of all its rows, then the columns beside them. Cells beside each other
 * read lines of memory which the cells below them read too, and which stay in the cache for so long.
 */
export function emitTiles(
  code: Code,
  inputs: KernelInputs,
  visit: (range: { readonly from: Int32Local; readonly to: Int32Local }) => void,
): void {
  const { from: chunk } = emitChunk(code, inputs.extent);
  const [rows, across, strips] = [emitOwnWord(code, 0), emitOwnWord(code, 1), emitOwnWord(code, 2)];
  const [first, end, column, last] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const [from, to, beside] = [code.local(I32), code.local(I32), code.local(I32)];
  first.set(chunk.divU(strips));
  column.set(chunk.sub(first.mul(strips)).mul(STRIP));
  last.set(column.add(STRIP));
  lower(code, last, across);
  first.set(first.mul(ROWS));
  end.set(first.add(ROWS));
  lower(code, end, rows);
  end.set(end.mul(across));
  first.set(first.mul(across));
  whileTrue(code, column.ltU(last), () => {
    beside.set(last.sub(column));
    lower(code, beside, BESIDE);
    from.set(first.add(column));
    whileTrue(code, from.ltU(end), () => {
      to.set(from.add(beside));
      visit({ from, to });
      from.set(from.add(across));
    });
    column.set(column.add(beside));
  });
}
