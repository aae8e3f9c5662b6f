import { scaleLength } from '../../primitives/columns/length.ts';
import { For, Var } from '../../primitives/functors/control.ts';
import { array, bool, type Functor, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { ArrayValue, U32 } from '../../primitives/functors/value.ts';
import { type Column, type Context, copyIf, map, sequence } from '../../primitives/index.ts';
import type { Coverage } from './coverage.ts';
import { ZONE_FIELDS, ZONE_STRIDE } from './window-plan.ts';

type U32Shape = typeof u32;
type U32Array = ReturnType<typeof array<'u32'>>;
type U32Uniform = ReturnType<typeof uniform<'u32'>>;

/** Pairs of a zone of the window and a tile, the tile by its number among the zone's tiles; zones in order. */
export type Pairs = { readonly zone: Column<'u32'>; readonly rank: Column<'u32'> };

/** How the tile of a pair lies to its zone. */
const OUTSIDE = 0;
const INSIDE = 1;
const BOUNDARY = 2;

/** Uniforms that say how a window is cut into tiles. */
const geometry = { tile: uniform(u32), rows: uniform(u32), columns: uniform(u32) };

/** The values of those uniforms. */
function geometryOf({ plan }: Coverage): { tile: number; rows: number; columns: number } {
  return { tile: plan.tile, rows: plan.window.rows, columns: plan.window.columns };
}

/** Where the tile of a pair lies: its row and column among the window's tiles, and the first word of its zone's bitmap. */
function tileOf(
  zones: ArrayValue<'u32'>,
  zone: U32,
  rank: U32,
): { row: U32; column: U32; firstRow: U32; firstColumn: U32; word: U32; across: U32 } {
  const field = (offset: number): U32 => zones.at(zone.mul(ZONE_STRIDE).add(offset));
  const across = field(ZONE_FIELDS.tileColumns);
  const firstRow = field(ZONE_FIELDS.firstTileRow);
  const firstColumn = field(ZONE_FIELDS.firstTileColumn);
  const row = rank.div(across);
  return {
    row: firstRow.add(row),
    column: firstColumn.add(rank.sub(row.mul(across))),
    firstRow,
    firstColumn,
    word: field(ZONE_FIELDS.word),
    across,
  };
}

type WordOfTile = { readonly zone: U32Shape; readonly cell: U32Shape; readonly mask: U32Shape };

/** Word `step` of the tile of a pair: its bits that are cells of the window, and the cell of its first bit. */
const wordOfTile: Functor<
  {
    readonly zone: U32Shape;
    readonly rank: U32Shape;
    readonly step: U32Shape;
    readonly zones: U32Array;
    readonly masks: U32Array;
    readonly tile: U32Uniform;
    readonly rows: U32Uniform;
    readonly columns: U32Uniform;
  },
  WordOfTile
> = fn(
  'wordOfTile',
  { zone: u32, rank: u32, step: u32, zones: array(u32), masks: array(u32), ...geometry },
  { zone: u32, cell: u32, mask: u32 },
  ({ zone, rank, step, zones, masks, tile, rows, columns }) => {
    const at = tileOf(zones, zone, rank);
    const perRow = tile.shr(5);
    const stepRow = step.div(perRow);
    const row = at.row.mul(tile).add(stepRow);
    const wordColumn = at.column.mul(perRow).add(step.sub(stepRow.mul(perRow)));
    const index = at.word
      .add(row.sub(at.firstRow.mul(tile)).mul(at.across.mul(perRow)))
      .add(wordColumn.sub(at.firstColumn.mul(perRow)));
    const column = wordColumn.shl(5);
    const left = select(columns.sub(column), u32(0), column.ge(columns));
    const valid = select(u32(1).shl(left.and(31)).sub(1), u32(0xffffffff), left.ge(32));
    const inWindow = row.lt(rows).and(left.gt(0));
    return { zone, cell: row.mul(columns).add(column), mask: select(u32(0), masks.at(index).and(valid), inWindow) };
  },
);

/** Whether all, none or some cells of a pair's tile lie in its zone; tiles that the window cuts are never wholly inside. */
const relationOf = fn(
  'relationOf',
  { zone: u32, rank: u32, zones: array(u32), masks: array(u32), ...geometry },
  u32,
  ({ zone, rank, zones, masks, tile, rows, columns }) => {
    const every = Var(u32(0xffffffff));
    const some = Var(u32(0));
    For(0, tile.mul(tile.shr(5)), (step) => {
      const { mask } = wordOfTile({ zone, rank, step, zones, masks, tile, rows, columns });
      every.set(every.and(mask));
      some.set(some.or(mask));
    });
    const relation = select(u32(BOUNDARY), u32(INSIDE), every.eq(0xffffffff));
    return select(relation, u32(OUTSIDE), some.eq(0));
  },
);

const isInside = fn('isInside', { relation: u32 }, bool, ({ relation }) => relation.eq(INSIDE));
const isBoundary = fn('isBoundary', { relation: u32 }, bool, ({ relation }) => relation.eq(BOUNDARY));

/** Step 2: pairs every zone with the tiles around it and keeps those that lie inside it and those that it cuts. */
export function pairTiles(context: Context, coverage: Coverage): { inside: Pairs; boundary: Pairs } {
  return context.scope(() => {
    const pairs = allPairs(context, coverage);
    const { zones, masks } = coverage;
    const relation = context.materialize(map(relationOf, { ...pairs, zones, masks, ...geometryOf(coverage) }));
    return {
      inside: copyIf(pairs, map(isInside, { relation })),
      boundary: copyIf(pairs, map(isBoundary, { relation })),
    };
  });
}

/** Every pair of a zone and a tile around it. */
export function allPairs(context: Context, { plan }: Coverage): Pairs {
  return { zone: context.column(plan.pairZone), rank: context.column(plan.pairRank) };
}

const wordRow = fn(
  'wordRow',
  { index: u32, pairZone: array(u32), pairRank: array(u32), zones: array(u32), masks: array(u32), ...geometry },
  { active: bool, zone: u32, cell: u32, mask: u32 },
  ({ index, pairZone, pairRank, zones, masks, tile, rows, columns }) => {
    const words = tile.mul(tile.shr(5));
    const pair = index.div(words);
    const step = index.sub(pair.mul(words));
    const at = { zone: pairZone.at(pair), rank: pairRank.at(pair), step };
    const word = wordOfTile({ ...at, zones, masks, tile, rows, columns });
    return { active: word.mask.ne(0), ...word };
  },
);

/** Rows of 32 cells of the tiles of pairs, as a view: the window's cell of the first, and bits for those in the zone. */
export type WordRows = {
  readonly active: Column<'bool'>;
  readonly zone: Column<'u32'>;
  readonly cell: Column<'u32'>;
  readonly mask: Column<'u32'>;
};

/** The rows of cells of the tiles of pairs. */
export function wordRows(context: Context, coverage: Coverage, pairs: Pairs): WordRows {
  const { plan, zones, masks } = coverage;
  const length = scaleLength(context, pairs.zone.length, (plan.tile * plan.tile) / 32);
  return map(wordRow, {
    index: sequence(length),
    pairZone: pairs.zone,
    pairRank: pairs.rank,
    zones,
    masks,
    ...geometryOf(coverage),
  });
}

/** The tile of a pair by its number in the window. */
export const tileNumber: Functor<
  {
    readonly zone: U32Shape;
    readonly rank: U32Shape;
    readonly zones: U32Array;
    readonly tilesAcross: U32Uniform;
  },
  U32Shape
> = fn(
  'tileNumber',
  { zone: u32, rank: u32, zones: array(u32), tilesAcross: uniform(u32) },
  u32,
  ({ zone, rank, zones, tilesAcross }) => {
    const { row, column } = tileOf(zones, zone, rank);
    return row.mul(tilesAcross).add(column);
  },
);
