import { evenBinCount } from '../algorithms/zonal/even-bins.ts';
import type { Binning } from '../algorithms/zonal/types.ts';
import type { MapExtent } from '../formats/charts/zonal-plot/extent.ts';
import type { LayerEnding } from '../formats/polygons/write/layer-writers.ts';
import { parseNumber as readNumber } from '../formats/rasters/tiff/nodata.ts';
import { UsageError } from '../formats/usage-error.ts';

/** Parses bins of equal width, `lo:hi:width`. The width must divide the range. */
export function parseBins(text: string): Binning {
  const parts = text.split(':');
  if (parts.length !== 3) {
    throw new UsageError('usage/bins', `--bins ${text} is not of the form lo:hi:width.`, {
      remedy: 'Write, for instance, --bins 0:1:0.05.',
    });
  }
  const [low, high, width] = parts.map((part) => parseNumber(part, '--bins')) as [number, number, number];
  if (!(low < high)) {
    throw new UsageError('usage/bins', `--bins ${text}: the lower end ${low} is not below the upper end ${high}.`, {
      remedy: 'Put the lower end first.',
    });
  }
  if (!(width > 0)) {
    throw new UsageError('usage/bins', `--bins ${text} has a width of ${width}.`, { remedy: 'Give a width above 0.' });
  }
  checkDivides(text, low, high, width);
  return { kind: 'even', low, high, width };
}

const MAX_BINS = 2 ** 31;

function checkDivides(text: string, low: number, high: number, width: number): void {
  const bins = Number(((high - low) / width).toPrecision(12));
  if (!(bins < MAX_BINS)) {
    throw new UsageError('usage/bins', `--bins ${text} gives ${bins} bins.`, {
      remedy: `Choose a width that gives fewer than ${MAX_BINS}.`,
    });
  }
  if (evenBinCount(low, high, width) === undefined) {
    throw new UsageError('usage/bins', `--bins ${text} gives ${bins} bins, which is not a whole number.`, {
      remedy: 'Choose a width that divides the range, or list the edges with --edges.',
    });
  }
}

/** Parses the edges of bins, `a,b,c`: at least two numbers in strictly increasing order. */
export function parseEdges(text: string): Binning {
  const edges = text.split(',').map((part) => parseNumber(part, '--edges'));
  if (edges.length < 2) {
    throw new UsageError('usage/edges', `--edges ${text} gives no bin.`, { remedy: 'Give at least two edges.' });
  }
  const fall = edges.findIndex((edge, index) => index > 0 && !(edge > edges[index - 1]!));
  if (fall > 0) {
    throw new UsageError('usage/edges', `--edges must increase, but ${edges[fall]} follows ${edges[fall - 1]}.`, {
      remedy: 'Sort the edges and drop repeated ones.',
    });
  }
  return { kind: 'edges', edges };
}

/**
 * Parses a nodata value: a number, or an infinity or NaN as GDAL or the C library of Windows write them. Integers beyond
 * 2⁵³ keep their digits.
 */
export function parseNodata(text: string, option: string): number | bigint {
  const value = readNumber(text.trim());
  if (/^[+-]?\d{16,40}$/.test(text.trim()) && !Number.isSafeInteger(value)) return BigInt(text.trim().replace('+', ''));
  return value === undefined || Number.isFinite(value) ? parseNumber(text, option) : value;
}

/** Parses a whole number of at least 1. */
export function parseCount(text: string, option: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value >= 1 && Number.isSafeInteger(value)) return value;
  throw new UsageError('usage/not-a-count', `${option} ${text} is not a whole number of at least 1.`);
}

/** The numbers of the bands that are counted, or all that a file has. */
export type ChosenBands = 'all' | readonly number[];

/**
 * Parses numbers of bands that are separated by commas.
 *
 * @throws UsageError `usage/not-a-count` for what is none, `usage/bands` for one that stands twice.
 */
export function parseBands(text: string, option: string): ChosenBands {
  if (text === 'all') return 'all';
  const bands = text.split(',').map((word) => parseCount(word.trim(), option));
  const twice = bands.find((band, at) => bands.indexOf(band) !== at);
  if (twice === undefined) return bands;
  throw new UsageError('usage/bands', `${option} names band ${twice} twice.`, { remedy: `Name ${twice} once.` });
}

