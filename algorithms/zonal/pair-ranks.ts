import { forEachZone } from './pair-rows.ts';
import { createRankSearch, type Target } from './rank-search.ts';
import { isReversed, unroundedValue } from './scaling.ts';
import { lackingAreas, placesAmong, type ShareRows } from './share-rows.ts';
import type { RankColumns } from './statistic-columns.ts';
import type { RankStatistic, Stored } from './statistic-kinds.ts';
import { storedValue, type UniqueRows } from './unique-totals.ts';

/** Finds statistics of ranks by fractions among all pairs of zone and value, as `zone-ranks.ts` finds them by selection. */
export function pairRanks(
  { sample, scaling }: Pick<Stored, 'sample' | 'scaling'>,
  statistics: readonly RankStatistic[],
  rows: UniqueRows,
  shares: ShareRows,
  zones: number,
): RankColumns {
  const columns = new Map(statistics.map((each) => [each, Array<number | bigint>(zones).fill(Number.NaN)]));
  const places = placesAmong(rows, shares);
  let at = 0;
  forEachZone(rows, (zone, from, to) => {
    const first = at;
    while (shares.zone[at] === zone) at++;
    // For each value, the number of cells that have a smaller one.
    const before = new Float64Array(to - from + 1);
    for (let row = from; row < to; row++) before[row - from + 1] = before[row - from]! + rows.count[row]!;
    const values = {
      count: before[to - from]!,
      isReversed: isReversed(scaling),
      numberOf: (word: number) => unroundedValue(scaling, storedValue(sample, rows, word)),
    };
    const search = createRankSearch(statistics, values, lackingAreas(shares, first, at, places));
    const find = (target: Target): number => {
      let row = from;
      while (row + 1 < to && target.isFrom(before[row + 1 - from]!, row + 1)) row++;
      return row;
    };
    for (let open = search.open(); open.length > 0; open = search.open()) {
      for (const target of open) {
        const row = find(target);
        search.found({ word: row, before: before[row - from]!, count: rows.count[row]! }, target);
      }
    }
    for (const [statistic, column] of columns) column[zone] = search.resultOf(statistic);
  });
  return { columnOf: (statistic) => columns.get(statistic)! };
}
