import type { Context } from '../context.ts';
import { type Column, type DeviceLength, requireLength } from './column.ts';
import { extentOf, fuse, programOf } from './program.ts';

/**
 * A length times a whole number, for rows that stand for a fixed number of elements each. Of a device count it is computed
 * on the device.
 *
 * @throws {@link ArgumentError} where that could be more rows than a column can have.
 */
export function scaleLength(context: Context, length: Column['length'], times: number): number | DeviceLength {
  const limit = (typeof length === 'number' ? length : length.limit) * times;
  requireLength(limit, 'scaleLength');
  if (typeof length === 'number') return limit;
  const memory = context.allocate(1);
  const scaled = fuse('scaleLength', [], ['u32'], (_index, _, loader) => [
    loader.length(length).mul(loader.uniform('u32', times)),
  ]);
  context.backend.forEach(extentOf(1), programOf(scaled), [
    { buffer: memory.buffer, offset: 0, capacity: 1, value: 0 },
  ]);
  return { memory, word: 0, minus: 0, limit };
}
