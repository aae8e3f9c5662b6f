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

/** Options for the number of rows that a primitive makes. */
export interface RowsToMake {
  /** The maximum number of rows of the result. If given, nothing waits. */
  readonly capacity?: number | undefined;
  /**
   * The expected number of rows, if no `capacity` is given. That many are written before the actual number is known, so
   * the device need not wait for the host. The result is the same: if there are more rows, or fewer than half as many,
   * they are written again. May take memory for twice the rows.
   */
  readonly expected?: number | undefined;
}

/** Where the output of every row goes. */
export interface PlacedRows {
  /** The index of the first output row of every row. */
  readonly offsets: Column<'u32'>;
  /** The number of output rows, as memory and as a column. */
  readonly count: Memory;
  readonly total: Column<'u32'>;
}

/** Assigns places to the `counts[row]` output rows of every row, one row's output after another's. */
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

/** Assigns places and makes the rows: at most `capacity`, if given, otherwise all of them. */
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
 * Assigns places, waits for the number of rows, and makes that many. If a number is expected, that many are made before
 * the actual number is known, so the device is not idle meanwhile.
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
        remedy: `Pass the rows to ${primitive} in parts.`,
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

/** Makes the expected number of rows; undefined if there is not enough memory for them. */
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

/** Assigns places and makes at most `capacity` rows, without waiting. */
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
    // Must come first, so that everything made with this length derives from the check.
    context.expectCapacity(length, primitive);
    return make(placed, length);
  });
}
