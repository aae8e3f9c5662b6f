import { type HostMetric, METRIC_NAMES, metricCalled, recordOf } from '../algorithms/neighbours/metrics.ts';
import { UsageError } from '../formats/usage-error.ts';
import { remedyFor, suggest } from '../primitives/checks/suggest.ts';
import { COMPUTE_SPECS, type ComputeOptions, checkOneToStdout, JSON_SPEC, parseCompute } from './arguments.ts';
import { type OptionSpec, type OptionValues, parsed, readCommand, text } from './command-line.ts';
import { parseTableInOut, type TableInOut, tableSpecs } from './table-files.ts';
import { checkNoStdin, checkPlotName, parseCount, parseNumber } from './values.ts';

/** Which neighbours of a query to find: the k nearest points, or all points within a distance. */
export type Asked =
  | { readonly kind: 'nearest'; readonly k: number }
  | { readonly kind: 'radius'; readonly radius: number };

/** A table of points that the command line names. */
export interface PointsRequest {
  readonly path: string;
  /** Comma-separated names of the coordinate columns; undefined for the usual names, such as x and y. */
  readonly columns: string | undefined;
  /** Name of the column with the names of points; undefined if points are named by row numbers. */
  readonly id: string | undefined;
  /** Name of the layer, of a file with several. */
  readonly layer: string | undefined;
}

/** The parsed command line of `quadrille neighbours`. The files that it names have not been opened. */
export interface NeighboursOptions extends ComputeOptions, TableInOut {
  readonly points: PointsRequest;
  /** The table of queries; undefined if the points themselves are the queries. */
  readonly queries: PointsRequest | undefined;
  readonly asked: Asked;
  readonly metric: HostMetric;
  /** Whether a point counts as its own neighbour. Only relevant if the points themselves are the queries. */
  readonly withSelf: boolean;
  readonly onBadRecord: 'stop' | 'skip';
  /** Path of the histogram of distances, or `-` for stdout; undefined if the histogram is not drawn. */
  readonly plot: string | undefined;
  /** Whether statistics of the run are written to stdout as JSON. */
  readonly json: boolean;
}

export const NEIGHBOURS_SPECS: readonly OptionSpec[] = [
  { name: 'nearest', group: 'Question', short: 'k', value: 'K', help: 'find the K nearest points of every query' },
  { name: 'radius', group: 'Question', value: 'R', help: 'or find all points within this distance of every query' },
  { name: 'queries', group: 'Input', value: 'FILE', help: 'the points whose neighbours are wanted (default: POINTS)' },
  {
    name: 'columns',
    group: 'Input',
    value: 'X,Y,…',
    help: 'columns of the coordinates, one or more (default: x,y and z, lon,lat or longitude,latitude)',
  },
  {
    name: 'query-columns',
    group: 'Input',
    value: 'X,Y,…',
    help: 'columns of the coordinates in --queries (default: those of --columns)',
  },
  { name: 'id', group: 'Input', value: 'COLUMN', help: 'the column that names points (default: row numbers from 0)' },
  {
    name: 'query-id',
    group: 'Input',
    value: 'COLUMN',
    help: 'the column that names queries (default: row numbers from 0)',
  },
  { name: 'layer', group: 'Input', value: 'NAME', help: 'the layer of POINTS, if the file has several' },
  { name: 'query-layer', group: 'Input', value: 'NAME', help: 'the layer of --queries' },
  {
    name: 'metric',
    group: 'Question',
    value: 'NAME',
    help: `${METRIC_NAMES.join(', ')}, or l3 to l64 (default: l2; see below)`,
  },
  { name: 'with-self', group: 'Question', help: 'without --queries, count a point as its own neighbour' },
  {
    name: 'on-bad-record',
    group: 'Input',
    value: 'stop|skip',
    help: 'on a row without finite coordinates, such as null or NaN: stop (default), or count it and skip it',
    choices: ['stop', 'skip'],
  },
  ...tableSpecs('the neighbours'),
  { name: 'plot', group: 'Output', value: 'FILE.svg', help: 'a histogram of the distances as SVG (see below)' },
  JSON_SPEC,
  ...COMPUTE_SPECS,
];

