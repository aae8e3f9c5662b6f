import { requireOptions } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { anything, aWord, type FieldKinds } from './checks/kinds.ts';
import { type Column, type ColumnsOf, cellColumn, columnsAs, commonLength, type Table } from './columns/column.ts';
import { alive, extentOf, programOf } from './columns/program.ts';
import { fuseColumns } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { assemble, type Shape } from './functors/shapes.ts';
import { type AnyMonoid, type Monoid, monoidProgram } from './monoid.ts';
import { type LineAxis, reduceAlong } from './rows/lines.ts';

/**
 * Combines all rows, in order, into a table of one row that stays on the device.
 *
 * - The monoid must be associative with a neutral identity; it need not be commutative.
 * - Work O(n), span O(log n). Deterministic: exact monoids give the same bytes for every bracketing; other monoids are
 *   bracketed as in the canonical combination tree, whose shape depends only on the length.
 * - An empty input gives the identity. Accepts device counts (lengths that only the device knows). The columns of a
 *   table are matched by name with the fields of the monoid.
 * - With `axis`, each row (or each column) of the cells of a grid is combined by itself, into a table with a row for each
 *   (see {@link asGrid}). A monoid that is not exact brackets each line as the canonical tree of its length, for which
 *   one thread goes along each line.
 * - Equivalent loop: `let total = identity; for (const row of rows) total = combine(total, row)`.
 *
 * @throws {@link ArgumentError} `grid/none` for an `axis` of columns without a shape.
 *
 * @example
 * await ctx.read(reduce(ctx.column(Uint32Array.of(1, 2, 3)), plus(u32))); // Uint32Array [6]
 * await ctx.read(reduce(sequence(4), plus(u32), { context: ctx })); // Uint32Array [6]
 * const cells = ctx.column(Uint32Array.of(1, 2, 3, 4, 5, 6), { rows: 2, columns: 3 });
 * await ctx.read(reduce(cells, plus(u32), { axis: 'columns' })); // Uint32Array [5, 7, 9]
 */
export function reduce<S extends Shape>(
  input: ColumnsOf<S>,
  monoid: Monoid<S>,
  options: AxisOption = {},
): ColumnsOf<S> {
  requireOptions('reduce', AXIS_OPTIONS, options);
  const { axis } = options;
  return inNamedContext('reduce', options, () => {
    if (axis === undefined) return reduceRows(input, monoid);
    const leaves = reduceAlong('reduce', operandsOf('reduce', input as Table, monoid), monoid, axis);
    return assemble<Column>(monoid.shape, leaves) as ColumnsOf<S>;
  });
}

export interface AxisOption extends ContextOption {
  /** The lines of a grid that are combined, each by itself: its rows, or its columns. By default, all rows are one line. */
  readonly axis?: LineAxis | undefined;
}

export const AXIS_OPTIONS: FieldKinds<AxisOption> = {
  axis: aWord(['rows', 'columns'], 'grid/axis'),
  context: anything,
};

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