/** Parses a rectangle `left,bottom,right,top`, which must have an area. */
export function parseExtent(text: string, option: string): MapExtent {
  const parts = text.split(',');
  const [left, bottom, right, top] = parts.map((part) => parseNumber(part, option)) as [number, number, number, number];
  if (parts.length === 4 && left < right && bottom < top) return { left, bottom, right, top };
  throw new UsageError('usage/extent', `${option} ${text} is not of the form left,bottom,right,top with an area.`, {
    remedy: `Write it as ${option} -125,24,-66,50.`,
  });
}

/** Parses a number greater than 0, and at most `max`. */
export function parsePositive(text: string, option: string, max: number = Number.MAX_VALUE): number {
  const value = parseNumber(text, option);
  if (value > 0 && value <= max) return value;
  const range = max === Number.MAX_VALUE ? 'above 0' : `above 0 and at most ${max}`;
  throw new UsageError('usage/out-of-range', `${option} ${text} is not ${range}.`);
}

const MAX_RADIUS = 256;
const MAX_RADII = 64;

/** Parses a range of radii in pixels, `lo:hi:step`. The smallest allowed radius is 1. */
export function parseRadii(text: string, option: string): number[] {
  const parts = text.split(':');
  if (parts.length !== 3) {
    throw new UsageError('usage/radii', `${option} ${text} is not of the form lo:hi:step.`, {
      remedy: `Write it as ${option} 8:20:2.`,
    });
  }
  const [low, high, step] = parts.map((part) => parseNumber(part, option)) as [number, number, number];
  const count = Math.floor(Number(((high - low) / step).toPrecision(12))) + 1;
  if (!(low >= 1 && high <= MAX_RADIUS && low <= high && step > 0 && count <= MAX_RADII)) {
    throw new UsageError('usage/radii', `${option} ${text} gives no radii from 1 to ${MAX_RADIUS} pixels.`, {
      remedy: `Give min, max and a step above 0 for at most ${MAX_RADII} radii, such as ${option} 8:20:2.`,
    });
  }
  // Rounding to twelve digits hides floating-point errors, such as in 3 · 0.1.
  return Array.from({ length: count }, (_, i) => Number((low + i * step).toPrecision(12)));
}

/** Parses a direction `x,y`. The vector may have any length except 0. */
export function parseDirection(text: string, option: string): { readonly x: number; readonly y: number } {
  const parts = text.split(',');
  if (parts.length === 2) {
    const [x, y] = parts.map((part) => parseNumber(part, option)) as [number, number];
    if (x !== 0 || y !== 0) return { x, y };
  }
  throw new UsageError('usage/direction', `${option} ${text} is not a direction x,y.`, {
    remedy: `Write it as ${option} 1,0 for cells that go to the right, ${option} 0,1 for down.`,
  });
}

/** Parses a number of at least 0. */
export function parseFromZero(text: string, option: string): number {
  const value = parseNumber(text, option);
  if (value >= 0) return value;
  throw new UsageError('usage/out-of-range', `${option} must be at least 0; got ${text}.`);
}

/** Parses a coordinate system, `EPSG:n` or `OGC:CRS84`, in lower or upper case. */
export function parseCrs(text: string, option: string): string {
  const name = text.toUpperCase();
  if (/^EPSG:\d+$/.test(name) || name === 'OGC:CRS84') return name;
  throw new UsageError('usage/crs', `${option} ${text} is not a CRS.`, { remedy: `Write it as ${option} EPSG:4326.` });
}