/**
 * Parses the arguments after `quadrille neighbours`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseNeighboursArguments(args: readonly string[]): NeighboursOptions {
  const { words, values } = readCommand(args, NEIGHBOURS_SPECS, ['POINTS']);
  checkNoStdin([...words, text(values, 'queries') ?? '']);
  const metric = parsed(values, 'metric', parseMetric) ?? 'l2';
  const [plot, json] = [text(values, 'plot'), values.has('json')];
  const out = text(values, 'out') ?? (json || plot === '-' ? undefined : '-');
  checkOneToStdout({ out, plot, json: json ? '-' : undefined }, 'Send all but one of them to a file.');
  if (plot !== undefined) checkPlotName(plot, '--plot');
  return {
    points: { path: words[0]!, columns: text(values, 'columns'), id: text(values, 'id'), layer: text(values, 'layer') },
    queries: parseQueries(values),
    asked: parseAsked(values, metric),
    metric,
    withSelf: values.has('with-self'),
    onBadRecord: (text(values, 'on-bad-record') as 'stop' | 'skip' | undefined) ?? 'stop',
    ...parseTableInOut(values, out),
    plot,
    json,
    ...parseCompute(values),
  };
}

function parseQueries(values: OptionValues): PointsRequest | undefined {
  const path = text(values, 'queries');
  const [useless, why] =
    path === undefined
      ? [['query-columns', 'query-id', 'query-layer'], 'without --queries']
      : [['with-self'], 'with --queries, because these queries are not among POINTS'];
  for (const name of useless) {
    if (!values.has(name)) continue;
    throw new UsageError('usage/contradiction', `--${name} has no effect ${why}.`, { remedy: 'Leave it out.' });
  }
  if (path === undefined) return undefined;
  return {
    path,
    columns: text(values, 'query-columns'),
    id: text(values, 'query-id'),
    layer: text(values, 'query-layer'),
  };
}

/** Maximum value of `-k`. */
const MAX_NEAREST: number = 2 ** 20 - 1;

function parseAsked(values: OptionValues, metric: HostMetric): Asked {
  const [k, radius] = [
    parsed(values, 'nearest', (given) => parseCount(given, '-k')),
    parsed(values, 'radius', parseNumber),
  ];
  if ((k === undefined) === (radius === undefined)) {
    const complaint = k === undefined ? 'The kind of neighbours is missing.' : '-k and --radius exclude each other.';
    throw new UsageError('usage/neighbours', complaint, { remedy: 'Give one of -k K and --radius R.' });
  }
  if (k !== undefined) {
    if (k <= MAX_NEAREST) return { kind: 'nearest', k };
    throw new UsageError('usage/out-of-range', `-k ${k} is too large.`, {
      expected: `at most ${MAX_NEAREST}`,
      got: k,
      remedy: 'Use --radius to find all points.',
    });
  }
  requireRadius(radius!, metric);
  return { kind: 'radius', radius: radius! };
}

/** Throws if a radius is negative and the distances of the metric are not. */
function requireRadius(radius: number, metric: HostMetric): void {
  if (radius >= 0 || recordOf(metric).canBeNegative) return;
  throw new UsageError('usage/out-of-range', `--radius must be at least 0; got ${radius}.`);
}

/** Parses the name of a metric, such as `l1`, or `l3` for sums of third powers. */
function parseMetric(given: string, option: string): HostMetric {
  const name = given.toLowerCase();
  const metric = metricCalled(name);
  if (metric !== undefined) return metric;
  throw new UsageError('usage/not-a-choice', `${option} cannot be ${given}.`, {
    remedy: remedyFor(suggest(name, METRIC_NAMES), `Choose from ${METRIC_NAMES.join(', ')}, and l3 to l64.`),
  });
}
