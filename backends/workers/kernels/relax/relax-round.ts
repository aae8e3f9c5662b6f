import type { RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import { combineGraph } from '../../../analyses/monoid-shapes.ts';
import { Graph } from '../../../analyses/straight-line.ts';
import {
  emitInputs,
  type KernelInputs,
  type KernelShape,
  loadScalar,
  WORKER,
} from '../../commands/kernel-arguments.ts';
import { inlineEntry, scalarLocal } from '../../wasm/emit-wasm.ts';
import { straightFunctor } from '../../wasm/program-graph.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, parameter } from '../../wasm/wasm-expressions.ts';
import { assign, type Int32Local, type ScalarLocal } from '../../wasm/wasm-locals.ts';
import { store } from '../../wasm/wasm-statements.ts';
import { emitCombine, emitIdentity, releaseAll, stateLocals, storeState } from '../shared/monoid-code.ts';
import { emitFarNeighbours, type FarNeighbours } from './relax-far.ts';
import { advance, forRows, type GridForm, type GridLocals, leafOf } from './relax-grid.ts';
import { emitSurroundings } from './relax-surroundings.ts';
import { emitVectorRound, type StepGraph } from './relax-vectors.ts';

/** Index of one of the kernel's functions: the function that runs one round. */
export const ROUND_FUNCTION = 1;

/** Index of the program `step` among the programs of the kernel. */
const STEP = 3;

/** The locals of a grid, in the order in which the function of a round receives them as parameters. */
const order = ['first', 'width', 'height', 'rowBytes', 'leafBytes', 'totals', 'from', 'to', 'own'] as const;

/** The arguments of the function of a round, after the address of the arguments: the grid and the worker. */
export function roundArguments(grid: GridLocals): Int32[] {
  return [...order.map((name) => grid[name]), WORKER];
}

/**
 * Emits the function that runs one round of a grid. The function fills the padding, if any. For each cell, it evaluates
 * `step`, which returns the next state and the change of the cell. It also folds the changes of all cells.
 */
export function emitRound(shape: KernelShape, form: GridForm, command: RelaxCommand): FunctionBody {
  const code = new Code([I32, ...order.map((): typeof I32 => I32), I32], parameter(1 + order.length));
  const grid = Object.fromEntries(order.map((name, k) => [name, code.parameter(1 + k)])) as unknown as GridLocals;
  const inputs = emitInputs(code, shape);
  if (!form.isFar) emitSurroundings(code, form, command, grid);
  const step = form.isFar ? undefined : stepGraph(shape, form, command);
  const total = stateLocals(code, command.change);
  emitIdentity(command.change, total);
  if (step === undefined) emitScalarRound(code, inputs, form, command, grid, total);
  else emitVectorRound(code, inputs, form, command, step, grid, total);
  storeState(code, grid.totals, total);
  return code.finish();
}

/**
 * The step as a graph for vector code; undefined if the step or the monoid of the changes is not straight-line code.
 */
function stepGraph(shape: KernelShape, { states, owns }: GridForm, { change }: RelaxCommand): StepGraph | undefined {
  const graph = new Graph();
  const functor = straightFunctor(graph, shape, STEP);
  if (functor === undefined || combineGraph(change).results === undefined) return undefined;
  const { parameters, results } = functor;
  const first = 1 + states.length;
  return {
    index: parameters[0]!,
    before: parameters.slice(1, first),
    owns: parameters.slice(first, first + owns.length),
    around: parameters.slice(first + owns.length),
    after: results.slice(0, states.length),
    changes: results.slice(states.length),
    size: graph.size,
  };
}

/** Evaluates the step one cell at a time, without vectors. */
function emitScalarRound(
  code: Code,
  { environments }: KernelInputs,
  form: GridForm,
  command: RelaxCommand,
  grid: GridLocals,
  total: readonly ScalarLocal[],
): void {
  const { states, owns } = form;
  const [index, place] = [code.local(I32), code.local(I32)];
  const leavesAt = (origin: Int32, count: number): Int32Local[] =>
    Array.from({ length: count }, (_, leaf) => {
      const address = code.local(I32);
      address.set(leafOf(origin, grid.leafBytes, leaf));
      return address;
    });
  const [from, to] = [leavesAt(grid.from, states.length), leavesAt(grid.to, states.length)];
  const own = leavesAt(grid.own, owns.length);
  const types = entryOf(environments[STEP]!.module).parameters.map(({ type }) => type);
  const args = types.map((type) => scalarLocal(code, type));
  const around = args.slice(1 + states.length + owns.length);
  const neighbours = form.isFar
    ? emitFarNeighbours(code, command, grid, around)
    : nearNeighbours(form, command, grid, from, around);
  const takeStep = (column: Int32): void => {
    place.set(column.shl(2));
    assign(args[0]!, index);
    for (const [k, address] of [...from, ...own].entries()) {
      assign(args[1 + k]!, loadScalar(types[1 + k]!, address.add(place)));
    }
    neighbours.load(column, place);
    const results = inlineEntry(code, environments[STEP]!, args);
    for (const [leaf, address] of to.entries()) store(code, address.add(place), results[leaf]!);
    emitCombine(code, command.change, total, total, results.slice(states.length));
    releaseAll(code, results);
    advance([index], 1);
  };
  index.set(grid.first);
  forRows(code, grid.height, (row) => {
    neighbours.beginRow(row);
    forRows(code, grid.width, takeStep);
    advance([...from, ...to, ...own], grid.rowBytes);
  });
  releaseAll(code, [index, place, ...from, ...to, ...own, ...args]);
  neighbours.release();
}

function nearNeighbours(
  { left, states }: GridForm,
  { neighbours }: RelaxCommand,
  { rowBytes }: GridLocals,
  from: readonly Int32[],
  into: readonly ScalarLocal[],
): FarNeighbours {
  return {
    beginRow() {},
    load(_column, place) {
      for (const [k, { dx, dy }] of neighbours.entries()) {
        for (const [leaf, type] of states.entries()) {
          const address = from[leaf]!.add(place)
            .add(rowBytes.mul(dy))
            .sub(4 * left);
          assign(into[k * states.length + leaf]!, loadScalar(type, address, 4 * (left + dx)));
        }
      }
    },
    release() {},
  };
}
