import { basename } from 'node:path';
import type { RasterGrid } from '../../algorithms/geometry/raster.ts';
import { openGeoTiff } from '../../formats/rasters/geotiff.ts';
import { mulberry32 } from '../shared/random.ts';

/** Relief in memory that threads share. Cells without data are {@link NODATA}. */
export interface Relief {
  readonly file: string;
  readonly width: number;
  readonly height: number;
  readonly cells: Int16Array;
}

/** The stored value of cells without data. */
export const NODATA = -32768;

/**
 * Side in cells of a patch, which shows one relief in one position. A multiple of the sides of tiles, so that no tile has
 * the edge between two reliefs, as real relief has none.
 */
const PATCH = 2048;

/** Reads the first bands of GeoTIFFs of i16. */
export async function readReliefs(paths: readonly string[]): Promise<Relief[]> {
  const reliefs: Relief[] = [];
  for (const path of paths) {
    const raster = await openGeoTiff(path, { threads: 0 });
    try {
      const { width, height, nodata, sample } = raster;
      if (sample !== 'i16') throw new Error(`${path} has cells of ${sample}, not i16.`);
      const read = (await raster.read({ column: 0, row: 0, columns: width, rows: height })) as Int16Array;
      const cells = new Int16Array(new SharedArrayBuffer(2 * width * height));
      for (const [at, cell] of read.entries()) cells[at] = cell === nodata ? NODATA : cell;
      reliefs.push({ file: basename(path), width, height, cells });
    } finally {
      await raster.close();
    }
  }
  return reliefs;
}

/**
 * Returns a function that copies relief into a span of a raster's row. Each patch shows one of the reliefs at its native
 * sampling: turned by a multiple of 90°, moved, and continued beyond its edges by its mirror image.
 */
export function reliefCopier(
  reliefs: readonly Relief[],
  { width }: RasterGrid,
  seed: number,
): (row: number, from: number, end: number, to: Int16Array, at: number) => void {
  const across = Math.ceil(width / PATCH);
  const patches = new Map<number, Patch>();
  const patchAt = (number: number): Patch => {
    const patch = patches.get(number) ?? choosePatch(reliefs, seed, number);
    patches.set(number, patch);
    return patch;
  };
  return (row, from, end, to, at) => {
    const down = Math.floor(row / PATCH);
    for (let column = from; column < end; ) {
      const right = Math.floor(column / PATCH);
      const stop = Math.min(end, (right + 1) * PATCH);
      copyRow(patchAt(down * across + right), row - down * PATCH, column - right * PATCH, stop - column, to, at);
      at += stop - column;
      column = stop;
    }
  };
}

interface Patch {
  readonly relief: Relief;
  readonly isTurned: boolean;
  /** Where the patch begins in the relief and its mirror images. */
  readonly column: number;
  readonly row: number;
}

function choosePatch(reliefs: readonly Relief[], seed: number, number: number): Patch {
  const random = randomFrom(seed, number);
  const relief = reliefs[random() % reliefs.length]!;
  // Beginning anywhere in the relief or its mirror image makes every flip as likely.
  return {
    relief,
    isTurned: random() % 2 === 1,
    column: random() % (2 * relief.width),
    row: random() % (2 * relief.height),
  };
}

function copyRow(
  { relief, isTurned, column, row }: Patch,
  y: number,
  x: number,
  count: number,
  to: Int16Array,
  at: number,
): void {
  const { width, height, cells } = relief;
  // Along the row of the patch, cells follow each other in a row of the relief, or in a column if it is turned.
  const [length, pitch, line] = isTurned
    ? [height, width, mirrored(column + y, width)]
    : [width, 1, mirrored(row + y, height) * width];
  let place = ((isTurned ? row : column) + x) % (2 * length);
  for (let done = 0; done < count; ) {
    const isForward = place < length;
    const run = Math.min(count - done, (isForward ? length : 2 * length) - place);
    const step = isForward ? pitch : -pitch;
    let from = line + mirrored(place, length) * pitch;
    for (const end = done + run; done < end; done++, from += step) to[at + done] = cells[from]!;
    place = (place + run) % (2 * length);
  }
}

/** The index in a line of cells that is continued by its mirror image. */
function mirrored(index: number, length: number): number {
  const place = index % (2 * length);
  return place < length ? place : 2 * length - 1 - place;
}

/** Random numbers of 32 bits, the same for the same seed and number. */
function randomFrom(seed: number, number: number): () => number {
  const next = mulberry32(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b));
  return () => next() * 2 ** 32;
}
