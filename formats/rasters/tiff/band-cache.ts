import type { Cells } from '../../../algorithms/geometry/raster.ts';
import { requireArguments } from '../../../primitives/checks/arguments.ts';
import { atLeast, optional, someOptions } from '../../../primitives/checks/kinds.ts';
import { cached } from '../../../primitives/host/cache.ts';

/** Cells of a band that were decoded together with those of another band of the same blocks. */
interface Kept {
  readonly cells: Cells;
  /** Resolves to whether the cells are there. */
  readonly isRead: Promise<boolean>;
}

/** A band that a reader has joined with, and its cells by the place that was read. */
interface Member {
  readonly position: number;
  readonly fill: number | bigint;
  readonly kept: Map<string, Kept>;
}

/** Where the cells of a band are copied to. */
export interface BandTarget {
  readonly cells: Cells;
  /** Index of the band among those of a block, and the value of its cells in blocks that were never written. */
  readonly position: number;
  readonly fill: number | bigint;
}

/** A band in a cache. A place is a window with the blocks that are wanted of it. */
export interface CachedBand {
  has(place: string): boolean;
  /** Takes the cells of a place out of the cache. Undefined if they are not there. */
  take(place: string): Promise<Cells | undefined>;
  /**
   * Reads the cells of a place, and those of the other bands for which there is room.
   *
   * @param bytes - Number of bytes of the cells of one band, for which `make` makes an array.
   */
  share(
    place: string,
    bytes: number,
    make: () => Cells,
    read: (others: readonly BandTarget[]) => Promise<void>,
  ): Promise<void>;
  /** Frees what is kept of the band, for which nothing is kept from now on. */
  leave(): void;
}

/** Cells that readers of several bands of a file share; see {@link createBandCache}. */
export class BandCache {
  readonly #keepBytes: number;
  readonly #members = new Map<string, Map<number, Member>>();
  #bytes = 0;

  /** @internal */
  constructor(keepBytes: number) {
    this.#keepBytes = keepBytes;
  }

  /** Bytes of the cells that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds a band.
   *
   * @param blocks - A text that bands share if they lie in the same blocks and are decoded in the same way.
   * @internal
   */
  join(blocks: string, position: number, fill: number | bigint): CachedBand {
    const members = cached(this.#members, blocks, () => new Map<number, Member>());
    const own = cached(members, position, () => ({ position, fill, kept: new Map() }));
    return {
      has: (place) => own.kept.has(place),
      take: async (place) => {
        const found = own.kept.get(place);
        if (found === undefined) return undefined;
        this.#drop(own, place, found);
        return (await found.isRead) ? found.cells : undefined;
      },
      share: async (place, bytes, make, read) => {
        const others: BandTarget[] = [];
        let settle!: (isRead: boolean) => void;
        const isRead = new Promise<boolean>((resolve) => {
          settle = resolve;
        });
        for (const member of members.values()) {
          if (member === own || member.kept.has(place)) continue;
          if (this.#bytes + bytes > this.#keepBytes) break;
          const cells = make();
          this.#bytes += bytes;
          member.kept.set(place, { cells, isRead });
          others.push({ cells, position: member.position, fill: member.fill });
        }
        try {
          await read(others);
          settle(true);
        } catch (error) {
          settle(false);
          for (const member of members.values()) {
            const kept = member.kept.get(place);
            if (kept?.isRead === isRead) this.#drop(member, place, kept);
          }
          throw error;
        }
      },
      leave: () => {
        if (members.get(position) === own) members.delete(position);
        for (const [place, kept] of own.kept) this.#drop(own, place, kept);
      },
    };
  }

  #drop({ kept }: Member, place: string, { cells }: Kept): void {
    if (kept.delete(place)) this.#bytes -= cells.byteLength;
  }
}

const ARGUMENTS = { options: someOptions<BandCacheOptions>({ keepBytes: optional(atLeast(0)) }) };

/** Options of {@link createBandCache}. */
export interface BandCacheOptions {
  /** Maximum bytes of the cells that are kept. Default 256 MiB. */
  readonly keepBytes?: number | undefined;
}

/**
 * Creates a cache for bands that are read one after the other. Give it as `bandCache` to {@link openGeoTiff} for each band,
 * and open all bands before the first one is read. Where the bands are interleaved in compressed blocks, a block is
 * then read and decoded once: the cells of the other bands in the same window are kept until they are read, too. They
 * are the same bytes as without.
 *
 * Windows for which there is no room are decoded anew for each band. A window must be asked for again in the same way:
 * by `read` or `readBlocks`, and with the same blocks wanted. Cells of a band are freed when they are read, and when the
 * band is closed after something of it was read.
 *
 * @example
 * const bandCache = createBandCache({ keepBytes: 2 ** 24 });
 * const raster = await openGeoTiff('examples/ndvi.tif', { bandCache });
 * await raster.close();
 * bandCache.bytes; // 0
 */
export function createBandCache(options: BandCacheOptions = {}): BandCache {
  requireArguments('createBandCache', { options }, ARGUMENTS);
  return new BandCache(options.keepBytes ?? 2 ** 28);
}
