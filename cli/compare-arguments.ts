import type { MatchMethod } from '../algorithms/cross-compare/matching.ts';
import type { FillRule } from '../algorithms/geometry/polygons.ts';
import { RESULT_SET_FORMATS, type ResultSetFormat } from '../formats/result-sets/result-set.ts';
import { UsageError } from '../formats/usage-error.ts';
import {
  BACKEND_SPECS,
  type BackendOptions,
  type ComputeOptions,
  checkOneToStdout,
  fillSpec,
  JSON_SPEC,
  parseCompute,
  parseFill,
  VOICE_SPECS,
} from './arguments.ts';
import { type OptionSpec, type OptionValues, parsed, QUOTE_FORMULAS_SPEC, readCommand, text } from './command-line.ts';
import { MEMORY_SPEC } from './memory.ts';
import { FORMAT_SPEC, parseTableFormat, type TableFormat } from './table-files.ts';
import { checkEnding, checkNoStdin, parsePositive } from './values.ts';

/** A table to write, and its path; `-` is stdout. */
export interface TableOutput {
  readonly table: 'pairs' | 'tiles' | 'missing';
  readonly path: string;
  readonly format: TableFormat;
}

/** The parsed command line of `quadrille compare`. The files that it names have not been opened. */
export interface CompareOptions extends ComputeOptions {
  /** Path of a set of polygons: a file, or a folder with one file per tile. The same holds for `b`. */
  readonly a: string;
  readonly b: string;
  readonly inputFormat: ResultSetFormat | undefined;
  readonly geometryColumn: string | undefined;
  readonly idColumn: string | undefined;
  readonly layerA: string | undefined;
  readonly layerB: string | undefined;
  readonly regions: 'components' | 'labels' | undefined;
  readonly pixelSize: number;
  readonly fill: FillRule;
  readonly minIou: number;
  readonly match: MatchMethod;
  readonly onError: 'stop' | 'skip';
  /** Value of `--migrate`; undefined if the option is not given. */
  readonly migrate: 'on' | 'off' | undefined;
  /**
   * Path of the JSON file with all numbers of the result, or `-` for stdout; undefined if the file is not written. The
   * same holds for the paths below.
   */
  readonly out: string | undefined;
  readonly tables: readonly TableOutput[];
  readonly quoteFormulas: boolean;
  readonly json: boolean;
  readonly plot: string | undefined;
  readonly report: string | undefined;
  readonly trace: string | undefined;
}

export const COMPARE_SPECS: readonly OptionSpec[] = [
  {
    name: 'out',
    group: 'Output',
    short: 'o',
    value: 'FILE',
    help: 'all figures as JSON; - is stdout, instead of J′ alone',
  },
  { ...JSON_SPEC, help: 'all figures as one JSON object on stdout, as --out - does' },
  {
    name: 'pairs',
    group: 'Output',
    value: 'FILE',
    help: 'a row for every pair that shares area: ids, areas, IoU; - is stdout',
  },
  { name: 'tiles', group: 'Output', value: 'FILE', help: 'a row for every tile' },
  {
    name: 'missing',
    group: 'Output',
    value: 'FILE',
    help: 'a row for every polygon that shares no area with the other set',
  },
  { ...FORMAT_SPEC, help: 'format of these tables, if their names do not show it (default csv)' },
  QUOTE_FORMULAS_SPEC,
  { name: 'plot', group: 'Output', value: 'FILE.svg', help: 'histogram of the IoU as SVG' },
  {
    name: 'report',
    group: 'Output',
    value: 'FILE.html',
    help: 'one page with figures, histogram, tiles and a timeline of the run',
  },
  { name: 'trace', group: 'Output', value: 'FILE.json', help: 'a trace of the run, for chrome://tracing and Perfetto' },
  {
    name: 'min-iou',
    group: 'Question',
    value: 'R',
    help: 'the min IoU at which polygons can match one to one (default 0.5)',
  },
  {
    name: 'match',
    group: 'Question',
    value: 'METHOD',
    help: 'optimal (most matches, then the highest IoU; default) or greedy (the highest IoU first)',
    choices: ['greedy', 'optimal'],
  },
  fillSpec('polygon'),
  {
    name: 'pixel-size',
    group: 'Question',
    value: 'S',
    help: 'side of a pixel in the coordinates of the polygons (default 1)',
  },
  {
    name: 'input-format',
    group: 'Input',
    value: 'NAME',
    help: `format of A and B, if their names do not show it: ${RESULT_SET_FORMATS.join(', ')}`,
    choices: RESULT_SET_FORMATS,
  },
  {
    name: 'geometry-column',
    group: 'Input',
    value: 'NAME',
    help: 'the column of CSV files or GeoParquet that holds the polygons',
  },
  { name: 'id-column', group: 'Input', value: 'NAME', help: 'the column or property that holds the ids' },
  {
    name: 'layer-a',
    group: 'Input',
    value: 'NAME',
    help: 'the layer of A, if it has several (GeoPackage, TopoJSON, ZIP)',
  },
  { name: 'layer-b', group: 'Input', value: 'NAME', help: 'the layer of B' },
  {
    name: 'regions',
    group: 'Input',
    value: 'KIND',
    help: 'the polygons of a label image: components (connected pixels with the same label; default) or labels',
    choices: ['components', 'labels'],
  },
  {
    name: 'on-error',
    group: 'Input',
    value: 'stop|skip',
    help: 'on a tile that cannot be read: stop (default), or name it and skip it',
    choices: ['stop', 'skip'],
  },
  ...BACKEND_SPECS,
  {
    name: 'migrate',
    group: 'Running',
    value: 'on|off',
    help: 'move tasks between GPU and CPU when one falls behind (default: on if there is a GPU)',
    choices: ['on', 'off'],
  },
  MEMORY_SPEC,
  ...VOICE_SPECS,
];

