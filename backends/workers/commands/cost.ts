import {
  type CrossReduceCommand,
  capacityOf,
  type HistogramCommand,
  type RelaxCommand,
  type WalkCommand,
} from '../../../primitives/contract/backend.ts';
import type { Module, Statement } from '../../../primitives/ir/ir.ts';
import { memoized } from '../../../primitives/ir/memo.ts';
import { worstCase } from '../../analyses/worst-case.ts';

/** Approximate cost in nanoseconds of one operation, one read, and clearing one word. */
const OPERATION = 0.4;
const READ = 1.5;
const WORD_CLEARED = 0.2;
/** Approximate cost in nanoseconds of one round over a grid, without the cost of its cells. */
const COST_OF_ROUND = 100;

/**
 * Approximate upper bound, in nanoseconds, of the cost of evaluating the module's entry once on one core; infinite if
 * there is no bound. The bound decides whether the calling thread may run a command itself, so it must not be too low.
 */
export const costOf: (module: Module) => number = memoized((module) => 1 + worstCase(module, costOfStatement));

/**
 * Approximate upper bound, in nanoseconds, of the cost of one whole walk (the start and all steps of one index);
 * infinite if the number of steps has no bound.
 */
export function costOfWalk({ start, step, steps = Number.POSITIVE_INFINITY }: WalkCommand): number {
  return costOf(start.module) + steps * costOf(step.module);
}

/**
 * Approximate upper bound, in nanoseconds, of the cost of relaxing one grid: all rounds, each of which updates all
 * cells from their neighbours.
 */
export function costOfRelaxing({ grids, own, step, until, change, ...command }: RelaxCommand): number {
  const { cells, maxWidth, maxHeight, maxRounds } = command;
  const max = Math.min(maxWidth * maxHeight, capacityOf(cells));
  if (max === 0) return costOf(grids.module);
  const round = max * (costOf(step.module) + costOf(change.module)) + costOf(until.module) + COST_OF_ROUND;
  return costOf(grids.module) + max * costOf(own.module) + (maxRounds === 0 ? 0 : maxRounds * round);
}

/**
 * Approximate upper bound, in nanoseconds, of the cost of pairing one row of the left table with all rows of the right
 * table.
 */
export function costOfPairs({
  others,
  dimensions,
  step,
  value,
  rightOwn,
  leftOwn,
  monoid,
}: CrossReduceCommand): number {
  const pair =
    dimensions * costOf(step.module) + costOf(value.module) + costOf(rightOwn.module) + costOf(monoid.module);
  return costOf(leftOwn.module) + capacityOf(others) * pair;
}

/** Approximate upper bound, in nanoseconds, of the cost of counting one row of a histogram command. */
export function costOfCount({ program, inner }: HistogramCommand): number {
  const { module } = program;
  return inner === undefined ? costOf(module) : costOf(inner.row.module) + inner.ranks * costOf(module);
}

/** Approximate cost, in nanoseconds, of clearing `words` words. */
export function costOfClearing(words: number): number {
  return words * WORD_CLEARED;
}

function costOfStatement(statement: Statement): number {
  switch (statement.kind) {
    case 'read':
    case 'readOwned':
    case 'readLocal':
    case 'writeLocal':
      return READ;
    case 'localArray':
      return OPERATION * statement.localArray.length;
    case 'call':
    case 'if':
      return 0;
    default:
      return OPERATION;
  }
}
