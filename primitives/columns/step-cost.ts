import { blocksOf, entryOf, type IrFunction, type Module, type Statement } from '../ir/ir.ts';
import { memoized } from '../ir/memo.ts';
import type { ViewCost, ViewInput } from './column.ts';

/**
 * The cost of evaluating one element of a view's own code, without the views that it reads.
 *
 * A read counts as {@link READ} operations, a loop as {@link ROUNDS} rounds, a branch as both of its sides.
 */
export interface StepCost extends ViewCost {
  /** For each view that the code reads, by name: the number of evaluations and of call sites. */
  readonly calls: ReadonlyMap<string, Calls>;
}

interface Calls {
  readonly times: number;
  readonly places: number;
  /** Whether the view is read at an index other than the index of the element that is being evaluated. */
  readonly elsewhere: boolean;
}

const NO_CALLS: Calls = { times: 0, places: 0, elsewhere: false };

/** Cost of an array read, in operations. On one CPU core, a read takes about 1.5 ns and an operation 0.4 ns. */
export const READ = 4;
/**
 * Assumed number of rounds of a loop. The number is low, so that a view is stored only if storing it pays even if its
 * loops run only a few rounds.
 */
const ROUNDS = 4;

/**
 * The cost of a module's entry function, from its code. A call of a function that is not in the module is a read of
 * another view.
 */
export const stepCost: (module: Module) => StepCost = memoized(findCost);

/**
 * The cost of a module's entry function and of the views that it reads, assuming that all of these views are evaluated
 * at every read.
 */
export function costWithInputs(module: Module, inputs: readonly ViewInput[]): ViewCost {
  const own = stepCost(module);
  if (inputs.length === 0) return own;
  const { calls, ...cost } = own;
  for (const { name, view } of inputs) {
    const { times, places, elsewhere } = calls.get(name) ?? NO_CALLS;
    cost.operations += times * view.cost.operations;
    cost.statements += places * view.cost.statements;
    cost.longestStep = Math.max(cost.longestStep, view.cost.longestStep);
    cost.loops ||= view.cost.loops;
    const isOnce = inputs.length === 1 && times === 1 && !elsewhere;
    cost.repeated += isOnce ? view.cost.repeated : times * view.cost.operations;
  }
  return cost;
}

function findCost(module: Module): StepCost {
  const functions = new Map<string, StepCost>();
  for (const fn of module.functions) functions.set(fn.name, costOfFunction(fn, functions));
  return functions.get(entryOf(module).name)!;
}

function operationsOf(statement: Statement): number {
  if (statement.kind === 'localArray') return statement.localArray.length;
  return statement.kind === 'read' || statement.kind === 'readOwned' ? READ : 1;
}

function costOfFunction({ parameters, body }: IrFunction, functions: ReadonlyMap<string, StepCost>): StepCost {
  let operations = 0;
  let statements = 0;
  let loops = false;
  const calls = new Map<string, Calls>();
  const visit = (block: readonly Statement[], rounds: number): void => {
    for (const statement of block) {
      statements++;
      operations += rounds * operationsOf(statement);
      const isLoop = statement.kind === 'loop';
      loops ||= isLoop;
      for (const inner of blocksOf(statement)) visit(inner, isLoop ? rounds * ROUNDS : rounds);
      if (statement.kind === 'call') {
        const callee = functions.get(statement.callee);
        operations += rounds * (callee?.operations ?? 0);
        statements += callee?.statements ?? 0;
        loops ||= callee?.loops ?? false;
        if (callee === undefined) {
          const before = calls.get(statement.callee) ?? NO_CALLS;
          const [index] = statement.args;
          calls.set(statement.callee, {
            times: before.times + rounds,
            places: before.places + 1,
            elsewhere: before.elsewhere || index?.kind !== 'local' || index.id !== parameters[0]?.id,
          });
        }
      }
    }
  };
  visit(body, 1);
  return { operations, statements, longestStep: statements, repeated: 0, loops, calls };
}
