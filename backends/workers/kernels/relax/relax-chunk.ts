import type { RelaxCommand } from '../../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { Graph, straightLine } from '../../../analyses/straight-line.ts';
import {
  ARGUMENTS,
  emitChunk,
  emitInputs,
  emitOwnMemory,
  emitOwnWord,
  emitStoreScalar,
  type KernelInputs,
  type KernelShape,
  kernelParameters,
  type Layout,
} from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { slotsOf } from '../../wasm/program-graph.ts';
import { emitWords } from '../../wasm/vector-operations.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, op, simd } from '../../wasm/wasm-encoder.ts';
import { emitLoadState, releaseAll, stateLocals } from '../shared/monoid-code.ts';
import { emitAdvance, emitLeaf, emitPlaceGrid, emitRows, type GridForm, type GridLocals } from './relax-grid.ts';
import { pushRoundArguments, ROUND_FUNCTION } from './relax-round.ts';

/** Words of the kernel's own. */
export const relaxWords = {
  /** The address of what threads have of their own, and the bytes of each. */
  own: 0,
  ownBytes: 1,
  /** Whether there are fewer chunks than threads: then each chunk has its own. */
  byChunk: 2,
  maxRounds: 3,
  rounds: 4,
  roundsCapacity: 5,
  /** The addresses of the states, leaf by leaf. */
  state: 6,
} as const;

/** Relaxes the grids of a chunk, one after the other. A round is a function of its own, so that V8 tiers it up between two. */
export function emitChunkOfGrids(
  shape: KernelShape,
  layout: Layout,
  form: GridForm,
  command: RelaxCommand,
): FunctionBody {
  const code = new Code(kernelParameters);
  const inputs = emitInputs(code, shape, layout, []);
  const [grids] = inputs.environments;
  const { from, to } = emitChunk(code, inputs.extent);
  const memory = emitOwnMemory(code, relaxWords);
  const [g, rounds] = [code.local(I32), code.local(I32)];
  emitIndexLoop(code, {
    from,
    to,
    index: g,
    scalar: () => {
      const [first, width, height] = inlineEntry(code, grids!, [g]) as [number, number, number];
      code.i32(0);
      code.set(rounds);
      code.get(height);
      code.i32(0);
      code.get(width);
      code.op(op.select);
      code.when(() => {
        const [rowBytes, leafBytes, totals] = [code.local(I32), code.local(I32), code.local(I32)];
        const [before, after, own] = [code.local(I32), code.local(I32), code.local(I32)];
        const grid = { first, width, height, rowBytes, leafBytes, totals, from: before, to: after, own };
        emitPlaceGrid(code, form, command.change.types.length, grid, memory);
        emitMoveStates(code, form, grid, 'in');
        emitOwn(code, shape, layout, form, inputs, grid);
        emitRounds(code, inputs, command, grid, g, rounds);
        emitMoveStates(code, form, grid, 'out');
        releaseAll(code, [rowBytes, leafBytes, totals, before, after, own]);
      });
      emitStoreRounds(code, g, rounds);
      releaseAll(code, [first, width, height]);
    },
  });
  return code.finish();
}

/** Brings the states of a grid to the memory of its own, or back, row by row. */
function emitMoveStates(
  code: Code,
  { states }: GridForm,
  { first, width, height, rowBytes, leafBytes, from }: GridLocals,
  direction: 'in' | 'out',
): void {
  const [bytes, here] = [code.local(I32), code.local(I32)];
  code.get(width);
  code.i32(2);
  code.op(op.i32Shl);
  code.set(bytes);
  for (const leaf of states.keys()) {
    const column = emitOwnWord(code, relaxWords.state + leaf);
    emitAdvance(code, [column], () => {
      code.get(first);
      code.i32(2);
      code.op(op.i32Shl);
    });
    emitLeaf(code, from, leafBytes, leaf, here);
    emitRows(code, height, () => {
      code.get(direction === 'in' ? here : column);
      code.get(direction === 'in' ? column : here);
      code.get(bytes);
      code.memoryCopy();
      emitAdvance(code, [here], () => code.get(rowBytes));
      emitAdvance(code, [column], () => code.get(bytes));
    });
    code.release(column);
  }
  releaseAll(code, [bytes, here]);
}

