import type { FillRule } from '../algorithms/geometry/polygons.ts';
import type { Pixels } from '../algorithms/zonal/pixels.ts';
import type { Binning } from '../algorithms/zonal/types.ts';
import { aChoiceOfStatistics, DEFAULT_NAMES, weightedAmong } from '../algorithms/zonal/zone-statistics.ts';
import type { ChosenAttributes } from '../formats/polygons/zone-attributes.ts';
import { UsageError } from '../formats/usage-error.ts';
import {
  ANTIMERIDIAN_SPEC,
  BACKEND_SPECS,
  BAD_RECORD_SPEC,
  type ComputeOptions,
  checkOneToStdout,
  fillSpec,
  GEOMETRY_COLUMN_SPEC,
  JSON_SPEC,
  parseCompute,
  parseFill,
  parseReading,
  type ReadingOptions,
  VOICE_SPECS,
} from './arguments.ts';
import { type OptionSpec, type OptionValues, parsed, QUOTE_FORMULAS_SPEC, readCommand, text } from './command-line.ts';
import { MEMORY_SPEC } from './memory.ts';
import { parseQueue, parseRun, parseSeconds, QUEUE_SPECS, type QueuePlace, requireFolder } from './queue-options.ts';
import {
  type ChosenBands,
  checkPlotName,
  checkTableName,
  isArrowFile,
  isJsonFile,
  LAYER_ENDINGS,
  parseBands,
  parseBins,
  parseDefinedCrs,
  parseEdges,
  parseNodata,
} from './values.ts';
import type { RasterOptions } from './zonal-rasters.ts';

/** The parsed command line of `quadrille zonal`. The files that it names have not been opened. */
export interface ZonalOptions extends ComputeOptions {
  readonly zones: string;
  /** Paths of rasters, and patterns of paths. */
  readonly rasters: readonly string[];
  /** Whether several rasters are parts of one surface. */
  readonly merge: boolean;
  /** Path of the raster of weights. Undefined: none. */
  readonly weights: string | undefined;
  readonly binning: Binning;
  /** Whether the user gave bins. If not, only statistics are written. */
  readonly binsGiven: boolean;
  readonly zoneOptions: ReadingOptions;
  /** The coordinate system of zones and rasters, whatever they say. */
  readonly assumedCrs: string | undefined;
  /** The coordinate system of the rasters, whatever they say. */
  readonly rasterCrs: string | undefined;
  /** Attributes of the zones that the outputs have. Undefined: none. */
  readonly attributes: ChosenAttributes | undefined;
  readonly bands: ChosenBands;
  readonly rasterOptions: Omit<RasterOptions, 'band'>;
  readonly fill: FillRule;
  readonly pixels: Pixels;
  /** Path of the file for the histograms, or `-` for stdout. Undefined if the histograms are not written. */
  readonly out: string | undefined;
  readonly format: 'csv' | 'json' | 'arrow';
  readonly quoteFormulas: boolean;
  readonly stats: string | undefined;
  /** Whether statistics of several rasters and bands are columns of one row for each zone. */
  readonly wide: boolean;
  /** The names of the statistics that are written. Undefined: those that are written without a list. */
  readonly statistics: readonly string[] | undefined;
  readonly plot: string | undefined;
  readonly json: boolean;
  /** The statistic that the map shows. */
  readonly plotStatistic: string;
  /** How workers of a queue count. Undefined if this process counts. */
  readonly queue: ZonalQueueOptions | undefined;
}

/** How `quadrille zonal` hands out its work. */
export interface ZonalQueueOptions extends QueuePlace {
  readonly folder: string;
  /** The run to go on with, which was killed. */
  readonly resume: string | undefined;
  /** Whether partitions that cannot be counted are left out. */
  readonly onError: 'stop' | 'skip';
  /** Seconds that a partition may take. Undefined: ten times the median so far, and at least a minute. */
  readonly partitionSeconds: number | undefined;
}

