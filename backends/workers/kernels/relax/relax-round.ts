import type { RelaxCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import { combineGraph } from '../../../analyses/monoid-shapes.ts';
import { Graph, straightLine } from '../../../analyses/straight-line.ts';
import {
  emitInputs,
  emitLoadScalar,
  emitStoreScalar,
  type KernelInputs,
  type KernelShape,
  type Layout,
} from '../../commands/kernel-arguments.ts';
import { inlineEntry, scalarLocal } from '../../wasm/emit-wasm.ts';
import { slotsOf } from '../../wasm/program-graph.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, op } from '../../wasm/wasm-encoder.ts';
import { emitCombine, emitIdentity, emitStoreState, releaseAll, stateLocals } from '../shared/monoid-code.ts';
import { emitFarNeighbours, type FarNeighbours } from './relax-far.ts';
import { emitAdvance, emitLeaf, emitRows, type GridForm, type GridLocals } from './relax-grid.ts';
import { emitSurroundings } from './relax-surroundings.ts';
import { emitVectorRound, type StepGraph } from './relax-vectors.ts';

/** Its number among the functions of the kernel. */
export const ROUND_FUNCTION = 1;

/** The program of a step among those of the kernel. */
const STEP = 3;

/** The locals of a grid, in the order in which a round is given them. */
const order = ['first', 'width', 'height', 'rowBytes', 'leafBytes', 'totals', 'from', 'to', 'own'] as const;

export function pushRoundArguments(code: Code, grid: GridLocals): void {
  for (const name of order) code.get(grid[name]);
}

/** A round of one grid: fills what is around it, takes a step of all cells, and folds their changes. */
export function emitRound(shape: KernelShape, layout: Layout, form: GridForm, command: RelaxCommand): FunctionBody {
  const code = new Code([I32, ...order.map(() => I32 as typeof I32)]);
  const grid = Object.fromEntries(order.map((name, k) => [name, 1 + k])) as unknown as GridLocals;
  const inputs = emitInputs(code, shape, layout, []);
  if (!form.isFar) emitSurroundings(code, form, command, grid);
  const step = form.isFar ? undefined : stepGraph(shape, layout, form, command);
  const total = stateLocals(code, command.change);
  emitIdentity(code, command.change, total);
  if (step === undefined) emitScalarRound(code, inputs, form, command, grid, total);
  else emitVectorRound(code, inputs, form, command, step, grid, total);
  emitStoreState(code, command.change, () => code.get(grid.totals), total);
  return code.finish();
}

/** The step for four cells at once; undefined where it is no straight line, or the fold of its changes is none. */
function stepGraph(
  { programs }: KernelShape,
  layout: Layout,
  { states, owns }: GridForm,
  { change }: RelaxCommand,
): StepGraph | undefined {
  const graph = new Graph();
  const parameters = entryOf(programs[STEP]!.module).parameters.map(({ type }, k) => graph.parameter(type, `${k}`));
  const results = straightLine(graph, programs[STEP]!.module, slotsOf(layout, STEP), parameters);
  if (results === undefined || combineGraph(change).results === undefined) return undefined;
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

/** Takes the step of one cell after the other. */
function emitScalarRound(
  code: Code,
  { environments }: KernelInputs,
  form: GridForm,
  command: RelaxCommand,
  grid: GridLocals,
  total: readonly number[],
): void {
  const { states, owns } = form;
  const [index, place] = [code.local(I32), code.local(I32)];
  const leavesAt = (origin: number, count: number): number[] =>
    Array.from({ length: count }, (_, leaf) => {
      const address = code.local(I32);
      emitLeaf(code, origin, grid.leafBytes, leaf, address);
      return address;
    });
  const [from, to] = [leavesAt(grid.from, states.length), leavesAt(grid.to, states.length)];
  const own = leavesAt(grid.own, owns.length);
  const types = entryOf(environments[STEP]!.module).parameters.map(({ type }) => type);
  const args = types.map((type) => scalarLocal(code, type));
  const around = args.slice(1 + states.length + owns.length);
  const neighbours = form.isFar
    ? emitFarNeighbours(code, command, grid, around)
    : emitNearNeighbours(code, form, command, grid, from, around);
  code.get(grid.first);
  code.set(index);
  emitRows(code, grid.height, (row) => {
    neighbours.beginRow(row);
    emitRows(code, grid.width, (column) => {
      code.get(column);
      code.i32(2);
      code.op(op.i32Shl);
      code.set(place);
      const load = (address: number, leaf: number): void => {
        code.get(address);
        code.get(place);
        code.op(op.i32Add);
        emitLoadScalar(code, types[leaf]!, args[leaf]!);
      };
      code.get(index);
      code.set(args[0]!);
      for (const [leaf, address] of [...from, ...own].entries()) load(address, 1 + leaf);
      neighbours.load(column, place);
      const results = inlineEntry(code, environments[STEP]!, args);
      for (const [leaf, type] of states.entries()) {
        code.get(to[leaf]!);
        code.get(place);
        code.op(op.i32Add);
        emitStoreScalar(code, type, results[leaf]!);
      }
      emitCombine(code, command.change, total, total, results.slice(states.length));
      releaseAll(code, results);
      emitAdvance(code, [index], () => code.i32(1));
    });
    emitAdvance(code, [...from, ...to, ...own], () => code.get(grid.rowBytes));
  });
  releaseAll(code, [index, place, ...from, ...to, ...own, ...args]);
  neighbours.release();
}

function emitNearNeighbours(
  code: Code,
  { left, states }: GridForm,
  { neighbours }: RelaxCommand,
  { rowBytes }: GridLocals,
  from: readonly number[],
  into: readonly number[],
): FarNeighbours {
  return {
    beginRow() {},
    load(_column, place) {
      for (const [k, { dx, dy }] of neighbours.entries()) {
        for (const [leaf, type] of states.entries()) {
          code.get(from[leaf]!);
          code.get(place);
          code.op(op.i32Add);
          code.get(rowBytes);
          code.i32(dy);
          code.op(op.i32Mul, op.i32Add);
          code.i32(4 * left);
          code.op(op.i32Sub);
          emitLoadScalar(code, type, into[k * states.length + leaf]!, 4 * (left + dx));
        }
      }
    },
    release() {},
  };
}
