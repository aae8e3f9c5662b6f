import type { RasterGrid } from '../geometry/raster.ts';
import { placeOfCell, type WindowPlace } from './cell-order.ts';
import type { HomeGroups } from './exact-sums.ts';
import { digitsName, type FoldSums, wordsIn, type ZoneFold } from './fold.ts';
import type { Folded, FoldedZones } from './statistic-kinds.ts';

/** What was folded in a window, read to the host; see `WindowFolds`. */
export type FoldedWindow = { readonly [name: string]: Uint32Array } & { readonly zone: Uint32Array };

/**
 * What was folded of stored values, as plain columns with a row for each zone that has cells with data. The sums are
 * lists of bigints.
 */
export type PartialStatistics = { readonly zone: Uint32Array } & {
  readonly [field in keyof Folded]?: Float64Array | readonly bigint[];
};

/** What is folded of the zones of a job, over all windows. */
export interface FoldTotals {
  /** Adds a window. Zone `i` of the window is zone `members[i]` of the job. */
  add(members: Uint32Array, window: FoldedWindow, homes: HomeGroups, place: WindowPlace): void;
  addPart(part: PartialStatistics): void;
  /** What was added so far. Nothing changes it later. */
  part(): PartialStatistics;
  /** What was added so far, of the zones that have cells with data. Each call makes an object of its own. */
  readonly folded: FoldedZones;
}

/**
 * Creates totals without any zone. They are columns, with a row for each zone of the job: an object for each would take
 * more time than all else that the host does for very many zones.
 */
export function createFoldTotals(folds: readonly ZoneFold[], zones: number): FoldTotals {
  const fields = fieldsOf(folds);
  const columns = fields.map(([field, type]) => ({
    field,
    type,
    values: type === 'number' ? new Float64Array(zones) : new WholeColumn(zones),
  }));
  const isFound = new Uint8Array(zones);
  let size = 0;
  const load = (zone: number, into: FoldSums): FoldSums => {
    for (const { field, values } of columns) into[field] = valueAt(values, zone) as never;
    return into;
  };
  const before = {} as FoldSums;
  const addZone = (zone: number, more: FoldSums): void => {
    let sums = more;
    if (isFound[zone] === 1) {
      sums = load(zone, before);
      for (const fold of folds) fold.add(sums, more);
    } else {
      isFound[zone] = 1;
      size++;
    }
    for (const { field, values } of columns) {
      if (values instanceof Float64Array) values[zone] = sums[field] as number;
      else values.set(zone, sums[field]);
    }
  };
  const foldedOf = (zone: number): Folded => {
    const found = load(zone, {} as FoldSums);
    for (const { field, type } of columns) if (type === 'bigint') found[field] = BigInt(found[field]) as never;
    return found as Folded;
  };
  return {
    add(members, window, homes, place) {
      const placeOf = (cell: number): bigint => placeOfCell(place, cell);
      const given = folds.map((fold) => {
        const found = wordsIn(fold, window, fold.neutral.length);
        const wide = { zone: 0, digits: window[digitsName(fold)], homes, placeOf };
        return { fold, found, words: found.map(() => 0), wide };
      });
      const sums = {} as FoldSums;
      const readRow = (row: number, zone: number): boolean => {
        for (const { fold, found, words, wide } of given) {
          for (let i = 0; i < words.length; i++) words[i] = found[i]![row]!;
          wide.zone = zone;
          if (!fold.read(words, sums, wide)) return false;
        }
        return true;
      };
      const { zone } = window;
      for (let row = 0; row < zone.length; row++) if (readRow(row, zone[row]!)) addZone(members[zone[row]!]!, sums);
    },
    addPart({ zone: members, ...part }) {
      members.forEach((zone, row) => {
        addZone(zone, rowOf(fields, part, row));
      });
    },
    part() {
      const zone = Uint32Array.from(isFound.keys()).filter((each) => isFound[each] === 1);
      const part = columns.map(({ field, values }) => [
        field,
        values instanceof Float64Array
          ? Float64Array.from(zone, (each) => values[each]!)
          : Array.from(zone, (each) => BigInt(values.at(each))),
      ]);
      return { zone, ...Object.fromEntries(part) };
    },
    folded: {
      get size() {
        return size;
      },
      get: (zone) => (isFound[zone] === 1 ? foldedOf(zone) : undefined),
      *[Symbol.iterator]() {
        for (let zone = 0; zone < zones; zone++) if (isFound[zone] === 1) yield [zone, foldedOf(zone)];
      },
    },
  };
}

/** Whole numbers, as numbers while these are exact: a bigint for each of very many zones would take most of the time. */
class WholeColumn {
  readonly #numbers: Float64Array;
  /** Those that are no exact numbers, in rows that are NaN. */
  #large: bigint[] | undefined;

  constructor(rows: number) {
    this.#numbers = new Float64Array(rows);
  }

  at(row: number): number | bigint {
    const number = this.#numbers[row]!;
    return Number.isNaN(number) ? this.#large![row]! : number;
  }

  set(row: number, value: number | bigint): void {
    if (typeof value === 'number') {
      this.#numbers[row] = value;
      return;
    }
    this.#numbers[row] = Number.NaN;
    this.#large ??= Array<bigint>(this.#numbers.length);
    this.#large[row] = value;
  }
}

function valueAt(column: Float64Array | WholeColumn, row: number): number | bigint {
  return column instanceof Float64Array ? column[row]! : column.at(row);
}

/** Whether columns that come from another process have all fields, with values that can be true. */
export function areFolded(
  folds: readonly ZoneFold[],
  { zone, ...columns }: PartialStatistics,
  grids: readonly RasterGrid[],
): boolean {
  const isColumn = (column: unknown, type: FieldType): boolean =>
    (type === 'number' ? column instanceof Float64Array : Array.isArray(column)) &&
    (column as ArrayLike<unknown>).length === zone.length;
  return folds.every((fold) => {
    const fields = fieldsOf([fold]);
    return (
      fields.every(([field, type]) => isColumn(columns[field], type)) &&
      zone.every((_, row) => fold.isPossible(rowOf(fields, columns, row), grids))
    );
  });
}

type FieldType = ZoneFold['fields'][keyof Folded];

type Fields = readonly [field: keyof Folded, type: FieldType][];

function fieldsOf(folds: readonly ZoneFold[]): Fields {
  return folds.flatMap(({ fields }) => Object.entries(fields) as [keyof Folded, FieldType][]);
}

function rowOf(fields: Fields, columns: Omit<PartialStatistics, 'zone'>, row: number): Folded {
  return Object.fromEntries(fields.map(([field]) => [field, columns[field]![row]])) as never;
}
