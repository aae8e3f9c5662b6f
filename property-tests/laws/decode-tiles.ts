import fc from 'fast-check';
import { type CellFormat, decodeTiles } from '../../primitives/decode-tiles.ts';
import { assertSameBytes } from './compare.ts';
import { type Law, law } from './law.ts';

/** Tiles of the law: a usual one, one row, narrow ones, and ones that blocks of 32 cells cut in the middle of a row. */
const shapes = fc.constantFrom(
  ...([
    [64, 64],
    [64, 48],
    [128, 16],
    [256, 64],
    [256, 16],
    [32, 1],
    [4, 8],
    [12, 40],
    [64, 16],
    [20, 32],
    [256, 3],
  ] as const),
);
const formats = fc.constantFrom<CellFormat>('u32', 'i32', 'u8', 'u16', 'i8', 'i16');

/** Bytes of the smallest width and of the bits of a difference. Widths above 32 count as 32, bits above 6 as 6. */
const smallest = fc.oneof(
  fc.integer({ min: 0, max: 8 }),
  fc.integer({ min: 0, max: 34 }),
  fc.constantFrom(25, 26, 255),
);
const bits = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 8 }), fc.constant(255));

/** An encoded tile, whose differences and residuals are random. */
export interface RandomTile {
  readonly smallest: number;
  readonly bits: number;
  readonly first: number;
  /** Words between the tile before and this one. */
  readonly gap: number;
  readonly seed: number;
}

export const randomTiles: fc.Arbitrary<RandomTile[]> = fc.array(
  fc.record({
    smallest,
    bits,
    first: fc.oneof(fc.nat(9), fc.integer({ min: 0, max: 2 ** 32 - 1 })),
    gap: fc.nat(3),
    seed: fc.nat(),
  }),
  { maxLength: 3 },
);

/** Words of the widths of a tile, and the widths, by the definition: bit by bit. */
function widthsAt(words: readonly number[], from: number, blocks: number): { size: number; widths: number[] } {
  const byte = (at: number): number => ((words[from + (at >> 2)] ?? 0) >>> (8 * (at & 3))) & 255;
  const [smallest, bits] = [byte(0), Math.min(6, byte(1))];
  const widths = Array.from({ length: blocks }, (_, block) => {
    let width = smallest;
    for (let bit = 0; bit < bits; bit++) {
      const place = 16 + block * bits + bit;
      width += ((byte(place >> 3) >> (place & 7)) & 1) << bit;
    }
    return Math.min(32, width);
  });
  return { size: Math.ceil((2 + Math.ceil((blocks * bits) / 8)) / 4), widths };
}

/** The stored words of tiles, with random bits as differences and residuals, and where they start. */
export function wordsOf(tiles: readonly RandomTile[], cells: number): { words: number[]; start: number[] } {
  const [words, start]: [number[], number[]] = [[], []];
  for (const { smallest, bits, gap, seed } of tiles) {
    let state = seed;
    const random = (): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state ^ (state << 13)) >>> 0;
    };
    for (let k = 0; k < gap; k++) words.push(random());
    start.push(words.length);
    words.push(((random() << 16) | (bits << 8) | smallest) >>> 0);
    for (let more = widthsAt(words, start.at(-1)!, cells / 32).size - 1; more > 0; more--) words.push(random());
    const { widths } = widthsAt(words, start.at(-1)!, cells / 32);
    for (let more = widths.reduce((sum, width) => sum + width, 0); more > 0; more--) words.push(random());
  }
  return { words, start };
}

const ARRAYS = { u32: Uint32Array, i32: Int32Array, u8: Uint8Array, u16: Uint16Array, i8: Int8Array, i16: Int16Array };

/** Decodes by the definition: bit by bit, cell by cell. */
export function decodeByHand(
  words: readonly number[],
  start: readonly number[],
  first: readonly number[],
  columns: number,
  rows: number,
  as: CellFormat,
): Uint32Array | Int32Array {
  const cells = columns * rows;
  const out = new ARRAYS[as](start.length * cells);
  for (const [t, from] of start.entries()) {
    const { size, widths } = widthsAt(words, from, cells / 32);
    let at = from + size;
    if (from > words.length || at + widths.reduce((sum, width) => sum + width, 0) > words.length) continue;
    const tile = new Uint32Array(cells);
    for (let cell = 0; cell < cells; cell++) {
      const width = widths[cell >> 5]!;
      let stored = 0;
      for (let bit = 0; bit < width; bit++) {
        const place = (cell & 31) * width + bit;
        stored += ((words[at + (place >> 5)]! >>> (place & 31)) & 1) * 2 ** bit;
      }
      const residual = (stored >>> 1) ^ -(stored & 1);
      const [column, row] = [cell % columns, Math.floor(cell / columns)];
      const left = column > 0 ? tile[cell - 1]! : 0;
      const above = row > 0 ? tile[cell - columns]! : 0;
      const corner = column > 0 && row > 0 ? tile[cell - columns - 1]! : 0;
      tile[cell] = left + above - corner + residual + (cell === 0 ? first[t]! : 0);
      if (cell % 32 === 31) at += width;
    }
    out.set(tile, t * cells);
  }
  return as === 'u32' || as.startsWith('u') ? Uint32Array.from(out) : Int32Array.from(out);
}

export const decodeTilesLaws: readonly Law[] = [
  law(
    'decodeTiles gives the cells whose residuals are stored, and 0 for tiles that do not end within the words',
    [randomTiles, shapes, formats, fc.nat(40), fc.boolean()],
    async (run, tiles, [columns, rows], as, cut, isCut) => {
      const { words, start } = wordsOf(tiles, columns * rows);
      if (isCut) words.splice(Math.max(0, words.length - cut));
      if (isCut && start.length > 1) start[0] = 0xffffffff;
      const first = tiles.map(({ first }) => first);
      const found = await run((context) => {
        const places = {
          start: context.column(Uint32Array.from(start)),
          first: context.column(Uint32Array.from(first)),
        };
        return decodeTiles(context.column(Uint32Array.from(words)), places, { columns, rows, as });
      });
      assertSameBytes(found, decodeByHand(words, start, first, columns, rows, as), 'cells');
    },
  ),
];
