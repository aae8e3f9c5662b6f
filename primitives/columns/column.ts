import { wrongArgument } from '../checks/arguments.ts';
import { ArgumentError, type ErrorDetails, type ErrorPlace } from '../checks/errors.ts';
import { isRecord, lengthText } from '../checks/given.ts';
import { type ArrayBinding, type Backend, capacityOf, type DeviceBuffer, type Storage } from '../contract/backend.ts';
import { bool, f32, i32, u32 } from '../functors/functor.ts';
import { assemble, isScalar, leafTypes, type Scalar, type Shape, shapeText } from '../functors/shapes.ts';
import type { Module, ScalarType } from '../ir/ir.ts';
import { type Grid, gridText } from './grid.ts';
import type { ColumnTypeOf, HostArray, HostArrayOf } from './host-array.ts';

/**
 * The owner of columns: a {@link Context}, as columns and primitives know it. It has the memory of the columns, and
 * the backend that computes them. All members are those of `Context`.
 */
export interface ColumnOwner {
  readonly backend: Backend;
  /** @internal */
  readonly automatic: StoredViews;
  /** @internal */
  readonly recording: Recording | undefined;
  column<A extends HostArray>(data: A, grid?: Grid): Column<ColumnTypeOf<A>>;
  /** @internal */
  stored<T extends ScalarType>(type: T, length: number | DeviceLength, grid?: Grid): Column<T>;
  /** @internal */
  allocate(words: number, count?: Memory): Memory;
  /** @internal */
  allocateFor(view: View, words: number): Memory;
  /** @internal */
  free(memory: Memory): void;
  materialize<C extends Table>(table: C): C;
  read<C extends Table>(table: C): Promise<HostTableOf<C>>;
  count(table: Table): Promise<number>;
  sync(...tables: readonly Table[]): Promise<void>;
  scope<R>(pipeline: () => R): R;
  dispose(...tables: readonly unknown[]): void;
  /** @internal */
  expectCapacity(length: DeviceLength, primitive: string): void;
}

/** What the owner of columns has in addition while a pipeline is being recorded in it. */
export interface Recording {
  /** The owner for which the pipeline is being prepared. The pipeline may read its columns. */
  readonly outer: ColumnOwner;
  /** Called when a primitive declares that a row count, which only the device knows, may exceed its limit. */
  expectCapacity(length: DeviceLength, primitive: string): void;
}

/** The columns in which an owner automatically stores results of views. */
export interface StoredViews {
  /**
   * Stores the views that a command over `rows` rows reads, where that is cheaper than evaluating them at every read.
   * Returns a function that finds the stored results of an input.
   */
  storeFor(reader: View, rows: number): StoredOf;
  /** Frees the columns that were computed from memory whose contents are about to change. */
  forgetDerived(memory: Memory): void;
}

/** The memory of a view's stored results, by result index. */
export type StoredResults = ReadonlyMap<number, StoredArray>;

/** Finds the stored results of an input. Returns undefined if the input must be evaluated. */
export type StoredOf = (input: ViewInput) => StoredResults | undefined;

/** The columns in which the library has automatically stored results of one view. */
export interface Automatic {
  readonly context: ColumnOwner;
  readonly length: Column['length'];
  /** Number of operations needed to evaluate one element of the view. */
  readonly operations: number;
  readonly results: Map<number, Memory>;
  /**
   * The memory from which the view was computed. If any of it is freed or overwritten, the stored columns are freed
   * too.
   */
  readonly sources: Set<Memory>;
  /**
   * Views that were computed from these columns and that commands have read. The columns are freed with the last of
   * these views.
   */
  readonly users: Set<WeakRef<View>>;
  /** Serial number of the last program that reads these columns. */
  usedBy: number;
  /**
   * Serial number of the submission in which these columns were computed. If a source is a borrowed buffer, the
   * columns are valid only during that submission.
   */
  readonly submission: number;
  /**
   * Whether these columns have expired because a submission ended. Only programs of the current command still read
   * them.
   */
  hasPassed: boolean;
}