export const ZONAL_SPECS: readonly OptionSpec[] = [
  {
    name: 'zones',
    group: 'Input',
    value: 'FILE',
    help: 'polygons: GeoJSON, Shapefile, CSV, …; - is stdin',
  },
  {
    name: 'raster',
    group: 'Input',
    value: 'FILE',
    help: "GeoTIFF (or its https:// address) or .qbp; again, or 'relief/*.tif', for several",
    repeats: true,
  },
  { name: 'merge', group: 'Input', help: 'count several rasters as parts of one surface' },
  {
    name: 'weights',
    group: 'Input',
    value: 'FILE',
    help: 'weights of cells (first band, same grid), for --stat weighted_mean',
  },
  { name: 'bins', group: 'Bins', value: 'LO:HI:WIDTH', help: 'bins of equal width, such as 0:1:0.05' },
  { name: 'edges', group: 'Bins', value: 'A,B,C…', help: 'bins between strictly increasing edges' },
  { name: 'unique', group: 'Bins', help: 'one bin for every distinct value' },
  { name: 'layer', group: 'Input', value: 'NAME', help: 'the layer of the zones, if the file has several' },
  { name: 'id', group: 'Input', value: 'PROPERTY', help: "name zones by this property, not by the feature's id" },
  {
    name: 'include-field',
    group: 'Input',
    value: 'NAMES',
    help: 'attributes of zones as columns: names, or all',
    repeats: true,
  },
  {
    name: 'band',
    group: 'Input',
    value: 'N,N…',
    help: 'the bands that are counted, from 1, or all (default 1)',
  },
  {
    name: 'nodata',
    group: 'Which cells',
    value: 'V',
    help: "the stored value of cells without data, not the file's",
  },
  {
    name: 'mask',
    group: 'Which cells',
    value: 'all|none',
    help: 'none counts cells that a mask or an alpha band hides (near infrared may be flagged as alpha)',
    choices: ['all', 'none'],
  },
  {
    name: 'approximate',
    group: 'Which cells',
    value: 'N',
    help: 'read the overview with the largest cells of at most N × N of the raster (GeoTIFF)',
  },
  {
    name: 'raw',
    group: 'Which cells',
    help: "count the stored values, without the file's scale and offset",
  },
  {
    name: 'assume-crs',
    group: 'Input',
    value: 'EPSG:N',
    help: 'the CRS of both files, instead of what they say',
  },
  {
    name: 'zones-crs',
    group: 'Input',
    value: 'CRS',
    help: 'the CRS of the zones, instead of what they say: EPSG:N or "+proj=…"',
  },
  {
    name: 'raster-crs',
    group: 'Input',
    value: 'CRS',
    help: 'the CRS of the rasters, instead of what they say: EPSG:N or "+proj=…"',
  },
  ANTIMERIDIAN_SPEC,
  GEOMETRY_COLUMN_SPEC,
  BAD_RECORD_SPEC,
  fillSpec('zone'),
  {
    name: 'pixels',
    group: 'Which cells',
    value: 'WHICH',
    help: 'center (default), all-touched (sharing area) or fractional (by share)',
    // Written here, too, so that a page of help loads few modules.
    choices: ['center', 'all-touched', 'fractional'] satisfies Pixels[],
  },
  {
    name: 'out',
    group: 'Output',
    short: 'o',
    value: 'FILE',
    help: 'the histograms; - is stdout (default, unless another output uses it)',
  },
  {
    name: 'format',
    group: 'Output',
    value: 'csv|json|arrow',
    help: 'format of --out (default: by its ending, .json or .arrow, otherwise csv)',
    choices: ['csv', 'json', 'arrow'],
  },
  QUOTE_FORMULAS_SPEC,
  {
    name: 'stats',
    group: 'Statistics',
    value: 'FILE',
    help: 'a row for every zone: CSV (- is stdout), .json or .arrow; with the geometry .geojson or .fgb; needs no bins',
  },
  {
    name: 'stat',
    group: 'Statistics',
    value: 'NAME,NAME…',
    help: `see below (default cells,nodata,${DEFAULT_NAMES.join()})`,
  },
  {
    name: 'wide',
    group: 'Statistics',
    help: 'columns for several rasters and bands, not rows',
  },
  JSON_SPEC,
  { name: 'plot', group: 'Output', value: 'FILE.svg', help: 'histograms and a map of the means as SVG; - is stdout' },
  {
    name: 'plot-stat',
    group: 'Output',
    value: 'NAME',
    help: 'the statistic that the map of --plot shows (default mean)',
  },
  ...BACKEND_SPECS,
  MEMORY_SPEC,
  ...QUEUE_SPECS,
  {
    name: 'resume',
    group: 'Queue',
    value: 'RUN',
    help: 'go on with a run on a queue whose process was killed',
  },
  {
    name: 'on-error',
    group: 'Queue',
    value: 'stop|skip',
    help: 'on a partition that no worker can count: stop (default), or leave it out',
    choices: ['stop', 'skip'],
  },
  {
    name: 'partition-timeout',
    group: 'Queue',
    value: 'SECONDS',
    help: 'time for a partition (default: ten times the median so far, at least 60)',
  },
  ...VOICE_SPECS,
];

