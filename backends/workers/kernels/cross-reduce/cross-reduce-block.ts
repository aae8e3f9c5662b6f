import type { CrossReduceCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import {
  ARGUMENTS,
  CHUNK,
  emitInputs,
  emitMinimum,
  emitOwnMemory,
  emitOwnWord,
  emitStoreScalar,
  type KernelInputs,
  type KernelShape,
  kernelParameters,
  type Layout,
} from '../../commands/kernel-arguments.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitRounds } from '../../wasm/index-loop.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, op } from '../../wasm/wasm-encoder.ts';
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
  code.get(CHUNK);
  code.get(blocks);
  code.op(op.i32RemU);
  code.i32(ROWS);
  code.op(op.i32Mul);
  code.set(first);
  code.i32(ROWS);
  code.set(count);
  emitMinimum(code, count, () => {
    code.get(rows);
    code.get(first);
    code.op(op.i32Sub);
  });
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
  memory: number,
  first: number,
  count: number,
): void {
  const { left, dimensions, leftOwn } = command;
  const [t, end, row, to] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const [from, last] = [code.local(I32), code.local(I32)];
  code.get(count);
  code.i32(TILE - 1);
  code.op(op.i32Add);
  code.i32(-TILE);
  code.op(op.i32And);
  code.set(end);
  code.i32(0);
  code.set(t);
  emitRounds(code, t, end, 1, () => {
    code.get(count);
    code.i32(1);
    code.op(op.i32Sub);
    code.set(row);
    emitMinimum(code, row, () => code.get(t));
    code.get(row);
    code.get(first);
    code.op(op.i32Add);
    code.set(row);
    for (const leaf of left.keys()) {
      const address = emitOwnWord(code, crossWords.vectors + leaf);
      code.get(address);
      code.get(row);
      code.i32(4 * dimensions);
      code.op(op.i32Mul, op.i32Add);
      code.tee(from);
      code.i32(4 * dimensions);
      code.op(op.i32Add);
      code.set(last);
      code.get(memory);
      code.get(t);
      code.i32(3);
      code.op(op.i32ShrU);
      code.i32(tileBytes(command));
      code.op(op.i32Mul, op.i32Add);
      code.get(t);
      code.i32(TILE - 1);
      code.op(op.i32And);
      code.i32(2);
      code.op(op.i32Shl, op.i32Add);
      code.i32(4 * TILE * dimensions * leaf);
      code.op(op.i32Add);
      code.set(to);
      emitRounds(code, from, last, 4, () => {
        code.get(to);
        code.get(from);
        code.memory(op.i32Load);
        code.memory(op.i32Store);
        code.get(to);
        code.i32(4 * TILE);
        code.op(op.i32Add);
        code.set(to);
      });
      code.release(address);
    }
    const own = inlineEntry(code, environments[0]!, [row]);
    for (const [leaf, type] of entryOf(leftOwn.module).results.entries()) {
      code.get(memory);
      code.get(t);
      code.i32(2);
      code.op(op.i32Shl, op.i32Add);
      emitStoreScalar(code, type, own[leaf]!, ownOffset(command) + 4 * ROWS * leaf);
    }
    releaseAll(code, own);
  });
  releaseAll(code, [t, end, row, to, from, last]);
}

interface CrossBlock {
  readonly memory: number;
  readonly first: number;
  readonly count: number;
  readonly rows: number;
  readonly blocks: number;
}

function emitRuns(code: Code, inputs: KernelInputs, command: CrossReduceCommand, block: CrossBlock): void {
  const { memory, first, count, rows, blocks } = block;
  const [run, runs] = [emitOwnWord(code, crossWords.run), emitOwnWord(code, crossWords.runs)];
  const runsOfChunk = emitOwnWord(code, crossWords.runsOfChunk);
  const [r, end, from, to, t] = [0, 1, 2, 3, 4].map(() => code.local(I32)) as [number, number, number, number, number];
  code.get(CHUNK);
  code.get(blocks);
  code.op(op.i32DivU);
  code.get(runsOfChunk);
  code.op(op.i32Mul);
  code.tee(r);
  code.get(runsOfChunk);
  code.op(op.i32Add);
  code.set(end);
  emitMinimum(code, end, () => code.get(runs));
  emitRounds(code, r, end, 1, () => {
    code.get(r);
    code.get(run);
    code.op(op.i32Mul);
    code.set(from);
    // Behind the last row there are none.
    emitMinimum(code, from, () => code.get(inputs.extent));
    code.get(run);
    code.set(to);
    emitMinimum(code, to, () => {
      code.get(inputs.extent);
      code.get(from);
      code.op(op.i32Sub);
    });
    code.get(to);
    code.get(from);
    code.op(op.i32Add);
    code.set(to);
    code.i32(0);
    code.set(t);
    emitRounds(code, t, count, TILE, () => {
      code.get(ARGUMENTS);
      // The tile, and what belongs to its rows.
      code.get(memory);
      code.get(t);
      code.i32(tileBytes(command) / TILE);
      code.op(op.i32Mul, op.i32Add);
      code.get(memory);
      code.get(t);
      code.i32(2);
      code.op(op.i32Shl, op.i32Add);
      code.i32(ownOffset(command));
      code.op(op.i32Add);
      // The first row, and how many there are.
      code.get(first);
      code.get(t);
      code.op(op.i32Add);
      code.get(count);
      code.get(t);
      code.op(op.i32Sub);
      // The right rows, and where the results go.
      code.get(from);
      code.get(to);
      code.get(r);
      code.get(rows);
      code.op(op.i32Mul);
      code.get(first);
      code.get(t);
      code.op(op.i32Add, op.i32Add);
      code.i32(2);
      code.op(op.i32Shl);
      code.call(RUN_FUNCTION);
    });
  });
  releaseAll(code, [run, runs, runsOfChunk, r, end, from, to, t]);
}
