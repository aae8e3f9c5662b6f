import { requireOptions, wrongArgument } from '../checks/arguments.ts';
import { ArgumentError } from '../checks/errors.ts';
import { isRecord, withArticle } from '../checks/given.ts';
import { anything, aWhole, type FieldKinds } from '../checks/kinds.ts';
import { type Column, type ColumnsOf, storageOf } from '../columns/column.ts';
import { type Grid, requireGrid } from '../columns/grid.ts';
import type { Storage } from '../contract/backend.ts';
import { isUniformParameter, type UniformParameter } from '../functors/functor.ts';
import { flawOfShape, leafPaths, leafTypes, type Shape } from '../functors/shapes.ts';
import type { ScalarType } from '../ir/ir.ts';

/** The storage formats of packed elements. Several packed elements share a 32-bit word. */
export type PackedStorage = 'u8' | 'i8' | 'u16' | 'i16';

export interface InputOptions {
  /**
   * How packed elements are stored: the format of a single column, or the formats of fields by path, such as `{
   * 'colour.red': 'u8' }`. For example, `context.column` stores a `Uint8Array` as `u8`. By default, elements take 32
   * bits.
   */
  readonly storage?: PackedStorage | { readonly [path: string]: PackedStorage } | undefined;
}

/**
 * The declaration of a table argument of a prepared pipeline: the shape of its rows, and the maximum number of rows.
 */
export interface TableInput<S extends Shape = Shape> {
  readonly kind: 'table';
  readonly shape: S;
  readonly capacity: number;
  /** The shape of the columns. Then their number of rows is the capacity, at every call. */
  readonly grid: Grid | undefined;
  /** The storage formats of the table's columns, in depth-first order of the shape's fields. */
  readonly storages: readonly Storage[];
}

/**
 * The declaration of an argument of a prepared pipeline: a table, declared by `input`, or a uniform, declared by
 * `uniform(type)`.
 */
export type PreparedInput = TableInput | UniformParameter<ScalarType>;
export type PreparedInputs = { readonly [name: string]: PreparedInput };

/**
 * The arguments of a prepared pipeline. While the pipeline is being prepared, its function receives placeholders
 * instead: columns whose lengths are unknown, and uniforms whose values are unknown.
 */
export type PreparedArguments<I extends PreparedInputs> = {
  readonly [K in keyof I]: I[K] extends TableInput<infer S>
    ? ColumnsOf<S>
    : I[K] extends UniformParameter<infer T>
      ? T extends 'bool'
        ? boolean
        : number
      : never;
};

const OPTIONS: FieldKinds<InputOptions> = { storage: anything };

/** The types of the elements of packed columns. */
export const PACKED_TYPES: Readonly<Record<PackedStorage, 'u32' | 'i32'>> = {
  u8: 'u32',
  u16: 'u32',
  i8: 'i32',
  i16: 'i32',
};

/**
 * Declares a table argument of a prepared pipeline. `shape` is the shape of the rows, and `capacity` is the maximum
 * number of rows. All columns of one input have the same length, which may change from call to call; see
 * {@link Context.prepare}.
 *
 * With the shape of a grid, `{ rows, columns }`, in place of the capacity, the columns have exactly this shape at every
 * call, and the pipeline's function receives columns of this shape; see {@link asGrid}.
 *
 * @throws {@link ArgumentError} `argument/type` if the shape or the capacity is invalid, `prepare/storage` if a field
 * cannot be packed as requested.
 *
 * @example
 * const sorted = ctx.prepare({ rows: input({ key: u32, id: u32 }, 1000) }, ({ rows }) => sortByKey(rows.key, rows.id).values);
 * await ctx.read(sorted({ rows: { key: ctx.column(Uint32Array.of(3, 1)), id: ctx.column(Uint32Array.of(7, 8)) } })); // Uint32Array [8, 7]
 */
export function input<S extends Shape>(shape: S, capacity: number | Grid, options: InputOptions = {}): TableInput<S> {
  const flaw = flawOfShape(shape, 'shape');
  if (flaw !== undefined) throw wrongArgument('input', flaw.path, flaw.part, 'a scalar type or a record of shapes');
  const flawOfCapacity = aWhole(0)(capacity, 'capacity', new Map());
  const grid = isRecord(capacity) ? requireGrid('input', capacity, undefined, 'capacity') : undefined;
  if (grid === undefined && flawOfCapacity !== undefined)
    throw wrongArgument('input', 'capacity', capacity, flawOfCapacity.expected);
  requireOptions('input', OPTIONS, options);
  const rows = grid === undefined ? (capacity as number) : grid.rows * grid.columns;
  const declared = {
    kind: 'table',
    shape,
    capacity: rows,
    grid,
    storages: storagesOf(shape, options.storage),
  } as const;
  made.add(declared);
  return declared;
}

/** The declarations that `input` has returned. Only these are valid, because `input` has checked them. */
const made = new WeakSet<object>();

function storagesOf(shape: Shape, packed: InputOptions['storage']): Storage[] {
  const given = typeof packed === 'string' ? { '': packed } : packed === undefined ? {} : packed;
  if (!isRecord(given))
    throw wrongArgument('input', 'the option storage', packed, 'u8, i8, u16, i16 or a record of them');
  const paths = leafPaths(shape);
  const types = leafTypes(shape);
  for (const [path, storage] of Object.entries(given)) {
    const type = types[paths.indexOf(path)];
    if (type === undefined || PACKED_TYPES[storage as PackedStorage] !== type) throw notPackable(path, storage, type);
  }
  return paths.map((path, i) => (given as Record<string, Storage>)[path] ?? storageOf(types[i]!));
}

function notPackable(path: string, storage: unknown, type: ScalarType | undefined): ArgumentError {
  return new ArgumentError(
    'prepare/storage',
    `input() cannot pack ${path === '' ? 'its column' : path} as requested.`,
    {
      expected: type === undefined ? 'the path of a field' : 'u8 or u16 for a u32, i8 or i16 for an i32',
      got: `${String(storage)}${type === undefined ? '' : ` for ${withArticle(type)}`}`,
    },
  );
}

export function isTableInput(given: PreparedInput): given is TableInput {
  return 'kind' in given && given.kind === 'table';
}

/** Requires a record of arguments that were declared by `input` or `uniform`. */
export function requireInputs(inputs: unknown): asserts inputs is PreparedInputs {
  if (!isRecord(inputs)) throw wrongArgument('prepare', 'inputs', inputs, 'a record of input(…) and uniform(…)');
  for (const [name, given] of Object.entries(inputs)) {
    const isInput = isRecord(given) && (made.has(given) || isUniformParameter(given as never));
    if (!isInput) throw wrongArgument('prepare', `inputs.${name}`, given, 'input(…) or uniform(…)');
  }
}

/**
 * The capacity with which the library prepares its own pipelines for a column: the next power of two. Columns of
 * similar length then share a pipeline.
 */
export function capacityFor({ capacity }: Column): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, capacity)));
}
