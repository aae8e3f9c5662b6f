import type { IrFunction, Local, Operand, OperationName, Statement } from '../../primitives/ir/ir.ts';
import { type ValueRange, wholeRange } from './value-ranges.ts';

export type Loop = Extract<Statement, { kind: 'loop' }>;

type Let = Extract<Statement, { kind: 'let' }>;

/** Facts about a function's locals. */
export interface Locals {
  /** The statement that binds each local; parameters have none. */
  readonly bindings: ReadonlyMap<number, Statement>;
  /** Ids of the variables that are assigned after their declaration. */
  readonly changing: ReadonlySet<number>;
  /** The range of an operand's values. */
  rangeOf(operand: Operand): ValueRange;
}

/**
 * An upper bound of how often the body of a loop starts each time the loop is reached; infinite if no bound is found.
 *
 * Bounds are found for loops that count: every round compares an integer variable with a bound and leaves the loop if
 * the comparison fails, and every round adds constants of one sign to the variable, so that it cannot wrap before it
 * reaches the bound. A bound of at least 2³¹, such as that of an arbitrary element, counts as infinite.
 */
export function maxRounds(loop: Loop, fn: IrFunction, locals: Locals): number {
  if (pathsThrough(loop.body).every((path) => path === 'left')) return 1;
  const counted = guardsOf(loop, locals).flatMap(({ place, comparisons }) =>
    comparisons.map((comparison) => passes(loop, fn, locals, place, comparison)),
  );
  // The round in which the comparison fails is started too.
  const max = Math.min(loop.rounds ?? Number.POSITIVE_INFINITY, 1 + Math.min(Number.POSITIVE_INFINITY, ...counted));
  return max < NO_BOUND ? max : Number.POSITIVE_INFINITY;
}

const NO_BOUND = 2 ** 31;

interface LoopComparison {
  readonly name: OperationName;
  readonly left: Operand;
  readonly right: Operand;
}

/** Comparisons that hold in every round that continues past statement `place` of the body. */
interface Guard {
  readonly place: number;
  readonly comparisons: readonly LoopComparison[];
}

/** The conditions on which every round leaves the loop. */
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
    // Some rounds continue from here and skip the following statements.
    if (pathsThrough([statement]).includes('continued')) break;
  }
  return guards;
}

/**
 * The comparisons that follow from a condition having a given value. Conditions may share parts, so the number of paths
 * to them can be exponential; each is visited once.
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

/** How often a comparison, made once a round, can hold. */
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

/** The same if the counter is the left operand. */
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
  // Assignments before the comparison could carry the counter past the bound and make it wrap.
  const isFirst = loop.body.slice(0, place).every((statement) => setsOf(counter.local, [statement]).length === 0);
  const start = isFirst ? locals.rangeOf(counter.value) : wholeRange(left.type);
  const bound = locals.rangeOf(right);
  const whole = wholeRange(left.type);
  const all = steps.reduce((sum, step) => sum + step, 0);
  if (steps.every((step) => step > 0) && (name === 'lt' || name === 'le')) {
    const end = bound.max + (name === 'le' ? 1 : 0);
    const wraps = end - 1 + all > whole.max;
    return wraps ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil((end - start.min) / Math.min(...steps)));
  }
  if (steps.every((step) => step < 0) && (name === 'gt' || name === 'ge')) {
    const end = bound.min - (name === 'ge' ? 1 : 0);
    const wraps = end + 1 + all < whole.min;
    return wraps ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil((start.max - end) / -Math.max(...steps)));
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * The constants that a loop adds to a counter; undefined unless every round adds at least one of them, each at most
 * once, and nothing else assigns the counter.
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
  // The sum must be of the counter's current value.
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

/** The assignments to a variable in a block, including inner loops by default. */
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
 * How the paths through a block in a round of a loop end: `left` for a break or return, `continued` for a continue,
 * `ended` at the end of the block. The last two become `set continued` and `set` if a given variable was assigned on
 * the way.
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
      // Breaks and continues of an inner loop stay in it. A return inside may leave, but need not.
      return ['ended'];
    default:
      return ['ended'];
  }
}
