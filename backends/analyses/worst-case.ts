import { entryOf, type IrFunction, type Module, type Operand, type Statement } from '../../primitives/ir/ir.ts';
import { someStatement, visitStatements } from '../../primitives/ir/visit.ts';
import { type Locals, maxRounds } from './loop-rounds.ts';
import { literalRange, operationRange, type ValueRange, wholeRange } from './value-ranges.ts';

/** The cost of one execution of a statement; for a loop, the additional cost of one round. */
export type Weights = (statement: Statement) => number;

/**
 * An upper bound of the cost of evaluating a module's entry once, whatever the arguments, uniforms and arrays. Infinite
 * if the module has a loop without a known bound. Constants that callers pass to other functions are taken into
 * account.
 *
 * @example
 * const steps = (rounds: U32) => { const sum = Var(u32(0)); For(0, rounds, (i) => sum.set(sum.add(i))); return sum; };
 * const four = fn({ x: u32 }, u32, () => steps(u32(4)));
 * const any = fn({ x: u32 }, u32, ({ x }) => steps(x));
 * [worstCase(four.module, () => 1) < 50, worstCase(any.module, () => 1)]; // [true, Infinity]
 */
export function worstCase(module: Module, weigh: Weights): number {
  const functions = new Map(module.functions.map((fn) => [fn.name, fn]));
  const scope: Scope = { functions, weigh, looping: loopingFunctions(module), known: new Map() };
  const entry = entryOf(module);
  return costOfFunction(
    entry,
    entry.parameters.map(({ type }) => wholeRange(type)),
    scope,
  );
}

interface Scope {
  readonly functions: ReadonlyMap<string, IrFunction>;
  readonly weigh: Weights;
  /**
   * Names of the functions that contain a loop or call a looping function. The cost of such a function may depend on
   * its arguments.
   */
  readonly looping: ReadonlySet<string>;
  readonly known: Map<string, number>;
}

function costOfFunction(fn: IrFunction, args: readonly ValueRange[], scope: Scope): number {
  const ranges = scope.looping.has(fn.name) ? args.map(({ min, max }) => `${min}…${max}`) : [];
  const key = [fn.name, ...ranges].join(' ');
  const known = scope.known.get(key);
  if (known !== undefined) return known;
  const cost = costOfBlock(fn.body, { fn, locals: localsOf(fn, args), scope });
  scope.known.set(key, cost);
  return cost;
}

interface Frame {
  readonly fn: IrFunction;
  readonly locals: Locals;
  readonly scope: Scope;
}

function costOfBlock(block: readonly Statement[], frame: Frame): number {
  return block.reduce((sum, statement) => sum + costOfStatement(statement, frame), 0);
}

function costOfStatement(statement: Statement, frame: Frame): number {
  const { fn, locals, scope } = frame;
  const own = scope.weigh(statement);
  switch (statement.kind) {
    case 'call': {
      const callee = scope.functions.get(statement.callee)!;
      return own + costOfFunction(callee, statement.args.map(locals.rangeOf), scope);
    }
    case 'if':
      // Both branches count, because vector code executes both.
      return own + costOfBlock(statement.consequent, frame) + costOfBlock(statement.alternative, frame);
    case 'loop': {
      const round = own + costOfBlock(statement.body, frame) + costOfBlock(statement.step, frame);
      return round === 0 ? 0 : maxRounds(statement, fn, locals) * round;
    }
    default:
      return own;
  }
}

function localsOf(fn: IrFunction, args: readonly ValueRange[]): Locals {
  const bindings = new Map<number, Statement>();
  const changing = new Set<number>();
  note(fn.body, bindings, changing);
  const ranges = new Map<number, ValueRange>(fn.parameters.map(({ id }, i) => [id, args[i]!]));
  const rangeOf = (operand: Operand): ValueRange => {
    if (operand.kind === 'literal') return literalRange(operand);
    if (operand.kind === 'uniform' || changing.has(operand.id)) return wholeRange(operand.type);
    const known = ranges.get(operand.id);
    if (known !== undefined) return known;
    const range = rangeOfBinding(bindings.get(operand.id), operand, rangeOf);
    ranges.set(operand.id, range);
    return range;
  };
  return { bindings, changing, rangeOf };
}

function rangeOfBinding(
  binding: Statement | undefined,
  { type }: Operand,
  rangeOf: (operand: Operand) => ValueRange,
): ValueRange {
  if (binding?.kind === 'let') return operationRange(binding.operation, type, rangeOf);
  return binding?.kind === 'var' ? rangeOf(binding.value) : wholeRange(type);
}

/** Records in `bindings` the statement that binds each local, and in `changing` the variables that are assigned. */
function note(body: readonly Statement[], bindings: Map<number, Statement>, changing: Set<number>): void {
  visitStatements(body, (statement) => {
    if (statement.kind === 'set') changing.add(statement.local.id);
    else if ('local' in statement) bindings.set(statement.local.id, statement);
  });
}

function loopingFunctions({ functions }: Module): ReadonlySet<string> {
  const looping = new Set<string>();
  // A module lists callees before their callers, so one pass is enough.
  for (const { name, body } of functions) {
    const loops = (statement: Statement): boolean =>
      statement.kind === 'loop' || (statement.kind === 'call' && looping.has(statement.callee));
    if (someStatement(body, loops)) looping.add(name);
  }
  return looping;
}
