import type { Column, DeviceLength } from './columns/column.ts';
import type { Context } from './context.ts';
import type { FunctorDescription } from './functors/functor.ts';
import type { Shape } from './functors/shapes.ts';
import type { CaptureArguments } from './ranked-rows.ts';
import type { Fields } from './row-fields.ts';

/**
 * A functor of any fields of a row (or of a single column as its one parameter) and of `rank`, the index of the output
 * row among those of its row.
 */
export type ExpandFunctor<R extends Shape> = FunctorDescription & { readonly result: R };

/** The arguments of an expansion: the fields that the functor takes, and the number of output rows of every row. */
export interface Expansion<R extends Shape> {
  readonly context: Context;
  readonly fields: Fields;
  readonly length: Column['length'];
  readonly counts: Column<'u32'>;
  readonly functor: ExpandFunctor<R>;
  readonly captures: CaptureArguments;
}

/** Where the output of every row starts, and the total number of output rows. */
export interface Spread {
  readonly offsets: Column<'u32'>;
  readonly length: number | DeviceLength;
}