/** Parses a coordinate system by its code, or by a definition: a text for PROJ, or well-known text. */
export function parseDefinedCrs(text: string, option: string): string {
  return /^\s*(\+proj=|[A-Z]+\s*\[)/i.test(text) ? text.trim() : parseCrs(text, option);
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};

/** Parses a size in bytes, such as `268435456`, `256MiB` or `1.5GB`. */
export function parseByteSize(text: string, option: string): number {
  const [, digits = '', unit = ''] = /^([\d.]+)\s*([a-z]*)$/i.exec(text) ?? [];
  const factor = UNITS[unit.toLowerCase()];
  const bytes = factor === undefined || digits === '' ? Number.NaN : Math.floor(Number(digits) * factor);
  if (bytes >= 1 && Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError('usage/byte-size', `${option} ${text} is not a size in bytes.`, {
    remedy: 'Write it as 268435456, 512MB or 1GiB.',
  });
}

/** Extensions of formats that commands cannot write. */
const OTHER_FORMATS: ReadonlySet<string> = new Set(
  'arrow feather fgb geojson gif gpkg gz jpeg jpg maq ods parquet pdf png qbp shp svg tif tiff topojson tsv webp wkt xls xlsx zip'.split(
    ' ',
  ),
);

/** The names of formats that layers are written in. */
const LAYERS: { readonly [ending in LayerEnding]: string } = { geojson: 'GeoJSON', fgb: 'FlatGeobuf' };
export const LAYER_ENDINGS = Object.keys(LAYERS) as LayerEnding[];

/** The names of formats that tables can be written in. Feather is another ending of Arrow. */
const WRITTEN: { readonly [ending: string]: string } = {
  csv: 'CSV',
  json: 'JSON',
  arrow: 'Arrow',
  ...LAYERS,
};

const KNOWN_FORMATS: ReadonlySet<string> = new Set([...OTHER_FORMATS, 'csv', 'html', 'json']);

/**
 * Throws if the extension of a table file belongs to an unsupported format. CSV and the formats in `also` are
 * supported.
 */
export function checkTableName(path: string, option: string, also: readonly string[], remedy: string): void {
  const ending = endingOf(path);
  if (also.includes(ending) || (!OTHER_FORMATS.has(ending) && ending !== 'json')) return;
  const written = ['csv', ...also].flatMap((format) => WRITTEN[format] ?? []).join(' or ');
  throw new UsageError('usage/format', `${option} ${path} would hold ${written}, which does not match .${ending}.`, {
    remedy,
  });
}

/** Throws if the extension of a file belongs to a known format other than `ending`. */
export function checkEnding(
  path: string,
  option: string,
  ending: string,
  remedy: string = `Name a file that ends in .${ending}.`,
): void {
  const found = endingOf(path);
  if (found === ending || !KNOWN_FORMATS.has(found)) return;
  const written = ending.toUpperCase();
  throw new UsageError('usage/format', `${option} ${path} would hold ${written}, which does not match .${found}.`, {
    remedy,
  });
}

/**
 * The format in `formats` that the extension of a file indicates; undefined if the extension indicates none of them.
 */
export function formatOfName<F extends string>(path: string, formats: readonly F[]): F | undefined {
  return formats.find((format) => format === endingOf(path));
}

/** Whether the extension of a file is that of JSON. */
export function isJsonFile(path: string): boolean {
  return endingOf(path) === 'json';
}

/** Whether the extension of a file is that of an Arrow IPC file. */
export function isArrowFile(path: string): boolean {
  return ['arrow', 'feather'].includes(endingOf(path));
}

/** Throws if an image file has an extension other than `.svg`. A name without extension is allowed. */
export function checkPlotName(path: string, option: string): void {
  const ending = endingOf(path);
  if (ending === '' || ending === 'svg') return;
  throw new UsageError('usage/format', `${option} ${path} would hold SVG, which does not match .${ending}.`, {
    remedy: 'Name a file that ends in .svg; browsers and rsvg-convert can convert it.',
  });
}

function endingOf(path: string): string {
  return /[^/\\]\.([^./\\\s]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
}

/** Parses a finite number. */
export function parseNumber(text: string, option: string): number {
  const trimmed = text.trim();
  const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : Number.NaN;
  // Adding 0 converts −0 to 0. This is correct, because cells with the value −0 are counted as 0.
  if (Number.isFinite(value)) return value + 0;
  throw new UsageError('usage/not-a-number', `${option}: '${text}' is not a finite number.`, {
    remedy: 'Write the number without a unit, with a point before the decimals.',
  });
}

/**
 * Throws if the path of an input file is `-`, because the command does not read stdin.
 *
 * @throws UsageError `usage/stdin`.
 */
export function checkNoStdin(files: readonly string[]): void {
  if (!files.includes('-')) return;
  throw new UsageError('usage/stdin', '- is stdin, which this command does not read.', {
    remedy: 'Name a file on disk (./- if its name is -).',
  });
}
