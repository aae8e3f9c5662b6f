import { Column } from '../../primitives/columns/column.ts';
import { scaleLength } from '../../primitives/columns/length.ts';
import { array, bool, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import {
  ArgumentError,
  type Context,
  constant,
  copyIf,
  exclusiveScan,
  map,
  plus,
  rankHistogram,
  reduceByKey,
  scatterReduce,
  sequence,
} from '../../primitives/index.ts';
import { memoized } from '../../primitives/ir/memo.ts';
import { isSet } from '../plain-functors.ts';
import type { Captured, Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { addHidden } from './hidden-cells.ts';
import type { InsidePairs, Pairs } from './tile-pairs.ts';
import { pairTiles, tileRows, wordRows } from './tiles.ts';
import { ABSENT } from './window-plan.ts';
import { storedRows } from './zone-cells.ts';

/**
 * Computes the histograms of the zones in a window, concatenated. Performs the four steps of Zhang and Wang 2014 as a
 * chain of primitives, on the bitmaps from {@link coverZones}.
 * Runs unchanged on every backend and does not wait for the device.
 *
 * @param inTiles - Whether tiles inside zones get histograms of their own; see `countingWay`. Otherwise, all tiles are
 * counted as those on boundaries.
 */
export function windowHistogram(
  context: Context,
  coverage: Coverage,
  cells: Column<'u32'>,
  classifier: Classifier,
  inTiles: boolean,
): Column<'u32'> {
  return context.scope(() => {
    const counts = inTiles
      ? countInTiles(context, coverage, cells, classifier)
      : countMaskedCells(context, coverage, undefined, cells, classifier);
    addHidden(coverage, classifier.slots, counts);
    return counts;
  });
}

function countInTiles(
  context: Context,
  coverage: Coverage,
  cells: Column<'u32'>,
  classifier: Classifier,
): Column<'u32'> {
  const { inside, boundary } = pairTiles(context, coverage);
  const tiles = histogramsOfTiles(context, coverage, inside, cells, classifier);
  const counts = countMaskedCells(context, coverage, boundary, cells, classifier);
  addInsideTiles(context, coverage, inside, tiles, classifier, counts);
  return counts;
}

/** Histograms of the tiles that are inside a zone. */
interface TileHistograms {
  /** For each tile of the window, the index of its histogram in `counts`; meaningless for tiles inside no zone. */
  readonly place: Column<'u32'>;
  readonly counts: Column<'u32'>;
}

/**
 * Step 1 of the method of Zhang and Wang 2014: computes the histogram of every tile that is inside a zone. A tile
 * inside several zones still gets only one histogram.
 */
function histogramsOfTiles(
  context: Context,
  coverage: Coverage,
  { tile }: InsidePairs,
  cells: Column<'u32'>,
  classifier: Classifier,
): TileHistograms {
  const { plan } = coverage;
  const tileCount = plan.tileColumns * plan.tileRows;
  const flag = context.materialize(constant(u32, 0, tileCount));
  scatterReduce(constant(u32, 1, tile.length), tile, 'or', flag);
  const tiles = copyIf(sequence(tileCount), map(isSet, { flag }));
  const counts = rankHistogram(tileRows(context, coverage, tiles), slotOfTileCell(classifier), {
    ranks: plan.tile,
    bins: classifier.slots.count,
    histograms: Math.max(1, Math.min(tileCount, plan.pairs)),
    captures: { cells, ...classifier.captures },
  });
  return { place: exclusiveScan(flag, plus(u32)), counts };
}

const slotOfTileCell = memoized(defineSlotOfTileCell);

function defineSlotOfTileCell(classifier: Classifier) {
  const parameters = { place: u32, cell: u32, rank: u32, cells: array(u32) };
  return fn(
    'slotOfTileCell',
    { ...parameters, ...classifier.parameters } as typeof parameters,
    { bin: u32, histogram: u32 },
    ({ place, cell, rank, cells, ...captured }) => ({
      bin: classifier.slotOf(classifier.cellAt(cells, cell.add(rank)), captured as Captured),
      histogram: place,
    }),
  );
}

/**
 * Step 4 of the method of Zhang and Wang 2014: for each pair of a zone and a tile, counts the tile's cells that are in
 * the zone. Returns a histogram for every zone of the window.
 */
function countMaskedCells(
  context: Context,
  coverage: Coverage,
  pairs: Pairs | undefined,
  cells: Column<'u32'>,
  classifier: Classifier,
): Column<'u32'> {
  const { rows } = coverage;
  const counted =
    pairs === undefined && rows
      ? { active: constant(bool, true, rows.zone.length), ...storedRows(context, rows, coverage) }
      : wordRows(context, coverage, pairs);
  return rankHistogram(counted, slotOfMaskedCell(classifier), {
    ranks: 32,
    bins: classifier.slots.count,
    histograms: coverage.plan.zones.length,
    captures: { cells, ...classifier.captures },
  });
}

const slotOfMaskedCell = memoized(defineSlotOfMaskedCell);

function defineSlotOfMaskedCell(classifier: Classifier) {
  const parameters = { zone: u32, cell: u32, mask: u32, rank: u32, cells: array(u32) };
  return fn(
    'slotOfMaskedCell',
    { ...parameters, ...classifier.parameters } as typeof parameters,
    { bin: u32, histogram: u32 },
    ({ zone, cell, mask, rank, cells, ...captured }) => {
      const slot = classifier.slotOf(classifier.cellAt(cells, cell.add(rank)), captured as Captured);
      return { bin: select(u32(ABSENT), slot, mask.shr(rank).and(1).eq(1)), histogram: zone };
    },
  );
}

const slotAndCount = fn(
  'slotAndCount',
  {
    index: u32,
    pairs: array(u32),
    zone: array(u32),
    tile: array(u32),
    place: array(u32),
    counts: array(u32),
    slots: uniform(u32),
  },
  { slot: u32, count: u32 },
  ({ index, pairs, zone, tile, place, counts, slots }) => {
    const length = pairs.at(0).max(1);
    const bin = index.div(length);
    const pair = index.sub(bin.mul(length));
    return {
      slot: zone.at(pair).mul(slots).add(bin),
      count: counts.at(place.at(tile.at(pair)).mul(slots).add(bin)),
    };
  },
);

/**
 * Step 3 of the method of Zhang and Wang 2014: adds the histograms of tiles inside a zone to the histogram of the zone.
 * The counts to add are ordered by bin and then by zone, so that all counts for one bin of a zone are adjacent.
 */
function addInsideTiles(
  context: Context,
  { plan }: Coverage,
  inside: InsidePairs,
  tiles: TileHistograms,
  { slots }: Classifier,
  counts: Column<'u32'>,
): void {
  const { length } = inside.zone;
  if (typeof length === 'number') throw new ArgumentError('zonal/pairs', 'Inside pairs are counted on the device.');
  const pairs = new Column(context, 'u32', 1, {
    kind: 'stored',
    memory: length.memory,
    storage: 'u32',
    offset: length.word,
  });
  if (plan.pairs === 0) return;
  // Materialized, because the reduction reads every row several times.
  const rows = context.materialize(
    map(slotAndCount, {
      index: sequence(scaleLength(context, length, slots.count)),
      pairs,
      zone: inside.zone,
      tile: inside.tile,
      place: tiles.place,
      counts: tiles.counts,
      slots: slots.count,
    }),
  );
  const { keys, values } = reduceByKey(rows.slot, rows.count, plus(u32));
  scatterReduce(values, keys, 'add', counts);
}
