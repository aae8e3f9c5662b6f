import {
  type Backend,
  capacityOf,
  type DeviceBuffer,
  type MonoidProgram,
  type Program,
  type RelaxCommand,
  type StateLeaf,
  type Store,
} from '../contract/backend.ts';
import { If, Let, Var } from '../functors/control.ts';
import { u32 } from '../functors/functor.ts';
import { literal, record } from '../functors/recorder.ts';
import { select } from '../functors/standard/choose.ts';
import { type Axis, stepAlong } from '../functors/stencil-axis.ts';
import { type ArrayValue, type Bool, type U32, Value } from '../functors/value.ts';
import { callPlain } from '../functors/wrap-module.ts';
import { oneOf, type ScalarType } from '../ir/ir.ts';
import { maximum, monoidProgram } from '../monoid.ts';
import { assemble, type Called, leafAt, neutral, withBuffers, wordsAt, zeroWords } from './assembled-program.ts';

type Values = Value<ScalarType>[];

/**
 * Relaxes grids of any size. Always issues three commands for each of the `maxRounds` rounds, because the host does not
 * learn which round was the last. Allocates memory for a copy of the states, for the changes and their totals, and for
 * the grid numbers.
 */
export function relaxByRounds(backend: Backend, command: RelaxCommand): void {
  const { cells, extent, state, change, maxRounds } = command;
  const [cellWords, gridWords] = [capacityOf(cells), capacityOf(extent)];
  if (cellWords === 0 || gridWords === 0) {
    if (gridWords > 0) zeroWords(backend, extent, command.rounds);
    return;
  }
  withBuffers(backend, (take) => {
    const grid = numberCells(backend, command, take(cellWords), take(cellWords));
    const isDone = take(gridWords);
    const changes = change.types.map(() => take(cellWords));
    const totals = change.types.map(() => take(gridWords));
    const other = state.map(({ type }): StateLeaf => ({ type, buffer: take(cellWords), offset: 0 }));
    const rounds = { command, grid, isDone, changes, totals };
    begin(backend, rounds);
    const [there, back] = [roundOf(rounds, state, other), roundOf(rounds, other, state)];
    for (let round = 0; round < maxRounds; round++) (round % 2 === 0 ? there : back)(backend, round);
    if (maxRounds % 2 === 1) copyStates(backend, command, other);
  });
}

/** The command and the buffers that all rounds use. */
interface Rounds {
  readonly command: RelaxCommand;
  /**
   * For every cell, the number of the last grid that starts at or before the cell, counted from 1; 0 if there is no
   * such grid.
   */
  readonly grid: DeviceBuffer;
  readonly isDone: DeviceBuffer;
  readonly changes: readonly DeviceBuffer[];
  readonly totals: readonly DeviceBuffer[];
}

/**
 * Finds the number of the grid of every cell: marks the first cell of every grid with the number of the grid, then
 * spreads the numbers to the following cells by a maximum scan.
 */
function numberCells(
  backend: Backend,
  { extent, cells, grids }: RelaxCommand,
  begins: DeviceBuffer,
  grid: DeviceBuffer,
): DeviceBuffer {
  const capacity = capacityOf(cells);
  zeroWords(backend, capacity, { buffer: begins, offset: 0, capacity });
  const begin = assemble('gridBegins', ['u32', 'u32', 'bool'], { programs: { grids } }, (g, { programs }) => {
    const [first, width, height] = programs.grids!([g]) as U32[];
    return [g.add(1), first!, width!.gt(0).and(height!.gt(0))];
  });
  backend.run({
    kind: 'forEach',
    extent,
    program: begin,
    stores: [{ buffer: begins, offset: 0, capacity, value: 0, index: 1, guard: 2 }],
  });
  const element = assemble('gridHere', ['u32'], { arrays: { begins: wordsAt(begins, capacity) } }, (i, { arrays }) => [
    arrays.begins!.at(i),
  ]);
  const emit = assemble('gridSoFar', ['u32'], { parameters: ['u32', 'u32'] }, (_i, { parameters }) => [parameters[1]!]);
  const stores = [{ buffer: grid, offset: 0, capacity, value: 0 }];
  const monoid = monoidProgram(maximum(u32));
  backend.run({ kind: 'scan', extent: capacity, program: element, monoid, emit, stores });
  return grid;
}

/** Marks grids without cells as done, and sets the number of rounds of all grids to 0. */
function begin(backend: Backend, { command, isDone }: Rounds): void {
  const { extent, grids, rounds } = command;
  const program = assemble('gridStart', ['u32', 'u32'], { programs: { grids } }, (g, { programs }) => {
    const [, width, height] = programs.grids!([g]) as U32[];
    return [u32(width!.eq(0).or(height!.eq(0))), u32(0)];
  });
  const capacity = capacityOf(extent);
  backend.run({
    kind: 'forEach',
    extent,
    program,
    stores: [
      { buffer: isDone, offset: 0, capacity, value: 0 },
      { ...rounds, value: 1 },
    ],
  });
}

