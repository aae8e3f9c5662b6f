import {
  array,
  type Column,
  type Context,
  expand,
  fn,
  gather,
  lowerBound,
  map,
  scatterReduce,
  select,
  sequence,
  u32,
} from '../../primitives/index.ts';
import type { Front } from './cells.ts';
import { linesOf } from './segment.ts';
import { largeCells, splitCells } from './split.ts';
import { alongBottom, alongEdge } from './walk.ts';

export interface RegionInQuadrants {
  readonly corner: Column<'u32'>;
  readonly first: Column<'u32'>;
  readonly count: Column<'u32'>;
}

export interface QuadrantPairs {
  readonly column: Column<'u32'>;
  readonly row: Column<'u32'>;
  readonly p: RegionInQuadrants;
  readonly q: RegionInQuadrants;
}

export interface OverlapOptions {
  readonly most?: number | undefined;
}

export async function overlapsInQuadrants(
  context: Context,
  pairs: QuadrantPairs,
  edge: Column<'u32'>,
  ends: Column<'i32'>,
  { most = 64 }: OverlapOptions = {},
): Promise<Column<'u32'>> {
  let front = await frontOf(context, pairs, edge);
  const overlaps = context.scope(() => context.materialize(map(holdBoth, { p: pairs.p.corner, q: pairs.q.corner })));
  const goTo = (next: Front): void => {
    context.dispose(front.cells, front.items);
    front = next;
  };
  try {
    for (;;) {
      context.scope(() => testCells(context, front, ends, most, overlaps));
      goTo(await largeCells(context, front, most, overlaps));
      if (front.cells.column.length === 0) return overlaps;
      goTo(await splitCells(context, front, ends, overlaps));
    }
  } catch (error) {
    context.dispose(overlaps);
    throw error;
  } finally {
    context.dispose(front.cells, front.items);
  }
}

async function frontOf(context: Context, { column, row, p, q }: QuadrantPairs, edge: Column<'u32'>): Promise<Front> {
  const cells = context.scope(() => {
    const rows = map(packedRow, { row, cornerP: p.corner, cornerQ: q.corner });
    return context.materialize({ column: map(copied, { word: column }), row: rows, pair: sequence(column.length) });
  });
  try {
    const rows = { cell: sequence(column.length), firstP: p.first, countP: p.count, firstQ: q.first };
    const counts = map(itemCount, { cornerP: p.corner, countP: p.count, cornerQ: q.corner, countQ: q.count });
    return { cells, items: await expand(rows, counts, itemAt, { captures: { edges: edge } }) };
  } catch (error) {
    context.dispose(cells);
    throw error;
  }
}

const copied = fn('copied', { word: u32 }, u32, ({ word }) => word);

const holdBoth = fn('holdBoth', { p: u32, q: u32 }, u32, ({ p, q }) => p.and(q));

const packedRow = fn('packedRow', { row: u32, cornerP: u32, cornerQ: u32 }, u32, ({ row, cornerP, cornerQ }) =>
  row.or(cornerP.shl(30)).or(cornerQ.shl(31)),
);

const itemCount = fn(
  'itemCount',
  { cornerP: u32, countP: u32, cornerQ: u32, countQ: u32 },
  u32,
  ({ cornerP, countP, cornerQ, countQ }) => {
    const isThere = cornerP.or(countP).ne(0).and(cornerQ.or(countQ).ne(0));
    return select(u32(0), countP.add(countQ), isThere.and(cornerP.and(cornerQ).eq(0)));
  },
);

const itemAt = fn(
  'itemAt',
  { cell: u32, firstP: u32, countP: u32, firstQ: u32, rank: u32, edges: array(u32) },
  { cell: u32, item: u32 },
  ({ cell, firstP, countP, firstQ, rank, edges }) => {
    const ofQ = rank.ge(countP);
    const at = select(firstP.add(rank), firstQ.add(rank.sub(countP)), ofQ);
    return { cell, item: edges.at(at).or(select(u32(1), 2, ofQ).shl(30)) };
  },
);

function testCells(context: Context, front: Front, ends: Column<'i32'>, most: number, overlaps: Column<'u32'>): void {
  const { cells, items } = front;
  const { column, row, pair } = cells;
  const { capacity } = column;
  const firsts = context.materialize(lowerBound(items.cell, sequence(capacity + 1)));
  const lines = context.materialize(linesOf(front, ends));
  const tables = { columns: column, rows: row, firsts, items: items.item, lines, most };
  const found = context.materialize(map(alongBottom, { cell: sequence(column.length), ...tables }));
  scatterReduce(found, pair, 'or', overlaps);
  const foundNext = context.materialize(
    map(alongEdge, { cell: items.cell, index: sequence(items.cell.length), found, ...tables }),
  );
  scatterReduce(foundNext, gather(pair, items.cell), 'or', overlaps);
}
