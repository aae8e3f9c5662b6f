import type { Column } from '../../primitives/columns/column.ts';
import { bool } from '../../primitives/functors/functor.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import { packBits } from '../../primitives/pack-bits.ts';
import type { Stretches } from '../stretches.ts';
import { type Comparison, compareOperands, OPPOSITE } from './comparisons.ts';
import type { DeviceTable } from './device-table.ts';
import { tableError } from './errors.ts';
import type { Condition, Expression, LiteralValue } from './expressions.ts';
import { constantIn, integersOf, sameInteger } from './integers.ts';
import { type Asked, memberPart, requireShort } from './membership.ts';
import { describeOperand, operandOf } from './operands.ts';
import { bitsPart, combineParts, fixedPart, mapPart, type QuestionPart } from './part.ts';
import { heldPart } from './points.ts';
import { flagsOf, validityOf } from './values.ts';

/** Maximum number of listed values with which each row is compared one by one. */
const MAX_COMPARED = 16;

/** The rows for which a condition is true: code that decides for each row, or the same answer for all rows. */
type Truth = QuestionPart<Bool> | 'always' | 'never';

/**
 * Returns the part of a query that computes for each row whether a condition is true, that is, neither false nor
 * unknown. Negations are moved down into the comparisons, so that only AND and OR remain above the comparisons. An
 * unknown operand of AND or OR then has the same effect as a false operand, so two truth values suffice.
 */
export function* truthOf(table: DeviceTable, condition: Condition): Stretches<QuestionPart<Bool>> {
  const asked: Asked = { ...table, lists: [] };
  try {
    const truth = partOf(yield* plan(asked, condition, false));
    if (asked.lists.length === 0) return truth;
    // A part of its own, so that it can be found again.
    const own = { ...truth };
    uploaded.set(own, asked.lists);
    return own;
  } catch (error) {
    table.context.dispose(asked.lists);
    throw error;
  }
}

const uploaded = new WeakMap<QuestionPart<Bool>, readonly Column<'u32'>[]>();

/** Whether a part of a query uses lists that were uploaded for it. */
export function hasLists(truth: QuestionPart<Bool> | undefined): boolean {
  return truth !== undefined && uploaded.has(truth);
}

/** Frees the lists that were uploaded for a part of a query, once all commands that read them have been issued. */
export function freeLists({ context }: DeviceTable, truth: QuestionPart<Bool> | undefined): void {
  const lists = truth && uploaded.get(truth);
  if (lists === undefined) return;
  uploaded.delete(truth!);
  context.dispose(lists);
}

function partOf(truth: Truth): QuestionPart<Bool> {
  return typeof truth === 'string' ? fixedPart(truth, () => bool(truth === 'always')) : truth;
}

function* plan(table: Asked, condition: Condition, negated: boolean): Stretches<Truth> {
  yield;
  switch (condition.kind) {
    case 'always':
    case 'never':
      return (condition.kind === 'always') !== negated ? 'always' : 'never';
    case 'not':
      return yield* plan(table, condition.of, !negated);
    case 'and':
    case 'or': {
      const truths: Truth[] = [];
      for (const each of condition.of) truths.push(yield* plan(table, each, negated));
      return yield* join(table, (condition.kind === 'and') !== negated ? 'and' : 'or', truths);
    }
    case 'compare': {
      const operator = negated ? OPPOSITE[condition.operator] : condition.operator;
      return yield* known(
        table,
        compareOperands(operator, operandOf(table, condition.left), operandOf(table, condition.right)),
      );
    }
    case 'between': {
      const { of, low, high } = condition;
      const both: Condition[] = [
        { kind: 'compare', operator: '>=', left: of, right: low },
        { kind: 'compare', operator: '<=', left: of, right: high },
      ];
      return yield* plan(table, { kind: 'and', of: both }, negated);
    }
    case 'in':
      return yield* planList(table, condition.of, condition.values, negated);
    case 'isNull':
      return planNull(table, condition.of, negated);
    case 'truth':
      return yield* planTruth(table, condition.of, negated);
    case 'inPolygons':
      return yield* planHeld(table, condition, negated);
  }
}

/**
 * Maximum number of columns and constants of a part of a condition whose code is one function. Recording and compiling
 * takes some 0.3 ms per comparison, on the thread of the caller.
 */
const MAX_SIZE = 128;

