import { capacityOf } from '../contract/backend.ts';
import {
  Column,
  type ColumnOwner,
  columnsOf,
  type DeviceLength,
  requireLength,
  type Table,
  withColumns,
} from './column.ts';

import { fuse, storeWord } from './program.ts';

export { capacityOf } from '../contract/backend.ts';

/**
 * A length multiplied by a whole number, for tables in which each row has a fixed number of elements. A device count (a
 * length that only the device knows) is multiplied on the device.
 *
 * @throws {@link ArgumentError} if the result could have more rows than a column can have.
 */
export function scaleLength(context: ColumnOwner, length: Column['length'], times: number): number | DeviceLength {
  const limit = capacityOf(length) * times;
  requireLength(limit, 'scaleLength');
  if (typeof length === 'number') return limit;
  const memory = context.allocate(1);
  const scaled = fuse('scaleLength', [], ['u32'], (_index, _, loader) => [
    loader.length(length).mul(loader.uniform('u32', times)),
  ]);
  storeWord(context, scaled, memory);
  return { memory, word: 0, minus: 0, limit };
}

/**
 * A length divided by a whole number, rounded down. A device count (a length that only the device knows) is divided on
 * the device.
 */
export function divideLength(context: ColumnOwner, length: Column['length'], by: number): number | DeviceLength {
  if (typeof length === 'number') return Math.floor(length / by);
  const memory = context.allocate(1);
  const divided = fuse('divideLength', [], ['u32'], (_index, _, loader) => [
    loader.length(length).div(loader.uniform('u32', by)),
  ]);
  storeWord(context, divided, memory);
  return { memory, word: 0, minus: 0, limit: Math.floor(length.limit / by) };
}

/**
 * The sum of two lengths. Device counts (lengths that only the device knows) are added on the device.
 *
 * @throws {@link ArgumentError} if the result could have more rows than a column can have.
 */
export function addLengths(
  primitive: string,
  context: ColumnOwner,
  a: Column['length'],
  b: Column['length'],
): number | DeviceLength {
  const limit = [a, b].reduce<number>((sum, length) => sum + capacityOf(length), 0);
  requireLength(limit, primitive);
  if (typeof a === 'number' && typeof b === 'number') return limit;
  const memory = context.allocate(1);
  const sum = fuse('addLengths', [], ['u32'], (_index, _, loader) => [loader.length(a).add(loader.length(b))]);
  storeWord(context, sum, memory);
  return { memory, word: 0, minus: 0, limit };
}

/**
 * A table whose device count (a length that only the device knew) is replaced by the count that the host has read.
 * The result shares the table's memory. Dispose of the result instead of the table.
 */
export function knownRows<C extends Table>(table: C, length: number): C {
  const known = columnsOf(table).map(({ context, type, source, length: counted }) => {
    if (typeof counted !== 'number') counted.memory.goesWithLast = true;
    return new Column(context, type, length, source);
  });
  return withColumns(table, known);
}
