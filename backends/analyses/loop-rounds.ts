import { largestOf, smallestOf } from '../../primitives/host/extremes.ts';
import type { IrFunction, Local, Operand, OperationName, Statement } from '../../primitives/ir/ir.ts';
import { type ValueRange, wholeRange } from './value-ranges.ts';

export type Loop = Extract<Statement, { kind: 'loop' }>;

type Let = Extract<Statement, { kind: 'let' }>;

/** Facts about the locals (values and variables) of a function. */
export interface Locals {
  /** The statement that binds each local; parameters have none. */
  readonly bindings: ReadonlyMap<number, Statement>;
  /** Ids of the variables that are assigned after their declaration. */
  readonly changing: ReadonlySet<number>;
  /** The range of an operand's values. */
  rangeOf(operand: Operand): ValueRange;
}

/**
 * An upper bound of the number of rounds that a loop starts each time it is entered; infinite if no bound is found.
 *
 * A bound is found for counting loops. Every round of such a loop compares an integer counter with a limit and leaves
 * the loop if the comparison fails. Every round also adds constants of one sign to the counter, so that the counter
 * reaches the limit before it can wrap. Results of 2³¹ or more become infinite, for example if the limit is an
 * arbitrary array element.
 */
export function maxRounds(loop: Loop, fn: IrFunction, locals: Locals): number {
  if (pathsThrough(loop.body).every((path) => path === 'left')) return 1;
  const counted = guardsOf(loop, locals).flatMap(({ place, comparisons }) =>
    comparisons.map((comparison) => passes(loop, fn, locals, place, comparison)),
  );
  // The 1 counts the last round, which starts before its comparison fails.
  const max = Math.min(loop.rounds ?? Number.POSITIVE_INFINITY, 1 + smallestOf(counted));
  return max < NO_BOUND ? max : Number.POSITIVE_INFINITY;
}

const NO_BOUND = 2 ** 31;

interface LoopComparison {
  readonly name: OperationName;
  readonly left: Operand;
  readonly right: Operand;
}

/** A check in a loop body: a round gets past statement `place` of the body only if all `comparisons` are true. */
interface Guard {
  readonly place: number;
  readonly comparisons: readonly LoopComparison[];
}

/** Finds the `if` statements that leave the loop and that every round executes. */
function guardsOf({ body }: Loop, locals: Locals): Guard[] {
  const guards: Guard[] = [];
  const here = new Set(body);
  for (const [place, statement] of body.entries()) {
    if (statement.kind === 'if') {
      for (const [block, holds] of [
        [statement.consequent, false],
        [statement.alternative, true],
      ] as const) {
        const isLeft = pathsThrough(block).every((path) => path === 'left');
        if (isLeft) guards.push({ place, comparisons: comparisonsOf(statement.condition, holds, here, locals) });
      }
    }
    // A `continue` in this statement can skip the statements that follow, so the search ends here.
    if (pathsThrough([statement]).includes('continued')) break;
  }
  return guards;
}

/**
 * The integer comparisons that must be true if `condition` evaluates to `holds`. Parts of a condition can be shared, so
 * the number of paths to them can be exponential. Each part is therefore visited once.
 */
function comparisonsOf(
  condition: Operand,
  holds: boolean,
  here: ReadonlySet<Statement>,
  locals: Locals,
): readonly LoopComparison[] {
  const seen = new Set<string>();
  const within = (part: Operand, partHolds: boolean): readonly LoopComparison[] => {
    const binding = part.kind === 'local' ? locals.bindings.get(part.id) : undefined;
    if (part.kind !== 'local' || binding?.kind !== 'let' || !here.has(binding)) return [];
    const key = `${part.id} ${partHolds}`;
    if (seen.has(key)) return [];
    seen.add(key);
    const { name, operands } = binding.operation;
    const [left, right] = operands as [Operand, Operand];
    if (name === 'not') return within(left, !partHolds);
    if (left.type === 'bool') {
      return name === (partHolds ? 'and' : 'or') ? operands.flatMap((operand) => within(operand, partHolds)) : [];
    }
    const opposite = opposites[name];
    if (left.type === 'f32' || opposite === undefined) return [];
    return [{ name: partHolds ? name : opposite, left, right }];
  };
  return within(condition, holds);
}

const opposites: Partial<Record<OperationName, OperationName>> = { lt: 'ge', le: 'gt', gt: 'le', ge: 'lt' };
const mirrored: Partial<Record<OperationName, OperationName>> = { lt: 'gt', le: 'ge', gt: 'lt', ge: 'le' };

/** Maximum number of rounds in which a comparison can be true, if every round evaluates it once. */
function passes(
  loop: Loop,
  fn: IrFunction,
  locals: Locals,
  place: number,
  { name, left, right }: LoopComparison,
): number {
  return Math.min(
    passesOf(loop, fn, locals, place, { name, left, right }),
    passesOf(loop, fn, locals, place, { name: mirrored[name]!, left: right, right: left }),
  );
}

