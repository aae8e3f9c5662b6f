import { Column, shapeOf, type Table } from './columns/column.ts';
import type { Loader } from './columns/program.ts';
import { ArgumentError } from './errors.ts';
import { type FunctorDescription, splitParameters } from './functors/functor.ts';
import type { ScalarType } from './functors/ir.ts';
import { assemble, flatten } from './functors/shapes.ts';
import type { U32, Value } from './functors/value.ts';
import { applyFunctor, type Captures, soleParameter } from './map.ts';

/** Columns and numbers for the captured arrays and the uniforms of a functor, by name. */
export type CaptureArguments = { readonly [name: string]: Column | number | boolean };

/** Calls a functor of a row's fields and of `rank`, the number of an element among those that the row stands for. */
export function applyToRank(
  functor: FunctorDescription,
  rows: Table,
  values: readonly Value<ScalarType>[],
  rank: U32,
  captures: Captures,
  loader: Loader,
): Value<ScalarType>[] {
  const fields =
    rows instanceof Column
      ? { [soleParameter(functor, 'rank')]: values[0]! }
      : (assemble(shapeOf(rows), values) as { readonly [name: string]: unknown });
  const given = { ...fields, rank };
  const parameters = splitParameters(functor.parameters).values;
  const args = flatten<Value<ScalarType>>(parameters, given as never, (path) => {
    throw new ArgumentError('rows/field', `Functor ${functor.functorName} takes ${path}, which no row has.`, {
      expected: Object.keys(given),
      got: path,
    });
  });
  return applyFunctor(functor, args, captures, loader);
}

/** Rows whose fields leave room for the name `rank`. */
export function requireNoRank(rows: Table, primitive: string): void {
  if (rows instanceof Column || !('rank' in rows)) return;
  throw new ArgumentError('rows/rank', `The rows given to ${primitive} have a field called rank.`, {
    remedy: 'Give it another name: rank is the number of an element among those of its row.',
  });
}