const DEFAULT_MIN_IOU = 0.5;

/**
 * Parses the arguments after `quadrille compare`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseCompareArguments(args: readonly string[]): CompareOptions {
  const { words, values } = readCommand(args, COMPARE_SPECS, ['A', 'B']);
  checkNoStdin(words);
  const compute = parseCompute(values);
  const options: CompareOptions = {
    a: words[0]!,
    b: words[1]!,
    inputFormat: text(values, 'input-format') as ResultSetFormat | undefined,
    geometryColumn: text(values, 'geometry-column'),
    idColumn: text(values, 'id-column'),
    layerA: text(values, 'layer-a'),
    layerB: text(values, 'layer-b'),
    regions: text(values, 'regions') as 'components' | 'labels' | undefined,
    pixelSize: parsed(values, 'pixel-size', parsePositive) ?? 1,
    fill: parseFill(values),
    minIou: parsed(values, 'min-iou', parseRatio) ?? DEFAULT_MIN_IOU,
    match: (text(values, 'match') as MatchMethod | undefined) ?? 'optimal',
    onError: (text(values, 'on-error') as 'stop' | 'skip' | undefined) ?? 'stop',
    ...compute,
    migrate: parseMigrate(values, compute),
    out: text(values, 'out'),
    tables: (['pairs', 'tiles', 'missing'] as const).flatMap((table) => tableOutput(values, table)),
    quoteFormulas: values.has('csv-quote-formulas'),
    json: values.has('json'),
    plot: text(values, 'plot'),
    report: text(values, 'report'),
    trace: text(values, 'trace'),
  };
  checkOutputs(options);
  return options;
}

function parseRatio(value: string, option: string): number {
  return parsePositive(value, option, 1);
}

function parseMigrate(values: OptionValues, { backend }: BackendOptions): 'on' | 'off' | undefined {
  const migrate = text(values, 'migrate') as 'on' | 'off' | undefined;
  if (migrate !== 'on' || backend === 'auto' || backend === 'webgpu') return migrate;
  throw new UsageError('usage/contradiction', `--migrate on has no effect with --backend ${backend}.`, {
    remedy: 'Leave one of them out, or use --backend webgpu.',
  });
}

function tableOutput(values: OptionValues, table: TableOutput['table']): TableOutput[] {
  const path = text(values, table);
  if (path === undefined) return [];
  return [{ table, path, format: parseTableFormat(values, path, `--${table}`) }];
}

function checkOutputs({ out, tables, plot, report, trace, json }: CompareOptions): void {
  const ofTables = Object.fromEntries(tables.map(({ table, path }) => [table, path]));
  checkOneToStdout(
    { out, ...ofTables, plot, report, trace, json: json ? '-' : undefined },
    'Send all but one of them to a file.',
  );
  for (const [option, path, ending] of [
    ['--out', out, 'json'],
    ['--plot', plot, 'svg'],
    ['--report', report, 'html'],
    ['--trace', trace, 'json'],
  ] as const) {
    if (path !== undefined) checkEnding(path, option, ending);
  }
}
