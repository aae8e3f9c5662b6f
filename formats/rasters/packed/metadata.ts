import type { NarrowSample } from '../../../algorithms/geometry/raster.ts';
import type { ByteSource } from '../tiff/byte-source.ts';
import type { GeoTransform } from '../tiff/georeference.ts';
import { crc32c } from './crc32c.ts';
import type { Footer } from './directory.ts';
import { damaged, type PackedLayout } from './layout.ts';

/** What a band states besides its cells. Numbers are texts, which are kept as the GeoTIFF has them. */
export interface BandMetadata {
  readonly nodata?: string | undefined;
  readonly scale?: string | undefined;
  readonly offset?: string | undefined;
  /** Whether cells have no data for another reason than the nodata value: a mask, or an alpha band. */
  readonly mask?: 'own' | 'alpha' | undefined;
}

/** What the metadata of a packed raster state, as JSON. */
export interface PackedMetadata {
  readonly geoTransform: GeoTransform;
  /** `EPSG:n`, if the coordinate system has a code. */
  readonly crs?: string | undefined;
  /** A description of a coordinate system without a code. */
  readonly ownCrs?: string | undefined;
  readonly geographic: boolean;
  readonly bands: readonly BandMetadata[];
  /** Tags of the GeoTIFF by their numbers, unchanged, for those who write one again. Readers of cells ignore them. */
  readonly tiff?: Readonly<Record<string, readonly number[] | string>> | undefined;
}

export function encodeMetadata(metadata: PackedMetadata): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(metadata));
}

/** Reads the metadata, and checks the types of all that is used of them. */
export async function readMetadata(source: ByteSource, layout: PackedLayout, footer: Footer): Promise<PackedMetadata> {
  const { file } = source;
  const bytes = await source.read(footer.metadataOffset, footer.metadataBytes);
  if (crc32c(bytes) !== footer.metadataChecksum) throw damaged(file, 'its metadata are damaged');
  const stated = parseJson(bytes);
  const fault = metadataFault(stated, layout);
  if (fault !== undefined) throw damaged(file, `its metadata state ${fault}`);
  return stated as PackedMetadata;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function metadataFault(stated: unknown, { bands }: PackedLayout): string | undefined {
  if (!isRecord(stated)) return 'no JSON object';
  const { geoTransform, crs, ownCrs, geographic, bands: ofBands, tiff } = stated;
  if (!isNumbers(geoTransform) || geoTransform.length !== 6) return 'no geoTransform of six numbers';
  if (!isText(crs) || !isText(ownCrs) || typeof geographic !== 'boolean') return 'no coordinate system';
  if (!Array.isArray(ofBands) || ofBands.length !== bands) return `not ${bands} bands`;
  if (!ofBands.every(isBand)) return 'a band that is none';
  const isTags = tiff === undefined || (isRecord(tiff) && Object.values(tiff).every(isTag));
  return isTags ? undefined : 'tags that are none';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((number) => Number.isFinite(number));
}

function isText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function isBand(band: unknown): boolean {
  if (!isRecord(band)) return false;
  const { nodata, scale, offset, mask } = band;
  return [nodata, scale, offset].every(isText) && [undefined, 'own', 'alpha'].includes(mask as string);
}

function isTag(value: unknown): boolean {
  return typeof value === 'string' || isNumbers(value);
}

/** The bits of a nodata value in a band; undefined if there is none. */
export function nodataBits(given: number | bigint | undefined, sample: NarrowSample): number | undefined {
  const nodata = given === undefined ? undefined : Number(given);
  if (nodata === undefined) return undefined;
  if (sample === 'f32') return new Uint32Array(Float32Array.of(nodata).buffer)[0]!;
  return sample === 'u8' || sample === 'i8' ? nodata & 0xff : sample.endsWith('16') ? nodata & 0xffff : nodata >>> 0;
}
