import { UsageError } from '../formats/usage-error.ts';
import { COMPUTE_SPECS, type ComputeOptions, checkOneToStdout, JSON_SPEC, parseCompute } from './arguments.ts';
import { type OptionSpec, type OptionValues, parsed, readCommand, text } from './command-line.ts';
import { parseTableInOut, type TableInOut, tableSpecs } from './table-files.ts';
import { checkEnding, checkNoStdin, checkPlotName, parseCount } from './values.ts';

/**
 * The parsed command line of `quadrille table`. The file that it names has not been opened. Conditions and column names
 * are still unparsed texts, because parsing requires the names of the file's columns.
 */
export interface TableOptions extends ComputeOptions, TableInOut {
  readonly file: string;
  readonly where: string | undefined;
  readonly groupBy: string | undefined;
  readonly aggregate: string | undefined;
  readonly columns: string | undefined;
  readonly orderBy: string | undefined;
  readonly limit: number | undefined;
  /** Whether the columns of the file are told in place of an answer. */
  readonly schema: boolean;
  /** Whether an answer on a terminal is laid out for people, as no option says how it is written. */
  readonly isShown: boolean;
  /** Path of the chart, or `-` for stdout; undefined if none is drawn. `trace` is a path of the same kind. */
  readonly plot: string | undefined;
  readonly trace: string | undefined;
  /** Whether statistics of the run are written to stdout as JSON. */
  readonly json: boolean;
}

export const TABLE_SPECS: readonly OptionSpec[] = [
  {
    name: 'where',
    group: 'Question',
    value: 'CONDITION',
    help: "keep only rows that meet a condition, such as 'fare > 10 and zone in (3, 7)' (see below)",
  },
  { name: 'group-by', group: 'Question', value: 'NAMES', help: 'group rows by the values of up to four columns' },
  {
    name: 'aggregate',
    group: 'Question',
    value: 'LIST',
    help: "aggregates such as 'count, avg(fare), median(fare)' (default with --group-by: count)",
  },
  { name: 'columns', group: 'Question', value: 'NAMES', help: 'the columns to write, in this order (default: all)' },
  {
    name: 'order-by',
    group: 'Question',
    value: 'NAME',
    help: "sort by a column, such as 'avg(fare) desc' (default: the keys); without groups, it needs --limit",
  },
  { name: 'limit', group: 'Question', value: 'K', help: 'only the first K rows or groups' },
  { name: 'schema', group: 'Question', help: 'list the columns of the file and their types, and exit' },
  ...tableSpecs('the answer'),
  {
    name: 'plot',
    group: 'Output',
    value: 'FILE.svg',
    help: 'bars of the groups, or without groups a histogram of a column, as SVG (see below)',
  },
  { name: 'trace', group: 'Output', value: 'FILE.json', help: 'a trace of the run, for chrome://tracing and Perfetto' },
  JSON_SPEC,
  ...COMPUTE_SPECS,
];

/**
 * Parses the arguments after `quadrille table`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseTableArguments(args: readonly string[]): TableOptions {
  const { words, values } = readCommand(args, TABLE_SPECS, ['FILE']);
  checkNoStdin(words);
  const [plot, trace, schema] = [text(values, 'plot'), text(values, 'trace'), values.has('schema')];
  const json = values.has('json') && !schema;
  const takesStdout = json || plot === '-' || trace === '-';
  const out = text(values, 'out') ?? (takesStdout ? undefined : '-');
  const options: TableOptions = {
    file: words[0]!,
    where: text(values, 'where'),
    groupBy: text(values, 'group-by'),
    aggregate: text(values, 'aggregate'),
    columns: text(values, 'columns'),
    orderBy: text(values, 'order-by'),
    limit: parsed(values, 'limit', parseCount),
    schema,
    isShown: out === '-' && !values.has('format') && !values.has('json'),
    ...parseTableInOut(values, out),
    ...(schema && values.has('json') && { format: 'json' }),
    plot,
    trace,
    json,
    ...parseCompute(values),
  };
  checkClauses(values);
  checkOutputs(options);
  return options;
}

const NOT_WITH_SCHEMA = [
  ...['where', 'group-by', 'aggregate', 'columns', 'order-by', 'limit'],
  ...['plot', 'trace', 'backend', 'adapter', 'workers'],
];

function checkClauses(values: OptionValues): void {
  const isGrouped = values.has('group-by') || values.has('aggregate');
  if (isGrouped && values.has('columns')) {
    throw new UsageError('usage/contradiction', '--columns has no effect with --group-by or --aggregate.', {
      remedy: 'Leave it out: the answer has the keys of the groups and the aggregates.',
    });
  }
  if (!isGrouped && values.has('order-by') && !values.has('limit')) {
    throw new UsageError('usage/contradiction', '--order-by needs --limit when rows are not grouped.', {
      remedy: `Give both, such as --order-by 'fare desc' --limit 10; otherwise rows keep the order of the file.`,
    });
  }
  const others = NOT_WITH_SCHEMA.filter((name) => values.has(name));
  if (values.has('schema') && others.length > 0) {
    throw new UsageError('usage/contradiction', `--schema answers no question, so --${others[0]} has no effect.`, {
      remedy: 'Leave one of them out.',
    });
  }
}

function checkOutputs({ out, plot, trace, json }: TableOptions): void {
  const remedy = 'Send all but one of them to a file (without --out the answer goes to stdout).';
  checkOneToStdout({ out, plot, trace, json: json ? '-' : undefined }, remedy);
  if (plot !== undefined) checkPlotName(plot, '--plot');
  if (trace !== undefined) checkEnding(trace, '--trace', 'json');
}
