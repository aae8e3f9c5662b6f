import type { CrossReduceCommand } from '../../../../primitives/contract/backend.ts';
import {
  ARGUMENTS,
  beginKernel,
  CHUNK,
  emitOwnMemory,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  WORKER,
} from '../../commands/kernel-arguments.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, load } from '../../wasm/wasm-expressions.ts';
import { call, forRounds, lower, store } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';

/** Indices of the kernel-specific argument words. */
export const crossWords = {
  /** Words 0 … 2: the private memory; see `takeOwnMemory`. */
  own: 0,
  /** Word 3: the number of rows of the left table. */
  rows: 3,
  /**
   * Word 4: the number of blocks of {@link ROWS} left rows. Chunk c pairs the left rows of block c mod `blocks` with
   * some of the right rows.
   */
  blocks: 4,
  /** Word 5: the number of rows per run. A run is a range of rows of the right table. */
  run: 5,
  /** Word 6: the number of runs (ranges of right rows). */
  runs: 6,
  /** Word 7: the maximum number of runs (ranges of right rows) per chunk. */
  runsOfChunk: 7,
  /**
   * Word 8 and the words after it: the addresses of the columns. The columns of the left rows come first, then the
   * columns of the right rows, then the result columns.
   */
  vectors: 8,
} as const;

/** Number of rows of the left table per block. */
export const ROWS = 64;
/** Number of rows of the left table per tile. For each column and dimension, the values of a tile fill two vectors. */
export const TILE = 8;
/** Number of rows of the left table per vector. */
export const LANES = 4;

/**
 * Index of one of the kernel's functions: the function that pairs a tile of left rows with a run (range) of right rows.
 */
const RUN_FUNCTION = 1;

/** Size of a packed tile in bytes. */
function tileBytes({ left, dimensions }: CrossReduceCommand): number {
  return 4 * TILE * left.length * dimensions;
}

/**
 * Emits the function that packs the left rows of a chunk into tiles, then pairs each tile with each run (range of right
 * rows) of the chunk. A separate function pairs one tile with one run, so that V8 can switch to optimized code between
 * two calls.
 */
export function emitBlock(shape: KernelShape, command: CrossReduceCommand): FunctionBody {
  const { code, inputs } = beginKernel(shape);
  const memory = emitOwnMemory(code, crossWords.own);
  const [rows, blocks] = [emitOwnWord(code, crossWords.rows), emitOwnWord(code, crossWords.blocks)];
  const [first, count] = [code.local(I32), code.local(I32)];
  first.set(CHUNK.remU(blocks).mul(ROWS));
  count.set(ROWS);
  lower(code, count, rows.sub(first));
  emitPack(code, inputs, command, memory, first, count);
  emitRuns(code, inputs, command, { memory, first, count, rows, blocks });
  return code.finish();
}

/** Byte offset of the results of `leftOwn` in the private memory. The results follow the packed tiles. */
function ownOffset(command: CrossReduceCommand): number {
  return (ROWS / TILE) * tileBytes(command);
}

/**
 * Packs the left rows of a chunk into tiles. Element d of column l of row t goes to word `((⌊t ÷ 8⌋ · columns + l) ·
 * dimensions + d) · 8 + t mod 8`. Copies of the last row pad the last tile.
 */
function emitPack(
  code: Code,
  { environments }: KernelInputs,
  command: CrossReduceCommand,
  memory: Int32,
  first: Int32,
  count: Int32,
): void {
  const { left, dimensions } = command;
  const [t, end, row, to] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const [from, last] = [code.local(I32), code.local(I32)];
  const tile = memory.add(t.shrU(3).mul(tileBytes(command))).add(t.and(TILE - 1).shl(2));
  const packLeaf = (leaf: number): void => {
    const address = emitOwnWord(code, crossWords.vectors + leaf);
    last.set(from.tee(address.add(row.mul(4 * dimensions))).add(4 * dimensions));
    to.set(tile.add(4 * TILE * dimensions * leaf));
    forRounds(code, from, last, 4, () => {
      store(code, to, load(from));
      to.set(to.add(4 * TILE));
    });
    code.release(address);
  };
  end.set(count.add(TILE - 1).and(-TILE));
  t.set(0);
  forRounds(code, t, end, 1, () => {
    row.set(count.sub(1));
    lower(code, row, t);
    row.set(row.add(first));
    for (const leaf of left.keys()) packLeaf(leaf);
    const own = inlineEntry(code, environments[0]!, [row]);
    for (const [leaf, value] of own.entries()) {
      store(code, memory.add(t.shl(2)), value, ownOffset(command) + 4 * ROWS * leaf);
    }
    releaseAll(code, own);
  });
  releaseAll(code, [t, end, row, to, from, last]);
}

interface CrossBlock {
  readonly memory: Int32;
  readonly first: Int32;
  readonly count: Int32;
  readonly rows: Int32;
  readonly blocks: Int32;
}

function emitRuns(code: Code, inputs: KernelInputs, command: CrossReduceCommand, block: CrossBlock): void {
  const { memory, first, count, rows, blocks } = block;
  const [run, runs] = [emitOwnWord(code, crossWords.run), emitOwnWord(code, crossWords.runs)];
  const runsOfChunk = emitOwnWord(code, crossWords.runsOfChunk);
  const [r, end, from] = [code.local(I32), code.local(I32), code.local(I32)];
  const [to, t] = [code.local(I32), code.local(I32)];
  end.set(r.tee(CHUNK.divU(blocks).mul(runsOfChunk)).add(runsOfChunk));
  lower(code, end, runs);
  forRounds(code, r, end, 1, () => {
    from.set(r.mul(run));
    // The number of runs is computed from the capacity, so a run (range of right rows) may start after the last right
    // row. Such a run is empty.
    lower(code, from, inputs.extent);
    to.set(run);
    lower(code, to, inputs.extent.sub(from));
    to.set(to.add(from));
    t.set(0);
    forRounds(code, t, count, TILE, () => {
      const tile = memory.add(t.mul(tileBytes(command) / TILE));
      const own = memory.add(t.shl(2)).add(ownOffset(command));
      const results = r.mul(rows).add(first.add(t)).shl(2);
      call(code, RUN_FUNCTION, [ARGUMENTS, tile, own, first.add(t), count.sub(t), from, to, results, WORKER]);
    });
  });
  releaseAll(code, [run, runs, runsOfChunk, r, end, from, to, t]);
}
