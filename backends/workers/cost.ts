import type { WalkCommand } from '../../primitives/backend.ts';
import { entryOf, type Module, type Statement } from '../../primitives/functors/ir.ts';

/** Nanoseconds, roughly: what decides whether a command is worth waking the workers for. */
const OPERATION = 0.4;
const READ = 1.5;
const ROUNDS = 32;

const known = new WeakMap<Module, number>();

/** A guess of how many nanoseconds a module's entry takes on one core. */
export function costOf(module: Module): number {
  let cost = known.get(module);
  if (cost === undefined) {
    const functions = new Map<string, number>();
    for (const { name, body } of module.functions) functions.set(name, costOfBlock(body, functions));
    cost = 1 + functions.get(entryOf(module).name)!;
    known.set(module, cost);
  }
  return cost;
}

/** The same of a walk from its start to its end. */
export function costOfWalk({ start, step }: WalkCommand): number {
  return costOf(start.module) + ROUNDS * costOf(step.module);
}

function costOfBlock(statements: readonly Statement[], functions: ReadonlyMap<string, number>): number {
  return statements.reduce((sum, statement) => sum + costOfStatement(statement, functions), 0);
}

function costOfStatement(statement: Statement, functions: ReadonlyMap<string, number>): number {
  switch (statement.kind) {
    case 'read':
      return READ;
    case 'call':
      return functions.get(statement.callee)!;
    case 'if':
      return costOfBlock(statement.consequent, functions) + costOfBlock(statement.alternative, functions);
    case 'loop':
      return ROUNDS * (costOfBlock(statement.body, functions) + costOfBlock(statement.step, functions));
    default:
      return OPERATION;
  }
}
