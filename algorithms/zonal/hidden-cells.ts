import { For, Let, Var } from '../../primitives/functors/control.ts';
import { array, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { popcount } from '../../primitives/functors/standard/bits.ts';
import { type Column, type Context, map, scatterReduce, sequence } from '../../primitives/index.ts';
import { storeResults } from '../../primitives/rows/row-results.ts';
import type { BlockBits } from '../geometry/raster.ts';
import type { Slots } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { forTile, splitIndex } from './tile-pairs.ts';
import type { WindowPlan } from './window-plan.ts';

/**
 * Bits of the cells of a window that the raster's mask hides, by tiles of the window.
 *
 * @param mask - One byte per cell, in rows as wide as the window; 0 hides the cell.
 */
export function hiddenBits(plan: WindowPlan, mask: Uint8Array): BlockBits {
  const { columns } = plan.window;
  return tileBits(plan, (row, column) => {
    const from = row * columns + column;
    const cells = Math.min(32, columns - column);
    let word = 0;
    for (let bit = 0; bit < cells; bit++) if (mask[from + bit] === 0) word |= 1 << bit;
    return word;
  });
}

/** Gathers bits by tiles of a window. `wordAt` gives those of 32 cells, the lowest bit for the first. */
export function tileBits(
  { window, tile, tileColumns, tileRows }: WindowPlan,
  wordAt: (row: number, column: number) => number,
): BlockBits {
  const pitch = tile / 32;
  const size = tile * pitch;
  const bits = new Uint32Array((1 + tileColumns * tileRows) * size);
  const starts = new Uint32Array(tileColumns * tileRows);
  let end = size;
  for (let row = 0; row < window.rows; row++) {
    const first = Math.floor(row / tile) * tileColumns;
    for (let column = 0; column < window.columns; column += 32) {
      const word = wordAt(row, column);
      if (word === 0) continue;
      const at = first + Math.floor(column / tile);
      if (starts[at] === 0) {
        starts[at] = end;
        end += size;
      }
      bits[starts[at]! + (row % tile) * pitch + (column % tile) / 32] = word;
    }
  }
  return { bits: bits.subarray(0, end), starts, pitch };
}

/** Pairs of a zone and a tile, by the first word of the tile's bits in the bitmaps, and in the bits that hide cells. */
const PAIR = { word: u32, pitch: u32, start: u32 };
const BITS = { masks: array(u32), hidden: array(u32), hiddenPitch: uniform(u32) };

const countHidden = forTile((tile) =>
  fn('countHidden', { ...PAIR, ...BITS }, u32, ({ word, pitch, start, masks, hidden, hiddenPitch }) => {
    const count = Var(u32(0));
    For(0, tile, (row) => {
      const line = Let(word.add(row.mul(pitch)));
      const hiddenLine = Let(start.add(row.mul(hiddenPitch)));
      For(0, tile / 32, (step) => {
        count.set(count.add(popcount(masks.at(line.add(step)).and(hidden.at(hiddenLine.add(step))))));
      });
    });
    return count;
  }),
);

const ownWord = fn('ownWord', { word: u32 }, u32, ({ word }) => word);

const remainingWord = forTile((tile) =>
  fn(
    'remainingWord',
    { index: u32, pairWord: array(u32), pairPitch: array(u32), pairStart: array(u32), ...BITS },
    { word: u32, bits: u32 },
    ({ index, pairWord, pairPitch, pairStart, masks, hidden, hiddenPitch }) => {
      const { pair, row, step } = splitIndex(index, tile);
      const word = pairWord
        .at(pair)
        .add(row.mul(pairPitch.at(pair)))
        .add(step);
      const lacking = hidden.at(pairStart.at(pair).add(row.mul(hiddenPitch)).add(step));
      return { word, bits: masks.at(word).and(lacking.not()) };
    },
  ),
);

/**
 * Removes cells from the zones of a window, and counts them for each zone. Tiles in which no cell is to be hidden cost
 * nothing.
 *
 * - Work O(words of the bitmaps of tiles with hidden cells). Exact.
 *
 * @param hidden - Bits of the cells, by tiles of the window.
 */
export function hideCells(context: Context, coverage: Coverage, hidden: BlockBits): Coverage {
  const { plan } = coverage;
  const pairs = pairsWith(coverage.pairs, hidden.starts);
  const remaining = context.scope(() => {
    const hiddenCounts = context.column(new Uint32Array(plan.zones.length));
    if (pairs.zone.length === 0) return { hiddenCounts };
    const masks = coverage.isKept ? context.materialize(map(ownWord, { word: coverage.masks })) : coverage.masks;
    const { tile } = plan;
    const bits = { masks, hidden: context.column(hidden.bits), hiddenPitch: hidden.pitch };
    const [word, pitch, start] = [pairs.word, pairs.pitch, pairs.start].map((field) => context.column(field)) as [
      Column<'u32'>,
      Column<'u32'>,
      Column<'u32'>,
    ];
    const found = map(countHidden(tile), { word, pitch, start, ...bits });
    scatterReduce(found, context.column(pairs.zone), 'add', hiddenCounts);
    const words = map(remainingWord(tile), {
      index: sequence(pairs.zone.length * tile * (tile / 32)),
      ...{ pairWord: word, pairPitch: pitch, pairStart: start },
      ...bits,
    });
    // Stored first, because a device may not read and write the bitmaps in one launch.
    const rest = context.materialize(words);
    storeResults(
      'hideCells',
      {
        context,
        length: rest.word.length,
        row: (index, loader) => loader.load([rest.bits, rest.word], index),
      },
      ['u32', 'u32'],
      [{ to: masks, value: 0, index: 1 }],
    );
    return { masks, isKept: false, hiddenCounts };
  });
  return { ...coverage, ...remaining };
}

type HidingPairs = Record<'zone' | 'word' | 'pitch' | 'start', Uint32Array>;

/** The pairs whose tile has bits that are set, with the first word of these bits. */
function pairsWith({ zone, tile, word, pitch }: Coverage['pairs'], starts: Uint32Array): HidingPairs {
  let count = 0;
  for (let at = 0; at < tile.length; at++) if (starts[tile[at]!] !== 0) count++;
  const column = (): Uint32Array => new Uint32Array(count);
  const pairs: HidingPairs = { zone: column(), word: column(), pitch: column(), start: column() };
  for (let at = 0, to = 0; to < count; at++) {
    const start = starts[tile[at]!]!;
    if (start === 0) continue;
    pairs.zone[to] = zone[at]!;
    pairs.word[to] = word[at]!;
    pairs.pitch[to] = pitch[at]!;
    pairs.start[to++] = start;
  }
  return pairs;
}

/** Adds the number of cells that the raster's mask hides to the count of cells without data, for each zone. */
export function addHidden({ plan, hiddenCounts }: Coverage, slots: Slots, counts: Column<'u32'>): void {
  if (hiddenCounts === undefined) return;
  scatterReduce(hiddenCounts, sequence(plan.zones.length, slots.nodata, slots.count), 'add', counts);
}
