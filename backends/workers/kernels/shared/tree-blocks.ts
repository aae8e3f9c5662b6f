import type { Extent, MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { BLOCK } from '../../../../primitives/contract/combination-tree.ts';
import { Graph, type Node } from '../../../analyses/straight-line.ts';
import {
  beginKernel,
  emitChunk,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  lengthWords,
  type StoreTarget,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, type Launcher } from '../../commands/launch.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitParts } from '../../wasm/index-loop.ts';
import { storedNodes, straightProgram } from '../../wasm/program-graph.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import type { Int32 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local, ScalarLocal } from '../../wasm/wasm-locals.ts';
import { forRange, lower, when } from '../../wasm/wasm-statements.ts';
import { ceilDiv } from '../reduce/reduce.ts';
import { loadState, stateLocals, storeState, type VectorCombine, vectorCombine } from './monoid-code.ts';
import { narrowToStores } from './stores.ts';
import { emitBlockTotal, emitWorkerRoom, stateAt, type TreeBlock } from './tree-code.ts';
import { emitWholeTotal, type WholeBlock } from './tree-vectors.ts';

/**
 * Code that reduce and scan share for monoids that are not exact, such as f32 sums. Their results depend on the
 * brackets, which the canonical combination tree defines. All workers compute the totals of the blocks, then one worker
 * combines the totals. For a scan, all workers then process the blocks a second time.
 */

/**
 * Indices of the kernel-specific argument words. INTO is the address of the result, ROOMS the address of the workers'
 * scratch memory, and TOTALS the first of {@link LEVELS} words with the addresses of the totals of each level.
 */
export const INTO = 0;
export const ROOMS = 1;
export const TOTALS = 2;

/** Number of levels of totals. Three levels suffice for 2⁴⁰ elements, because a block has 2¹⁰ elements. */
export const LEVELS = 3;

export function extentWords(
  launcher: Launcher,
  extent: Extent,
): { readonly length: readonly [number, number, number]; readonly chunkSize: number } {
  const length = lengthWords(extent, launcher.addresses);
  return { length, chunkSize: chunkSizeOf(length[2], launcher.workers) };
}

/** The size in bytes of the totals, for each level. */
export function levelBytes(elements: number, { types }: MonoidProgram): number[] {
  let count = elements;
  return Array.from({ length: LEVELS }, () => {
    count = Math.ceil(count / BLOCK);
    return 4 * types.length * count;
  });
}

/** Computes and stores the totals of the blocks of a chunk. */
export function emitTotals(shape: KernelShape, monoid: MonoidProgram): FunctionBody {
  const { code, inputs } = beginKernel({ ...shape, stores: [] });
  const totals = emitOwnWord(code, TOTALS);
  const total = stateLocals(code, monoid);
  const graph = new Graph('aligned');
  const elements = straightProgram(graph, inputs.shape, 0);
  const whole = elements && wholeBlocks(code, monoid, inputs, elements, []);
  emitChunkBlocks(code, monoid, inputs, whole, (block, number) => {
    emitEither(
      block,
      whole,
      (wholeBlock) => emitWholeTotal(wholeBlock, total),
      () => emitBlockTotal(block, total),
    );
    storeState(code, stateAt(monoid, totals, number), total);
  });
  return code.finish();
}

/**
 * The inputs of the vector code for whole blocks. `low` and `high` bound the range of indices whose reads and stores
 * are in bounds.
 */
export interface Whole {
  readonly lanes: VectorCode;
  readonly elements: readonly Node[];
  readonly combine: VectorCombine;
  readonly index: Int32Local;
  readonly low: Int32Local;
  readonly high: Int32Local;
  readonly stores: readonly StoreTarget[];
}

export function wholeBlocks(
  code: Code,
  monoid: MonoidProgram,
  { arrays, uniforms, stores }: KernelInputs,
  elements: readonly Node[],
  results: readonly Node[],
): Whole | undefined {
  const combine = vectorCombine(code, monoid);
  if (combine === undefined) return undefined;
  const index = code.local(I32);
  const lanes = new VectorCode(code, { arrays, uniforms, index });
  lanes.prepare([...elements, ...storedNodes(stores, results)]);
  return { lanes, elements, combine, index, low: code.local(I32), high: code.local(I32), stores };
}

/**
 * Emits vector code and scalar code for a block. The vector code runs if the block is complete and its reads and stores
 * are in bounds.
 */
export function emitEither(
  block: TreeBlock,
  whole: Whole | undefined,
  vector: (block: WholeBlock) => void,
  scalar: () => void,
): void {
  if (whole === undefined) {
    scalar();
    return;
  }
  const { code, monoid, room, first, count } = block;
  const { low, high, combine, lanes, elements, index } = whole;
  const isWhole = count.eq(BLOCK);
  const isInRange = isWhole.and(first.geU(low)).and(first.leU(high)).and(high.sub(first).geU(BLOCK));
  when(code, isInRange, () => vector({ code, monoid, combine, lanes, elements, index, room, first }), scalar);
}

/** Loops over the blocks of the chunk. `number` is the position of the block among the blocks of all chunks. */
export function emitChunkBlocks(
  code: Code,
  monoid: MonoidProgram,
  inputs: KernelInputs,
  whole: Whole | undefined,
  body: (block: TreeBlock, number: Int32Local) => void,
): void {
  const room = emitWorkerRoom(code, monoid, ROOMS);
  const { from, to } = emitChunk(code, inputs.extent);
  if (whole !== undefined) {
    whole.low.set(from);
    whole.high.set(to);
    whole.lanes.narrow(whole.low, whole.high);
    narrowToStores(code, whole.stores, whole.high);
  }
  const number = code.local(I32);
  const element = (index: Int32Local): ScalarLocal[] => inlineEntry(code, inputs.environments[0]!, [index]);
  emitParts(code, from, to, BLOCK, (count) => {
    number.set(from.shrU(Math.log2(BLOCK)));
    body({ code, monoid, room, first: from, count, element }, number);
  });
}

/** Loops over the blocks of an array of `length` states in memory. */
export function emitStateBlocks(
  code: Code,
  monoid: MonoidProgram,
  room: Int32,
  states: Int32,
  length: Int32,
  body: (block: TreeBlock, number: Int32) => void,
): void {
  const blocks = code.local(I32);
  const first = code.local(I32);
  const count = code.local(I32);
  const element = (index: Int32): ScalarLocal[] => {
    const state = stateLocals(code, monoid);
    loadState(monoid, stateAt(monoid, states, index), state);
    return state;
  };
  blocks.set(blockCount(length));
  forRange(code, blocks, (number) => {
    first.set(number.mul(BLOCK));
    count.set(length.sub(first));
    lower(code, count, BLOCK);
    body({ code, monoid, room, first, count, element }, number);
  });
  for (const local of [blocks, first, count]) code.release(local);
}

/** The number of blocks into which `length` elements are divided. The last block may be incomplete. */
export function blockCount(length: Int32): Int32 {
  return ceilDiv(length, BLOCK);
}
