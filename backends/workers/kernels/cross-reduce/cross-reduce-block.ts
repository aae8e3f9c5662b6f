import type { CrossReduceCommand } from '../../../../primitives/contract/backend.ts';
import {
  ARGUMENTS,
  CHUNK,
  emitInputs,
  emitOwnMemory,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  kernelParameters,
  type Layout,
} from '../../commands/kernel-arguments.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, load } from '../../wasm/wasm-expressions.ts';
import { call, forRounds, lower, store } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';

/** Words of the kernel's own. */
export const crossWords = {
  /** The address of what threads have of their own, and the bytes of each. */
  own: 0,
  ownBytes: 1,
  /** Whether there are fewer chunks than threads: then each chunk has its own. */
  byChunk: 2,
  rows: 3,
  /** Blocks of rows; chunk c is block c mod blocks. */
  blocks: 4,
  run: 5,
  runs: 6,
  runsOfChunk: 7,
  /** The addresses of the left vectors, of the right ones and of the results, leaf by leaf. */
  vectors: 8,
} as const;

/** Left rows of a chunk, … */
export const ROWS = 64;
/** … of a tile, whose elements of one dimension are two vectors, … */
export const TILE = 8;
/** … and of a vector. */
export const LANES = 4;

/** The number, among the functions of the kernel, of the one that takes a run of right rows for a tile of left ones. */
const RUN_FUNCTION = 1;

/** Bytes that a tile of left vectors takes, and a column of what belongs to rows. */
function tileBytes({ left, dimensions }: CrossReduceCommand): number {
  return 4 * TILE * left.length * dimensions;
}

/**
 * Packs the left rows of a chunk, tile by tile, and takes run after run of the right rows for each tile. The run is a function of
 * its own, so that V8 tiers it up between two.
 */
export function emitBlock(shape: KernelShape, layout: Layout, command: CrossReduceCommand): FunctionBody {
  const code = new Code(kernelParameters);
  const inputs = emitInputs(code, shape, layout, []);
  const memory = emitOwnMemory(code, crossWords);
  const [rows, blocks] = [emitOwnWord(code, crossWords.rows), emitOwnWord(code, crossWords.blocks)];
  const [first, count] = [code.local(I32), code.local(I32)];
  first.set(CHUNK.remU(blocks).mul(ROWS));
  count.set(ROWS);
  lower(code, count, rows.sub(first));
  emitPack(code, inputs, command, memory, first, count);
  emitRuns(code, inputs, command, { memory, first, count, rows, blocks });
  return code.finish();
}

/** Where what belongs to rows begins, behind the tiles. */
function ownOffset(command: CrossReduceCommand): number {
  return (ROWS / TILE) * tileBytes(command);
}

/**
 * Element d of row t of leaf l goes to place `((t ÷ 8 · leaves + l) · dimensions + d) · 8 + t mod 8`. Of the last tile, rows that there
 * are not are copies of the last one.
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
    // Behind the last row there are none.
    lower(code, from, inputs.extent);
    to.set(run);
    lower(code, to, inputs.extent.sub(from));
    to.set(to.add(from));
    t.set(0);
    forRounds(code, t, count, TILE, () => {
      const tile = memory.add(t.mul(tileBytes(command) / TILE));
      const own = memory.add(t.shl(2)).add(ownOffset(command));
      const results = r.mul(rows).add(first.add(t)).shl(2);
      call(code, RUN_FUNCTION, [ARGUMENTS, tile, own, first.add(t), count.sub(t), from, to, results]);
    });
  });
  releaseAll(code, [run, runs, runsOfChunk, r, end, from, to, t]);
}
