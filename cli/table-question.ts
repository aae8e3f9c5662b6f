import type { Aggregate, Condition, Expression } from '../algorithms/tables/index.ts';
import { chosenFields } from '../formats/tables/table-errors.ts';
import type { TableField, TableFile } from '../formats/tables/table-file.ts';
import { UsageError } from '../formats/usage-error.ts';
import { FormatError } from '../primitives/checks/errors.ts';
import { nearestName, remedyFor } from '../primitives/checks/suggest.ts';
import type { TableOptions } from './table-arguments.ts';
import { parseAggregates, parseColumns, parseCondition } from './table-text/questions.ts';
import { timesInCondition } from './table-times.ts';

/** The query of the command line about a file: which rows to select, and which columns or aggregates to return. */
export interface Question {
  readonly where: Condition | undefined;
  /** Keys and aggregates; undefined if the answer consists of rows of the file. */
  readonly groups: GroupQuestion | undefined;
  /** The columns to write. */
  readonly columns: readonly TableField[];
  /** Whether the answer has all columns of the file that can be read, because none are named. */
  readonly takesAll: boolean;
  readonly order: Order | undefined;
  /** Maximum number of rows or groups. */
  readonly limit: number | undefined;
  /** The fields to read, by name. */
  readonly fields: ReadonlyMap<string, TableField>;
}

export interface GroupQuestion {
  readonly keys: readonly TableField[];
  readonly aggregates: readonly NamedAggregate[];
}

export interface NamedAggregate {
  readonly name: string;
  readonly aggregate: Aggregate;
}

export interface Order {
  readonly by: string;
  readonly descending: boolean;
}

const MAX_KEYS = 4;

/**
 * Parses the query of the command line: its conditions, names and aggregates, which refer to columns of the file.
 *
 * @throws UsageError that shows the text with a caret at the error; FormatError if a column cannot be read.
 */
export function questionOf(options: TableOptions, file: TableFile): Question {
  const names = [...file.fields, ...file.unread].map(({ name }) => name);
  const { where, groupBy, aggregate, columns, orderBy } = options;
  const parsedWhere = where === undefined ? undefined : parseCondition({ option: '--where', text: where }, names);
  const keys = groupBy === undefined ? [] : parseColumns({ option: '--group-by', text: groupBy }, names);
  if (keys.length > MAX_KEYS) {
    throw new UsageError('usage/group-by', `--group-by has ${keys.length} columns.`, {
      remedy: `Group by at most ${MAX_KEYS} columns.`,
    });
  }
  const text = aggregate ?? (groupBy === undefined ? undefined : 'count');
  const aggregates = text === undefined ? undefined : parseAggregates({ option: '--aggregate', text }, names);
  const named = Object.entries(aggregates ?? {}).map(([name, each]) => ({ name, aggregate: each }));
  const written = columns === undefined ? undefined : parseColumns({ option: '--columns', text: columns }, names);
  const outputs = aggregates === undefined ? (written ?? file.fields.map(({ name }) => name)) : [];
  if (aggregates === undefined && outputs.length === 0) throw noColumns(file);
  const order =
    orderBy === undefined
      ? undefined
      : parseOrder(orderBy, aggregates === undefined ? names : [...keys, ...named.map(({ name }) => name)]);
  const used = new Set([
    ...(parsedWhere === undefined ? [] : columnsOfCondition(parsedWhere)),
    ...keys,
    ...named.flatMap(({ aggregate: { of } }) => (of === undefined ? [] : columnsOfExpression(of))),
    ...outputs,
    ...(order !== undefined && aggregates === undefined ? [order.by] : []),
  ]);
  // Columns are read in their order in the file, so that the file is read sequentially.
  const inOrder = names.filter((name) => used.has(name));
  const chosen = chosenFields(file.file, file.fields, file.unread, inOrder);
  const fields = new Map(chosen.map((field) => [field.name, field]));
  requireOwnNames(keys, named);
  return {
    where: parsedWhere && timesInCondition(parsedWhere, fields),
    groups: aggregates === undefined ? undefined : { keys: keys.map((name) => fields.get(name)!), aggregates: named },
    takesAll: aggregates === undefined && written === undefined,
    columns: outputs.map((name) => fields.get(name)!),
    order,
    limit: options.limit,
    fields,
  };
}

function noColumns({ file, unread }: TableFile): FormatError {
  return new FormatError('table/no-columns', 'The table has no column that is read.', {
    expected: 'a column of numbers, times, strings or bools',
    got: unread.length === 0 ? 'no columns' : unread.map(({ name, what }) => `${name} (${what})`).join(', '),
    remedy: 'Convert its columns first, or count its rows with --aggregate count.',
    place: { file },
  });
}

/**
 * Parses `NAME`, `NAME asc` or `NAME desc`. The name may be the name of an aggregate, which contains spaces and
 * parentheses.
 */
function parseOrder(text: string, names: readonly string[]): Order {
  const [, named = text, direction = 'asc'] = /^(.*?)(?:\s+(asc|desc))?$/is.exec(text.trim()) ?? [];
  const bare = /^"(?:[^"]|"")*"$/.test(named) ? named.slice(1, -1).replaceAll('""', '"') : named;
  const descending = direction.toLowerCase() === 'desc';
  if (names.includes(bare)) return { by: bare, descending };
  if (names.includes(text.trim())) return { by: text.trim(), descending: false };
  const some = `There are ${names.slice(0, 12).join(', ')}; after a name, asc or desc.`;
  throw new UsageError('usage/unknown-column', `--order-by: The answer has no column "${bare}".`, {
    remedy: remedyFor(nearestName(bare, names), some),
  });
}

function requireOwnNames(keys: readonly string[], aggregates: readonly NamedAggregate[]): void {
  const twice = aggregates.find(({ name }) => keys.includes(name));
  if (twice === undefined) return;
  throw new UsageError('usage/repeated-column', `--aggregate: ${twice.name} has the name of a column of --group-by.`, {
    remedy: `Give it another: ${twice.aggregate.kind} … as other.`,
  });
}

/** Names of the columns that an expression uses. */
export function columnsOfExpression(expression: Expression): string[] {
  switch (expression.kind) {
    case 'column':
      return [expression.name];
    case 'literal':
      return [];
    case 'neg':
      return columnsOfExpression(expression.of);
    default:
      return [...columnsOfExpression(expression.left), ...columnsOfExpression(expression.right)];
  }
}

/** Names of the columns that a condition uses. */
export function columnsOfCondition(condition: Condition): string[] {
  switch (condition.kind) {
    case 'compare':
      return [condition.left, condition.right].flatMap(columnsOfExpression);
    case 'between':
      return [condition.of, condition.low, condition.high].flatMap(columnsOfExpression);
    case 'and':
    case 'or':
      return condition.of.flatMap(columnsOfCondition);
    case 'not':
      return columnsOfCondition(condition.of);
    case 'isNull':
    case 'truth':
    case 'in':
      return columnsOfExpression(condition.of);
    default:
      return [];
  }
}
