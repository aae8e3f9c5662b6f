import { scaleLength } from '../../primitives/columns/length.ts';
import { array, fn, u32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { type Column, type Context, copyIf, map, sequence } from '../../primitives/index.ts';
import { memoized } from '../../primitives/ir/memo.ts';
import { isWide, type Sample } from '../geometry/raster.ts';
import type { Captured, Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import type { Words } from './fold.ts';
import { orderedKey } from './ordered-words.ts';
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

/** The rows of all zones of a window, ordered by zone, as materialized columns. */
export function zoneRows(context: Context, coverage: Coverage, withPlaces = false): ZoneRows {
  return context.scope(() => {
    const { active, ...rows } = wordRows(context, coverage);
    return withPlaces ? copyIf({ ...rows, place: wordPlaces(context, coverage) }, active) : copyIf(rows, active);
  });
}

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
