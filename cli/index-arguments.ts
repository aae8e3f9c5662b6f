import type { FillRule } from '../algorithms/geometry/polygons.ts';
import type { Domain } from '../algorithms/quadrants/domain.ts';
import type { PolygonLayerFormat, PolygonLayerOptions } from '../formats/polygon-layers/polygon-layer.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { Extent } from '../formats/zonal-plot/extent.ts';
import {
  BACKEND_SPECS,
  type BackendOptions,
  checkOneToStdout,
  fillSpec,
  parseBackend,
  parseFill,
  VOICE_SPECS,
  type VoiceOptions,
} from './arguments.ts';
import { type OptionSpec, type OptionValues, parsed, readCommand, text } from './command-line.ts';
import { parseDomain, parseLevels } from './domain-values.ts';
import { MEMORY_SPEC, type MemoryOptions, parseMemory } from './memory.ts';
import { checkEnding, checkNoStdin, formatOfName, parseCrs, parseExtent } from './values.ts';

/** A drawing of a tree and where it goes; `-` is stdout. */
export interface PlotOutput {
  readonly path: string;
  readonly format: 'svg' | 'png';
}

/** What is to be drawn of a tree. */
export interface PlotRequest {
  readonly plots: readonly PlotOutput[];
  /** In the coordinates of the domain; undefined for all. */
  readonly plotWindow: Extent | undefined;
}

/** One call of `quadrille index build`, checked as far as the command line alone allows. */
export interface BuildOptions extends BackendOptions, MemoryOptions, VoiceOptions, PlotRequest {
  /** A set of polygons each. */
  readonly files: readonly string[];
  readonly reading: PolygonLayerOptions;
  readonly fill: FillRule;
  /** File, or `-` for stdout. */
  readonly out: string;
  readonly levels: number;
  /** Undefined where the files are to tell. */
  readonly domain: Domain | undefined;
  readonly keepsEdges: boolean;
  readonly json: boolean;
}

/** One call of `quadrille index info`. */
export interface InfoOptions extends MemoryOptions, VoiceOptions, PlotRequest {
  readonly tree: string;
  readonly json: boolean;
}

const LAYER_FORMATS = [
  'geojson',
  'geojson-lines',
  'topojson',
  'flatgeobuf',
  'shapefile',
  'wkt',
] as const satisfies readonly PolygonLayerFormat[];

/** The options that {@link parseReading} reads. */
export const READING_SPECS: readonly OptionSpec[] = [
  { name: 'layer', value: 'NAME', help: 'which layer of the polygons, where there are several' },
  { name: 'id', value: 'PROPERTY', help: "name polygons by this property instead of the feature's id" },
  { name: 'assume-crs', value: 'EPSG:N', help: 'take the coordinates to be in this CRS, whatever the files say' },
  {
    name: 'antimeridian',
    value: 'unwrap',
    help: 'read rings that jump more than 180° of longitude as crossing ±180°, where longitudes come round',
    choices: ['unwrap'],
  },
  fillSpec('polygon'),
  {
    name: 'input-format',
    value: 'NAME',
    help: `of the polygons: ${LAYER_FORMATS.join(', ')}`,
    choices: LAYER_FORMATS,
  },
  {
    name: 'on-bad-record',
    value: 'stop|skip',
    help: 'a record that cannot be used: end the run (default), or leave it out, count it and go on',
    choices: ['stop', 'skip'],
  },
];

const PLOT_SPECS: readonly OptionSpec[] = [
  {
    name: 'plot',
    value: 'FILE.svg|FILE.png',
    help: 'draws the quadrants; may be given several times; - is SVG on stdout',
    repeats: true,
  },
  { name: 'plot-window', value: 'L,B,R,T', help: 'draws only what lies from left and bottom to right and top' },
];

export const BUILD_SPECS: readonly OptionSpec[] = [
  { name: 'out', short: 'o', value: 'FILE.maq', help: 'the tree; - is stdout' },
  {
    name: 'levels',
    value: 'N',
    help: 'how often the domain is halved for the smallest quadrants, 0 to 30 (default 12)',
  },
  {
    name: 'domain',
    value: 'LEFT,BOTTOM,SIZE',
    help: 'the square that is split, or world (default: see above)',
  },
  { name: 'no-edges', help: 'leave edges out: a smaller file, with no exact answers' },
  ...READING_SPECS,
  ...PLOT_SPECS,
  { name: 'json', help: 'the summary as one JSON object on stdout' },
  ...BACKEND_SPECS,
  MEMORY_SPEC,
  ...VOICE_SPECS,
];

