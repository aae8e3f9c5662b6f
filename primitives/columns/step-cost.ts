import { entryOf, type IrFunction, type Module, type Statement } from '../functors/ir.ts';
import type { ViewCost, ViewInput } from './column.ts';

/**
 * What evaluating one element of a view's own step costs, in operations, without the views that it reads.
 *
 * A read counts as {@link READ} operations, a loop as {@link ROUNDS} rounds, a branch as both of its sides.
 */
export interface StepCost {
  readonly operations: number;
  /** Statements with all calls inlined, as backends compile them. */
  readonly statements: number;
  /** How often each view that it reads is evaluated, and in how many places of the code, by its name. */
  readonly calls: ReadonlyMap<string, Calls>;
}

interface Calls {
  readonly times: number;
  readonly places: number;
}

/** Operations that a read of an array takes as long as, about: 1.5 ns beside 0.4 on a core. */
export const READ = 4;
/** Rounds of a loop that nobody has counted: few, as storing has to be worth it where there are few. */
const ROUNDS = 4;

const known = new WeakMap<Module, StepCost>();

/** The cost of a module's entry; what it calls and does not have is another view. */
export function stepCost(module: Module): StepCost {
  const found = known.get(module) ?? findCost(module);
  known.set(module, found);
  return found;
}

/** The cost of a step and of the views that it reads, each wherever it is read. */
export function costWithInputs(module: Module, inputs: readonly ViewInput[]): ViewCost {
  const { operations, statements, calls } = stepCost(module);
  const cost = { operations, statements, longestStep: statements };
  for (const { name, view } of inputs) {
    const { times, places } = calls.get(name) ?? { times: 0, places: 0 };
    cost.operations += times * view.cost.operations;
    cost.statements += places * view.cost.statements;
    cost.longestStep = Math.max(cost.longestStep, view.cost.longestStep);
  }
  return cost;
}

function findCost(module: Module): StepCost {
  const functions = new Map<string, StepCost>();
  for (const fn of module.functions) functions.set(fn.name, costOfFunction(fn, functions));
  return functions.get(entryOf(module).name)!;
}

function costOfFunction({ body }: IrFunction, functions: ReadonlyMap<string, StepCost>): StepCost {
  let operations = 0;
  let statements = 0;
  const calls = new Map<string, Calls>();
  const visit = (block: readonly Statement[], rounds: number): void => {
    for (const statement of block) {
      statements++;
      operations += rounds * (statement.kind === 'read' ? READ : 1);
      if (statement.kind === 'if') {
        visit(statement.consequent, rounds);
        visit(statement.alternative, rounds);
      } else if (statement.kind === 'loop') {
        visit(statement.body, rounds * ROUNDS);
        visit(statement.step, rounds * ROUNDS);
      } else if (statement.kind === 'call') {
        const callee = functions.get(statement.callee);
        operations += rounds * (callee?.operations ?? 0);
        statements += callee?.statements ?? 0;
        if (callee === undefined) {
          const { times, places } = calls.get(statement.callee) ?? { times: 0, places: 0 };
          calls.set(statement.callee, { times: times + rounds, places: places + 1 });
        }
      }
    }
  };
  visit(body, 1);
  return { operations, statements, calls };
}
