import { ArgumentError } from './checks/errors.ts';
import { type Column, type ColumnsOf, cellColumn, columnsAs, commonLength, type Table } from './columns/column.ts';
import { alive, extentOf, programOf } from './columns/program.ts';
import { fuseColumns } from './columns/views.ts';
import { type ContextOption, inContext, requireContext } from './context/context-option.ts';
import { assemble, type Shape } from './functors/shapes.ts';
import { type AnyMonoid, type Monoid, monoidProgram } from './monoid.ts';

/**
 * Combines all rows, in order, into a table of one row that stays on the device.
 *
 * - The monoid must be associative with a neutral identity; it need not be commutative.
 * - Work O(n), span O(log n). Deterministic: exact monoids give the same bytes for every bracketing; other monoids are
 *   bracketed as in the canonical combination tree, whose shape depends only on the length.
 * - An empty input gives the identity. Accepts device counts (lengths that only the device knows). The columns of a
 *   table are matched by name with the fields of the monoid.
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
  const fusion = fuseColumns('reduce', columns);
  return context.scope(() => {
    const memory = context.allocate(columns.length);
    context.backend.run({
      kind: 'reduce',
      extent: extentOf(length),
      program: programOf(fusion, context, length),
      monoid: program,
      into: {
        buffer: alive(memory).buffer,
        word: 0,
      },
    });
    const leaves = program.types.map((type, word) => cellColumn(memory, type, word));
    return assemble<Column>(monoid.shape, leaves) as ColumnsOf<S>;
  });
}

/**
 * The columns that a monoid combines, in the order of the monoid's fields. The columns of a table are matched by name.
 */
export function operandsOf(primitive: string, table: Table, monoid: AnyMonoid, argument = 'input'): readonly Column[] {
  // Throws if the argument is not a monoid, before its fields are read.
  monoidProgram(monoid, primitive);
  const sentence = `${primitive} was given columns that do not fit its monoid.`;
  const remedy = 'Give the table the fields of the monoid, by name and type.';
  return columnsAs(
    monoid.shape,
    table,
    (difference) => new ArgumentError('monoid/types', sentence, { ...difference, remedy }),
    primitive,
    argument,
  );
}