/**
 * Returns a function that issues one round. The round computes the new states of all cells from the old states in
 * `from` and writes the new states to `to`. Then the round folds the changes of every grid and decides which grids are
 * done.
 */
function roundOf(
  rounds: Rounds,
  from: readonly StateLeaf[],
  to: readonly StateLeaf[],
): (backend: Backend, round: number) => void {
  const { command, changes, totals, isDone } = rounds;
  const { cells, extent } = command;
  const [cellCapacity, gridCapacity] = [capacityOf(cells), capacityOf(extent)];
  const step = stepProgram(rounds, from);
  const stepStores: Store[] = [
    ...to.map(({ buffer, offset }, value) => ({ buffer, offset, capacity: cellCapacity, value })),
    ...changes.map((buffer, leaf) => ({ buffer, offset: 0, capacity: cellCapacity, value: to.length + leaf })),
  ];
  const fold = foldOf(rounds);
  const foldStores = totals.map(
    (buffer, leaf): Store => ({ buffer, offset: 0, capacity: gridCapacity, guard: 0, index: 1, value: 2 + leaf }),
  );
  const end = endProgram(rounds);
  const endStores: Store[] = [
    { ...command.rounds, guard: 0, value: 1 },
    { buffer: isDone, offset: 0, capacity: gridCapacity, guard: 0, value: 2 },
  ];
  return (backend, round) => {
    backend.run({ kind: 'forEach', extent: cells, program: step, stores: stepStores });
    backend.run({ kind: 'scan', extent: cells, ...fold, stores: foldStores });
    backend.run({
      kind: 'forEach',
      extent,
      program: { ...end, uniforms: new Map([...end.uniforms, ['round', round + 1]]) },
      stores: endStores,
    });
  };
}

function stepProgram({ command, grid, isDone }: Rounds, from: readonly StateLeaf[]): Program {
  const { cells, extent, grids, own, step, neighbours, boundary, outside, change } = command;
  const types = from.map(({ type }) => type);
  const length = capacityOf(cells);
  const arrays = {
    ...Object.fromEntries(from.map((leaf, k) => [`state${k}`, leafAt(leaf, length)])),
    grid: wordsAt(grid, length),
    isDone: wordsAt(isDone, capacityOf(extent)),
  };
  const given = { arrays, programs: { grids, own, step } };
  return assemble('relaxCells', [...types, ...change.types], given, (i, { arrays, programs }) => {
    const stateAt = (at: U32): Values => types.map((_, k) => arrays[`state${k}`]!.at(at));
    const before = stateAt(i);
    const next = [...before.map((value) => Var(value)), ...neutral(change)];
    const { g, first, width, height, isPart } = gridOf(i, arrays.grid!, programs.grids!);
    If(isPart.and((arrays.isDone!.at(g) as U32).eq(0)), () => {
      const place = i.sub(first);
      const row = place.div(width);
      const axes = { x: axis(place.sub(row.mul(width)), width), y: axis(row, height) };
      const around = neighbours.flatMap(({ dx, dy }) => {
        const [x, y] = [stepAlong(axes.x, dx, boundary.x), stepAlong(axes.y, dy, boundary.y)];
        const values = stateAt(first.add(y.place.mul(width)).add(x.place));
        const inside = [x.inside, y.inside].filter((each) => each !== undefined).reduce(both, undefined);
        return inside === undefined ? values : values.map((value, k) => orElse(value, outside[k]!, inside));
      });
      const results = programs.step!([i, ...before, ...programs.own!([i]), ...around]);
      for (const [k, value] of results.entries()) next[k]!.set(value as never);
    });
    return next.map(Let);
  });
}

/**
 * Returns the programs and the monoid of a scan that folds the changes of every grid. The scan emits the result of a
 * grid at the last cell of the grid.
 */
function foldOf({ command, grid, changes }: Rounds) {
  const { cells, grids, change } = command;
  const length = capacityOf(cells);
  const { types } = change;
  const arrays = {
    ...Object.fromEntries(
      changes.map((buffer, k) => [`change${k}`, leafAt({ buffer, type: types[k]!, offset: 0 }, length)]),
    ),
    grid: wordsAt(grid, length),
  };
  const program = assemble('relaxChanges', ['u32', ...types], { arrays }, (i, { arrays }) => {
    const here = arrays.grid!.at(i) as U32;
    const isHead = i.eq(0).or(here.ne(arrays.grid!.at(i.max(1).sub(1)) as U32));
    return [u32(isHead), ...types.map((_, k) => arrays[`change${k}`]!.at(i))];
  });
  const parameters: ScalarType[] = ['u32', ...types, 'u32', ...types];
  const given = { arrays: { grid: arrays.grid }, programs: { grids }, parameters };
  const emit = assemble('relaxTotals', ['bool', 'u32', ...types], given, (i, { arrays, programs, parameters }) => {
    const { g, first, width, height, isPart } = gridOf(i, arrays.grid!, programs.grids!);
    return [isPart.and(i.sub(first).add(1).eq(width.mul(height))), g, ...parameters.slice(2 + types.length)];
  });
  return { program, monoid: byRun(change), emit };
}