/**
 * Parses the arguments after `quadrille zonal`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseZonalArguments(args: readonly string[]): ZonalOptions {
  const { values, repeated } = readCommand(args, ZONAL_SPECS, []);
  const out = text(values, 'out') ?? (printsHistograms(values) ? '-' : undefined);
  const options: ZonalOptions = {
    zones: text(values, 'zones') ?? missing('zones'),
    rasters: repeated.get('raster') ?? missing('raster'),
    merge: values.has('merge'),
    weights: text(values, 'weights'),
    binning: parseBinning(values),
    binsGiven: !wantsStatisticsAlone(values),
    ...parseSystems(values),
    attributes: parseAttributes(repeated.get('include-field')),
    bands: parsed(values, 'band', parseBands) ?? [1],
    rasterOptions: {
      nodata: parsed(values, 'nodata', parseNodata),
      mask: (text(values, 'mask') as 'all' | 'none' | undefined) ?? 'all',
      raw: values.has('raw'),
      approximate: parsed(values, 'approximate', parseFactor),
    },
    fill: parseFill(values),
    pixels: (text(values, 'pixels') as Pixels | undefined) ?? 'center',
    out,
    format: (text(values, 'format') as ZonalOptions['format'] | undefined) ?? formatOf(out ?? ''),
    quoteFormulas: values.has('csv-quote-formulas'),
    stats: text(values, 'stats'),
    wide: values.has('wide'),
    statistics: parsed(values, 'stat', parseStatistics),
    plot: text(values, 'plot'),
    json: values.has('json'),
    plotStatistic: parsed(values, 'plot-stat', parsePlotStatistic) ?? 'mean',
    queue: parseZonalQueue(values),
    ...parseCompute(values),
  };
  checkStandardOutput(options);
  checkOutputNames(options, values.has('format'));
  checkStatistics(options);
  checkWeights(options);
  checkZonesFile(options);
  checkPlotStatistic(values);
  return options;
}

/** How zones are read, and which coordinate systems the files have. */
function parseSystems(values: OptionValues): Pick<ZonalOptions, 'zoneOptions' | 'assumedCrs' | 'rasterCrs'> {
  const reading = parseReading(values);
  const { crs: assumedCrs } = reading;
  const zonesCrs = parsed(values, 'zones-crs', parseDefinedCrs);
  const rasterCrs = parsed(values, 'raster-crs', parseDefinedCrs);
  if (assumedCrs !== undefined && (zonesCrs ?? rasterCrs) !== undefined) {
    throw new UsageError('usage/contradiction', '--assume-crs is the system of both files.', {
      remedy: 'Leave it out, and name the systems with --zones-crs and --raster-crs.',
    });
  }
  return { zoneOptions: { ...reading, crs: assumedCrs ?? zonesCrs }, assumedCrs, rasterCrs };
}

function parseZonalQueue(values: OptionValues): ZonalQueueOptions | undefined {
  const place = parseQueue(values);
  const given = OF_QUEUES.filter((name) => values.has(name)).map((name) => `--${name}`);
  if (place === undefined) {
    if (given.length === 0) return undefined;
    throw new UsageError('usage/contradiction', `${given.join(' and ')} needs a queue.`, {
      remedy: 'Name one with --queue URL or QUADRILLE_QUEUE, or leave the option out.',
    });
  }
  return {
    ...place,
    folder: requireFolder(place),
    resume: parsed(values, 'resume', parseRun),
    onError: (text(values, 'on-error') as 'stop' | 'skip' | undefined) ?? 'stop',
    partitionSeconds: parsed(values, 'partition-timeout', parseSeconds),
  };
}

/** Options that have no effect without a queue. */
const OF_QUEUES = ['queue-folder', 'queue-name', 'resume', 'on-error', 'partition-timeout'];

const BINNINGS = ['bins', 'edges', 'unique'];

/** Options that require histograms, and therefore bins. */
const OF_HISTOGRAMS = ['out', 'format', 'plot'];

