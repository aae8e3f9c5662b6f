import { requireArray, requireOptions } from './checks/arguments.ts';
import { aFlag, anything, type FieldKinds } from './checks/kinds.ts';
import { columnsOf, commonLength, requireLength, type Table, withColumns } from './columns/column.ts';
import { requireGrid } from './columns/grid.ts';
import { destination, fuse, storeRows } from './columns/program.ts';
import { wordsOf } from './columns/words.ts';
import { inNamedContext, requireContext } from './context/context-option.ts';
import { Let } from './functors/control.ts';
import { mulhi } from './functors/standard/bits.ts';
import { select } from './functors/standard/choose.ts';
import type { Bool, U32 } from './functors/value.ts';
import { gather } from './gather.ts';
import { asGrid } from './grid.ts';
import { NO_ROW } from './rows/key-ranks.ts';
import { onlySegment, type Segments, segmentRows } from './rows/segments.ts';
import { sortSegments } from './rows/sorted-segments.ts';
import { quantiles, type SelectOptions, scaleOf } from './select-kth.ts';
import { keyColumns, keysGiven, type SortKeys, wordsToSort } from './sort.ts';

/** Options of {@link segmentedQuantiles}. */
export interface SegmentedQuantileOptions extends SelectOptions {
  /**
   * The maximum number of rows of all segments together: the number of keys by default, which suffices where segments do
   * not overlap. If there are more rows, every read of the result throws a {@link CapacityError}.
   */
  readonly capacity?: number;
}

const OPTIONS: FieldKinds<SegmentedQuantileOptions> = { descending: aFlag, capacity: anything, context: anything };

/**
 * The quantiles of the keys of each segment: the key at position `floor(fraction · (n − 1))` of its n sorted keys, for
 * each fraction, as {@link quantiles} has them. The result has the shape of a grid with a row for each segment and a
 * column for each fraction. An empty segment gives zeros. Segments are given by offsets, or by their first rows and
 * ends; see {@link Segments}. They may be empty, in any order, and overlap.
 *
 * - Work O(rows of all segments · bits / 8), span O(bits / 8 · log n): the rows of all segments are sorted, those of a
 *   single segment selected as by {@link quantiles}. Deterministic.
 * - Accepts device counts (lengths that only the device knows). If only the device knows the number of segments, the
 *   result has cells for as many as there may be.
 * - Equivalent loop: `for (let s = 0; s + 1 < offsets.length; s++) out.push(quantiles(keys.slice(offsets[s], offsets[s +
 *   1]), fractions))`.
 *
 * @throws {@link ArgumentError} `select/fraction` if a fraction is not from 0 to 1, `grid/cells` if the result would have
 * 2³² cells or more, `segments/fields` if segments have other fields than `first` and `end`.
 * @example
 * const keys = ctx.column(Uint32Array.of(40, 10, 50, 20, 30, 7));
 * const offsets = ctx.column(Uint32Array.of(0, 5, 5, 6));
 * await ctx.read(segmentedQuantiles(keys, offsets, [0.5, 1])); // Uint32Array [30, 50, 0, 0, 7, 7]
 */
export function segmentedQuantiles<K extends SortKeys>(
  keys: K,
  segments: Segments,
  fractions: readonly number[],
  options: SegmentedQuantileOptions = {},
): K {
  requireOptions('segmentedQuantiles', OPTIONS, options);
  keyColumns(keys, 'segmentedQuantiles');
  const given = keysGiven('segmentedQuantiles', keys, { descending: options.descending ?? false });
  const columns = columnsOf(keys as Table);
  const places = segmentRows('segmentedQuantiles', segments);
  requireArray('segmentedQuantiles', 'fractions', fractions, 'an array of numbers from 0 to 1');
  const scales = fractions.map((fraction) => scaleOf('segmentedQuantiles', fraction));
  const length = commonLength(columns, 'segmentedQuantiles');
  const { capacity = columns[0]!.capacity } = options;
  requireLength(capacity, 'segmentedQuantiles', 'the option capacity');
  const all = [...columns, places.first, places.end];
  const context = inNamedContext('segmentedQuantiles', options, () => requireContext(all, 'segmentedQuantiles'));
  const count = fractions.length;
  const cells = { rows: places.end.capacity, columns: count };
  const grid = requireGrid('segmentedQuantiles', cells, undefined, 'fractions');
  return context.scope(() => {
    const only = onlySegment(context, places, length, capacity);
    if (only !== undefined) {
      const { descending = false } = options;
      return asGrid(
        quantiles(gather(keys as Table, only.rows) as K, fractions, { descending, context }) as Table,
        grid,
      ) as K;
    }
    const words = given.flatMap(wordsToSort);
    const { row, start, size } = sortSegments('segmentedQuantiles', context, words, places, length, capacity);
    const part = context.column(Uint32Array.from(scales, (each) => each % 2 ** 32));
    const isWhole = context.column(scales.map((each) => each === 2 ** 32));
    const own = columns.map(wordsOf);
    const found = fuse(
      { name: 'quantiles', kind: 'segmentedQuantiles' },
      [],
      own.map(() => 'u32' as const),
      (cell, _, loader) => {
        const each = loader.uniform('u32', Math.max(1, count));
        const segment = Let(cell.div(each));
        const fraction = Let(cell.sub(segment.mul(each)));
        const [scale, whole] = loader.load([part, isWhole], fraction) as [U32, Bool];
        const [first, rows] = loader.load([start, size], segment) as [U32, U32];
        const last = Let(rows.max(1).sub(1));
        const place = first.add(select(mulhi(last, scale), last, whole));
        const [at] = loader.load([row], place) as [U32];
        return loader.loadWithin(own, Let(select(at, NO_ROW, rows.eq(0))), length);
      },
      {
        by: [segmentedQuantiles],
        columns: [part, isWhole, start, size, row, ...own],
        lengths: [length],
        values: [Math.max(1, count)],
      },
    );
    const results = columns.map(({ type }) => context.stored(type, grid.rows * count, grid));
    storeRows(
      context,
      grid.rows * count,
      found,
      results.map((column, value) => ({ ...destination(column), value })),
    );
    return withColumns(keys as Table, results) as K;
  });
}
