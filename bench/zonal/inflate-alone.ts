import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { openFileBytes } from '../../formats/bytes/file-bytes.ts';
import { readDirectory } from '../../formats/rasters/tiff/directory.ts';
import { readLayout, rowBytes } from '../../formats/rasters/tiff/layout.ts';

const inflateBytes = promisify<Uint8Array, { chunkSize: number }, Buffer>(inflate);

/** Number of blocks that are processed at the same time; zlib itself uses four threads. */
const LANES = 6;

/**
 * Reads and inflates all blocks of a deflated GeoTIFF, on all cores and without other work. Returns the seconds of each
 * round.
 */
export async function inflateAlone(file: string, rounds: number): Promise<number[]> {
  const source = await openFileBytes(file);
  const layout = await readLayout(source, await readDirectory(source), 1);
  const chunkSize = layout.blockRows * rowBytes(layout) + 64;
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < layout.blocks) {
        const block = next++;
        await inflateBytes(await source.read(layout.offsets[block]!, layout.byteCounts[block]!), { chunkSize });
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    seconds.push((performance.now() - start) / 1000);
  }
  await source.close();
  return seconds;
}
