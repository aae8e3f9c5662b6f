import type { Words } from './samples.ts';

/**
 * A cache of decoded blocks. The caller may need a block again for another window (rectangle of the raster). When the
 * cache is full, the least recently used block is removed first.
 */
export interface KeptBlocks {
  has(block: number): boolean;
  get(block: number, bytes: number, decode: () => Promise<Words>): Promise<Words>;
}

/**
 * Creates an empty cache.
 *
 * @param limit - Maximum bytes of all cached blocks. A larger block is cached alone.
 */
export function keptBlocks(limit: number): KeptBlocks {
  const blocks = new Map<number, { readonly words: Promise<Words>; readonly bytes: number }>();
  let held = 0;
  const drop = (block: number) => {
    held -= blocks.get(block)?.bytes ?? 0;
    blocks.delete(block);
  };
  return {
    has: (block) => blocks.has(block),
    get(block, bytes, decode) {
      const entry = blocks.get(block) ?? { words: decode(), bytes };
      drop(block);
      blocks.set(block, entry);
      held += bytes;
      for (const oldest of blocks.keys()) {
        if (held <= limit || blocks.size === 1) break;
        drop(oldest);
      }
      entry.words.catch(() => {
        if (blocks.get(block) === entry) drop(block);
      });
      return entry.words;
    },
  };
}
