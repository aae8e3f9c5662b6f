import type { FillRule } from '../algorithms/geometry/polygons.ts';
import type { PolygonLayerOptions } from '../formats/polygons/polygon-layer.ts';
import { UsageError } from '../formats/usage-error.ts';
import {
  COMPUTE_SPECS,
  type ComputeOptions,
  checkOneToStdout,
  JSON_SPEC,
  parseCompute,
  parseFill,
} from './arguments.ts';
import { type OptionSpec, type OptionValues, parsed, QUOTE_FORMULAS_SPEC, readCommand, text } from './command-line.ts';
import { parseLayerReading, READING_SPECS } from './index-arguments.ts';
import {
  CSV_SPECS,
  type CsvReading,
  FORMAT_SPEC,
  parseCsvReading,
  parseTableFormat,
  type TableFormat,
} from './table-files.ts';
import { checkNoStdin, parseFromZero } from './values.ts';

/** The kinds of queries. */
export type QueryKind = 'points' | 'windows' | 'polygons';

/** The parsed command line of `quadrille index query`. The files that it names have not been opened. */
export interface QueryOptions extends ComputeOptions {
  readonly tree: string;
  readonly kind: QueryKind;
  readonly queries: string;
  /**
   * How to read the file of queries. If the queries are points or windows, only `id`, `onBadRecord` and `antimeridian`
   * are used.
   */
  readonly reading: PolygonLayerOptions;
  /** How to read points and windows. */
  readonly csv: CsvReading;
  /** Names of the columns of points or windows; undefined for the usual ones. */
  readonly columns: readonly string[] | undefined;
  /** The fill rule of query polygons. */
  readonly fill: FillRule;
  /** Path of the answers, or `-` for stdout; undefined if they are not written. */
  readonly out: string | undefined;
  readonly json: boolean;
  readonly format: TableFormat;
  readonly quoteFormulas: boolean;
  /**
   * Which counts to write instead of pairs of a query and a polygon: one count for each query, or one count for each
   * polygon of the tree. If undefined, the pairs are written.
   */
  readonly count: 'query' | 'polygon' | undefined;
  /** Threshold for the area that a query and a polygon share, in square units of the domain's coordinates. */
  readonly above: number | undefined;
  readonly filterOnly: boolean;
}

export const QUERY_SPECS: readonly OptionSpec[] = [
  {
    name: 'points',
    group: 'Question',
    value: 'FILE',
    help: 'points, to find the polygons that contain them: a layer, or columns x and y, or lon and lat',
  },
  {
    name: 'windows',
    group: 'Question',
    value: 'FILE.csv',
    help: 'boxes, to find the polygons that touch them: columns left, bottom, right and top',
  },
  {
    name: 'polygons',
    group: 'Question',
    value: 'FILE',
    help: 'polygons, to find those that share area with them: any format that build reads',
  },
  {
    name: 'columns',
    group: 'Input',
    value: 'NAMES',
    help: 'the columns of --points, as in X,Y, or of --windows, as in W,S,E,N (default: usual names)',
  },
  {
    name: 'out',
    group: 'Output',
    short: 'o',
    value: 'FILE',
    help: 'the answers; - is stdout (default without --json)',
  },
  JSON_SPEC,
  FORMAT_SPEC,
  QUOTE_FORMULAS_SPEC,
  {
    name: 'count',
    group: 'Question',
    value: 'query|polygon',
    help: 'only count the polygons of each query, or the queries of each polygon',
    choices: ['query', 'polygon'],
  },
  {
    name: 'above',
    group: 'Question',
    value: 'AREA',
    help: 'only rows whose shared area can exceed this, in square units',
  },
  {
    name: 'filter-only',
    group: 'Question',
    help: 'compare polygons by their quadrants alone: faster, but finds some that share no area',
  },
  ...READING_SPECS.map((spec) =>
    spec.name === 'id'
      ? { ...spec, help: "the property or column that names queries (default: the feature's id, or the column id)" }
      : spec,
  ),
  ...CSV_SPECS,
  ...COMPUTE_SPECS,
];

/** Options that are allowed for some kinds of queries only. */
const USES: readonly (readonly [option: string, kinds: readonly QueryKind[]])[] = [
  ['above', ['windows', 'polygons']],
  ['filter-only', ['polygons']],
  ['layer', ['points', 'polygons']],
  ['geometry-column', ['points', 'polygons']],
  ['input-format', ['polygons']],
  ['assume-crs', ['points', 'polygons']],
  ['fill', ['polygons']],
  ['columns', ['points', 'windows']],
  ['no-header', ['points', 'windows']],
  ['decimal', ['points', 'windows']],
];

/**
 * Parses the arguments after `quadrille index query`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseQueryArguments(args: readonly string[]): QueryOptions {
  const { words, values } = readCommand(args, QUERY_SPECS, ['TREE']);
  const kind = parseKind(values);
  checkNoStdin([...words, text(values, kind)!]);
  for (const [option, kinds] of USES) {
    if (!values.has(option) || kinds.includes(kind)) continue;
    throw new UsageError('usage/contradiction', `--${option} has no effect with --${kind}.`, {
      remedy: `Leave it out; it is for ${kinds.map((each) => `--${each}`).join(' and ')}.`,
    });
  }
  const json = values.has('json');
  const out = text(values, 'out') ?? (json ? undefined : '-');
  checkOneToStdout({ out, json: json ? '-' : undefined }, 'Send the answers to a file.');
  return {
    tree: words[0]!,
    kind,
    queries: text(values, kind)!,
    reading: parseLayerReading(values),
    csv: parseCsvReading(values),
    columns: parsed(values, 'columns', (given) => parseColumns(given, kind)),
    fill: parseFill(values),
    out,
    json,
    format: parseTableFormat(values, out ?? '-', '--out'),
    quoteFormulas: values.has('csv-quote-formulas'),
    count: text(values, 'count') as QueryOptions['count'],
    above: parsed(values, 'above', parseFromZero),
    filterOnly: values.has('filter-only'),
    ...parseCompute(values),
  };
}

function parseColumns(given: string, kind: QueryKind): readonly string[] {
  const names = given.split(',').map((name) => name.trim());
  const wanted = kind === 'points' ? 2 : 4;
  if (names.length === wanted && names.every((name) => name !== '')) return names;
  throw new UsageError('usage/columns', `--columns ${given} does not name the columns of --${kind}.`, {
    expected: `${wanted} names, separated by commas`,
    got: `${names.length}`,
    remedy: kind === 'points' ? 'Write it as --columns x,y.' : 'Write it as --columns left,bottom,right,top.',
  });
}

function parseKind(values: OptionValues): QueryKind {
  const given = (['points', 'windows', 'polygons'] as const).filter((kind) => values.has(kind));
  if (given.length === 1) return given[0]!;
  const complaint = given.length === 0 ? 'The queries are missing.' : `--${given.join(' and --')} exclude each other.`;
  throw new UsageError('usage/queries', complaint, { remedy: 'Give one of --points, --windows and --polygons.' });
}
