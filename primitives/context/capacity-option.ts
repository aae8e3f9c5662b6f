import { requireOptions } from '../checks/arguments.ts';
import { anything, type FieldKinds } from '../checks/kinds.ts';
import { type ColumnOwner, type DeviceLength, requireLength } from '../columns/column.ts';
import { type ContextOption, inNamedContext } from './context-option.ts';

/** Options of primitives that store some of the rows that they are given; only the device knows how many. */
export interface CapacityOption extends ContextOption {
  /**
   * The maximum number of rows that are stored, for which memory is allocated. By default, there is room for as many
   * rows as there may be. If there are more rows than the capacity, every read of the result, and of columns derived
   * from it, throws a {@link CapacityError} with the capacity needed.
   */
  readonly capacity?: number | undefined;
}

const OPTIONS: FieldKinds<CapacityOption> = { context: anything, capacity: anything };

/** Runs a primitive whose options are `context` and `capacity`; see `inContext`. */
export function withCapacity<R>(
  primitive: string,
  options: CapacityOption | undefined,
  run: (capacity: number | undefined) => R,
): R {
  requireOptions(primitive, OPTIONS, options);
  const capacity = options?.capacity;
  if (capacity !== undefined) requireLength(capacity, primitive, 'the option capacity');
  return inNamedContext(primitive, options, () => run(capacity));
}

/**
 * Declares that `rows`, whose number was limited to a capacity, may be more, unless there are at most `most`. Call this
 * after the command that counts them: the count itself is right.
 */
export function expectRows(primitive: string, context: ColumnOwner, rows: DeviceLength, most: number): void {
  if (rows.limit < most) context.expectCapacity(rows, primitive);
}
