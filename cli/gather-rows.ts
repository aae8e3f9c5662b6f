import type { HostColumn, HostTable } from '../algorithms/tables/host-table.ts';
import { bitWords, isSet } from '../formats/tables/bits.ts';
import { gather, type Values } from '../formats/tables/parquet/plain.ts';

/** Copies some rows of a table. `places` contains the numbers of the rows. */
export function rowsAt(table: HostTable, places: Uint32Array): HostTable {
  return Object.fromEntries(Object.entries(table).map(([name, column]) => [name, columnAt(column, places)]));
}

/** Copies some rows of a column. Nulls stay nulls. */
export function columnAt(column: HostColumn, places: Uint32Array): HostColumn {
  const validity = bitsAt(column.validity, places);
  const some = validity === undefined ? {} : { validity };
  const { validity: _, ...rest } = column;
  if (column.type === 'string') {
    const codes = new Uint32Array(places.length);
    gather(column.codes as Values, places, codes);
    return { ...rest, ...some, codes } as HostColumn;
  }
  const values = new (column.values.constructor as new (length: number) => Values)(places.length);
  if (values.BYTES_PER_ELEMENT === 2) for (let i = 0; i < places.length; i++) values[i] = column.values[places[i]!]!;
  else gather(column.values as Values, places, values);
  return { ...rest, ...some, values } as HostColumn;
}

/** Copies the bits at the given positions. Returns undefined if all copied bits are set. */
function bitsAt(bits: Uint32Array | undefined, places: Uint32Array): Uint32Array | undefined {
  if (bits === undefined) return undefined;
  const words = bitWords(places.length);
  let count = 0;
  for (let i = 0; i < places.length; i++) {
    if (!isSet(bits, places[i]!)) continue;
    words[i >>> 5]! |= 1 << (i & 31);
    count++;
  }
  return count === places.length ? undefined : words;
}
