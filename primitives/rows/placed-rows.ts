import { CapacityError, OutOfMemoryError } from '../checks/errors.ts';
import {
  type Column,
  type ColumnOwner,
  cellColumn,
  type DeviceLength,
  type Memory,
  requireLength,
  type Table,
} from '../columns/column.ts';
import { knownRows } from '../columns/length.ts';
import { destination } from '../columns/program.ts';
import { saturatingPlus } from '../monoid.ts';
import { countIn, fusedScan } from '../scan.ts';

/** Options of primitives whose number of result rows depends on the data. */
export interface RowsToMake {
  /** The maximum number of rows of the result. If given, the primitive does not wait for the device. */
  readonly capacity?: number | undefined;
  /**
   * An estimate of the number of rows of the result, for calls without `capacity`. The primitive writes up to this
   * number of rows before the actual number is known, so the device need not wait for the host. The result is the same
   * as without the option: if there are more rows than expected, or fewer than half of the expected number, all rows
   * are written again. Writing the rows twice may take memory for both copies.
   */
  readonly expected?: number | undefined;
}

/** Where the output rows of each input row are placed in the output. */
export interface PlacedRows {
  /** For every input row, the index of its first output row. */
  readonly offsets: Column<'u32'>;
  /** The memory that holds the total number of output rows. `total` is the same number as a column. */
  readonly count: Memory;
  readonly total: Column<'u32'>;
}

/**
 * Assigns positions in the output to the `counts[row]` output rows of every input row. The output rows of an input row
 * come before the output rows of the next input row.
 */
export function placeRows(primitive: string, context: ColumnOwner, counts: Column<'u32'>): PlacedRows {
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

/**
 * Assigns positions to the output rows and makes the rows. If `capacity` is given, makes at most that number of rows,
 * without waiting for the device. Otherwise waits until the number of rows is known, and makes all rows.
 */
export function makePlaced<P extends PlacedRows, R extends Table>(
  primitive: string,
  context: ColumnOwner,
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
 * Assigns positions, waits for the number of output rows, and makes exactly this number. If an expected number is
 * given, rows are made before the actual number is known, so that the device is not idle meanwhile.
 */
async function makeExactly<P extends PlacedRows, R extends Table>(
  primitive: string,
  context: ColumnOwner,
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

/**
 * Makes up to the expected number of rows, before the actual number is known. Returns undefined if there is not enough
 * memory.
 */
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

/** Assigns positions and makes at most `capacity` output rows, without waiting for their number. */
function makeWithin<P extends PlacedRows, R>(
  primitive: string,
  context: ColumnOwner,
  capacity: number,
  place: () => P,
  make: (placed: P, length: DeviceLength) => R,
): R {
  requireLength(capacity, primitive, 'the option capacity');
  return context.scope(() => {
    const placed = place();
    const length = countIn(placed.count, 0, capacity);
    // The capacity check must be registered before `make` is called, so that all columns made with this length derive
    // from the check.
    context.expectCapacity(length, primitive);
    return make(placed, length);
  });
}
