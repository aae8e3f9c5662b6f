import { array, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { popcount } from '../../primitives/functors/standard/bits.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import {
  bitXor,
  type Column,
  type Context,
  constant,
  expand,
  map,
  scatterReduce,
  sequence,
} from '../../primitives/index.ts';
import { scanResults } from '../../primitives/rows/row-results.ts';
import type { PlacedCells } from './cell-places.ts';
import { type EdgeTable, flipCrossings } from './edge-table.ts';
import { type Outlines, touchCells } from './fractions/window-fractions.ts';
import { listPairs, type PairList, wordsOfZone } from './tile-pairs.ts';
import { type WindowPlan, ZONE_FIELDS, ZONE_STRIDE } from './window-plan.ts';

/**
 * Rows of 32 cells in tiles of zones, ordered by zone. Each has at least one cell in its zone. Wherever a raster stores its
 * cells, `tileCell` is the number of the first among those of all tiles of the window, tile by tile and then row by row.
 * `mask` has the bits of the cells in the zone.
 */
export type PlacedRows = {
  readonly zone: Column<'u32'>;
  readonly tileCell: Column<'u32'>;
  readonly mask: Column<'u32'>;
};

/**
 * Bitmaps of the zones in a window. There is one bit for each cell of a zone's tiles, which is set if the cell's centre
 * is in the zone.
 */
export interface Coverage {
  readonly plan: WindowPlan;
  readonly masks: Column<'u32'>;
  /** Whether other windows need the bitmaps too, so that nothing may change them. */
  readonly isKept: boolean;
  /**
   * For each tile, the index of its first cell in the stored cells. `pitch` is the distance in cells from one row of a
   * tile to the next.
   */
  readonly tileStarts: Uint32Array;
  readonly pitch: number;
  readonly pairs: PairList;
  /** The rows of 32 cells of zones, if these are kept. */
  readonly rows?: PlacedRows | undefined;
  /** For each zone of the window, the number of its cells that the raster's mask hides. Undefined without a mask. */
  readonly hiddenCounts?: Column<'u32'> | undefined;
  /** The cells that outlines enter, with their shares. Undefined unless cells count by fractions. */
  readonly outlines?: Outlines | undefined;
}

/**
 * Finds the cells whose centres are in each zone; with outlines, also those that an outline enters. Every crossing of an
 * edge with a row flips one bit. A cell is inside if the number of flips up to the cell is odd. Each row has an even number of crossings, so a single XOR scan covers
 * all rows of all zones. A zone whose parts overlap has one bitmap per sheet (group of parts that do not overlap). The
 * zone is the union of these bitmaps.
 *
 * - Work O(crossings + words of the bitmaps), span O(log words). No cell is tested against an edge. Exact.
 *
 * Source: the even-odd rule by scan conversion, which replaces step 4 (testing every cell against every edge) of Zhang
 * and Wang, High-Performance Zonal Histogramming on Large-Scale Geospatial Rasters, 2014.
 */
export function coverZones(
  context: Context,
  table: EdgeTable,
  plan: WindowPlan,
  placed: Pick<PlacedCells, 'tileStarts' | 'pitch'>,
  outlines?: Outlines,
): Coverage {
  const bitmaps = context.scope(() => {
    const zones = context.column(plan.table);
    const toggles = context.materialize(constant(u32, 0, plan.words + plan.furtherWords));
    flipCrossings(context, table, plan, zones, toggles);
    const masks = fillBits(context, toggles);
    if (plan.furtherWords > 0) uniteSheets(context, plan, zones, masks);
    if (outlines) scatterReduce(outlines.bits, outlines.word, 'or', masks);
    else if (table.lines) touchCells(context, table.lines, plan, masks);
    return masks;
  });
  return { ...coverageOf(plan, bitmaps, placed), outlines };
}

