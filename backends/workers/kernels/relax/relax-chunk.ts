import type { RelaxCommand } from '../../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { Graph } from '../../../analyses/straight-line.ts';
import {
  ARGUMENTS,
  beginKernel,
  emitChunk,
  emitOwnMemory,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
} from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { straightProgram } from '../../wasm/program-graph.ts';
import { wordsOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import type { Int32 } from '../../wasm/wasm-expressions.ts';
import { asInt32, type Int32Local, type Local } from '../../wasm/wasm-locals.ts';
import { block, brIf, call, copyMemory, loop, store, when } from '../../wasm/wasm-statements.ts';
import { loadState, releaseAll, stateLocals } from '../shared/monoid-code.ts';
import { advance, emitPlaceGrid, forRows, type GridForm, type GridLocals, leafOf } from './relax-grid.ts';
import { ROUND_FUNCTION, roundArguments } from './relax-round.ts';

/** Indices of the kernel-specific argument words. */
export const relaxWords = {
  /** Words 0 … 2: the private memory; see `takeOwnMemory`. */
  own: 0,
  maxRounds: 3,
  rounds: 4,
  roundsCapacity: 5,
  /**
   * Word 6 and the words after it: the addresses of the state columns, one column per leaf (scalar component) of a
   * state.
   */
  state: 6,
} as const;

/**
 * Emits the function that relaxes the grids of a chunk, one after the other. Relaxing a grid means repeating rounds
 * that compute each cell from itself and its neighbours. A separate function runs one round, so that V8 can switch to
 * optimized code between two calls.
 */
export function emitChunkOfGrids(shape: KernelShape, form: GridForm, command: RelaxCommand): FunctionBody {
  const { code, inputs } = beginKernel(shape);
  const [grids] = inputs.environments;
  const { from, to } = emitChunk(code, inputs.extent);
  const memory = emitOwnMemory(code, relaxWords.own);
  const [g, rounds] = [code.local(I32), code.local(I32)];
  const relaxGrid = (first: Int32Local, width: Int32Local, height: Int32Local): void => {
    const [rowBytes, leafBytes, totals] = [code.local(I32), code.local(I32), code.local(I32)];
    const [before, after, own] = [code.local(I32), code.local(I32), code.local(I32)];
    const grid = { first, width, height, rowBytes, leafBytes, totals, from: before, to: after, own };
    emitPlaceGrid(form, command.change.types.length, grid, memory);
    emitMoveStates(code, form, grid, 'in');
    emitOwn(code, form, inputs, grid);
    emitRounds(code, inputs, command, grid, g, rounds);
    emitMoveStates(code, form, grid, 'out');
    releaseAll(code, [rowBytes, leafBytes, totals, before, after, own]);
  };
  emitIndexLoop(code, {
    from,
    to,
    index: g,
    scalar: () => {
      const place = inlineEntry(code, grids!, [g]).map(asInt32);
      const [first, width, height] = place as [Int32Local, Int32Local, Int32Local];
      rounds.set(0);
      when(code, width.select(height, 0), () => relaxGrid(first, width, height));
      emitStoreRounds(code, g, rounds);
      releaseAll(code, place);
    },
  });
  return code.finish();
}

/** Copies the states of a grid, row by row, into the private memory (`in`) or out of it (`out`). */
function emitMoveStates(
  code: Code,
  { states }: GridForm,
  { first, width, height, rowBytes, leafBytes, from }: GridLocals,
  direction: 'in' | 'out',
): void {
  const [bytes, here] = [code.local(I32), code.local(I32)];
  bytes.set(width.shl(2));
  for (const leaf of states.keys()) {
    const column = emitOwnWord(code, relaxWords.state + leaf);
    advance([column], first.shl(2));
    here.set(leafOf(from, leafBytes, leaf));
    forRows(code, height, () => {
      if (direction === 'in') copyMemory(code, here, column, bytes);
      else copyMemory(code, column, here, bytes);
      advance([here], rowBytes);
      advance([column], bytes);
    });
    code.release(column);
  }
  releaseAll(code, [bytes, here]);
}

/** Evaluates the `own` program once for each cell of a grid, and stores the results in the private memory. */
function emitOwn(code: Code, { owns }: GridForm, inputs: KernelInputs, grid: GridLocals): void {
  if (owns.length === 0) return;
  const [index, from, to] = [code.local(I32), code.local(I32), code.local(I32)];
  /**
   * One local per result of `own`. The local holds an address such that, for the current row, the result of cell number
   * `index` is at `address + 4 · index`.
   */
  const leaves = owns.map(() => code.local(I32));
  for (const [leaf, address] of leaves.entries()) {
    address.set(leafOf(grid.own, grid.leafBytes, leaf));
    address.set(address.sub(grid.first.shl(2)));
  }
  from.set(grid.first);
  const vector = ownVectors(code, inputs, owns, leaves, index);
  const scalar = (): void => {
    const results = inlineEntry(code, inputs.environments[1]!, [index]);
    for (const [leaf, address] of leaves.entries()) store(code, address.add(index.shl(2)), results[leaf]!);
    releaseAll(code, results);
  };
  forRows(code, grid.height, () => {
    to.set(from.add(grid.width));
    emitIndexLoop(code, { from, to, index, scalar, vector });
    // The index advances by `width` per row, but rows in the private memory are `rowBytes` apart. This statement
    // corrects the difference.
    advance(leaves, grid.rowBytes.sub(grid.width.shl(2)));
    from.set(to);
  });
  releaseAll(code, [index, from, to, ...leaves]);
}

function ownVectors(
  code: Code,
  inputs: KernelInputs,
  types: readonly ScalarType[],
  leaves: readonly Int32[],
  index: Int32,
): VectorPart | undefined {
  const graph = new Graph();
  const results = straightProgram(graph, inputs.shape, 1);
  if (results === undefined) return undefined;
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.prepare(results);
  return {
    step: 4,
    narrow: (from, to) => lanes.narrow(from, to),
    round: () => {
      lanes.begin(0);
      for (const [leaf, type] of types.entries()) {
        store(code, leaves[leaf]!.add(index.shl(2)), wordsOf(type, lanes.value(results[leaf]!)));
      }
    },
  };
}

/**
 * Runs rounds until the program `until` returns true or `maxRounds` rounds are done. The final states are at `from`.
 */
function emitRounds(
  code: Code,
  { environments }: KernelInputs,
  { change }: RelaxCommand,
  grid: GridLocals,
  g: Int32Local,
  rounds: Int32Local,
): void {
  const [swapped, cells] = [code.local(I32), code.local(I32)];
  const max = emitOwnWord(code, relaxWords.maxRounds);
  const takeRound = (): void => {
    call(code, ROUND_FUNCTION, [ARGUMENTS, ...roundArguments(grid)]);
    swapped.set(grid.from);
    grid.from.set(grid.to);
    grid.to.set(swapped);
    rounds.set(rounds.add(1));
    cells.set(grid.width.mul(grid.height));
  };
  const locals: Local[] = [swapped, cells, max];
  block(code, (done) =>
    loop(code, (again) => {
      brIf(code, done, rounds.geU(max));
      takeRound();
      const folded = stateLocals(code, change);
      loadState(change, grid.totals, folded);
      const [isOver] = inlineEntry(code, environments[2]!, [g, cells, ...folded]).map(asInt32);
      brIf(code, again, isOver!.isZero());
      locals.push(isOver!, ...folded);
    }),
  );
  releaseAll(code, locals);
}

function emitStoreRounds(code: Code, g: Int32, rounds: Int32): void {
  const [address, capacity] = [emitOwnWord(code, relaxWords.rounds), emitOwnWord(code, relaxWords.roundsCapacity)];
  when(code, g.ltU(capacity), () => {
    address.set(address.add(g.shl(2)));
    store(code, address, rounds);
  });
  releaseAll(code, [address, capacity]);
}
