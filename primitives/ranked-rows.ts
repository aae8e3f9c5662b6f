import { Column, type Table } from './columns/column.ts';
import type { Loader } from './columns/program.ts';
import { ArgumentError } from './errors.ts';
import { type FunctorDescription, u32 } from './functors/functor.ts';
import type { U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { applyFunctor, type Captures } from './map.ts';
import { argumentsOf, type Fields, fieldsTaken } from './row-fields.ts';

/** Columns and numbers for a functor's array and uniform parameters, by name. */
export type CaptureArguments = { readonly [name: string]: Column | number | boolean };

const RANK = { rank: u32 };

/**
 * The fields of a row that a functor takes as parameters. The functor's parameter `rank` (the number of an element
 * within the row) is left out.
 */
export function fieldsBesideRank(primitive: string, functor: FunctorDescription, rows: Table): Fields {
  if (rows instanceof Column || !Object.hasOwn(rows, 'rank')) return fieldsTaken(primitive, functor, rows, RANK);
  throw new ArgumentError('rows/rank', `The rows given to ${primitive} have a field called rank.`, {
    remedy: 'Rename it: the functor takes the index of an element in its row as rank.',
  });
}

/**
 * Records a call of a functor for one element of a row. `values` are the values of the row's `fields`, and `rank` is
 * the number of the element within the row.
 */
export function applyToRank(
  functor: FunctorDescription,
  fields: Fields,
  values: readonly Value<ScalarType>[],
  rank: U32,
  captures: Captures,
  loader: Loader,
): Value<ScalarType>[] {
  return applyFunctor(functor, argumentsOf(functor, RANK, fields, [rank], values), captures, loader);
}
