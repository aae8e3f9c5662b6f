import { knownRows, scaleLength } from '../../primitives/columns/length.ts';
import { array, bool, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { type Column, type Context, copyIf, count, map, sequence, slice } from '../../primitives/index.ts';
import { memoized } from '../../primitives/ir/memo.ts';
import { isWide, type Sample } from '../geometry/raster.ts';
import type { Captured, Classifier } from './binning.ts';
import type { Coverage, PlacedRows } from './coverage.ts';
import type { Words } from './fold.ts';
import { orderedKey } from './ordered-words.ts';
import { forTile } from './tile-pairs.ts';
import { wordPlaces, wordRows } from './tiles.ts';
import { orderedWords } from './wide-words.ts';
import { ABSENT } from './window-plan.ts';

/**
 * Rows of 32 cells, each with at least one cell in a zone. The columns are the zone, the index of the row's first cell,
 * and a mask of the row's cells that are in the zone.
 */
export type ZoneRows = {
  readonly zone: Column<'u32'>;
  readonly cell: Column<'u32'>;
  readonly mask: Column<'u32'>;
  /** The number of the row's first cell among those of the window, row by row, if asked for. */
  readonly place?: Column<'u32'>;
};

/** Splits the number of a cell among those of all tiles: into the tile, and the row and column in it. */
function splitTileCell(tileCell: U32, tile: number): { readonly at: U32; readonly row: U32; readonly column: U32 } {
  const line = tileCell.div(tile);
  const at = line.div(tile);
  return { at, row: line.sub(at.mul(tile)), column: tileCell.sub(line.mul(tile)) };
}

const storedCell = forTile((tile) =>
  fn(
    'storedCell',
    { tileCell: u32, tileStarts: array(u32), pitch: uniform(u32) },
    u32,
    ({ tileCell, tileStarts, pitch }) => {
      const { at, row, column } = splitTileCell(tileCell, tile);
      return tileStarts.at(at).add(row.mul(pitch)).add(column);
    },
  ),
);

const placeOfTileCell = forTile((tile) =>
  fn(
    'placeOfTileCell',
    { tileCell: u32, tileColumns: uniform(u32), columns: uniform(u32) },
    u32,
    ({ tileCell, tileColumns, columns }) => {
      const { at, row, column } = splitTileCell(tileCell, tile);
      const down = at.div(tileColumns);
      const right = at.sub(down.mul(tileColumns));
      return down.mul(tile).add(row).mul(columns).add(right.mul(tile)).add(column);
    },
  ),
);

/** Rows of cells of zones where a raster stores them, as views. */
export function storedRows(
  context: Context,
  { zone, tileCell, mask }: PlacedRows,
  { plan, tileStarts, pitch }: Pick<Coverage, 'plan' | 'tileStarts' | 'pitch'>,
  withPlaces = false,
): ZoneRows {
  const { tile, tileColumns, window } = plan;
  const cell = map(storedCell(tile), { tileCell, tileStarts: context.column(tileStarts), pitch });
  if (!withPlaces) return { zone, cell, mask };
  return { zone, cell, mask, place: map(placeOfTileCell(tile), { tileCell, tileColumns, columns: window.columns }) };
}

/** The rows of all zones of a window, ordered by zone. Those that are kept are not found again. */
export function zoneRows(context: Context, coverage: Coverage, withPlaces = false): ZoneRows {
  if (coverage.rows !== undefined) return storedRows(context, coverage.rows, coverage, withPlaces);
  return context.scope(() => {
    const { active, ...rows } = wordRows(context, coverage);
    const capacity = coverage.plan.rows;
    return withPlaces
      ? copyIf({ ...rows, place: wordPlaces(context, coverage) }, active, { capacity })
      : copyIf(rows, active, { capacity });
  });
}

/** Finds the rows of all zones of a window. Waits for their number, so that they take no more memory than they need. */
export async function placedRows(context: Context, coverage: Coverage): Promise<PlacedRows> {
  const { plan, masks } = coverage;
  const tiles = plan.tileColumns * plan.tileRows;
  const tileStarts = Uint32Array.from({ length: tiles }, (_, at) => at * plan.tile ** 2);
  const filled = count({ word: slice(masks, 0, plan.words) }, isFilled);
  const [rows] = await context.read(filled);
  context.dispose(filled);
  return context.scope(() => {
    const { active, cell, ...others } = wordRows(context, { ...coverage, tileStarts, pitch: plan.tile });
    return knownRows(copyIf({ ...others, tileCell: cell }, active, { capacity: rows! }), rows!);
  });
}

const isFilled = fn('isFilled', { word: u32 }, bool, ({ word }) => word.ne(0));

/** Cells of zones: the zone, and the stored bits; `high` has the upper 32 of 64 bits. */
export type ZoneCells = {
  readonly zone: Column<'u32'>;
  readonly raw: Column<'u32'>;
  readonly high: Column<'u32'>;
};

/**
 * The cells of the given rows, as a view. The zone is {@link ABSENT} for a
 * cell that is outside its zone or has no data.
 */
export function zoneCells(context: Context, rows: ZoneRows, cells: Column<'u32'>, classifier: Classifier): ZoneCells {
  return map(cellFunctor(classifier), {
    index: sequence(scaleLength(context, rows.zone.length, 32)),
    ...rows,
    cells,
    ...classifier.captures,
  } as never) as ZoneCells;
}

const cellFunctor = memoized(defineCellFunctor);

/** Defines the functor that gives zone and bits of cell `index % 32` in row `index / 32`. */
function defineCellFunctor(classifier: Classifier) {
  const parameters = { index: u32, zone: array(u32), cell: array(u32), mask: array(u32), cells: array(u32) };
  return fn(
    'zoneCell',
    { ...parameters, ...classifier.parameters } as typeof parameters,
    { zone: u32, raw: u32, high: u32 },
    ({ index, zone, cell, mask, cells, ...captured }) => {
      const row = index.shr(5);
      const rank = index.and(31);
      const raw = classifier.cellAt(cells, cell.at(row).add(rank));
      const inside = mask.at(row).shr(rank).and(1).eq(1);
      const data = classifier.isData(raw, captured as Captured);
      return { zone: select(u32(ABSENT), zone.at(row), inside.and(data)), raw: raw[0]!, high: raw[1] ?? u32(0) };
    },
  );
}

/** Maps stored bits to ordered words (words that compare like the values), in the code of functors. */
export function orderedRaw(sample: Sample, raw: Words): Words {
  if (isWide(sample)) return orderedWords(sample, raw);
  const [word] = raw;
  if (sample === 'i8') return [word!.xor(0x80)];
  if (sample === 'i16') return [word!.xor(0x8000)];
  return [orderedKey(sample, word!)];
}
