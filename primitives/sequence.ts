import { requireFunctor, requireShape, requireValue, wrongArgument } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { describeGiven } from './checks/given.ts';
import {
  type Column,
  type ColumnOwner,
  type ColumnsOf,
  requireLength,
  type Table,
  viewColumns,
} from './columns/column.ts';
import { fuse } from './columns/program.ts';
import { computedColumn } from './columns/views.ts';
import { Context } from './context/context.ts';
import type { Functor } from './functors/functor.ts';
import { flatten, leafTypes, type PlainOf, type Scalar, type Shape, shapeText } from './functors/shapes.ts';
import { map } from './map.ts';

type Length = Column['length'];

/**
 * The numbers `start`, `start + step`, … modulo 2³², as a view that belongs to no context. The view takes no memory,
 * and another start or step needs no new compilation.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic. The length may be a device count (a length that only the
 *   device knows).
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = (start + i * step) % 2 ** 32`.
 *
 * @throws {@link ArgumentError} if the length, the start or the step is not a whole number.
 * @example
 * await ctx.read(sequence(4, 10, -5)); // Uint32Array [10, 5, 0, 4294967291]
 */
export function sequence(length: Length, start = 0, step = 1): Column<'u32'> {
  requireLength(length, 'sequence');
  requireWhole('start', start);
  requireWhole('step', step);
  if (start === 0 && step === 1) return indices(length);
  const key = { by: [sequence], columns: [], values: [step >>> 0, start >>> 0] };
  return computedColumn('sequence', 'u32', { context: undefined, length }, key, (index, loader) =>
    index.mul(loader.uniform('u32', step >>> 0)).add(loader.uniform('u32', start >>> 0)),
  );
}

/**
 * The sequence 0, 1, 2 …, for which every row returns its own index. The index is returned without arithmetic, so
 * backends can recognize sequential reads.
 */
function indices(length: Length): Column<'u32'> {
  const key = { by: [indices], columns: [] };
  return computedColumn('sequence', 'u32', { context: undefined, length }, key, (index) => index);
}

function requireWhole(name: string, value: number): void {
  if (Number.isInteger(value)) return;
  throw wrongArgument('sequence', name, value, 'a whole number', { code: 'sequence/number' });
}

/**
 * A view that has the same value in every row and belongs to no context. Another value of the same shape needs no new
 * compilation.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic. The length may be a device count (a length that only the
 *   device knows).
 * - Equivalent loop: `out.fill(value)`.
 *
 * @throws {@link ArgumentError} if the length is invalid or the value does not have the shape.
 * @example
 * await ctx.read(constant({ x: f32, y: bool }, { x: 0.5, y: true }, 2)); // { x: Float32Array [0.5, 0.5], y: Uint8Array [1, 1] }
 */
export function constant<S extends Shape>(shape: S, value: PlainOf<S>, length: Length): ColumnsOf<S> {
  return constantOf('constant', shape, value, length);
}

/**
 * A stored table that has the same value in every row. {@link constant} returns a view with the same contents.
 *
 * - Work O(n), span O(1). Deterministic. The length may be a device count (a length that only the device knows).
 * - Equivalent loop: `out.fill(value)`.
 *
 * @throws {@link ArgumentError} if the length is invalid or the value does not have the shape.
 * @example
 * await ctx.read(fill(ctx, { x: u32, y: i32 }, { x: 1, y: -1 }, 2)); // { x: Uint32Array [1, 1], y: Int32Array [-1, -1] }
 */
export function fill<S extends Shape>(context: ColumnOwner, shape: S, value: PlainOf<S>, length: Length): ColumnsOf<S> {
  if (!(context instanceof Context)) throw wrongArgument('fill', 'context', context, 'a context, as open() returns it');
  return context.materialize(constantOf('fill', shape, value, length) as Table) as ColumnsOf<S>;
}

function constantOf<S extends Shape>(primitive: string, shape: S, value: PlainOf<S>, length: Length): ColumnsOf<S> {
  requireShape(primitive, 'shape', shape);
  requireLength(length, primitive);
  const leaves = flatten<unknown>(shape, value as never, (path) => {
    throw new ArgumentError('fill/field', `The value given to ${primitive} is missing ${path}.`, {
      expected: shapeText(shape),
      got: describeGiven(value),
    });
  });
  const types = leafTypes(shape);
  const plain = types.map((type, i) =>
    requireValue(type, leaves[i], 'sequence/value', `The value given to ${primitive} does not have its shape.`),
  );
  const view = fuse(
    primitive,
    [],
    types,
    (_index, _, loader) => types.map((type, i) => loader.uniform(type, plain[i]!)),
    { by: [constantOf], columns: [], values: plain },
  );
  return viewColumns(shape, undefined, length, view);
}

/**
 * Applies a functor to every index: `out[i] = f(i)`. Returns a view that belongs to no context.
 *
 * - Work O(n), span O(1), per use of the view. Deterministic. The length may be a device count (a length that only the
 *   device knows).
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = f(i)`.
 *
 * @example
 * const squares = tabulate(4, fn({ i: u32 }, u32, ({ i }) => i.mul(i)));
 * await ctx.read(squares); // Uint32Array [0, 1, 4, 9]
 */
export function tabulate<K extends string, R extends Shape>(
  length: Length,
  functor: Functor<{ readonly [P in K]: Scalar<'u32'> }, R>,
): ColumnsOf<R> {
  requireFunctor('tabulate', 'functor', functor);
  const [name] = Object.keys(functor.parameters);
  return map(functor, { [name!]: sequence(length) } as never);
}
