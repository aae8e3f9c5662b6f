import { openFileBytes } from '../bytes/file-bytes.ts';
import { openBytes } from '../bytes/open-bytes.ts';
import { checkBand } from './packed/check.ts';
import { describePacked, type PackedFacts } from './packed/describe.ts';
import { tileGrid } from './packed/layout.ts';
import { openPackedFile } from './packed/reader.ts';

/** Describes a packed raster, by its path or its address. With `onTiles`, decodes and checks all tiles, and reports how many. */
export async function describeFile(
  path: string,
  signal?: AbortSignal,
  onTiles?: (done: number, total: number) => void,
): Promise<PackedFacts> {
  const source = await openBytes(path, openFileBytes, { signal });
  try {
    const file = await openPackedFile(source);
    const facts = await describePacked(file);
    let done = 0;
    for (let band = 1; band <= file.layout.bands && onTiles !== undefined; band++) {
      await checkBand(file, band, signal, (tiles) => {
        done += tiles;
        onTiles(done, tileGrid(file.layout).tiles);
      });
    }
    return facts;
  } finally {
    await source.close();
  }
}
