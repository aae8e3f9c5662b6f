import type { Column, ColumnOwner, DeviceLength } from './columns/column.ts';
import type { FunctorDescription } from './functors/functor.ts';
import type { Shape } from './functors/shapes.ts';
import type { CaptureArguments } from './ranked-rows.ts';
import type { Fields } from './row-fields.ts';

/**
 * A functor for `expand`. Its parameters are any fields of a row (or the column itself, if the rows are a single
 * column) and `rank`, the number of the output row among all output rows of its source row.
 */
export type ExpandFunctor<R extends Shape> = FunctorDescription & { readonly result: R };

/**
 * The arguments of an expansion (see `expand`): the fields that the functor uses, and the number of output rows
 * of every row.
 */
export interface Expansion<R extends Shape> {
  readonly context: ColumnOwner;
  readonly fields: Fields;
  readonly length: Column['length'];
  readonly counts: Column<'u32'>;
  readonly functor: ExpandFunctor<R>;
  readonly captures: CaptureArguments;
}

/** For every row, the index of its first output row (`offsets`), and the total number of output rows (`length`). */
export interface Spread {
  readonly offsets: Column<'u32'>;
  readonly length: number | DeviceLength;
}
