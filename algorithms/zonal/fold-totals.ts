import type { RasterGrid } from '../geometry/raster.ts';
import { placeOfCell, type WindowPlace } from './cell-order.ts';
import type { HomeGroups } from './exact-sums.ts';
import { digitsName, type FoldSums, wordsIn, type ZoneFold } from './fold.ts';
import type { Folded } from './statistic-kinds.ts';

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
  /** What was added so far, of the zones that have cells with data. */
  readonly folded: ReadonlyMap<number, Folded>;
}

/** Creates totals without any zone. */
export function createFoldTotals(folds: readonly ZoneFold[]): FoldTotals {
  const fields = fieldsOf(folds);
  const found = new Map<number, FoldSums>();
  const addZone = (zone: number, more: Folded): void => {
    const sums = found.get(zone);
    if (sums === undefined) found.set(zone, more);
    else for (const fold of folds) fold.add(sums, more);
  };
  return {
    add(members, window, homes, place) {
      const columns = folds.map((fold) => wordsIn(fold, window, fold.neutral.length));
      const digits = folds.map((fold) => window[digitsName(fold)]);
      const placeOf = (cell: number): bigint => placeOfCell(place, cell);
      window.zone.forEach((zone, row) => {
        const sums = {} as FoldSums;
        const hasData = folds.every((fold, at) => {
          const words = columns[at]!.map((column) => column[row]!);
          return fold.read(words, sums, { zone, digits: digits[at], homes, placeOf });
        });
        if (hasData) addZone(members[zone]!, sums);
      });
    },
    addPart({ zone: members, ...columns }) {
      members.forEach((zone, row) => {
        addZone(zone, rowOf(fields, columns, row));
      });
    },
    part() {
      const zone = Uint32Array.from(found.keys()).sort();
      const columns = fields.map(([field, type]) => {
        const values = Array.from(zone, (each) => found.get(each)![field]);
        return [field, type === 'number' ? Float64Array.from(values as number[]) : values] as const;
      });
      return { zone, ...Object.fromEntries(columns) };
    },
    folded: found,
  };
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
