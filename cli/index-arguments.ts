import type { FillRule } from '../algorithms/geometry/polygons.ts';
import type { Domain } from '../algorithms/quadrants/domain.ts';
import type { MapExtent } from '../formats/charts/zonal-plot/extent.ts';
import {
  POLYGON_LAYER_FORMATS,
  type PolygonLayerFormat,
  type PolygonLayerOptions,
} from '../formats/polygons/polygon-layer.ts';
import { UsageError } from '../formats/usage-error.ts';
import {
  ANTIMERIDIAN_SPEC,
  BAD_RECORD_SPEC,
  COMPUTE_SPECS,
  type ComputeOptions,
  checkOneToStdout,
  fillSpec,
  GEOMETRY_COLUMN_SPEC,
  JSON_SPEC,
  parseCompute,
  parseFill,
  parseReading,
  parseVoice,
  VOICE_SPECS,
  type VoiceOptions,
} from './arguments.ts';
import { type OptionSpec, type OptionValues, parsed, readCommand, text } from './command-line.ts';
import { parseDomain, parseLevels } from './domain-values.ts';
import { MEMORY_SPEC, type MemoryOptions, parseMemory } from './memory.ts';
import { checkEnding, checkNoStdin, formatOfName, parseExtent } from './values.ts';

/** Path and format of a drawing of a tree. The path `-` is stdout. */
export interface PlotOutput {
  readonly path: string;
  readonly format: 'svg' | 'png';
}

/** The drawings of a tree that the command line requests. */
export interface PlotRequest {
  readonly plots: readonly PlotOutput[];
  /** The extent to draw, in the coordinates of the domain; undefined for the extent of all polygons. */
  readonly plotWindow: MapExtent | undefined;
}

/** The parsed command line of `quadrille index build`. The files that it names have not been opened. */
export interface BuildOptions extends ComputeOptions, PlotRequest {
  /** Paths of the input files. Each file becomes one set of polygons. */
  readonly files: readonly string[];
  readonly reading: PolygonLayerOptions;
  readonly fill: FillRule;
  /** Path of the tree to write, or `-` for stdout. */
  readonly out: string;
  readonly levels: number;
  /** The domain of the tree; undefined to derive it from the files. */
  readonly domain: Domain | undefined;
  readonly keepsEdges: boolean;
  readonly json: boolean;
}

/** The parsed command line of `quadrille index info`. */
export interface InfoOptions extends MemoryOptions, VoiceOptions, PlotRequest {
  readonly tree: string;
  readonly json: boolean;
}

/** Descriptions of the options that {@link parseLayerReading} parses. */
export const READING_SPECS: readonly OptionSpec[] = [
  { name: 'layer', group: 'Input', value: 'NAME', help: 'the layer of the polygons, if a file has several' },
  { name: 'id', group: 'Input', value: 'PROPERTY', help: "name polygons by this property instead of the feature's id" },
  {
    name: 'assume-crs',
    group: 'Input',
    value: 'EPSG:N',
    help: 'the CRS of the coordinates, instead of what the files say',
  },
  ANTIMERIDIAN_SPEC,
  GEOMETRY_COLUMN_SPEC,
  fillSpec('polygon'),
  {
    name: 'input-format',
    group: 'Input',
    value: 'NAME',
    help: `format of the polygons: ${POLYGON_LAYER_FORMATS.join(', ')}`,
    choices: POLYGON_LAYER_FORMATS,
  },
  BAD_RECORD_SPEC,
];

const PLOT_SPECS: readonly OptionSpec[] = [
  {
    name: 'plot',
    group: 'Output',
    value: 'FILE.svg|FILE.png',
    help: 'a drawing of the quadrants; may be given several times; - is SVG on stdout',
    repeats: true,
  },
  {
    name: 'plot-window',
    group: 'Output',
    value: 'L,B,R,T',
    help: 'the part that is drawn: its left, bottom, right and top',
  },
];

export const BUILD_SPECS: readonly OptionSpec[] = [
  { name: 'out', group: 'Output', short: 'o', value: 'FILE.maq', help: 'the tree; - is stdout' },
  {
    name: 'levels',
    group: 'Tree',
    value: 'N',
    help: 'number of subdivisions, 0 to 30: the smallest quadrants have side / 2^N (default 12)',
  },
  {
    name: 'domain',
    group: 'Tree',
    value: 'LEFT,BOTTOM,SIZE',
    help: 'the square that is subdivided, or world (default: see above)',
  },
  { name: 'no-edges', group: 'Tree', help: 'write no edges: the file is smaller, but its answers are not exact' },
  ...READING_SPECS,
  ...PLOT_SPECS,
  JSON_SPEC,
  ...COMPUTE_SPECS,
];

export const INFO_SPECS: readonly OptionSpec[] = [
  { ...JSON_SPEC, help: 'the facts as one JSON object on stdout' },
  ...PLOT_SPECS,
  MEMORY_SPEC,
  ...VOICE_SPECS,
];

const DEFAULT_LEVELS = 12;

/**
 * Parses the arguments after `quadrille index build`.
 *
 * @throws UsageError if the arguments are invalid.
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
    reading: parseLayerReading(values),
    fill: parseFill(values),
    out,
    levels: parsed(values, 'levels', parseLevels) ?? DEFAULT_LEVELS,
    domain: parsed(values, 'domain', parseDomain),
    keepsEdges: !values.has('no-edges'),
    ...parseCompute(values),
    ...parsePlotRequest(values, repeated.get('plot')),
    json: values.has('json'),
  };
  checkOneTarget(options.plots, { out });
  return options;
}

/**
 * Parses the arguments after `quadrille index info`.
 *
 * @throws UsageError if the arguments are invalid.
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
    ...parseVoice(values),
  };
}

/** Parses the options for reading files of polygons of any format. */
export function parseLayerReading(values: OptionValues): PolygonLayerOptions {
  return { ...parseReading(values), format: text(values, 'input-format') as PolygonLayerFormat | undefined };
}

/**
 * Throws if the output path of the tree has the extension of another format. Such a path is probably a mistake. For
 * example, it may be the path of an input file, which would be overwritten.
 */
function checkTreeName(path: string): void {
  checkEnding(path, '--out', 'maq');
}

function parsePlotRequest(values: OptionValues, paths: readonly string[] | undefined): PlotRequest {
  const plotWindow = parsed(values, 'plot-window', parseExtent);
  if (plotWindow !== undefined && paths === undefined) {
    throw new UsageError('usage/contradiction', '--plot-window has no effect without --plot.', {
      remedy: 'Name a drawing with --plot FILE.svg, or leave the window out.',
    });
  }
  return { plots: parsePlots(paths), plotWindow };
}

function parsePlots(paths: readonly string[] = []): PlotOutput[] {
  return paths.map((path) => {
    const format = path === '-' ? 'svg' : formatOfName(path, ['svg', 'png']);
    if (format !== undefined) return { path, format };
    throw new UsageError('usage/format', `--plot ${path} ends in neither .svg nor .png.`, {
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
