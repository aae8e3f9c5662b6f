import { middleOf } from '../algorithms/tables/aggregate-plans.ts';
import { numberOf } from '../algorithms/tables/decimals.ts';
import type { CellValue, HostColumn } from '../algorithms/tables/index.ts';
import { interpolated, placeBetween, rankAmong } from '../algorithms/tables/interpolation.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import { columnAt } from './gather-rows.ts';
import { columnOfCells, sortedRows, validityOf } from './table-columns.ts';
import { groupStore } from './table-groups.ts';
import { isNumber, type Rank } from './table-plan.ts';
import { addTotals, groupNumbers } from './table-sums.ts';
import type { PartTotal } from './table-totals.ts';

/**
 * The distinct values of every group, with their numbers of occurrences. Medians and other ranks are computed from
 * them.
 */
export interface RankedValues {
  add(groups: Uint32Array, values: HostColumn, size: number, counts: PartTotal): void;
  /** Number of pairs of a group and a value that have been found so far. */
  readonly size: number;
  readonly bytes: number;
  /** Sorts the values of each group. No values can be added afterwards. */
  sort(groups: number): void;
  column(rank: Rank, field: TableField): HostColumn;
}

const GROUP: TableField = { name: 'group', type: 'u32', nullable: false };

export function rankedValues(field: TableField): RankedValues {
  const pairs = groupStore([GROUP, field]);
  const counts = groupNumbers();
  let values: HostColumn = { type: 'u32', values: new Uint32Array(0) };
  /** Indices of the pairs of a group and a value, sorted by group, then by value. Nulls are last in each group. */
  let order: Uint32Array = new Uint32Array(0);
  /**
   * For each group: the start of its pairs in `order`, the end of its pairs whose value is not null, and the number of
   * rows whose value is not null.
   */
  let [starts, ends, rows] = [new Uint32Array(1), new Uint32Array(0), new Float64Array(0)];

  function sort(groups: number): void {
    const group = pairs.column(0) as HostColumn & { readonly type: 'u32' };
    values = pairs.column(1);
    order = sortedRows([group, values], pairs.size);
    starts = new Uint32Array(groups + 1);
    for (const each of group.values) starts[each + 1]!++;
    for (let i = 0; i < groups; i++) starts[i + 1]! += starts[i]!;
    ends = starts.slice(1);
    rows = new Float64Array(groups);
    for (let i = 0; i < groups; i++) {
      if (ends[i]! > starts[i]! && isNull(order[ends[i]! - 1]!)) ends[i]!--;
      for (let at = starts[i]!; at < ends[i]!; at++) rows[i]! += counts.at(order[at]!);
    }
  }

  function isNull(pair: number): boolean {
    return values.validity !== undefined && ((values.validity[pair >>> 5]! >>> (pair & 31)) & 1) === 0;
  }

  /**
   * Returns the index of the pair to which a row of a group belongs. `place` is the rank of the row in the group, in
   * ascending order of the values; rows with a null are not counted. Returns −1 if no row has this rank.
   */
  function pairAt(group: number, place: number): number {
    if (!(place >= 0 && place < rows[group]!)) return -1;
    let at = starts[group]!;
    for (let left = place; left >= counts.at(order[at]!); at++) left -= counts.at(order[at]!);
    return order[at]!;
  }

  /** The value of a pair, of a column of numbers. */
  function cellAt(pair: number): CellValue {
    const cell = (values as { values: ArrayLike<number | bigint> }).values[pair]!;
    return field.type === 'decimal' ? { units: BigInt(cell), scale: field.scale } : cell;
  }

  function medians(out: TableField): HostColumn {
    const number = (pair: number): number => {
      const cell = cellAt(pair);
      return typeof cell === 'object' ? numberOf(cell!) : Number(cell);
    };
    return columnOfCells(out, rows.length, (group) => {
      const count = rows[group]!;
      if (count === 0) return undefined;
      const [low, high] = [Math.floor((count - 1) / 2), Math.floor(count / 2)].map((place) => pairAt(group, place));
      return low === high ? number(low!) : middleOf(number(low!), number(high!));
    });
  }

  function interpolations(out: TableField, fraction: number): HostColumn {
    return columnOfCells(out, rows.length, (group) => {
      if (rows[group] === 0) return undefined;
      const { low, high, part } = placeBetween(fraction, rows[group]!);
      return interpolated(cellAt(pairAt(group, low)), cellAt(pairAt(group, high)), part);
    });
  }

  return {
    add(groups, added, size, times) {
      const indices = pairs.indicesOf([{ type: 'u32', values: groups }, added], size);
      addTotals({ add: (pair, count) => counts.add(pair, Number(count)) }, indices, times);
    },
    get size() {
      return pairs.size;
    },
    get bytes() {
      return pairs.bytes + counts.bytes;
    },
    sort,
    column(rank, out) {
      if (rank.kind === 'countDistinct')
        return columnOfCells(out, rows.length, (group) => ends[group]! - starts[group]!);
      if (rank.kind === 'median' && isNumber(field)) return medians(out);
      if (rank.kind === 'quantileCont') return interpolations(out, rank.fraction);
      const placeAmong = placesOf(rank);
      const found = Int32Array.from(rows, (count, group) => pairAt(group, placeAmong(count)));
      const column = columnAt(
        values,
        Uint32Array.from(found, (pair) => Math.max(0, pair)),
      );
      return { ...column, ...validityOf(found.length, (group) => found[group]! >= 0) } as HostColumn;
    },
  };
}

/** The index of the requested value among sorted values, by their number. It is out of range if there is no such value. */
function placesOf(rank: Rank): (count: number) => number {
  switch (rank.kind) {
    case 'quantile':
      return rankAmong(rank.fraction);
    case 'smallest':
      return () => rank.k - 1;
    case 'largest':
      return (count) => count - rank.k;
    case 'max':
      return (count) => count - 1;
    case 'median':
      return (count) => Math.floor((count - 1) / 2);
    default:
      return () => 0;
  }
}
