import { requireArguments, wrongArgument } from '../checks/arguments.ts';
import { ArgumentError } from '../checks/errors.ts';
import { lengthText } from '../checks/given.ts';
import { aRecord, aWhole } from '../checks/kinds.ts';

/** The shape of a column whose elements are the cells of a grid, row by row from the top. */
export interface Grid {
  readonly rows: number;
  readonly columns: number;
}

/** A number of rows; for one that only the device knows, its limit. */
type Rows = number | { readonly limit: number };

const aGrid = aRecord<Grid>({ rows: aWhole(), columns: aWhole() });

/** Requires the shape of a grid; with a length, of one that has as many cells. */
export function requireGrid(call: string, given: unknown, length?: Rows, argument = 'grid'): Grid {
  requireArguments(call, { [argument]: given }, { [argument]: aGrid });
  const { rows, columns } = given as Grid;
  const cells = rows * columns;
  if (cells >= 2 ** 32) throw wrongArgument(call, argument, cells, 'at most 2^32 - 1 cells', { code: 'grid/cells' });
  if (length !== undefined && length !== cells) throw otherCells(call, { rows, columns }, length);
  return { rows, columns };
}

function otherCells(call: string, { rows, columns }: Grid, length: Rows): ArgumentError {
  return new ArgumentError('grid/cells', `${call} was given a grid that does not have a cell for each row.`, {
    expected: `${rows * columns} rows, for ${rows} × ${columns} cells`,
    got: typeof length === 'number' ? length : lengthText(length),
    remedy:
      typeof length === 'number'
        ? undefined
        : 'The number of cells of a grid is known to the host. In a prepared pipeline, declare input(type, { rows, columns }).',
  });
}

/** The grid that columns of one length share; undefined if none of them has one. */
export function commonGrid(
  columns: readonly { readonly grid: Grid | undefined }[],
  primitive: string,
): Grid | undefined {
  let common: Grid | undefined;
  for (const { grid } of columns) {
    if (grid === undefined) continue;
    if (common !== undefined && !sameGrid(common, grid)) throw otherGrid(primitive, common, grid);
    common = grid;
  }
  return common;
}

/** The grid that columns share, for what works on grids only. */
export function gridOf(columns: Parameters<typeof commonGrid>[0], primitive: string): Grid {
  const grid = commonGrid(columns, primitive);
  if (grid !== undefined) return grid;
  throw new ArgumentError('grid/none', `The columns given to ${primitive} do not have the shape of a grid.`, {
    expected: 'cells in rows and columns',
    remedy: 'Give them a shape: asGrid(cells, { rows, columns }), or context.column(array, { rows, columns }).',
  });
}

export function sameGrid(a: Grid | undefined, b: Grid | undefined): boolean {
  return a === b || (a?.rows === b?.rows && a?.columns === b?.columns);
}

export function gridText({ rows, columns }: Grid): string {
  return `${rows} ${rows === 1 ? 'row' : 'rows'} of ${columns} ${columns === 1 ? 'cell' : 'cells'}`;
}

function otherGrid(primitive: string, a: Grid, b: Grid): ArgumentError {
  return new ArgumentError('grid/shapes', `The columns given to ${primitive} are cells of different grids.`, {
    expected: gridText(a),
    got: gridText(b),
    remedy: 'Give one of them the shape of the other: asGrid(column, { rows, columns }).',
  });
}