function wantsStatisticsAlone(values: OptionValues): boolean {
  return values.has('stats') && ![...BINNINGS, ...OF_HISTOGRAMS].some((name) => values.has(name));
}

/**
 * Whether histograms are written to stdout if `--out` is not given. True if `--format` is given, or if histograms are
 * computed and no other output goes to stdout.
 */
function printsHistograms(values: OptionValues): boolean {
  if (values.has('format')) return true;
  const isTaken = values.has('json') || text(values, 'stats') === '-' || text(values, 'plot') === '-';
  return !wantsStatisticsAlone(values) && !isTaken;
}

function parseBinning(values: OptionValues): Binning {
  if (wantsStatisticsAlone(values)) return { kind: 'none' };
  const given = BINNINGS.filter((name) => values.has(name));
  if (given.length === 0) throw unbinned(values);
  if (given.length > 1) {
    throw new UsageError('usage/binning', `--${given.join(' and --')} exclude each other.`, {
      remedy: `${GIVE_BINS}, or --stats FILE alone.`,
    });
  }
  const bins = text(values, 'bins');
  if (bins !== undefined) return parseBins(bins);
  const edges = text(values, 'edges');
  return edges !== undefined ? parseEdges(edges) : { kind: 'unique' };
}

const GIVE_BINS = 'Give one of --bins lo:hi:width, --edges a,b,c and --unique';

function unbinned(values: OptionValues): UsageError {
  const code = 'usage/binning';
  if (!values.has('stats'))
    return new UsageError(code, 'The bins are missing.', { remedy: `${GIVE_BINS}, or --stats FILE alone.` });
  const needing = OF_HISTOGRAMS.filter((name) => values.has(name)).map((name) => `--${name}`);
  const named = needing.join(' and ');
  return new UsageError(code, `There are no bins for ${named}.`, {
    remedy: `${GIVE_BINS}, or leave ${named} out: --stats alone needs no bins.`,
  });
}

function checkStandardOutput({ out, stats, plot, json }: ZonalOptions): void {
  const remedy = 'Send all but one of them to a file (without --out the histograms go to stdout).';
  checkOneToStdout({ out, stats, plot, json: json ? '-' : undefined }, remedy);
}

/**
 * Throws if the extension of an output file belongs to a different format than the one that is written. Without this
 * check, the user would notice the mistake only when another program reads the file.
 */
function checkOutputNames({ out, stats, plot }: ZonalOptions, formatGiven: boolean): void {
  const ends = 'Name a file that ends in .csv, .json';
  const forOut = `${ends} or .arrow, or keep the name and give --format csv, json or arrow.`;
  if (!formatGiven && out !== undefined) checkTableName(out, '--out', ALSO, forOut);
  const forStats = `${ends}, .arrow, .geojson or .fgb.`;
  if (stats !== undefined) checkTableName(stats, '--stats', [...ALSO, ...LAYER_ENDINGS], forStats);
  if (plot !== undefined) checkPlotName(plot, '--plot');
}

/** Endings of tables that are not CSV. */
const ALSO = ['json', 'arrow', 'feather'];

function formatOf(path: string): ZonalOptions['format'] {
  if (isArrowFile(path)) return 'arrow';
  return isJsonFile(path) ? 'json' : 'csv';
}

function checkPlotStatistic(values: OptionValues): void {
  if (!values.has('plot-stat') || values.has('plot')) return;
  throw new UsageError('usage/contradiction', '--plot-stat needs a map.', { remedy: 'Add --plot FILE.svg.' });
}

/**
 * Parses names of statistics that are separated by commas. Commas in parentheses belong to a name.
 *
 * @throws UsageError `usage/statistic` for a name that is none, or stands twice.
 */
function parseStatistics(text: string, option: string): readonly string[] {
  const names = text.split(/,(?![^()]*\))/).map((name) => name.trim());
  const flaw = aChoiceOfStatistics(names, '', new Map());
  if (flaw === undefined) return names;
  const { part, expected, remedy } = flaw;
  throw new UsageError('usage/statistic', `${option}: '${part}' is not ${expected}.`, { remedy });
}

