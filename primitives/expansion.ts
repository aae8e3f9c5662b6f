import type { Column, DeviceLength } from './columns/column.ts';
import type { Context } from './context.ts';
import type { FunctorDescription } from './functors/functor.ts';
import type { Shape } from './functors/shapes.ts';
import type { CaptureArguments } from './ranked-rows.ts';
import type { Fields } from './row-fields.ts';

/**
 * A functor of fields of a row, as many as it needs, or of a single column as its one parameter, and of `rank`, the number of
 * the output row among those of its row.
 */
export type ExpandFunctor<R extends Shape> = FunctorDescription & { readonly result: R };

/** What the functor takes of rows, and how many output rows each makes. */
export interface Expansion<R extends Shape> {
  readonly context: Context;
  readonly fields: Fields;
  readonly length: Column['length'];
  readonly counts: Column<'u32'>;
  readonly functor: ExpandFunctor<R>;
  readonly captures: CaptureArguments;
}

/** Where the output of every row starts, and how many output rows are made. */
export interface Spread {
  readonly offsets: Column<'u32'>;
  readonly length: number | DeviceLength;
}
