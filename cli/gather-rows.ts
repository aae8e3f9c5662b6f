import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { bitWords, isSet, setBits } from '../formats/tables/bits.ts';

/**
 * Copies some rows of a column: those whose row numbers are the first `count` elements of `places`. Nulls stay nulls.
 */
export function gatherRows(column: HostColumn, places: Uint32Array, count: number = places.length): HostColumn {
  const validity = column.validity && gatherBits(column.validity, places, count);
  if (column.type === 'string') return { ...column, validity, codes: gatherValues(column.codes, places, count) };
  return { ...column, validity, values: gatherValues(column.values, places, count) } as HostColumn;
}

type Values = Exclude<HostColumn, { type: 'string' }>['values'];

function gatherValues<V extends Values>(values: V, places: Uint32Array, count: number): V {
  const gathered = new (values.constructor as new (length: number) => V)(count);
  for (let row = 0; row < count; row++) gathered[row] = values[places[row]!]!;
  return gathered;
}

function gatherBits(words: Uint32Array, places: Uint32Array, count: number): Uint32Array {
  const gathered = bitWords(count);
  for (let row = 0; row < count; row++) if (isSet(words, places[row]!)) setBits(gathered, row, row + 1);
  return gathered;
}