/** Parses the name of a statistic that is a number for each zone. Throws as {@link parseStatistics} does. */
function parsePlotStatistic(text: string, option: string): string {
  const names = parseStatistics(text, option);
  if (names.length === 1 && names[0] !== 'frac') return names[0]!;
  throw new UsageError('usage/statistic', `${option}: ${text} is not one number for each zone.`, {
    remedy: 'Name one statistic other than frac.',
  });
}

/** @throws UsageError `usage/approximate`. */
function parseFactor(text: string, option: string): number {
  const factor = Number(text);
  if (text.trim() !== '' && factor > 1 && Number.isFinite(factor)) return factor;
  throw new UsageError('usage/approximate', `${option} ${text} is not a number of cells.`, {
    expected: 'a number over 1',
    got: text,
    remedy: `Write ${option} 8 to read an overview whose cells are at most 8 × 8 cells of the raster.`,
  });
}

/** Throws if statistics are named that no output has, or laid out in no table. */
function checkStatistics({ statistics, stats, wide, format }: ZonalOptions): void {
  if (wide && stats === undefined) {
    throw new UsageError('usage/contradiction', '--wide is the layout of --stats, which is missing.', {
      remedy: 'Add --stats FILE, or leave --wide out: histograms have rows of their own for each raster.',
    });
  }
  if (statistics === undefined || stats !== undefined || format === 'json') return;
  throw new UsageError('usage/contradiction', '--stat names statistics that no output has.', {
    remedy: 'Say where they go with --stats FILE (- is stdout), or write JSON with --format json.',
  });
}

/** Throws if workers of a queue would have to read zones from stdin. */
function checkZonesFile({ zones, queue }: ZonalOptions): void {
  if (zones !== '-' || queue === undefined) return;
  throw new UsageError('usage/contradiction', 'Workers of a queue read files, and the zones are on standard input.', {
    remedy: 'Write them to a file that all workers see, or count without --queue and QUADRILLE_QUEUE.',
  });
}

/** Throws if weights are given that nothing needs or that cannot be used, or if statistics lack them. */
function checkWeights({
  weights,
  statistics = [],
  plot,
  plotStatistic,
  merge,
  queue,
  rasterOptions,
}: ZonalOptions): void {
  const needing = weightedAmong(plot === undefined ? statistics : [...statistics, plotStatistic]);
  if (weights === undefined) {
    if (needing.length === 0) return;
    throw new UsageError('usage/contradiction', `${needing[0]} needs weights.`, {
      remedy: 'Name a raster of weights on the same grid with --weights FILE.',
    });
  }
  if (needing.length === 0) {
    throw new UsageError('usage/contradiction', '--weights serves no statistic that is asked for.', {
      remedy: 'Name one, such as --stat weighted_mean, or leave --weights out.',
    });
  }
  if (rasterOptions.approximate !== undefined) {
    throw new UsageError('usage/contradiction', '--weights and --approximate exclude each other.', {
      remedy: 'Leave one of them out: averages of cells and of their weights do not make weighted averages.',
    });
  }
  const other = merge ? '--merge' : queue === undefined ? undefined : 'a queue';
  if (other === undefined) return;
  throw new UsageError('usage/contradiction', `--weights and ${other} exclude each other.`, {
    remedy: merge ? 'Count each raster by itself.' : 'Count in this process, without --queue and QUADRILLE_QUEUE.',
  });
}

function missing(option: string): never {
  throw new UsageError('usage/missing-option', `--${option} is missing.`, {
    remedy: `Name a file with --${option} FILE.`,
  });
}

/**
 * Parses the names of attributes, of which there may be several lists.
 *
 * @throws UsageError `usage/attributes` for names that are empty or stand twice, and for `all` beside other names.
 */
function parseAttributes(lists: readonly string[] | undefined): ChosenAttributes | undefined {
  if (lists === undefined) return undefined;
  const names = lists.flatMap((list) => list.split(',')).map((name) => name.trim());
  if (names.length === 1 && names[0] === 'all') return 'all';
  const option = '--include-field';
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw wrongAttributes(`${option} names ${twice} twice.`, `Name ${twice} once.`);
  if (names.includes('all'))
    throw wrongAttributes(`${option} names all attributes, and others.`, 'Give all alone, or names.');
  if (names.includes(''))
    throw wrongAttributes(`${option} has an empty name.`, 'Write names with commas between them.');
  return names;
}

function wrongAttributes(sentence: string, remedy: string): UsageError {
  return new UsageError('usage/attributes', sentence, { remedy });
}