/** As {@link passes}, but considers only the left operand as the counter. */
function passesOf(
  loop: Loop,
  fn: IrFunction,
  locals: Locals,
  place: number,
  { name, left, right }: LoopComparison,
): number {
  const counter = left.kind === 'local' ? locals.bindings.get(left.id) : undefined;
  const steps = counter?.kind === 'var' ? stepsOf(loop, fn, locals, counter.local) : undefined;
  if (counter?.kind !== 'var' || steps === undefined) return Number.POSITIVE_INFINITY;
  // If an earlier statement of the body assigns the counter, the first comparison does not see the counter's initial
  // value.
  const isFirst = loop.body.slice(0, place).every((statement) => setsOf(counter.local, [statement]).length === 0);
  const start = isFirst ? locals.rangeOf(counter.value) : wholeRange(left.type);
  const bound = locals.rangeOf(right);
  const whole = wholeRange(left.type);
  const all = steps.reduce((sum, step) => sum + step, 0);
  if (steps.every((step) => step > 0) && (name === 'lt' || name === 'le')) {
    const end = bound.max + (name === 'le' ? 1 : 0);
    const wraps = end - 1 + all > whole.max;
    return wraps ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil((end - start.min) / smallestOf(steps)));
  }
  if (steps.every((step) => step < 0) && (name === 'gt' || name === 'ge')) {
    const end = bound.min - (name === 'ge' ? 1 : 0);
    const wraps = end + 1 + all < whole.min;
    return wraps ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil((start.max - end) / -largestOf(steps)));
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * The constants that the rounds of a loop add to a counter. Every round adds one or more of these constants, each at
 * most once. Undefined if a round may add no constant, or if the function assigns the counter in any other way.
 */
function stepsOf({ body, step }: Loop, fn: IrFunction, locals: Locals, counter: Local): number[] | undefined {
  const own = [...setsOf(counter, body, false), ...setsOf(counter, step, false)];
  if (setsOf(counter, fn.body).length !== own.length) return undefined;
  if (!isSetIn(step, counter) && pathsThrough(body, counter).some((path) => path === 'ended' || path === 'continued')) {
    return undefined;
  }
  const steps = own.map(({ block, place }) => constantStep(block, place, counter, locals));
  return steps.length > 0 && steps.every((each) => each !== undefined) ? steps : undefined;
}

/** The constant that an assignment adds to a variable, if it adds a constant. */
function constantStep(block: readonly Statement[], place: number, counter: Local, locals: Locals): number | undefined {
  const { value } = block[place] as Extract<Statement, { kind: 'set' }>;
  const binding = value.kind === 'local' ? locals.bindings.get(value.id) : undefined;
  if (binding?.kind !== 'let') return undefined;
  const from = block.indexOf(binding);
  // The counter must not change between the computation of the sum and the assignment.
  if (from < 0 || setsOf(counter, block.slice(from, place)).length > 0) return undefined;
  return addedConstant(binding, counter);
}

function addedConstant({ operation: { name, operands } }: Let, counter: Local): number | undefined {
  const [a, b] = operands as [Operand, Operand];
  const isCounter = (operand: Operand): boolean => operand.kind === 'local' && operand.id === counter.id;
  if (name === 'add' && isCounter(a) && b.kind === 'literal') return Number(b.value);
  if (name === 'add' && isCounter(b) && a.kind === 'literal') return Number(a.value);
  if (name === 'sub' && isCounter(a) && b.kind === 'literal') return -Number(b.value);
  return undefined;
}

interface Place {
  readonly block: readonly Statement[];
  readonly place: number;
}

/** The assignments to a variable in a block. By default, assignments in inner loops are included. */
function setsOf(variable: Local, block: readonly Statement[], inLoops = true): Place[] {
  return block.flatMap((statement, place): Place[] => {
    switch (statement.kind) {
      case 'set':
        return statement.local.id === variable.id ? [{ block, place }] : [];
      case 'if':
        return [
          ...setsOf(variable, statement.consequent, inLoops),
          ...setsOf(variable, statement.alternative, inLoops),
        ];
      case 'loop':
        return inLoops ? [...setsOf(variable, statement.body), ...setsOf(variable, statement.step)] : [];
      default:
        return [];
    }
  });
}

function isSetIn(block: readonly Statement[], variable: Local): boolean {
  return block.some((statement) => statement.kind === 'set' && statement.local.id === variable.id);
}

/**
 * How a path through a block of a loop body ends: `left` at a break or return, `continued` at a continue, `ended` at
 * the end of the block. If the path assigns a given variable, `continued` becomes `set continued` and `ended` becomes
 * `set`.
 */
type Path = 'left' | 'continued' | 'ended' | 'set continued' | 'set';

function pathsThrough(block: readonly Statement[], variable?: Local): Path[] {
  const done = new Set<Path>();
  let open = new Set<'ended' | 'set'>(['ended']);
  for (const statement of block) {
    const next = new Set<'ended' | 'set'>();
    for (const before of open) {
      for (const path of pathsOfOne(statement, variable)) {
        const isSet = before === 'set' || path === 'set' || path === 'set continued';
        if (path === 'left') done.add(path);
        else if (path === 'continued' || path === 'set continued') done.add(isSet ? 'set continued' : 'continued');
        else next.add(isSet ? 'set' : 'ended');
      }
    }
    open = next;
  }
  return [...done, ...open];
}

function pathsOfOne(statement: Statement, variable: Local | undefined): readonly Path[] {
  switch (statement.kind) {
    case 'break':
    case 'return':
      return ['left'];
    case 'continue':
      return ['continued'];
    case 'set':
      return [statement.local.id === variable?.id ? 'set' : 'ended'];
    case 'if':
      return [...pathsThrough(statement.consequent, variable), ...pathsThrough(statement.alternative, variable)];
    case 'loop':
      // A break or continue of an inner loop does not affect the outer one. The inner loop may end without reaching its
      // return.
      return ['ended'];
    default:
      return ['ended'];
  }
}