/**
 * Returns a program that decides for every grid, after a round, whether the grid is done. The program returns whether
 * the grid took part in the round, the number of the round, and whether the grid is done now.
 */
function endProgram({ command, isDone, totals }: Rounds): Program {
  const { extent, grids, until, change } = command;
  const length = capacityOf(extent);
  const arrays = {
    isDone: wordsAt(isDone, length),
    ...Object.fromEntries(
      totals.map((buffer, k) => [`total${k}`, leafAt({ buffer, type: change.types[k]!, offset: 0 }, length)]),
    ),
  };
  const given = { arrays, programs: { grids, until }, uniforms: { round: 0 } };
  return assemble('relaxEnd', ['bool', 'u32', 'u32'], given, (g, { arrays, programs, uniforms }) => {
    const isActive = (arrays.isDone!.at(g) as U32).eq(0);
    const ends = Var(u32(0));
    If(isActive, () => {
      const [, width, height] = programs.grids!([g]) as U32[];
      const folded = change.types.map((_, k) => arrays[`total${k}`]!.at(g));
      const [isLast] = programs.until!([g, width!.mul(height!), ...folded]) as Bool[];
      ends.set(u32(isLast!));
    });
    return [isActive, uniforms.round!, Let(ends)];
  });
}

function copyStates(backend: Backend, { cells, state }: RelaxCommand, from: readonly StateLeaf[]): void {
  const capacity = capacityOf(cells);
  const arrays = Object.fromEntries(from.map((leaf, k) => [`state${k}`, leafAt(leaf, capacity)]));
  const types = from.map(({ type }) => type);
  const program = assemble('relaxed', types, { arrays }, (i, { arrays }) =>
    types.map((_, k) => arrays[`state${k}`]!.at(i)),
  );
  backend.run({
    kind: 'forEach',
    extent: cells,
    program,
    stores: state.map(({ buffer, offset }, value) => ({ buffer, offset, capacity, value })),
  });
}

interface GridHere {
  readonly g: U32;
  readonly first: U32;
  readonly width: U32;
  readonly height: U32;
  /** Whether the cell belongs to grid `g`. If not, the cell belongs to no grid. */
  readonly isPart: Bool;
}

/** Finds the last grid that starts at or before a cell, and whether the cell belongs to that grid. */
function gridOf(i: U32, numbers: ArrayValue<ScalarType>, grids: Called): GridHere {
  const number = numbers.at(i) as U32;
  const g = number.max(1).sub(1);
  const [first, width, height] = grids([g]) as U32[];
  const isPart = number.ne(0).and(i.sub(first!).lt(width!.mul(height!)));
  return { g, first: first!, width: width!, height: height!, isPart };
}

function axis(at: U32, size: U32): Axis {
  return { at, size, known: undefined };
}

function both(a: Bool | undefined, b: Bool): Bool {
  return a === undefined ? b : a.and(b);
}

function orElse(value: Value<ScalarType>, outside: number | boolean, inside: Bool): Value<ScalarType> {
  return select(new Value(literal(value.operand.type, outside)), value, inside);
}

/**
 * Makes a monoid that folds each run (group of consecutive cells) separately. The first value of an operand counts the
 * runs that start in the operand. If a run starts in the right operand, the other values of the left operand are
 * dropped.
 */
function byRun({ module, types, identity }: MonoidProgram): MonoidProgram {
  const leaves: ScalarType[] = ['u32', ...types];
  const recorded = record({ name: 'byGrid', parameters: [...leaves, ...leaves], results: leaves }, (locals) => {
    const [runs, ...a] = locals.slice(0, leaves.length);
    const [moreRuns, ...b] = locals.slice(leaves.length);
    const combined = callPlain(module, [...a, ...b]);
    const startsAnew = new Value<'u32'>(moreRuns!).ne(0);
    return [
      new Value<'u32'>(runs!).add(new Value<'u32'>(moreRuns!)).operand,
      ...combined.map((value, k) => select(new Value(value), new Value(b[k]!), startsAnew).operand),
    ];
  });
  return { module: oneOf(recorded), types: leaves, identity: [0, ...identity], exact: true, commutative: false };
}