/**
 * A buffer of the backend that some {@link Memory} stands for, and what decides when the buffer is given back. Contexts
 * keep allocations and not memory, so that memory which nothing refers to can be garbage-collected. So nothing in an
 * allocation may refer to its memory.
 */
export interface Allocation {
  readonly buffer: DeviceBuffer;
  /**
   * The memory that holds the row count, if only the device knows how many rows are stored here. The memory of the
   * count is freed together with the last memory that needs the count.
   */
  count: Memory | undefined;
  /**
   * Number of pending operations that still need the buffer. If the memory is released meanwhile, the buffer is freed
   * after the last of these operations.
   */
  holds: number;
  released: boolean;
  /**
   * Called to dispose of the buffer once it is released and no operation needs it. By default, the buffer returns to
   * the backend.
   */
  giveBack: (() => void) | undefined;
  /** The line of the caller's code that made the memory, where it was noted. */
  place: ErrorPlace | undefined;
}

/** What columns, views and lengths refer to: a buffer of the backend. */
export class Memory {
  readonly context: ColumnOwner;
  readonly allocation: Allocation;
  /** Number of unreleased memories whose row count is stored in this memory. */
  dependents = 0;
  /**
   * True if a column whose row count is stored here was disposed of while other columns still needed the count. This
   * memory is then freed together with the last column that needs the count.
   */
  goesWithLast = false;
  /**
   * Whether the buffer belongs to the user. The library never writes to it, and its contents may change between
   * submissions.
   */
  borrowed = false;
  /** The automatically stored view whose results are in this memory, if any. */
  automatic: Automatic | undefined;
  /** The automatically stored views that were computed from this memory. */
  derived: Set<Automatic> | undefined;

  constructor(context: ColumnOwner, buffer: DeviceBuffer, count?: Memory) {
    this.context = context;
    this.allocation = { buffer, count, holds: 0, released: false, giveBack: undefined, place: undefined };
    if (count !== undefined) count.dependents++;
  }

  get buffer(): DeviceBuffer {
    return this.allocation.buffer;
  }

  get released(): boolean {
    return this.allocation.released;
  }
}

/**
 * A length that only the device knows: `min(limit, max(0, cell − minus))`. Here, `cell` is the value of the 32-bit word
 * with index `word` in `memory`.
 */
export interface DeviceLength {
  /** @internal */
  readonly memory: Memory;
  /** @internal */
  readonly word: number;
  /** @internal */
  readonly minus: number;
  /** What the length is at most. */
  readonly limit: number;
}

/** Where a column's elements come from: memory, or a view that computes them. */
export type Source =
  | { readonly kind: 'stored'; readonly memory: Memory; readonly storage: Storage; readonly offset: number }
  /**
   * A view: the result with index `result` of a functor (a recorded function) of the row index. A view takes no memory,
   * and its code is inlined into the commands that read the view. If the result is u32 but the column has another type,
   * the result is the bit pattern of the column's value. So commands that only move values preserve every bit.
   */
  | { readonly kind: 'view'; readonly view: View; readonly result: number };

/**
 * A functor (a recorded function) of the row index, with the arrays and views that it reads. If the functor returns a
 * record, several columns share one view.
 */
export interface View {
  /** Serial number in order of creation. A view only reads views with lower numbers. */
  readonly born: number;
  /** The name of the primitive that made the view. */
  readonly kind: string;
  /** The line of the caller's code that made the view; known only while `explain` runs. */
  readonly place: ErrorPlace | undefined;
  /**
   * The code of this view alone. The code calls other views by their names in `inputs`. The code of those views is
   * linked in when a command is issued.
   */
  readonly module: Module;
  readonly arrays: ReadonlyMap<string, StoredArray>;
  readonly inputs: readonly ViewInput[];
  /** The names of the captured arrays and the input views, in the order in which the code first uses them. */
  readonly reads: readonly (string | ViewInput)[];
  readonly uniforms: ReadonlyMap<string, number | boolean>;
  /** The cost of one element if all views that this view reads are evaluated, not stored. */
  readonly cost: ViewCost;
  /** Only for the view of a transposed grid: the number of cells of a row; see `ForEachCommand`. */
  readonly across?: number;
  /** Memory that was taken only for this view and is freed with it. */
  readonly owned: Set<Memory>;
  /** The columns in which the library has automatically stored this view, if any. */
  automatic: Automatic | undefined;
}

