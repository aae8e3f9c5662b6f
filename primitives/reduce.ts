import {
  type Column,
  type ColumnsOf,
  cellColumn,
  columnsAs,
  commonLength,
  requireContext,
  type Table,
} from './columns/column.ts';
import { alive, extentOf, fuse, programOf } from './columns/program.ts';
import { type ContextOption, inContext } from './context-option.ts';
import { ArgumentError } from './errors.ts';
import { assemble, type Shape } from './functors/shapes.ts';
import { type AnyMonoid, type Monoid, monoidProgram } from './monoid.ts';

/**
 * The combination of all rows, in their order, as a table of one row that stays on the device.
 *
 * - Laws asked: the monoid is associative with a neutral identity; it need not be commutative.
 * - Work O(n), span O(log n). Deterministic: exact monoids give the same bytes however they are folded; others are folded
 *   in the canonical tree, a function of the length alone.
 * - Of no rows: the identity. Accepts device counts. Records are combined field by field as the monoid names them.
 * - Equivalent loop: `let total = identity; for (const row of rows) total = combine(total, row)`.
 *
 * @example
 * await ctx.read(reduce(ctx.column(Uint32Array.of(1, 2, 3)), plus(u32))); // Uint32Array [6]
 * await ctx.read(reduce(sequence(4), plus(u32), { context: ctx })); // Uint32Array [6]
 */
export function reduce<S extends Shape>(input: ColumnsOf<S>, monoid: Monoid<S>, options?: ContextOption): ColumnsOf<S> {
  return inContext('reduce', options, () => reduceRows(input, monoid));
}

function reduceRows<S extends Shape>(input: ColumnsOf<S>, monoid: Monoid<S>): ColumnsOf<S> {
  const program = monoidProgram(monoid, 'reduce');
  const columns = operandsOf('reduce', input as Table, monoid);
  const context = requireContext(columns, 'reduce');
  const length = commonLength(columns, 'reduce');
  const fusion = fuse('reduce', [], program.types, (index, _, loader) => loader.load(columns, index), {
    by: [reduceRows],
    columns,
  });
  return context.scope(() => {
    const memory = context.allocate(columns.length);
    context.backend.reduce(extentOf(length), programOf(fusion, context, length), program, {
      buffer: alive(memory).buffer,
      word: 0,
    });
    const leaves = program.types.map((type, word) => cellColumn(memory, type, word));
    return assemble<Column>(monoid.shape, leaves) as ColumnsOf<S>;
  });
}

/** The columns that a monoid combines, in the order of its fields: those that a table has by their names. */
export function operandsOf(primitive: string, table: Table, monoid: AnyMonoid, argument = 'input'): readonly Column[] {
  // What is no monoid is refused first.
  monoidProgram(monoid, primitive);
  const sentence = `${primitive} was given columns that its monoid does not combine.`;
  const remedy = 'Give the table the fields of the monoid, by name and type.';
  return columnsAs(
    monoid.shape,
    table,
    (difference) => new ArgumentError('monoid/types', sentence, { ...difference, remedy }),
    primitive,
    argument,
  );
}
