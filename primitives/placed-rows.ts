import { type Column, cellColumn, type DeviceLength, type Memory, requireLength } from './columns/column.ts';
import { destination } from './columns/program.ts';
import type { Context } from './context.ts';
import { CapacityError } from './errors.ts';
import { saturatingPlus } from './monoid.ts';
import { countIn, fusedScan } from './scan.ts';

/** Where the rows lie that other rows make. */
export interface PlacedRows {
  /** Where the output of every row starts. */
  readonly offsets: Column<'u32'>;
  /** Where the number of output rows stands, as memory and as a column. */
  readonly count: Memory;
  readonly total: Column<'u32'>;
}

/** Places the `counts[row]` rows that every row makes, one behind the other. */
export function placeRows(primitive: string, context: Context, counts: Column<'u32'>): PlacedRows {
  const { length } = counts;
  return context.scope(() => {
    const offsets = context.stored('u32', length);
    const count = context.allocate(1);
    fusedScan(`${primitive}Offsets`, {
      context,
      length,
      monoid: saturatingPlus,
      element: (index, loader) => loader.load([counts], index),
      emit: (_, exclusive) => exclusive,
      emitted: ['u32'],
      stores: [{ ...destination(offsets), value: 0 }],
      total: count,
    });
    return { offsets, count, total: cellColumn(count, 'u32', 0) };
  });
}

/** Places rows, waits for their number, and makes as many. */
export async function makeExactly<P extends PlacedRows, R>(
  primitive: string,
  context: Context,
  place: () => P,
  make: (placed: P, length: number) => R,
): Promise<R> {
  const placed = place();
  try {
    const [needed] = await context.read(placed.total);
    if (needed === 2 ** 32 - 1) {
      throw new CapacityError('capacity/rows', `${primitive} made more rows than a column can have.`, {
        expected: 'fewer than 2^32 - 1 rows',
        got: needed,
        remedy: `Give ${primitive} the rows in parts.`,
      });
    }
    return make(placed, needed!);
  } finally {
    context.dispose(placed);
  }
}

/** Places rows and makes them, at most `capacity`, without waiting. */
export function makeWithin<P extends PlacedRows, R>(
  primitive: string,
  context: Context,
  capacity: number,
  place: () => P,
  make: (placed: P, length: DeviceLength) => R,
): R {
  requireLength(capacity, primitive, 'the option capacity');
  return context.scope(() => {
    const placed = place();
    const length = countIn(placed.count, 0, capacity);
    // First, so that whatever is made with this length derives from it.
    context.expectCapacity(length, primitive);
    return make(placed, length);
  });
}