/** A view as an input of another view or of a command. */
export interface ViewInput {
  /** Name of the view in the module of the reader. */
  readonly name: string;
  readonly view: View;
  readonly length: number | DeviceLength;
  /** Indices of the results that the reader uses. */
  readonly results: readonly number[];
}

/** The cost of one element of a view. */
export interface ViewCost {
  /** Number of operations. A read of memory counts as several. */
  readonly operations: number;
  /** Number of statements after backends inline all calls. */
  readonly statements: number;
  /** Number of statements of the longest single step: the view's own code, or the code of a view that it reads. */
  readonly longestStep: number;
  /**
   * Upper bound for the operations per row that storing inputs could save: the operations of all inputs that may be
   * evaluated more than once a row.
   */
  readonly repeated: number;
  readonly loops: boolean;
}

/** The elements of a stored column, as a captured array. */
export interface StoredArray {
  readonly memory: Memory;
  readonly storage: ArrayBinding['storage'];
  readonly offset: number;
  readonly length: number | DeviceLength;
}

/**
 * A vector of scalars. It is either stored on a backend, or a view whose elements are computed when they are read.
 *
 * `length` is a number or, if only the device knows it, a {@link DeviceLength}.
 */
export class Column<T extends ScalarType = ScalarType> {
  readonly context: ColumnOwner | undefined;
  readonly type: T;
  readonly length: number | DeviceLength;
  /** @internal */
  readonly source: Source;
  /**
   * The grid whose cells are the elements, if the column has a shape. It changes no element; see {@link asGrid}.
   */
  readonly grid: Grid | undefined;

  /** @internal */
  constructor(context: ColumnOwner | undefined, type: T, length: number | DeviceLength, source: Source, grid?: Grid) {
    this.context = context;
    this.type = type;
    this.length = length;
    this.source = source;
    this.grid = grid;
  }

  /**
   * Maximum number of elements of this column. For a length that only the device knows, the upper bound known to the
   * host.
   */
  get capacity(): number {
    return capacityOf(this.length);
  }
}

// What consoles print. By a symbol that needs no Node, and not in the published types.
Object.defineProperty(Column.prototype, Symbol.for('nodejs.util.inspect.custom'), {
  value(this: Column): string {
    const { context, source, type, length, grid } = this;
    const counted = typeof length === 'number' ? `${length}` : `at most ${length.limit}`;
    const rows = grid === undefined ? counted : `${counted} (${gridText(grid)})`;
    const isFreed = source.kind === 'stored' && source.memory.released;
    const state = isFreed
      ? 'freed'
      : source.kind === 'stored'
        ? storedText(source.storage, type)
        : `view of ${source.view.kind}`;
    return `Column { ${type}, length ${rows}, ${state}${context === undefined ? '' : ` on ${context.backend.name}`} }`;
  },
});

function storedText(storage: Storage, type: ScalarType): string {
  return storage === storageOf(type) ? 'stored' : `stored as ${storage}`;
}

/** A column, or a record of tables of equal length. Each column of a table is stored separately. */
export type Table = Column | { readonly [name: string]: Table };

/** The table type whose columns hold rows of a shape: a column for a scalar, a record of columns for a record. */
export type ColumnsOf<S extends Shape> =
  S extends Scalar<infer T> ? Column<T> : { readonly [K in keyof S]: S[K] extends Shape ? ColumnsOf<S[K]> : never };

/** What `read` returns for a table: a typed array for a column, a record of such arrays for a record. */
export type HostTableOf<C extends Table> =
  C extends Column<infer T>
    ? HostArrayOf<T>
    : { readonly [K in keyof C]: C[K] extends Table ? HostTableOf<C[K]> : never };