export const INFO_SPECS: readonly OptionSpec[] = [
  { name: 'json', help: 'one JSON object on stdout' },
  ...PLOT_SPECS,
  MEMORY_SPEC,
  ...VOICE_SPECS,
];

const DEFAULT_LEVELS = 12;

/**
 * Reads the words after `quadrille index build`.
 *
 * @throws UsageError with what is wrong and how to mend it.
 */
export function parseBuildArguments(args: readonly string[]): BuildOptions {
  const { words, values, repeated } = readCommand(args, BUILD_SPECS, ['FILE…']);
  const out = text(values, 'out');
  if (out === undefined) {
    throw new UsageError('usage/missing-option', '--out is missing.', { remedy: 'Name a file with -o FILE.maq.' });
  }
  checkTreeName(out);
  checkNoStdin(words);
  const options: BuildOptions = {
    files: words,
    reading: parseReading(values),
    fill: parseFill(values),
    out,
    levels: parsed(values, 'levels', parseLevels) ?? DEFAULT_LEVELS,
    domain: parsed(values, 'domain', parseDomain),
    keepsEdges: !values.has('no-edges'),
    ...parseBackend(values),
    ...parseMemory(values),
    ...parsePlotRequest(values, repeated.get('plot')),
    json: values.has('json'),
    jsonLog: values.has('json-log'),
    quiet: values.has('quiet'),
  };
  checkOneTarget(options.plots, { out });
  return options;
}

/**
 * Reads the words after `quadrille index info`.
 *
 * @throws UsageError with what is wrong and how to mend it.
 */
export function parseInfoArguments(args: readonly string[]): InfoOptions {
  const { words, values, repeated } = readCommand(args, INFO_SPECS, ['TREE']);
  checkNoStdin(words);
  const request = parsePlotRequest(values, repeated.get('plot'));
  checkOneTarget(request.plots, {});
  return {
    tree: words[0]!,
    ...request,
    ...parseMemory(values),
    json: values.has('json'),
    jsonLog: values.has('json-log'),
    quiet: values.has('quiet'),
  };
}

/** How to read layers of polygons. */
export function parseReading(values: OptionValues): PolygonLayerOptions {
  return {
    layer: text(values, 'layer'),
    id: text(values, 'id'),
    crs: parsed(values, 'assume-crs', parseCrs),
    antimeridian: text(values, 'antimeridian') as 'unwrap' | undefined,
    format: text(values, 'input-format') as PolygonLayerFormat | undefined,
    onBadRecord: text(values, 'on-bad-record') as 'stop' | 'skip' | undefined,
  };
}

/** A tree that is called as a text or an image is looked for in vain, or overwrites what it was made of. */
function checkTreeName(path: string): void {
  checkEnding(path, '--out', 'maq');
}

function parsePlotRequest(values: OptionValues, paths: readonly string[] | undefined): PlotRequest {
  const plotWindow = parsed(values, 'plot-window', parseExtent);
  if (plotWindow !== undefined && paths === undefined) {
    throw new UsageError('usage/contradiction', '--plot-window means nothing without --plot.', {
      remedy: 'Name a drawing with --plot FILE.svg, or leave the window out.',
    });
  }
  return { plots: parsePlots(paths), plotWindow };
}

function parsePlots(paths: readonly string[] = []): PlotOutput[] {
  return paths.map((path) => {
    const format = path === '-' ? 'svg' : formatOfName(path, ['svg', 'png']);
    if (format !== undefined) return { path, format };
    throw new UsageError('usage/format', `--plot ${path} names no format that is drawn.`, {
      remedy: 'Name a file that ends in .svg or .png.',
    });
  });
}

function checkOneTarget(plots: readonly PlotOutput[], others: Readonly<Record<string, string>>): void {
  const toStdout = plots.filter(({ path }) => path === '-');
  if (toStdout.length > 1) {
    throw new UsageError('usage/stdout-twice', '--plot - is given twice.', { remedy: 'Give it once.' });
  }
  checkOneToStdout({ ...others, plot: toStdout[0]?.path }, 'Send all but one of them to a file.');
}
