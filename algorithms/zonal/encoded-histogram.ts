import { fn, u32 } from '../../primitives/functors/functor.ts';
import { type Column, type Context, tileHistograms } from '../../primitives/index.ts';
import { memoized } from '../../primitives/ir/memo.ts';
import type { EncodedCells, RasterSource } from '../geometry/raster.ts';
import type { Captured, Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { cellFormat, type EncodedColumns } from './device-cells.ts';
import type { PairList } from './tile-pairs.ts';
import { ABSENT } from './window-plan.ts';

/**
 * Computes the histograms of the zones in a window, concatenated, from cells whose tiles are those of the window. Decodes
 * and counts tile by tile, and stores no cells. Cells without data are counted where they are hidden.
 */
export function encodedHistogram(
  context: Context,
  coverage: Coverage,
  { sample, blockColumns, blockRows }: RasterSource,
  cells: EncodedCells,
  { words, start, first }: Omit<EncodedColumns, 'damage'>,
  classifier: Classifier,
): Column<'u32'> {
  return context.scope(() => {
    const { plan, masks } = coverage;
    const { places, hidden } = cells;
    const parts = partsOfTiles(coverage.pairs, places, cells.start.length);
    const [histogram, word, pitch] = [parts.zone, parts.word, parts.pitch].map((field) => context.column(field)) as [
      Column<'u32'>,
      Column<'u32'>,
      Column<'u32'>,
    ];
    const { slots } = classifier;
    return tileHistograms(
      words,
      { start, first },
      { offsets: context.column(parts.offsets), histogram, word, pitch, masks },
      slotOfCell(classifier),
      {
        ...{ columns: blockColumns, rows: blockRows, as: cellFormat(sample) },
        ...{ bins: slots.count, histograms: plan.zones.length },
        captures: classifier.captures,
        hidden: hidden && {
          bits: context.column(hidden.bits),
          word: context.column(byPlace(hidden.starts, places, cells.start.length)),
          pitch: hidden.pitch,
          bin: slots.nodata,
        },
      },
    );
  });
}

const slotOfCell = memoized(defineSlotOfCell);

function defineSlotOfCell(classifier: Classifier) {
  const parameters = { cell: u32 };
  return fn(
    'slotOfCell',
    { ...parameters, ...classifier.parameters } as typeof parameters,
    u32,
    ({ cell, ...captured }) => classifier.slotOf([cell], captured as Captured),
  );
}

/** The pairs of a window by the places of their tiles. Those of place p are `offsets[p]` to `offsets[p + 1] − 1`. */
function partsOfTiles(
  { zone, tile, word, pitch }: PairList,
  places: Uint32Array,
  count: number,
): Record<'offsets' | 'zone' | 'word' | 'pitch', Uint32Array> {
  const offsets = new Uint32Array(count + 1);
  for (let at = 0; at < tile.length; at++) {
    const place = places[tile[at]!]!;
    if (place !== ABSENT) offsets[place + 1]!++;
  }
  for (let place = 0; place < count; place++) offsets[place + 1]! += offsets[place]!;
  const next = offsets.slice(0, count);
  const column = (): Uint32Array => new Uint32Array(offsets[count]!);
  const parts = { offsets, zone: column(), word: column(), pitch: column() };
  for (let at = 0; at < tile.length; at++) {
    const place = places[tile[at]!]!;
    if (place === ABSENT) continue;
    const to = next[place]!++;
    parts.zone[to] = zone[at]!;
    parts.word[to] = word[at]!;
    parts.pitch[to] = pitch[at]!;
  }
  return parts;
}

/** Orders what is given for the tiles of a window by their places. */
function byPlace(given: Uint32Array, places: Uint32Array, count: number): Uint32Array {
  const ordered = new Uint32Array(count);
  for (let tile = 0; tile < places.length; tile++) {
    const place = places[tile]!;
    if (place !== ABSENT) ordered[place] = given[tile]!;
  }
  return ordered;
}
