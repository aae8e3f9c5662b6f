import type { Sample, Window } from '../../algorithms/geometry/raster.ts';
import type { Note } from '../../algorithms/notes.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFunction, aRecord, aSignal, aText, aWhole, optional, someOptions } from '../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { openFileBytes } from '../bytes/file-bytes.ts';
import { openBytes } from '../bytes/open-bytes.ts';
import { UsageError } from '../usage-error.ts';
import { type GeoTiffRaster, type TiffExtras, writeTiff } from './geotiff-writer.ts';
import type { BandMetadata, PackedMetadata } from './packed/metadata.ts';
import { openPackedCells, openPackedFile, type PackedCells } from './packed/reader.ts';
import { checkWindow } from './tiff/check-window.ts';
import type { Field } from './tiff/directory-writer.ts';
import type { GeoTransform } from './tiff/georeference.ts';
import { fieldsOf, isPixelPoint, keptOf, movedBy } from './tiff/kept-tags.ts';
import { scalingMetadata } from './tiff/metadata.ts';

/** Options for decoding a packed raster to a GeoTIFF. */
export interface DecodePackedOptions {
  /** Number of the band to decode, from 1. Default: all bands. */
  readonly band?: number | undefined;
  /** The part to decode. Default: all of the raster. */
  readonly window?: Window | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Is called with the cells that are decoded, and with those of all bands. */
  readonly onProgress?: ((doneCells: number, totalCells: number) => void) | undefined;
  /** Is called with the path of the unfinished file, which a process that is ended at once should remove. */
  readonly onPartial?: ((path: string) => void) | undefined;
}

/** What was decoded. */
export interface DecodedRaster {
  readonly width: number;
  readonly height: number;
  readonly bands: number;
  readonly notes: readonly Note[];
}

const ARGUMENTS = {
  input: aText,
  output: aText,
  options: someOptions<DecodePackedOptions>({
    band: optional(aWhole(1)),
    window: optional(aRecord<Window>({ column: aWhole(), row: aWhole(), columns: aWhole(1), rows: aWhole(1) })),
    signal: optional(aSignal),
    onProgress: optional(aFunction),
    onPartial: optional(aFunction),
  }),
};

/**
 * Decodes a packed raster, or a part of it, to a GeoTIFF that has the same cells bit for bit, the same georeference,
 * coordinate system, nodata value, scale, offset and mask. Cells may be rotated, sheared or mirrored. The GeoTIFF is in
 * tiles of 256 × 256 cells, compressed by deflate with a predictor. It appears when it is complete, or not at all.
 *
 * A coordinate system that a side file gave to the original, and that has no EPSG code, cannot be written:
 * `raster/crs-unwritten` notes it.
 *
 * @param input - A file's path, or its address.
 * @throws FormatError and UsageError as `openPackedRaster` does; `format/unwritable-file`; ArgumentError
 * `argument/window-outside`; UsageError `usage/nodata-differs` if bands have different nodata values, of which a GeoTIFF
 * holds one.
 * @example
 * const folder = await mkdtemp(join(tmpdir(), 'example-'));
 * const source = 'examples/ndvi.tif';
 * await encodePackedRaster(source, join(folder, 'ndvi.qbp'));
 * const window = { column: 100, row: 50, columns: 20, rows: 10 };
 * const { width, height } = await decodePackedRaster(join(folder, 'ndvi.qbp'), join(folder, 'part.tif'), { window });
 * [width, height]; // [20, 10]
 */
export async function decodePackedRaster(
  input: string,
  output: string,
  options: DecodePackedOptions = {},
): Promise<DecodedRaster> {
  requireArguments('decodePackedRaster', { input, output, options }, ARGUMENTS);
  const source = await openBytes(input, openFileBytes, { signal: options.signal });
  try {
    const file = await openPackedFile(source);
    const { layout, metadata } = file;
    const numbers = options.band === undefined ? metadata.bands.map((_, at) => at + 1) : [options.band];
    const bands: PackedCells[] = [];
    for (const band of numbers) bands.push(await openPackedCells(file, { band, raw: true }));
    const window = options.window ?? { column: 0, row: 0, columns: layout.width, rows: layout.height };
    checkWindow(window, layout, source.file);
    const ofBands = numbers.map((band) => metadata.bands[band - 1]!);
    const notes: Note[] = [];
    const raster = rasterOf(layout.sample, ofBands, metadata, window, source.file, notes);
    const extras = {
      fields: fieldsOfPart(metadata, ofBands, window, options.band === undefined),
      mask: maskOf(bands, ofBands, window),
      onPartial: options.onPartial,
    };
    await write(output, raster, extras, bands, window, options);
    return { width: window.columns, height: window.rows, bands: bands.length, notes };
  } finally {
    await source.close();
  }
}

