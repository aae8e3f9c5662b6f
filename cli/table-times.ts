import type { Condition, Expression, LiteralValue } from '../algorithms/tables/index.ts';
import { parseClock } from '../formats/tables/csv/times.ts';
import { type TableField, UNIT_DIGITS } from '../formats/tables/table-file.ts';
import { UsageError } from '../formats/usage-error.ts';
import { timeOf } from './table-text/times.ts';

type Fields = ReadonlyMap<string, TableField>;
type TimeField = TableField & { readonly type: 'timestamp' | 'time' };

/**
 * Converts times written as strings to integers, in the unit of the column with which they are compared.
 *
 * @throws UsageError `table/time` if a string is not a time, or if a column of times is compared with something other
 * than times of the same kind.
 */
export function timesInCondition(condition: Condition, fields: Fields): Condition {
  switch (condition.kind) {
    case 'compare': {
      const [left, right] = together([condition.left, condition.right], fields);
      return { ...condition, left: left!, right: right! };
    }
    case 'between': {
      const [of, low, high] = together([condition.of, condition.low, condition.high], fields);
      return { ...condition, of: of!, low: low!, high: high! };
    }
    case 'in': {
      const literals = condition.values.map((value): Expression => ({ kind: 'literal', value }));
      const [of, ...values] = together([condition.of, ...literals], fields);
      return { ...condition, of: of!, values: values.map((each) => (each as { value: LiteralValue }).value) };
    }
    case 'and':
    case 'or':
      return { ...condition, of: condition.of.map((each) => timesInCondition(each, fields)) };
    case 'not':
      return { ...condition, of: timesInCondition(condition.of, fields) };
    default:
      return condition;
  }
}

/**
 * Converts strings to times if they are compared with a column of times. `all` are expressions that are compared with
 * each other.
 */
function together(all: readonly Expression[], fields: Fields): Expression[] {
  for (const each of all) requireNoTimeInside(each, fields, '--where');
  const times = all.map((each) => timeField(each, fields)).filter((field) => field !== undefined);
  const [first, ...others] = times;
  if (first === undefined) return [...all];
  const other = others.find((each) => kindOf(each) !== kindOf(first));
  if (other !== undefined) throw notTogether(first, `"${other.name}", a column of ${kindOf(other)}`);
  return all.map((each): Expression => {
    if (timeField(each, fields) !== undefined) return each;
    if (each.kind !== 'literal') throw notTogether(first, 'something that is not a time');
    if (each.value === null) return each;
    if (typeof each.value !== 'string') throw notTogether(first, `the number ${String(each.value)}`);
    return { kind: 'literal', value: timeLiteral(each.value, first) };
  });
}

function timeField(expression: Expression, fields: Fields): TimeField | undefined {
  const field = expression.kind === 'column' ? fields.get(expression.name) : undefined;
  return field?.type === 'timestamp' || field?.type === 'time' ? (field as TimeField) : undefined;
}

/**
 * Throws if an expression computes with a column of times. Otherwise, the device would add, subtract or multiply the
 * integers that represent the times.
 */
export function requireNoTimeInside(expression: Expression, fields: Fields, option: string): void {
  if (expression.kind === 'column' || expression.kind === 'literal') return;
  const parts = expression.kind === 'neg' ? [expression.of] : [expression.left, expression.right];
  for (const part of parts) {
    const field = timeField(part, fields);
    if (field === undefined) requireNoTimeInside(part, fields, option);
    else {
      throw new UsageError(
        'table/time',
        `${option}: "${field.name}" is a column of times, which cannot be added, subtracted or multiplied.`,
        {
          remedy: 'Compare the column itself with a time.',
        },
      );
    }
  }
}

function kindOf(field: TimeField): string {
  const { unit } = field;
  if (field.type === 'time') return `times of day in ${unit}`;
  const { utc } = field;
  return utc ? `UTC times in ${unit}` : `times in ${unit} without a time zone`;
}

function notTogether(field: TimeField, what: string): UsageError {
  return new UsageError(
    'table/time',
    `--where: "${field.name}", a column of ${kindOf(field)}, cannot be compared with ${what}.`,
    {
      remedy: EXAMPLE,
    },
  );
}

const EXAMPLE = "Write times as '2001-01-31' or '2001-01-31 09:30:00'.";

/** Converts a time to an integer in the unit of a column. Digits that are finer than the unit are kept as decimals. */
function timeLiteral(text: string, field: TimeField): LiteralValue {
  if (field.type === 'time') {
    const nanos = parseClock(text);
    if (nanos !== undefined) return { units: nanos, scale: UNIT_DIGITS.ns - UNIT_DIGITS[field.unit] };
    throw new UsageError('table/time', `--where: '${text}' is not a time of day, and "${field.name}" holds these.`, {
      remedy: "Write times of day as '09:30' or '09:30:00.25'.",
    });
  }
  const time = timeOf(text);
  if (time === undefined) {
    throw new UsageError('table/time', `--where: '${text}' is not a time, and "${field.name}" holds times.`, {
      remedy: EXAMPLE,
    });
  }
  if (time.isUtc && !field.utc) {
    throw new UsageError(
      'table/time',
      `--where: '${text}' has a UTC offset, but the times of "${field.name}" have none.`,
      {
        remedy: 'Leave the UTC offset out.',
      },
    );
  }
  return time.in(field.unit);
}
