import {
  type Column,
  cellColumn,
  type DeviceLength,
  type Memory,
  requireLength,
  type Table,
} from './columns/column.ts';
import { knownRows } from './columns/length.ts';
import { destination } from './columns/program.ts';
import type { Context } from './context.ts';
import { CapacityError, OutOfMemoryError } from './errors.ts';
import { saturatingPlus } from './monoid.ts';
import { countIn, fusedScan } from './scan.ts';

/** How many rows other rows make. */
export interface RowsToMake {
  /** The most rows that the result can have; with it, nothing waits. */
  readonly capacity?: number | undefined;
  /**
   * How many rows there will probably be, where no `capacity` is given. So many are written before the number is known, so that the
   * device need not wait for the host. The result is the same: where there are more, or fewer than half of it, they are written
   * again. It may take memory for twice its rows.
   */
  readonly expected?: number | undefined;
}

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

/** Places rows and makes them: at most `capacity`, or as many as there are. */
export function makePlaced<P extends PlacedRows, R extends Table>(
  primitive: string,
  context: Context,
  { capacity, expected }: RowsToMake,
  place: () => P,
  make: (placed: P, length: number | DeviceLength) => R,
): R | Promise<R> {
  if (expected !== undefined) requireLength(expected, primitive, 'the option expected');
  return capacity === undefined
    ? makeExactly(primitive, context, expected, place, make)
    : makeWithin(primitive, context, capacity, place, make);
}

/**
 * Places rows, waits for their number, and makes as many. Where some number is expected, as many are made before it is known:
 * the device need not pause.
 */
async function makeExactly<P extends PlacedRows, R extends Table>(
  primitive: string,
  context: Context,
  expected: number | undefined,
  place: () => P,
  make: (placed: P, length: number | DeviceLength) => R,
): Promise<R> {
  const placed = place();
  let early: R | undefined;
  try {
    early = expected === undefined ? undefined : makeEarly(placed, expected, make);
    const [needed] = await context.read(placed.total);
    if (needed === 2 ** 32 - 1) {
      throw new CapacityError('capacity/rows', `${primitive} made more rows than a column can have.`, {
        expected: 'fewer than 2^32 - 1 rows',
        got: needed,
        remedy: `Give ${primitive} the rows in parts.`,
      });
    }
    if (early === undefined || needed! > expected! || 2 * needed! < expected!) return make(placed, needed!);
    const made = knownRows(early, needed!);
    early = undefined;
    return made;
  } finally {
    context.dispose(placed, early);
  }
}

/** As many rows as are expected; none where there is no memory for them. */
function makeEarly<P extends PlacedRows, R>(
  placed: P,
  expected: number,
  make: (placed: P, length: DeviceLength) => R,
): R | undefined {
  try {
    return make(placed, countIn(placed.count, 0, expected));
  } catch (error) {
    if (error instanceof OutOfMemoryError) return undefined;
    throw error;
  }
}

/** Places rows and makes them, at most `capacity`, without waiting. */
function makeWithin<P extends PlacedRows, R>(
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