/** Evaluates what else belongs to the cells of a grid. */
function emitOwn(
  code: Code,
  shape: KernelShape,
  layout: Layout,
  { owns }: GridForm,
  inputs: KernelInputs,
  grid: GridLocals,
): void {
  if (owns.length === 0) return;
  const [index, from, to] = [code.local(I32), code.local(I32), code.local(I32)];
  /** The addresses of what a cell of number 0 would have. */
  const leaves = owns.map(() => code.local(I32));
  for (const [leaf, address] of leaves.entries()) {
    emitLeaf(code, grid.own, grid.leafBytes, leaf, address);
    pushBytesOf(code, grid.first, address, op.i32Sub);
  }
  code.get(grid.first);
  code.set(from);
  const vector = ownVectors(code, shape, layout, inputs, owns, leaves, index);
  emitRows(code, grid.height, () => {
    code.get(from);
    code.get(grid.width);
    code.op(op.i32Add);
    code.set(to);
    const scalar = (): void => {
      const results = inlineEntry(code, inputs.environments[1]!, [index]);
      for (const [leaf, type] of owns.entries()) {
        code.get(leaves[leaf]!);
        code.get(index);
        code.i32(2);
        code.op(op.i32Shl, op.i32Add);
        emitStoreScalar(code, type, results[leaf]!);
      }
      releaseAll(code, results);
    };
    emitIndexLoop(code, { from, to, index, scalar, vector });
    // The next row begins so much later here than among all cells.
    emitAdvance(code, leaves, () => {
      code.get(grid.rowBytes);
      code.get(grid.width);
      code.i32(2);
      code.op(op.i32Shl, op.i32Sub);
    });
    code.get(to);
    code.set(from);
  });
  releaseAll(code, [index, from, to, ...leaves]);
}

/** `address = address (op) 4 · cells`. */
function pushBytesOf(code: Code, cells: number, address: number, operation: number): void {
  code.get(address);
  code.get(cells);
  code.i32(2);
  code.op(op.i32Shl, operation);
  code.set(address);
}

function ownVectors(
  code: Code,
  shape: KernelShape,
  layout: Layout,
  inputs: KernelInputs,
  types: readonly ScalarType[],
  leaves: readonly number[],
  index: number,
): VectorPart | undefined {
  const graph = new Graph();
  const results = straightLine(graph, shape.programs[1]!.module, slotsOf(layout, 1), [graph.index()]);
  if (results === undefined) return undefined;
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.prepare(results);
  return {
    step: 4,
    narrow: (from, to) => lanes.narrow(from, to),
    round: () => {
      lanes.begin(0);
      for (const [leaf, type] of types.entries()) {
        code.get(leaves[leaf]!);
        code.get(index);
        code.i32(2);
        code.op(op.i32Shl, op.i32Add);
        lanes.push(results[leaf]!);
        emitWords(code, type);
        code.simdMemory(simd.store);
      }
    },
  };
}

/** Rounds until the rule holds, or there were as many as there may be. The states are then those at `from`. */
function emitRounds(
  code: Code,
  { environments }: KernelInputs,
  { change }: RelaxCommand,
  grid: GridLocals,
  g: number,
  rounds: number,
): void {
  const [swapped, cells] = [code.local(I32), code.local(I32)];
  const max = emitOwnWord(code, relaxWords.maxRounds);
  const done = code.block();
  const again = code.loop();
  code.get(rounds);
  code.get(max);
  code.op(op.i32GeU);
  code.brIf(done);
  code.get(ARGUMENTS);
  pushRoundArguments(code, grid);
  code.call(ROUND_FUNCTION);
  code.get(grid.from);
  code.set(swapped);
  code.get(grid.to);
  code.set(grid.from);
  code.get(swapped);
  code.set(grid.to);
  code.get(rounds);
  code.i32(1);
  code.op(op.i32Add);
  code.set(rounds);
  code.get(grid.width);
  code.get(grid.height);
  code.op(op.i32Mul);
  code.set(cells);
  const folded = stateLocals(code, change);
  emitLoadState(code, change, () => code.get(grid.totals), folded);
  const [isOver] = inlineEntry(code, environments[2]!, [g, cells, ...folded]) as [number];
  code.get(isOver);
  code.op(op.i32Eqz);
  code.brIf(again);
  code.end();
  code.end();
  releaseAll(code, [swapped, cells, max, isOver, ...folded]);
}

function emitStoreRounds(code: Code, g: number, rounds: number): void {
  const [address, capacity] = [emitOwnWord(code, relaxWords.rounds), emitOwnWord(code, relaxWords.roundsCapacity)];
  code.get(g);
  code.get(capacity);
  code.op(op.i32LtU);
  code.when(() => {
    pushBytesOf(code, g, address, op.i32Add);
    code.get(address);
    emitStoreScalar(code, 'u32', rounds);
  });
  releaseAll(code, [address, capacity]);
}