const scalars: Readonly<Record<ScalarType, Scalar<ScalarType>>> = { u32, i32, f32, bool };

/** The shape of a table's rows. */
export function shapeOf(table: Table): Shape {
  return table instanceof Column
    ? scalars[table.type]
    : Object.fromEntries(Object.entries(table).map(([name, field]) => [name, shapeOf(field)]));
}

/**
 * The columns of a table, depth first in the order of its fields. Error messages contain `call`, the name of the called
 * function, and `argument`, the name of the argument.
 *
 * @throws {@link ArgumentError} if a field is neither a record nor a column, or if the memory of a column was freed.
 */
export function columnsOf(table: Table, call = 'A primitive', argument = 'a table'): Column[] {
  const columns: Column[] = [];
  collectColumns(table, call, argument, columns, 0);
  return columns;
}

/** Maximum nesting depth of a table. A record that contains itself exceeds this depth, and so is detected. */
const DEEPEST_TABLE = 100;

function collectColumns(table: Table, call: string, argument: string, columns: Column[], depth: number): void {
  if (table instanceof Column) {
    requireAlive(table, call, () => argument);
    columns.push(table);
    return;
  }
  if (!isRecord(table)) {
    throw wrongArgument(call, argument, table, 'a column or a record of columns', {
      code: 'column/type',
      remedy: 'Make a column from a typed array with context.column(array).',
    });
  }
  if (depth === DEEPEST_TABLE) throw tableTooDeep(call, argument);
  for (const name of Object.keys(table)) {
    collectColumns(table[name] as Table, call, depth < 3 ? `${argument}.${name}` : argument, columns, depth + 1);
  }
}

function tableTooDeep(call: string, argument: string): ArgumentError {
  return new ArgumentError('column/nested', `Argument ${argument} of ${call} has too many nested records.`, {
    expected: `at most ${DEEPEST_TABLE} levels`,
    got: 'more levels, or a record that contains itself',
  });
}

/** Requires that a column's memory has not been freed. Does not check the memory that a view reads. */
export function requireAlive(column: Column, call: string, argument: () => string): void {
  const { source } = column;
  if (source.kind === 'view' || !source.memory.released) return;
  throw releasedColumn(`${call} was given a column whose memory was freed as ${argument()}.`);
}

/** The error for the use of a column after its memory was freed. `sentence` is the message. */
export function releasedColumn(sentence: string): ArgumentError {
  return new ArgumentError('column/released', sentence, {
    remedy: 'Dispose of it after its last use. If a scope freed it, return it from the scope.',
  });
}

/**
 * The columns of a table in the order of a shape's fields, matched by name. If the table and the shape differ in field
 * names or types, throws the error that `refuse` returns.
 */
export function columnsAs(
  shape: Shape,
  table: Table,
  refuse: (difference: ErrorDetails) => Error,
  call?: string,
  argument?: string,
): Column[] {
  columnsOf(table, call, argument);
  const columns = columnsByName(shape, table);
  if (columns === undefined) throw refuse({ expected: shapeText(shape), got: shapeText(shapeOf(table)) });
  return columns;
}

function columnsByName(shape: Shape, table: Table): Column[] | undefined {
  if (isScalar(shape)) return table instanceof Column && table.type === shape.type ? [table] : undefined;
  const names = Object.keys(shape);
  if (table instanceof Column || Object.keys(table).length !== names.length) return undefined;
  const fields = names.map((name) =>
    Object.hasOwn(table, name) ? columnsByName(shape[name]!, table[name]!) : undefined,
  );
  return fields.every((columns) => columns !== undefined) ? fields.flat() : undefined;
}

/**
 * Requires a column of one of the given types. In TypeScript the compiler checks this too; the check is for JavaScript
 * callers.
 */
export function requireType(given: unknown, types: readonly ScalarType[], what: string, primitive: string): void {
  if (given instanceof Column && types.includes(given.type)) {
    requireAlive(given, primitive, () => what);
    return;
  }
  throw wrongArgument(primitive, what, given, `a column of ${types.join(' or ')}`, { code: 'column/type' });
}

