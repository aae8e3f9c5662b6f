import { scaleLength } from '../../primitives/columns/length.ts';
import { For, Var } from '../../primitives/functors/control.ts';
import { array, bool, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { type Column, type Context, copyIf, map, sequence } from '../../primitives/index.ts';
import type { Coverage } from './coverage.ts';
import { forTile, type InsidePairs, type Pairs, pairColumns, splitIndex } from './tile-pairs.ts';

/** Positions of a tile relative to a zone: outside, inside or on its boundary. */
const OUTSIDE = 0;
const INSIDE = 1;
const BOUNDARY = 2;

/**
 * The position of a tile relative to its zone: whether all, some or none of its cells are in the zone. Bits of cells
 * outside the window are never set, so a tile that extends beyond the window is never INSIDE.
 */
const relationOf = forTile((tile) =>
  fn('relationOf', { word: u32, pitch: u32, masks: array(u32) }, u32, ({ word, pitch, masks }) => {
    const every = Var(u32(0xffffffff));
    const some = Var(u32(0));
    const line = Var(word);
    For(0, tile, () => {
      For(0, tile / 32, (step) => {
        const mask = masks.at(line.add(step));
        every.set(every.and(mask));
        some.set(some.or(mask));
      });
      line.set(line.add(pitch));
    });
    const relation = select(u32(BOUNDARY), u32(INSIDE), every.eq(0xffffffff));
    return select(relation, u32(OUTSIDE), some.eq(0));
  }),
);

const isInside = fn('isInside', { relation: u32 }, bool, ({ relation }) => relation.eq(INSIDE));
const isBoundary = fn('isBoundary', { relation: u32 }, bool, ({ relation }) => relation.eq(BOUNDARY));

/**
 * Step 2 of the method of Zhang and Wang 2014: classifies the tiles around each zone. Returns the pairs of a zone and a
 * tile inside it, and the pairs of a zone and a tile on its boundary.
 */
export function pairTiles(context: Context, coverage: Coverage): { inside: InsidePairs; boundary: Pairs } {
  return context.scope(() => {
    const { tile, ...pairs } = pairColumns(context, coverage.pairs, coverage.tileStarts);
    const { zone, word, pitch } = pairs;
    const { masks, plan } = coverage;
    const relation = context.materialize(map(relationOf(plan.tile), { word, pitch, masks }));
    return {
      inside: copyIf({ zone, tile }, map(isInside, { relation })),
      boundary: copyIf(pairs, map(isBoundary, { relation })),
    };
  });
}

const wordRow = forTile((tile) =>
  fn(
    'wordRow',
    {
      index: u32,
      pairZone: array(u32),
      pairCell: array(u32),
      pairWord: array(u32),
      pairPitch: array(u32),
      masks: array(u32),
      pitch: uniform(u32),
    },
    { active: bool, zone: u32, cell: u32, mask: u32 },
    ({ index, pairZone, pairCell, pairWord, pairPitch, masks, pitch }) => {
      const { pair, row, step } = splitIndex(index, tile);
      const mask = masks.at(
        pairWord
          .at(pair)
          .add(row.mul(pairPitch.at(pair)))
          .add(step),
      );
      const cell = pairCell.at(pair).add(row.mul(pitch)).add(step.shl(5));
      return { active: mask.ne(0), zone: pairZone.at(pair), cell, mask };
    },
  ),
);

/**
 * The rows of 32 cells in tiles of zones, as a view (computed when it is read). Default: all tiles of zones. `cell` is
 * the index of the first cell of a row. `mask` has the bits of the cells in the zone. Rows without such cells are not
 * `active`.
 */
export function wordRows(
  context: Context,
  coverage: Coverage,
  pairs: Pairs = pairColumns(context, coverage.pairs, coverage.tileStarts),
): {
  readonly active: Column<'bool'>;
  readonly zone: Column<'u32'>;
  readonly cell: Column<'u32'>;
  readonly mask: Column<'u32'>;
} {
  const { plan, masks, pitch } = coverage;
  const { tile } = plan;
  return map(wordRow(tile), {
    index: sequence(scaleLength(context, pairs.zone.length, (tile * tile) / 32)),
    pairZone: pairs.zone,
    pairCell: pairs.cell,
    pairWord: pairs.word,
    pairPitch: pairs.pitch,
    masks,
    pitch,
  });
}

const wordPlace = forTile((tile) =>
  fn(
    'wordPlace',
    { index: u32, pairTile: array(u32), tileColumns: uniform(u32), columns: uniform(u32) },
    u32,
    ({ index, pairTile, tileColumns, columns }) => {
      const { pair, row, step } = splitIndex(index, tile);
      const number = pairTile.at(pair);
      const down = number.div(tileColumns);
      const right = number.sub(down.mul(tileColumns));
      return down.mul(tile).add(row).mul(columns).add(right.mul(tile)).add(step.shl(5));
    },
  ),
);

/** For each row of {@link wordRows}, the number of its first cell among those of the window, row by row, as a view. */
export function wordPlaces(context: Context, { plan, pairs }: Coverage): Column<'u32'> {
  const { tile, tileColumns, window } = plan;
  return map(wordPlace(tile), {
    index: sequence(scaleLength(context, pairs.zone.length, (tile * tile) / 32)),
    pairTile: context.column(pairs.tile),
    ...{ tileColumns, columns: window.columns },
  });
}

const tileRow = fn(
  'tileRow',
  { index: u32, tiles: array(u32), tileStarts: array(u32), tile: uniform(u32), pitch: uniform(u32) },
  { active: bool, place: u32, cell: u32 },
  ({ index, tiles, tileStarts, tile, pitch }) => {
    const place = index.div(tile);
    const row = index.sub(place.mul(tile));
    return { active: true, place, cell: tileStarts.at(tiles.at(place)).add(row.mul(pitch)) };
  },
);

/**
 * The rows of cells of whole tiles, as a view (computed when it is read). `place` is the index of the row's tile in
 * `tiles`, and `cell` the index of the row's first cell.
 */
export function tileRows(
  context: Context,
  { plan, tileStarts, pitch }: Coverage,
  tiles: Column<'u32'>,
): { readonly active: Column<'bool'>; readonly place: Column<'u32'>; readonly cell: Column<'u32'> } {
  const { tile } = plan;
  return map(tileRow, {
    index: sequence(scaleLength(context, tiles.length, tile)),
    tiles,
    tileStarts: context.column(tileStarts),
    tile,
    pitch,
  });
}