async function write(
  output: string,
  raster: GeoTiffRaster,
  extras: TiffExtras,
  bands: readonly PackedCells[],
  window: Window,
  { signal, onProgress }: DecodePackedOptions,
): Promise<void> {
  const total = window.columns * window.rows * bands.length;
  let done = 0;
  const cells = async (part: Window, band: number) => {
    signal?.throwIfAborted();
    const read = await bands[band - 1]!.read(within(window, part), signal);
    done += part.columns * part.rows;
    onProgress?.(done, total);
    return read;
  };
  await writeTiff(output, raster, cells, extras);
}

/** A part of a window, in the raster. */
function within(window: Window, { column, row, columns, rows }: Window): Window {
  return { column: window.column + column, row: window.row + row, columns, rows };
}

/** Side of a tile of the GeoTIFF. */
const TILE = 256;

function rasterOf(
  sample: Sample,
  ofBands: readonly BandMetadata[],
  { geoTransform, crs, ownCrs, geographic, tiff }: PackedMetadata,
  window: Window,
  file: string,
  notes: Note[],
): GeoTiffRaster {
  const [originX, stepX, , originY, , stepY] = movedTo(geoTransform, window);
  const keys = keptOf(tiff, 'geoKeyDirectory');
  const isWritable =
    keys !== undefined ||
    crs === undefined ||
    /^(EPSG:([1-9]\d{0,3}|[12]\d{4}|3[01]\d{3}|32[0-6]\d{2}|327[0-5]\d|3276[0-6])|OGC:CRS84)$/.test(crs);
  if (!isWritable || (keys === undefined && ownCrs !== undefined)) {
    const message = `The GeoTIFF does not state the coordinate system ${crs ?? ownCrs}, which has no EPSG code.`;
    notes.push({ code: 'raster/crs-unwritten', message });
  }
  return {
    ...{ width: window.columns, height: window.rows, bands: ofBands.length, sample },
    ...{ originX, originY, stepX, stepY },
    crs: isWritable ? crs : undefined,
    geographic,
    nodata: commonNodata(ofBands, file),
    tile: { columns: TILE, rows: TILE },
    compression: 'deflate',
    predictor: sample === 'f32' ? 'float' : 'difference',
    interleave: 'band',
    pixelIsPoint: isPixelPoint(keys),
  };
}

function commonNodata(bands: readonly BandMetadata[], file: string): string | undefined {
  const [nodata] = bands.map((band) => band.nodata);
  if (bands.every((band) => band.nodata === nodata)) return nodata;
  throw new UsageError(
    'usage/nodata-differs',
    'The bands have different nodata values, of which a GeoTIFF holds one.',
    {
      got: bands.map((band) => band.nodata ?? 'none').join(', '),
      remedy: 'Decode one band after the other: --band 1, --band 2.',
      place: { file },
    },
  );
}

/** The placement of the cells of a window. */
function movedTo([x, a, b, y, d, e]: GeoTransform, { column, row }: Window): GeoTransform {
  return [x + column * a + row * b, a, b, y + column * d + row * e, d, e];
}

/** The fields of the original GeoTIFF that hold for a part of it. */
function fieldsOfPart(
  { geoTransform, tiff = {} }: PackedMetadata,
  bands: readonly BandMetadata[],
  window: Window,
  hasAllBands: boolean,
): Field[] {
  const kept = fieldsOf(movedBy(tiff, window)).filter(({ tag }) => hasAllBands || !OF_ALL_BANDS.has(tag));
  const scaling = kept.some(({ tag }) => tag === 'gdalMetadata') ? undefined : scalingMetadata(bands);
  const isPlaced = kept.some(({ tag }) => tag === 'modelTiepoint' || tag === 'modelTransformation');
  return [
    ...kept,
    ...(isPlaced ? [] : turnedFields(movedTo(geoTransform, window), isPixelPoint(keptOf(tiff, 'geoKeyDirectory')))),
    ...(scaling === undefined ? [] : [{ tag: 'gdalMetadata', type: 'ascii', text: scaling } as const]),
  ];
}

/** The matrix that places cells which the writer of GeoTIFFs cannot: those that are turned, or mirrored. */
function turnedFields([x, a, b, y, d, e]: GeoTransform, isPoint: boolean): Field[] {
  if (b === 0 && d === 0 && a > 0) return [];
  const shift = isPoint ? 0.5 : 0;
  const values = [a, b, 0, x + shift * a + shift * b, d, e, 0, y + shift * d + shift * e, 0, 0, 0, 0, 0, 0, 0, 1];
  return [{ tag: 'modelTransformation', type: 'double', values }];
}

const OF_ALL_BANDS: ReadonlySet<string> = new Set([
  'photometricInterpretation',
  'extraSamples',
  'colorMap',
  'gdalMetadata',
]);

/** The mask of the first band that has one, unless the GeoTIFF has the alpha band that gives it. */
function maskOf(bands: readonly PackedCells[], ofBands: readonly BandMetadata[], window: Window): TiffExtras['mask'] {
  const hasAlpha = bands.length > 1;
  const at = ofBands.findIndex(({ mask }) => mask === 'own' || (mask === 'alpha' && !hasAlpha));
  const read = bands[at]?.readMask;
  return read && ((part) => read(within(window, part)));
}
