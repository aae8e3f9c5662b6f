import type { NarrowSample } from '../../../algorithms/geometry/raster.ts';
import { valueOfOrderedWord } from '../../../algorithms/zonal/ordered-words.ts';
import { CODEC, MASK, MASK_OVER_CELLS, type TileEntries } from './directory.ts';
import { type PackedLayout, tileGrid } from './layout.ts';
import type { BandMetadata, PackedMetadata } from './metadata.ts';
import type { PackedFile } from './reader.ts';

/** Facts about a packed raster, which its header, metadata and directory state. */
export interface PackedFacts {
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
  readonly sample: NarrowSample;
  readonly tile: { readonly columns: number; readonly rows: number };
  readonly geoTransform: readonly number[];
  readonly crs: string | null;
  readonly bands: readonly BandFacts[];
  /** Bits of the file for each cell of all bands. */
  readonly bitsPerCell: number;
}

/** Facts about a band. */
export interface BandFacts extends BandMetadata {
  /** Smallest and largest stored value of the cells with data; null if there is none. */
  readonly minimum: number | null;
  readonly maximum: number | null;
  /** Number of tiles by the way in which their cells are stored, and of those in which all or some cells have no data. */
  readonly tiles: Readonly<Record<keyof typeof CODEC | 'empty' | 'masked', number>>;
}

/** Reads the directory and describes a packed raster. */
export async function describePacked(file: PackedFile): Promise<PackedFacts> {
  const { source, layout, metadata } = file;
  const bands: BandFacts[] = [];
  for (const [at, band] of metadata.bands.entries()) bands.push(bandFacts(layout, band, await file.entries(at + 1)));
  const cells = layout.width * layout.height * layout.bands;
  return {
    bytes: source.size,
    ...{ width: layout.width, height: layout.height, sample: layout.sample },
    tile: { columns: layout.tileColumns, rows: layout.tileRows },
    ...{ geoTransform: metadata.geoTransform, crs: crsOf(metadata) },
    ...{ bands, bitsPerCell: (8 * source.size) / cells },
  };
}

function crsOf({ crs, ownCrs }: PackedMetadata): string | null {
  return crs ?? ownCrs ?? null;
}

function bandFacts(layout: PackedLayout, band: BandMetadata, entries: TileEntries): BandFacts {
  const tiles = { constant: 0, raw: 0, residuals: 0, bqTree: 0, empty: 0, masked: 0 };
  const names = Object.entries(CODEC) as [keyof typeof CODEC, number][];
  let [low, high] = [0xffffffff, -1];
  const { across, down } = tileGrid(layout);
  for (let tile = 0; tile < across * down; tile++) {
    const name = names.find(([, codec]) => codec === entries.codec[tile])?.[0];
    if (name !== undefined) tiles[name]++;
    const mask = entries.mask[tile]! & ~MASK_OVER_CELLS;
    if (mask !== MASK.all) tiles[mask === MASK.none ? 'empty' : 'masked']++;
    if (mask === MASK.none) continue;
    low = Math.min(low, entries.minimum[tile]!);
    high = Math.max(high, entries.maximum[tile]!);
  }
  const value = (word: number) => (high < 0 ? null : valueOfOrderedWord(layout.sample, word));
  return { ...band, minimum: value(low), maximum: value(high), tiles };
}
