import type { Window } from '../algorithms/geometry/raster.ts';
import type { PackedCodec } from '../formats/rasters/packed/tile-encoder.ts';
import { UsageError } from '../formats/usage-error.ts';
import {
  COMPUTE_SPECS,
  type ComputeOptions,
  JSON_SPEC,
  parseCompute,
  parseVoice,
  VOICE_SPECS,
  type VoiceOptions,
} from './arguments.ts';
import { type OptionSpec, type OptionValues, parsed, readCommand, text } from './command-line.ts';
import { checkEnding, checkNoStdin, parseCount } from './values.ts';

/** The parsed command line of `quadrille raster encode`. The files that it names have not been opened. */
export interface EncodeOptions extends ComputeOptions {
  /** Paths of the GeoTIFFs, and patterns of paths. Each file becomes one packed raster. */
  readonly files: readonly string[];
  /** Path of the packed raster, or of the folder of several. */
  readonly out: string;
  readonly band: number | undefined;
  readonly mask: 'all' | 'none';
  readonly tile: { readonly columns: number; readonly rows: number } | undefined;
  readonly codec: PackedCodec;
  readonly json: boolean;
}

/** The parsed command line of `quadrille raster info`. */
export interface RasterInfoOptions extends VoiceOptions {
  readonly file: string;
  readonly json: boolean;
  readonly check: boolean;
}

/** The parsed command line of `quadrille raster decode`. */
export interface DecodeOptions extends VoiceOptions {
  readonly file: string;
  readonly out: string;
  readonly band: number | undefined;
  readonly window: Window | undefined;
  readonly json: boolean;
}

export const ENCODE_SPECS: readonly OptionSpec[] = [
  {
    name: 'out',
    group: 'Output',
    short: 'o',
    value: 'FILE.qbp|FOLDER',
    help: 'the packed raster, or a folder for one of each file',
  },
  { name: 'band', group: 'Input', value: 'N', help: 'the band to encode, counted from 1 (default: all bands)' },
  {
    name: 'mask',
    group: 'Input',
    value: 'all|none',
    help: 'none ignores masks and alpha bands, so that all cells but those of the nodata value have data',
    choices: ['all', 'none'],
  },
  {
    name: 'tile',
    group: 'Output',
    value: 'COLUMNSxROWS',
    help: 'cells of a tile (default 64x64; other sizes are decoded more slowly)',
  },
  {
    name: 'codec',
    group: 'Output',
    value: 'NAME',
    help: 'residuals (default), bq (BQ-trees: land cover, masks, classes) or auto (the smaller, tile by tile)',
    choices: ['residuals', 'bq', 'auto'],
  },
  JSON_SPEC,
  ...COMPUTE_SPECS,
];

export const RASTER_INFO_SPECS: readonly OptionSpec[] = [
  { ...JSON_SPEC, help: 'the facts as one JSON object on stdout' },
  {
    name: 'check',
    group: 'Output',
    help: 'decode every tile, and compare it with its checksum, its minimum and its maximum',
  },
  ...VOICE_SPECS,
];

export const DECODE_SPECS: readonly OptionSpec[] = [
  { name: 'out', group: 'Output', short: 'o', value: 'FILE.tif', help: 'the GeoTIFF' },
  JSON_SPEC,
  { name: 'band', group: 'Input', value: 'N', help: 'the band to decode, counted from 1 (default: all bands)' },
  {
    name: 'window',
    group: 'Input',
    value: 'C,R,W,H',
    help: 'the part to decode: its first column and row, its width and height',
  },
  ...VOICE_SPECS,
];

/**
 * Parses the arguments after `quadrille raster encode`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseEncodeArguments(args: readonly string[]): EncodeOptions {
  const { words, values } = readCommand(args, ENCODE_SPECS, ['FILE…']);
  checkNoStdin(words);
  const out = outputOf(values, 'FILE.qbp');
  checkEnding(out, '--out', 'qbp');
  return {
    files: words,
    out,
    band: parsed(values, 'band', parseCount),
    mask: (text(values, 'mask') as 'all' | 'none' | undefined) ?? 'all',
    tile: parsed(values, 'tile', parseTile),
    codec: (text(values, 'codec') as PackedCodec | undefined) ?? 'residuals',
    json: values.has('json'),
    ...parseCompute(values),
  };
}

/**
 * Parses the arguments after `quadrille raster info`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseRasterInfoArguments(args: readonly string[]): RasterInfoOptions {
  const { words, values } = readCommand(args, RASTER_INFO_SPECS, ['FILE']);
  checkNoStdin(words);
  return { file: words[0]!, json: values.has('json'), check: values.has('check'), ...parseVoice(values) };
}

/**
 * Parses the arguments after `quadrille raster decode`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseDecodeArguments(args: readonly string[]): DecodeOptions {
  const { words, values } = readCommand(args, DECODE_SPECS, ['FILE']);
  checkNoStdin(words);
  const out = outputOf(values, 'FILE.tif');
  if (!/\.tiff?$/i.test(out)) checkEnding(out, '--out', 'tif');
  return {
    file: words[0]!,
    out,
    band: parsed(values, 'band', parseCount),
    window: parsed(values, 'window', parseWindow),
    json: values.has('json'),
    ...parseVoice(values),
  };
}

function outputOf(values: OptionValues, example: string): string {
  const out = text(values, 'out');
  const remedy = `Name a file with -o ${example}.`;
  if (out === undefined) throw new UsageError('usage/missing-option', '--out is missing.', { remedy });
  if (out !== '-') return out;
  throw new UsageError('usage/stdout', '--out - is stdout, to which rasters are not written.', { remedy });
}

function parseTile(value: string, option: string): { columns: number; rows: number } {
  const [columns, rows] = (/^(\d+)x(\d+)$/i.exec(value) ?? []).slice(1).map(Number);
  const cells = columns! * rows!;
  if (columns! % 4 === 0 && cells % 32 === 0 && cells > 0 && cells <= 2 ** 16) {
    return { columns: columns!, rows: rows! };
  }
  throw new UsageError('usage/tile', `${option} ${value} is not a tile.`, {
    expected: 'COLUMNSxROWS, a multiple of 4 columns and of 32 cells, at most 65536 cells',
    got: value,
    remedy: `Write it as ${option} 64x64.`,
  });
}

function parseWindow(value: string, option: string): Window {
  const numbers = value.split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : Number.NaN));
  const [column, row, columns, rows] = numbers as [number, number, number, number];
  if (numbers.length === 4 && numbers.every(Number.isSafeInteger) && columns > 0 && rows > 0) {
    return { column, row, columns, rows };
  }
  throw new UsageError('usage/window', `${option} ${value} is not of the form column,row,width,height.`, {
    expected: 'four whole numbers, of which the last two are at least 1',
    got: value,
    remedy: `Write it as ${option} 0,0,256,256.`,
  });
}