function* join(table: Asked, kind: 'and' | 'or', truths: readonly Truth[]): Stretches<Truth> {
  const [decides, neutral] = kind === 'and' ? (['never', 'always'] as const) : (['always', 'never'] as const);
  if (truths.includes(decides)) return decides;
  const parts = truths.filter((each): each is QuestionPart<Bool> => each !== neutral);
  let [some, size]: [QuestionPart<Bool>[], number] = [[], 0];
  for (const part of parts) {
    const own = part.columns.length + part.bits.length + part.constants.length;
    if (some.length > 0 && size + own > MAX_SIZE) {
      [some, size] = [[storedPart(table, joined(kind, some))], 1];
      yield;
    }
    some.push(part);
    size += own;
  }
  return some.length === 0 ? neutral : joined(kind, some);
}

function joined(kind: 'and' | 'or', parts: readonly QuestionPart<Bool>[]): QuestionPart<Bool> {
  return parts.length === 1 ? parts[0]! : combineParts(kind, parts, (all) => all.reduce((a, b) => a[kind](b)));
}

/** Evaluates a part of a condition for all rows. Parts of long conditions are often alike, and then share their code. */
function storedPart(table: Asked, part: QuestionPart<Bool>): QuestionPart<Bool> {
  const words = packBits(flagsOf(table, part), { context: table.context });
  table.lists.push(words);
  return bitsPart([words]);
}

/** The rows in which a comparison holds and its operands are not null. */
function* known(table: Asked, { holds, validity }: Comparison): Stretches<Truth> {
  if (holds === 'unknown' || holds === 'never') return 'never';
  return yield* join(table, 'and', [holds, validWhere(validity)]);
}

function validWhere(validity: readonly (Column<'u32'> | undefined)[]): Truth {
  return validity.every((each) => each === undefined) ? 'always' : bitsPart(validity);
}

/**
 * Plans the condition that an operand equals one of the listed values or, if `negated`, none of the values. The list is
 * padded to a power of two with its last value, so that lists of similar length share compiled code. A row searches a
 * long list.
 */
function* planList(table: Asked, of: Expression, values: readonly LiteralValue[], negated: boolean): Stretches<Truth> {
  requireShort(values);
  const some = values.includes(null)
    ? values.filter((value) => value !== null)
    : (values as readonly Exclude<LiteralValue, null>[]);
  // If the list contains null, `not in` is never true: it is false for the listed values and unknown for all others.
  if (negated && some.length < values.length) return 'never';
  if (some.length > MAX_COMPARED) {
    const operand = operandOf(table, of);
    if (operand.family !== 'literal') {
      const member = (yield* memberPart(table, operand, some)) ?? 'never';
      return yield* known(table, { holds: negated ? opposite(member) : member, validity: validityOf(operand) });
    }
  }
  const filled = Array.from({ length: some.length === 0 ? 0 : 2 ** Math.ceil(Math.log2(some.length)) }, (_, i) => i);
  const comparisons = filled.map((i): Condition => {
    const value = some[Math.min(i, some.length - 1)]!;
    return { kind: 'compare', operator: '=', left: of, right: { kind: 'literal', value } };
  });
  if (comparisons.length === 0) {
    operandOf(table, of);
    return negated ? 'always' : 'never';
  }
  return yield* plan(table, { kind: 'or', of: comparisons }, negated);
}

function opposite(truth: QuestionPart<Bool> | 'never'): Truth {
  return truth === 'never' ? 'always' : mapPart('not', truth, (holds) => holds.not());
}

function planNull(table: Asked, of: Expression, negated: boolean): Truth {
  const operand = operandOf(table, of);
  if (operand.family === 'literal') return (operand.value === null) !== negated ? 'always' : 'never';
  const validity = 'validity' in operand ? operand.validity : [operand.column.validity];
  const valid = validWhere(validity);
  if (negated) return valid;
  if (typeof valid === 'string') return 'never';
  return combineParts('not', [valid], ([all]) => all!.not());
}

function* planTruth(table: Asked, of: Expression, negated: boolean): Stretches<Truth> {
  const operand = operandOf(table, of);
  if (operand.family === 'literal') {
    if (operand.value === null) return 'never';
    if (typeof operand.value === 'boolean') return operand.value !== negated ? 'always' : 'never';
  }
  if (operand.family !== 'bool') {
    throw tableError('type', 'A value used as a condition must be a bool.', {
      expected: 'a column of bools',
      got: describeOperand(operand),
    });
  }
  const { part, validity } = integersOf(operand.column);
  const holds = combineParts('truth', [part, constantIn('i32', negated ? 0n : 1n)], ([a, b]) =>
    sameInteger('i32', a!, b!),
  );
  return yield* known(table, { holds, validity });
}

function* planHeld(
  table: Asked,
  { x, y, tree }: Extract<Condition, { readonly kind: 'inPolygons' }>,
  negated: boolean,
): Stretches<Truth> {
  const { holds, validity } = heldPart(table, [x, y], tree);
  return yield* known(table, { holds: negated ? mapPart('not', holds, (held) => held.not()) : holds, validity });
}
