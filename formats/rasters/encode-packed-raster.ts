import { isWide } from '../../algorithms/geometry/raster.ts';
import type { Note } from '../../algorithms/notes.ts';
import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { ArgumentError, FormatError } from '../../primitives/checks/errors.ts';
import {
  aFunction,
  aPositive,
  aRecord,
  aSignal,
  aText,
  aWhole,
  aWord,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import type { Context } from '../../primitives/index.ts';
import { changedError } from '../bytes/addresses/address-errors.ts';
import { stageOutputs } from '../bytes/atomic-write.ts';
import { besideFile } from '../bytes/beside.ts';
import { openFileBytes } from '../bytes/file-bytes.ts';
import { isWebAddress } from '../bytes/file-error.ts';
import { openBytes } from '../bytes/open-bytes.ts';
import { type GeoTiffCells, openTurnedGeoTiff } from './geotiff.ts';
import { encodeBand } from './packed/encode-band.ts';
import { defaultTile, isPackedRaster, layoutFault, MAGIC, type PackedLayout } from './packed/layout.ts';
import { type BandMetadata, nodataBits, type PackedMetadata } from './packed/metadata.ts';
import type { PackedCodec } from './packed/tile-encoder.ts';
import { packedWriter } from './packed/writer.ts';
import { createBandCache } from './tiff/band-cache.ts';
import type { ByteSource } from './tiff/byte-source.ts';
import { readDirectory, type TiffDirectory } from './tiff/directory.ts';
import type { Georeference } from './tiff/georeference.ts';
import { keepTags } from './tiff/kept-tags.ts';
import { scalingTexts } from './tiff/metadata.ts';
import { readSideFile, type SideFile } from './tiff/side-file.ts';

/** Options for encoding a GeoTIFF as a packed raster. */
export interface EncodePackedOptions {
  /** Number of the band to encode, from 1. Default: all bands. */
  readonly band?: number | undefined;
  /** `none` ignores all masks of the GeoTIFF. Default `all`. */
  readonly mask?: 'all' | 'none' | undefined;
  /** Size of a tile in cells. Default 64 × 64, and fewer columns or rows in a narrower or lower raster. */
  readonly tile?: { readonly columns: number; readonly rows: number } | undefined;
  /**
   * How tiles are coded, unless they are constant or smaller as they are: as `residuals`, as BQ-trees (`bq`), or as the
   * smaller of the two (`auto`). BQ-trees are smaller for land cover, masks and classes, and take a `context`. Default
   * `residuals`.
   */
  readonly codec?: PackedCodec | undefined;
  /** Encodes BQ-trees. The bytes are the same on every backend. */
  readonly context?: Context | undefined;
  /** Maximum bytes of the cells that are held. Default 256 MiB. */
  readonly memoryBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Is called with the cells that are encoded, and with those of all bands. */
  readonly onProgress?: ((doneCells: number, totalCells: number) => void) | undefined;
}

/** What was encoded. */
export interface EncodedRaster {
  readonly width: number;
  readonly height: number;
  readonly bands: number;
  readonly sample: PackedLayout['sample'];
  /** Size of the packed raster. */
  readonly bytes: number;
  readonly notes: readonly Note[];
}

const ARGUMENTS = {
  input: aText,
  output: aText,
  options: someOptions<EncodePackedOptions>({
    band: optional(aWhole(1)),
    mask: optional(aWord(['all', 'none'])),
    tile: optional(aRecord<NonNullable<EncodePackedOptions['tile']>>({ columns: aWhole(1), rows: aWhole(1) })),
    codec: optional(aWord(['residuals', 'bq', 'auto'])),
    context: optional(aContext),
    memoryBytes: optional(aPositive()),
    signal: optional(aSignal),
    onProgress: optional(aFunction),
  }),
};

/**
 * Encodes a GeoTIFF as a packed raster (`.qbp`), whose cells are the same bit for bit. The file appears when it is
 * complete, or not at all. Nodata value, scale, offset, georeference and coordinate system are kept, and so are masks.
 * Cells may be rotated, sheared or mirrored; `zonalHistogram` refuses them.
 *
 * - Takes about 10 ns a cell, besides reading, and with BQ-trees 10 to 40 ns more on workers. Deterministic: the same
 *   cells give the same bytes, on every backend.
 *
 * @param input - A file's path, or its address. Its blocks are then fetched by ranges.
 * @throws FormatError and UsageError as `openGeoTiff` does; `output/unwritable` and `output/write-failed` if the packed
 * raster cannot be written; ArgumentError `argument/context` for BQ-trees without a context; ArgumentError
 * `argument/tile` for a tile that is not a multiple of 4 columns and of 32 cells or has more than 2^16 cells.
 * @example
 * const file = join(await mkdtemp(join(tmpdir(), 'example-')), 'ndvi.qbp');
 * const { bands, sample } = await encodePackedRaster(
 *   'examples/ndvi.tif', file);
 * [bands, sample]; // [1, 'f32']
 */
export async function encodePackedRaster(
  input: string,
  output: string,
  options: EncodePackedOptions = {},
): Promise<EncodedRaster> {
  requireArguments('encodePackedRaster', { input, output, options }, ARGUMENTS);
  const outputs = await stageOutputs([output]);
  try {
    const write = (bytes: Uint8Array) => outputs.write(output, [bytes], options.signal);
    const encoded = await encodeGeoTiff(input, write, options);
    options.signal?.throwIfAborted();
    await outputs.commit();
    return encoded;
  } finally {
    await outputs.discard();
  }
}

/** Encodes a GeoTIFF as a packed raster, whose bytes go to `write` from front to back. */
export async function encodeGeoTiff(
  path: string,
  write: (bytes: Uint8Array) => Promise<void>,
  options: EncodePackedOptions = {},
): Promise<EncodedRaster> {
  requireContextFor(options);
  const downloadBytes = (options.memoryBytes ?? MEMORY_BYTES) / 8;
  const source = await openBytes(path, openFileBytes, { downloadBytes, signal: options.signal });
  try {
    if (isPackedRaster(await source.read(0, Math.min(MAGIC.length, source.size)))) throw packedAlready(source.file);
    const directory = await readDirectory(source);
    const all = (await directory.number('samplesPerPixel')) ?? 1;
    const bands = options.band === undefined ? Array.from({ length: all }, (_, i) => i + 1) : [options.band];
    return await encodeBands(path, source, directory, bands, write, options);
  } finally {
    await source.close();
  }
}

function packedAlready(file: string): FormatError {
  return new FormatError('format/not-tiff', 'The file is a packed raster already.', {
    remedy: 'Copy it; or make a GeoTIFF of it with quadrille raster decode, to encode it in another way.',
    place: { file },
  });
}

function requireContextFor({ codec = 'residuals', context }: EncodePackedOptions): void {
  if (codec === 'residuals' || context !== undefined) return;
  throw new ArgumentError('argument/context', `The codec ${codec} of a packed raster needs a context.`, {
    remedy: 'Open one with open(), and give it as context.',
  });
}

/** Number of bands that are open at the same time. Their blocks are decoded once, if they are interleaved in them. */
const TOGETHER = 16;

type OpenedBand = Awaited<ReturnType<typeof openTurnedGeoTiff>>;

async function encodeBands(
  path: string,
  { file, version }: ByteSource,
  directory: TiffDirectory,
  bands: readonly number[],
  write: (bytes: Uint8Array) => Promise<void>,
  options: EncodePackedOptions,
): Promise<EncodedRaster> {
  const { memoryBytes = MEMORY_BYTES, codec = 'residuals', context, signal, onProgress } = options;
  const notes = new Map<string, Note>();
  const stated: BandMetadata[] = [];
  let [writer, layout, place]: [ReturnType<typeof packedWriter>?, PackedLayout?, Georeference?] = [];
  const onDisk = isWebAddress(path) ? undefined : path;
  const bandCache = createBandCache({ keepBytes: memoryBytes / 4 });
  const limits = { keepBytes: memoryBytes / 4, downloadBytes: memoryBytes / 8, bandCache };
  // What is held of a file of the web is held for each band that is open.
  const together = onDisk === undefined ? 1 : TOGETHER;
  let done = 0;
  for (let first = 0; first < bands.length; first += together) {
    const opened: { readonly band: number; readonly raster: OpenedBand }[] = [];
    try {
      for (const band of bands.slice(first, first + together)) {
        const raster = await openTurnedGeoTiff(path, { band, mask: options.mask, raw: true, signal, ...limits });
        opened.push({ band, raster });
      }
      for (const { band, raster } of [...opened]) {
        const { version: again = version } = raster;
        if (version !== undefined && again !== version) throw changedError(file, 'version', version, again!);
        for (const note of raster.notes) if (!OF_SCALING.has(note.code)) notes.set(note.code + note.message, note);
        place ??= raster;
        layout ??= layoutOf(raster, bands.length, options.tile);
        writer ??= packedWriter(layout, write);
        stated.push(await bandMetadata(onDisk, directory, band, bands.length, raster));
        const total = bands.length * raster.width * raster.height;
        await encodeBand(raster, layout, nodataBits(raster.nodata, layout.sample), writer, {
          memoryBytes: memoryBytes / 2,
          codec,
          context: codec === 'residuals' ? undefined : context,
          signal,
          onCells(cells) {
            done += cells;
            onProgress?.(done, total);
          },
        });
        opened.shift();
        await raster.close();
      }
    } finally {
      for (const { raster } of opened) await raster.close();
    }
  }
  const { width, height, sample } = layout!;
  const beside = await readSideFile(
    onDisk === undefined ? undefined : besideFile(onDisk, openFileBytes),
    bands[0]!,
    [],
  );
  const bytes = await writer!.end({
    ...placement(place!),
    bands: stated,
    tiff: await keepTags(directory, beside, options.band === undefined),
  });
  return { width, height, sample, bands: bands.length, bytes, notes: [...notes.values()] };
}

const MEMORY_BYTES = 2 ** 28;

/** Notes on scaling are about counting. */
const OF_SCALING: ReadonlySet<string> = new Set(['raster/scaling-left-out', 'raster/scaled']);

function layoutOf(raster: GeoTiffCells, bands: number, tile: EncodePackedOptions['tile']): PackedLayout {
  const { width, height, sample, file } = raster;
  if (isWide(sample)) {
    throw new FormatError('format/unsupported-sample-type', `A packed raster has no cells of ${sample}.`, {
      expected: 'cells of 1 to 32 bits',
      got: sample,
      remedy: 'Keep the GeoTIFF, which quadrille zonal reads; or round its cells with gdal_translate -ot Float32.',
      place: { file },
    });
  }
  const { columns, rows } = tile ?? defaultTile(width, height);
  const layout = { width, height, bands, sample, tileColumns: columns, tileRows: rows };
  const fault = layoutFault(layout);
  if (fault === undefined) return layout;
  throw new ArgumentError('argument/tile', `A packed raster cannot be made: ${fault}.`, {
    expected: 'at most 4096 bands; tiles of a multiple of 4 columns and of 32 cells, at most 65536',
    remedy: 'Choose a band, or another tile.',
  });
}

function placement({ geoTransform, crs, ownCrs, geographic }: Georeference) {
  return { geoTransform, crs, ownCrs, geographic } satisfies Partial<PackedMetadata>;
}

async function bandMetadata(
  path: string | undefined,
  directory: TiffDirectory,
  band: number,
  bands: number,
  raster: GeoTiffCells,
): Promise<BandMetadata> {
  const beside: SideFile = await readSideFile(
    path === undefined ? undefined : besideFile(path, openFileBytes),
    band,
    [],
  );
  const inFile = scalingTexts(await directory.text('gdalMetadata', MAX_GDAL_METADATA), band);
  const masks = raster.notes.filter(({ code }) => code === 'raster/mask').length;
  const isAlpha = bands > 1 && masks === 1 && (await hasAlpha(directory, band));
  return {
    nodata: beside.nodata ?? (await directory.text('gdalNodata')),
    scale: beside.scale ?? inFile.scale,
    offset: beside.offset ?? inFile.offset,
    mask: masks === 0 ? undefined : isAlpha ? 'alpha' : 'own',
  };
}

const MAX_GDAL_METADATA = 2 ** 24;

/** Whether another band of the file is an alpha band. */
async function hasAlpha(directory: TiffDirectory, band: number): Promise<boolean> {
  const samples = (await directory.number('samplesPerPixel')) ?? 1;
  const extra = (await directory.numbers('extraSamples', samples)) ?? new Float64Array();
  const which = extra.findIndex((kind) => kind === 1 || kind === 2);
  return which >= 0 && samples - extra.length + which + 1 !== band;
}
