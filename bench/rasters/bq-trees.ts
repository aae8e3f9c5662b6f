import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type BqTreeOptions, type CellFormat, decodeBqTrees, encodeBqTrees } from '../../algorithms/bq-tree/index.ts';
import { openGeoTiff } from '../../formats/index.ts';
import type { Context } from '../../primitives/context/context.ts';
import { tableLines } from '../shared/markdown-table.ts';
import { machine, median, timed } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { residualWords } from './residual-words.ts';
import { landCover, mask, speckledLandCover } from './synthetic-classes.ts';

/**
 * Sizes of rasters as BQ-trees and as residuals of the plane predictor, and rates of encoding and decoding BQ-trees, by
 * side of the tiles. Every decoded cell is compared. The rasters are all GeoTIFF files of integers in a folder, land
 * cover and a mask. Cells without data are filled, for residuals by the predictor and for BQ-trees by the cell before;
 * the mask of such cells, which takes the same with both, is left out. Constant tiles take nothing with both. Tiles at
 * the right and lower edges are whole, so large tiles of small rasters take more.
 *
 * node --import tsx bench/rasters/bq-trees.ts --data FOLDER [--sides 16,32,64,128,256] [--cells 8000000] [--rounds 5]
 *   [--backend workers] [--workers 2] [--adapter hardware]
 */
const options = programOptions({
  ...{ data: undefined, sides: [16, 32, 64, 128, 256], cells: 8000000, rounds: 5 },
  ...BACKEND_OPTIONS,
});

interface Raster {
  readonly name: string;
  readonly as: CellFormat;
  readonly width: number;
  readonly height: number;
  readonly cells: ArrayLike<number>;
  readonly hasData: (cell: number) => boolean;
}

const { sides } = options;
const context = await openNamed(options);
console.log(`${machine()}, ${options.backend}\n`);
const rasters = [
  ...(await reliefs()),
  land('land cover', landCover),
  land('land cover, speckled', speckledLandCover),
  land('mask', mask),
];
const sizes = [['raster', 'stored as', ...sides.map((side) => `${side}²`)]];
const rates = [['raster', 'side', 'encode, M cells/s', 'ns/cell', 'decode, M cells/s', 'ns/cell']];
for (const raster of rasters) {
  const row = [raster.name, raster.as];
  for (const side of sides) {
    const tiles = tilesOf(raster, side, 'before');
    const { words, ...measured } = await measure(context, tiles, { side, as: raster.as });
    const bits = (words: number) => ((32 * words) / (raster.width * raster.height)).toFixed(2);
    row.push(`${bits(words)} / ${bits(residualWords(tilesOf(raster, side, 'plane'), side, raster.as))}`);
    rates.push([raster.name, String(side), ...measured.rates]);
  }
  sizes.push(row);
}
await context.close();
console.log(
  `Bits a cell as BQ-trees / as residuals\n\n${tableLines(sizes).join('\n')}\n\nRates\n\n${tableLines(rates).join('\n')}`,
);

/** The GeoTIFF files of integers of up to 16 bits, as unsigned numbers in the same order. */
async function reliefs(): Promise<Raster[]> {
  const folder = options.data;
  if (folder === undefined) throw new Error('Name a folder of rasters with --data.');
  const all: Raster[] = [];
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.tif'))) {
    const raster = await openGeoTiff(join(folder, file)).catch(() => undefined);
    if (raster === undefined) continue;
    const { width, height, nodata, sample } = raster;
    if (sample === 'i16' || sample === 'u16') {
      const read = (await raster.read({ column: 0, row: 0, columns: width, rows: height })) as Int16Array | Uint16Array;
      const stored = Uint16Array.from(read, (value) => (sample === 'i16' ? value ^ 0x8000 : value));
      const hasData = (cell: number) => read[cell] !== nodata;
      all.push({ name: file.replace('.tif', ''), as: 'u16', width, height, cells: stored, hasData });
    }
    await raster.close();
  }
  return all;
}

function land(name: string, make: (width: number, height: number) => Uint8Array): Raster {
  const [width, height] = [1201, 1201];
  return { name, as: 'u8', width, height, cells: make(width, height), hasData: () => true };
}

/**
 * The cells of a raster tile by tile. A cell without data, or beyond the raster, takes the value of the cell before it
 * in its row or above it, or that of the plane through its neighbours.
 */
function tilesOf(raster: Raster, side: number, filling: 'before' | 'plane'): Uint16Array {
  const [across, down] = [Math.ceil(raster.width / side), Math.ceil(raster.height / side)];
  const tiles = new Uint16Array(across * down * side ** 2);
  const max = raster.as === 'u8' ? 0xff : 0xffff;
  for (let at = 0; at < tiles.length; at++) {
    const [tile, place] = [Math.floor(at / side ** 2), at % side ** 2];
    const [r, c] = [Math.floor(place / side), place % side];
    const row = Math.floor(tile / across) * side + r;
    const column = (tile % across) * side + c;
    const cell = row * raster.width + column;
    if (row < raster.height && column < raster.width && raster.hasData(cell)) {
      tiles[at] = raster.cells[cell]!;
      continue;
    }
    const left = c > 0 ? tiles[at - 1]! : 0;
    const above = r > 0 ? tiles[at - side]! : 0;
    const plane = left + above - (c > 0 && r > 0 ? tiles[at - side - 1]! : 0);
    tiles[at] = filling === 'plane' ? plane & max : c > 0 ? left : above;
  }
  return tiles;
}

/** Encodes and decodes as many copies of the tiles as give enough cells to time. */
async function measure(
  context: Context,
  tiles: Uint16Array,
  format: BqTreeOptions,
): Promise<{ readonly words: number; readonly rates: readonly string[] }> {
  const { cells, rounds } = options;
  const copies = Math.max(1, Math.round(cells / tiles.length));
  const all = format.as === 'u8' ? new Uint8Array(tiles.length * copies) : new Uint16Array(tiles.length * copies);
  for (let copy = 0; copy < copies; copy++) all.set(tiles, copy * tiles.length);
  const column = context.column(all);
  const [encoding, decoding] = [[] as number[][], [] as number[][]];
  let words = 0;
  for (let round = 0; round <= rounds; round++) {
    const encoded = await timed(async () => {
      const trees = encodeBqTrees(context, column, format);
      await context.sync();
      return trees;
    });
    const decoded = await timed(async () => {
      const back = decodeBqTrees(context, encoded.result, format);
      await context.sync();
      return back;
    });
    if (round === 0) {
      const back = await context.read(decoded.result.cells);
      if (!all.every((value, i) => back[i] === value)) throw new Error('Decoding gave other cells.');
      const lengths = await context.read(encoded.result.lengths);
      words = lengths.reduce((sum, length) => sum + (length > 1 ? length : 0), 0) / copies;
    } else {
      encoding.push([encoded.wall, encoded.processor]);
      decoding.push([decoded.wall, decoded.processor]);
    }
    context.dispose({ ...encoded.result, ...decoded.result });
  }
  context.dispose(column);
  const rates = [encoding, decoding].flatMap((times) => [
    (all.length / median(times.map(([wall]) => wall!)) / 1e6).toFixed(0),
    ((median(times.map(([, processor]) => processor!)) * 1e9) / all.length).toFixed(1),
  ]);
  return { words, rates };
}
