import type { MonoidProgram } from './backend.ts';
import {
  type Column,
  type ColumnsOf,
  cellColumn,
  columnsOf,
  commonLength,
  requireContext,
  type Table,
} from './columns/column.ts';
import { alive, extentOf, fuse, programOf } from './columns/program.ts';
import { ArgumentError } from './errors.ts';
import { assemble, type Shape } from './functors/shapes.ts';
import { type Monoid, monoidProgram } from './monoid.ts';

/**
 * The combination of all rows, in their order, as a table of one row that stays on the device.
 *
 * - Laws asked: the monoid is associative with a neutral identity; it need not be commutative.
 * - Work O(n), span O(log n). Deterministic: exact monoids give the same bytes however they are folded; others are folded
 *   in the canonical tree, a function of the length alone.
 * - Of no rows: the identity. Accepts device counts.
 * - Equivalent loop: `let total = identity; for (const row of rows) total = combine(total, row)`.
 *
 * @example
 * await ctx.read(reduce(ctx.column(Uint32Array.of(1, 2, 3)), plus(u32))); // Uint32Array [6]
 */
export function reduce<S extends Shape>(input: ColumnsOf<S>, monoid: Monoid<S>): ColumnsOf<S> {
  const columns = columnsOf(input as Table);
  const program = monoidProgram(monoid);
  requireTypes(columns, program, 'reduce');
  const context = requireContext(columns, 'reduce');
  const length = commonLength(columns, 'reduce');
  const fusion = fuse('reduce', [], program.types, (index, _, loader) => loader.load(columns, index));
  return context.scope(() => {
    const memory = context.allocate(columns.length);
    context.backend.reduce(extentOf(length), programOf(fusion), program, { buffer: alive(memory).buffer, word: 0 });
    const leaves = program.types.map((type, word) => cellColumn(memory, type, word));
    return assemble<Column>(monoid.shape, leaves) as ColumnsOf<S>;
  });
}

/** Checks that a table's columns are what a monoid combines. */
export function requireTypes(columns: readonly Column[], { types }: MonoidProgram, primitive: string): void {
  const got = columns.map(({ type }) => type);
  if (got.length === types.length && got.every((type, leaf) => type === types[leaf])) return;
  throw new ArgumentError('monoid/types', `${primitive} was given columns that its monoid does not combine.`, {
    expected: types.join(', '),
    got: got.join(', '),
    remedy: 'The fields of the table and of the monoid must agree in order and type.',
  });
}