/** The numeric types: their values can be ordered and subtracted. */
export const NUMBERS: readonly ScalarType[] = ['u32', 'i32', 'f32'];

/**
 * A table with the field names of `table` but new columns. `columns` lists the new columns in the depth-first order of
 * the fields.
 */
export function withColumns<C extends Table>(table: C, columns: readonly Column[]): C {
  return assemble(shapeOf(table), columns) as C;
}

/** The results of a view as a table whose fields follow a shape. */
export function viewColumns<S extends Shape>(
  shape: S,
  context: ColumnOwner | undefined,
  length: number | DeviceLength,
  view: View,
  grid?: Grid,
): ColumnsOf<S> {
  const columns = leafTypes(shape).map((type, result) => viewColumn(context, type, length, view, result, grid));
  return assemble<Column>(shape, columns) as ColumnsOf<S>;
}

/** One result of a view, given by its index, as a column. */
export function viewColumn<T extends ScalarType>(
  context: ColumnOwner | undefined,
  type: T,
  length: number | DeviceLength,
  view: View,
  result = 0,
  grid?: Grid,
): Column<T> {
  return new Column(context, type, length, { kind: 'view', view, result }, grid);
}

/** One 32-bit word of memory as a column of one row. */
export function cellColumn<T extends ScalarType>(memory: Memory, type: T, word: number): Column<T> {
  return new Column(memory.context, type, 1, { kind: 'stored', memory, storage: storageOf(type), offset: word });
}

/** The storage format in which every value of a type takes one 32-bit word. Bools are stored as u32. */
export function storageOf(type: ScalarType): Exclude<ScalarType, 'bool'> {
  return type === 'bool' ? 'u32' : type;
}

/** The length that all columns share. Throws if two lengths differ. */
export function commonLength(columns: readonly Column[], primitive: string): number | DeviceLength {
  const [first, ...rest] = columns;
  if (first === undefined) {
    throw new ArgumentError('column/none', `${primitive} was given no columns.`, {
      remedy: 'Pass at least one column.',
    });
  }
  for (const column of rest) {
    if (!sameLength(first.length, column.length)) throw lengthMismatch(primitive, first.length, column.length);
  }
  return first.length;
}

/**
 * Whether two lengths are known to be equal. Two different device counts are not known to be equal, even if the device
 * stores the same number in both.
 */
export function sameLength(a: number | DeviceLength, b: number | DeviceLength): boolean {
  if (typeof a === 'number' || typeof b === 'number') return a === b;
  return a.memory === b.memory && a.word === b.word && a.minus === b.minus && a.limit === b.limit;
}

/** Whether two captured arrays have the same memory, offset, storage and length. */
export function sameArray(a: StoredArray, b: StoredArray): boolean {
  return a.memory === b.memory && a.storage === b.storage && a.offset === b.offset && sameLength(a.length, b.length);
}

/** Requires a device count (a length that only the device knows), or a whole number of rows that a column can have. */
export function requireLength(length: number | DeviceLength, primitive: string, argument = 'length'): void {
  const isCount =
    typeof length === 'object' && length !== null && (length as { memory?: unknown }).memory instanceof Memory;
  if (isCount || (Number.isInteger(length) && (length as number) >= 0 && (length as number) < 2 ** 32)) return;
  throw wrongArgument(primitive, argument, length, 'a number of rows: a whole number from 0 to 2^32 - 1', {
    code: 'column/size',
  });
}

function lengthMismatch(primitive: string, a: number | DeviceLength, b: number | DeviceLength): ArgumentError {
  return new ArgumentError('column/length', `The columns given to ${primitive} must have the same length.`, {
    expected: lengthText(a),
    got: lengthText(b),
    remedy:
      typeof a === typeof b
        ? 'Columns form a table only if one primitive made them or their host lengths are equal.'
        : "If you chose the length of one of them, pass the other's column.length instead.",
  });
}