/** The coverage of a window by its bitmaps. `isKept` says that others need the bitmaps too. */
export function coverageOf(
  plan: WindowPlan,
  masks: Column<'u32'>,
  { tileStarts, pitch }: Pick<PlacedCells, 'tileStarts' | 'pitch'>,
  isKept = false,
): Coverage {
  return { plan, masks, isKept, tileStarts, pitch, pairs: listPairs(plan) };
}

/** The coverage of a window by rows that are kept. Bitmaps are made only if somebody asks for them. */
export function coverageByRows(
  plan: WindowPlan,
  rows: PlacedRows,
  { tileStarts, pitch }: Pick<PlacedCells, 'tileStarts' | 'pitch'>,
  cover: () => Column<'u32'>,
  outlines?: Outlines,
): Coverage {
  return {
    ...{ plan, rows, tileStarts, pitch, isKept: true, pairs: listPairs(plan), outlines },
    get masks() {
      return cover();
    },
  };
}

const wordOfSheet = fn(
  'wordOfSheet',
  { row: u32, zone: u32, rank: u32, zones: array(u32), masks: array(u32), tile: uniform(u32) },
  { word: u32, bits: u32 },
  ({ row, zone, rank, zones, masks, tile }) => {
    const field = (of: U32, offset: number): U32 => zones.at(of.mul(ZONE_STRIDE).add(offset));
    const perTile = tile.shr(5);
    const pitch = field(row, ZONE_FIELDS.tileColumns).mul(perTile);
    const line = rank.div(pitch);
    const down = field(row, ZONE_FIELDS.firstTileRow).sub(field(zone, ZONE_FIELDS.firstTileRow)).mul(tile).add(line);
    const right = field(row, ZONE_FIELDS.firstTileColumn)
      .sub(field(zone, ZONE_FIELDS.firstTileColumn))
      .mul(perTile)
      .add(rank.sub(line.mul(pitch)));
    const zonePitch = field(zone, ZONE_FIELDS.tileColumns).mul(perTile);
    return {
      word: field(zone, ZONE_FIELDS.word).add(down.mul(zonePitch)).add(right),
      bits: masks.at(field(row, ZONE_FIELDS.word).add(rank)),
    };
  },
);

/**
 * Combines the bitmaps of the further sheets of a zone into the bitmap of its first sheet, by OR. A sheet is a group of
 * parts of a zone that do not overlap.
 */
function uniteSheets(context: Context, plan: WindowPlan, zones: Column<'u32'>, masks: Column<'u32'>): void {
  const row = sequence(plan.furtherOf.length, plan.zones.length);
  const zone = context.column(plan.furtherOf);
  const wordsOf = map(wordsOfZone, { zone: row, zones, tile: plan.tile });
  const { word, bits } = expand({ row, zone }, wordsOf, wordOfSheet, {
    capacity: plan.furtherWords,
    captures: { zones, masks, tile: plan.tile },
  });
  scatterReduce(bits, word, 'or', masks);
}

/**
 * Turns the flips of crossings into coverage, one bit per cell: bit i of the result is the XOR of bits 0 to i of the
 * input. The bit is 1 if the cell is inside the zone.
 */
function fillBits(context: Context, toggles: Column<'u32'>): Column<'u32'> {
  const masks = context.stored('u32', toggles.length);
  scanResults('fillBits', {
    context,
    length: toggles.length,
    monoid: bitXor(u32),
    element: (index, loader) => {
      const [word] = loader.load([toggles], index) as [U32];
      return [u32(0).sub(popcount(word).and(1))];
    },
    emit: (index, exclusive, _, loader) => {
      const [word] = loader.load([toggles], index) as [U32];
      const [before] = exclusive as [U32];
      return [parities(word).xor(before)];
    },
    emitted: ['u32'],
    stores: [{ to: masks, value: 0 }],
  });
  return masks;
}

function parities(word: U32): U32 {
  return [1, 2, 4, 8, 16].reduce((bits, by) => bits.xor(bits.shl(by)), word);
}
