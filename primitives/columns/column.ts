import { wrongArgument } from '../arguments.ts';
import type { Context } from '../context-type.ts';
import type { ArrayBinding, DeviceBuffer, Storage } from '../contract/backend.ts';
import { capacityOf } from '../contract/backend.ts';
import { ArgumentError, type ErrorDetails, type ErrorPlace } from '../errors.ts';
import { bool, f32, i32, u32 } from '../functors/functor.ts';
import { assemble, isScalar, leafTypes, type Scalar, type Shape, shapeText } from '../functors/shapes.ts';
import { isRecord } from '../given.ts';
import type { Module, ScalarType } from '../ir/ir.ts';

import { currentContext } from './current-context.ts';

/** The columns in which the library has stored results of a view. */
export interface Automatic {
  readonly context: Context;
  readonly length: Column['length'];
  /** The operations that evaluating an element takes. */
  readonly operations: number;
  readonly results: Map<number, Memory>;
  /** The memory that the view was computed from. If any of it is freed or overwritten, the columns are freed. */
  readonly sources: Set<Memory>;
  /** The views given to commands that have read the columns. */
  readonly users: Set<WeakRef<View>>;
  /** Serial number of the last program that reads them. */
  usedBy: number;
  /** The submission they are valid for; only relevant if a source is a borrowed buffer. */
  readonly submission: number;
  /** Whether they expired with an earlier submission. Only programs of the current command still read them. */
  hasPassed: boolean;
}

/** A buffer with its reference counts, as columns refer to it. */
export class Memory {
  readonly context: Context;
  readonly buffer: DeviceBuffer;
  /**
   * The memory that holds the number of rows stored here, if only the device knows it. It is freed with the last of its
   * dependents.
   */
  count: Memory | undefined;
  /** Number of unreleased memories whose rows are counted here. */
  dependents = 0;
  /** Whether a column whose rows are counted here was disposed of before the others. */
  goesWithLast = false;
  /** Number of waits that still need the buffer. If it is released meanwhile, it is freed after the last of them. */
  holds = 0;
  released = false;
  /** Whether the buffer belongs to the user: it is never written, and may change between submissions. */
  borrowed = false;
  /** Called when the buffer is released and nobody holds it; by default the buffer returns to the backend. */
  giveBack: (() => void) | undefined;
  /** The stored view that this memory belongs to, if the library stored it on its own initiative. */
  automatic: Automatic | undefined;
  /** The stored views that were computed from this memory. */
  derived: Set<Automatic> | undefined;

  constructor(context: Context, buffer: DeviceBuffer, count?: Memory) {
    this.context = context;
    this.buffer = buffer;
    this.count = count;
    if (count !== undefined) count.dependents++;
    memoryOfBuffer.set(buffer, this);
  }

  /** The memory of a buffer; if there were several, the latest. */
  static of(buffer: DeviceBuffer): Memory | undefined {
    return memoryOfBuffer.get(buffer);
  }
}

const memoryOfBuffer = new WeakMap<DeviceBuffer, Memory>();

/** A length that only the device knows: `min(limit, max(0, cell − minus))`. */
export interface DeviceLength {
  readonly memory: Memory;
  readonly word: number;
  readonly minus: number;
  readonly limit: number;
}

/** Where a column's elements come from: memory, or a view that computes them. */
export type Source =
  | { readonly kind: 'stored'; readonly memory: Memory; readonly storage: Storage; readonly offset: number }
  /**
   * Result `result` of a functor of the index: a view, which costs no memory and fuses into what reads it. Where the result
   * is u32 and the column is not, it is the word that stands for the value, so that what only moves values keeps every bit.
   */
  | { readonly kind: 'view'; readonly view: View; readonly result: number };

/** A functor of the index, with its inputs. Several columns share one if it returns a record. */
export interface View {
  /** Serial number. A view only reads views with lower numbers. */
  readonly born: number;
  /** The primitive that made it. */
  readonly kind: string;
  /** The line of the caller's code, if places are watched. */
  readonly place: ErrorPlace | undefined;
  /**
   * The view's own step. It calls the views that it reads by their names in `inputs`; they are linked when a command is
   * issued.
   */
  readonly module: Module;
  readonly arrays: ReadonlyMap<string, StoredArray>;
  readonly inputs: readonly ViewInput[];
  /** Names of arrays, and inputs, in the order of their first use. */
  readonly reads: readonly (string | ViewInput)[];
  readonly uniforms: ReadonlyMap<string, number | boolean>;
  /** The cost of an element if none of the view's inputs are stored. */
  readonly cost: ViewCost;
  /** Memory that was taken only for this view and is freed with it. */
  readonly owned: Set<Memory>;
  /** The columns in which the library has stored it, if any. */
  automatic: Automatic | undefined;
}

/** A view that another view, or a command, reads. */
export interface ViewInput {
  /** Its name in the module that reads it. */
  readonly name: string;
  readonly view: View;
  readonly length: number | DeviceLength;
  /** The indices of the results that are read. */
  readonly results: readonly number[];
}

/** The cost of one element of a view. */
export interface ViewCost {
  /** Operations; a read counts as several. */
  readonly operations: number;
  /** Statements with all calls inlined, as backends compile them. */
  readonly statements: number;
  /** Statements of the longest single step. */
  readonly longestStep: number;
  /**
   * Upper bound of the operations that storing views can save: the operations of the views that it may evaluate more
   * than once a row.
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
 * A vector of scalars: either stored on a backend, or a view that is computed where it is read.
 *
 * `length` is a number or, if only the device knows it, a {@link DeviceLength}.
 */
export class Column<T extends ScalarType = ScalarType> {
  readonly context: Context | undefined;
  readonly type: T;
  readonly length: number | DeviceLength;
  readonly source: Source;

  constructor(context: Context | undefined, type: T, length: number | DeviceLength, source: Source) {
    this.context = context;
    this.type = type;
    this.length = length;
    this.source = source;
  }

  /** Maximum number of elements of this column. */
  get capacity(): number {
    return capacityOf(this.length);
  }
}

/** A column, or a record of columns of equal length: a table, stored field by field. */
export type Table = Column | { readonly [name: string]: Table };

/** The columns that hold values of a shape. */
export type ColumnsOf<S extends Shape> =
  S extends Scalar<infer T> ? Column<T> : { readonly [K in keyof S]: S[K] extends Shape ? ColumnsOf<S[K]> : never };

const scalars: Readonly<Record<ScalarType, Scalar<ScalarType>>> = { u32, i32, f32, bool };

/** The shape of a table's rows. */
export function shapeOf(table: Table): Shape {
  return table instanceof Column
    ? scalars[table.type]
    : Object.fromEntries(Object.entries(table).map(([name, field]) => [name, shapeOf(field)]));
}

/**
 * The columns of a table, depth first in the order of its fields. Errors mention `call` and `argument`.
 *
 * @throws {@link ArgumentError} if a part is not a column, or a column's memory was freed.
 */
export function columnsOf(table: Table, call = 'A primitive', argument = 'a table'): Column[] {
  const columns: Column[] = [];
  collectColumns(table, call, argument, columns, 0);
  return columns;
}

/** Maximum depth of a table; only circular records are deeper. */
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

/** Requires that a column's memory has not been freed. Does not look into views. */
export function requireAlive({ source }: Column, call: string, argument: () => string): void {
  if (source.kind === 'view' || !source.memory.released) return;
  throw releasedColumn(`${call} was given a column whose memory was freed as ${argument()}.`);
}

/** The error for the use of a column after its memory was freed. */
export function releasedColumn(sentence: string): ArgumentError {
  return new ArgumentError('column/released', sentence, {
    remedy: 'Dispose of it after its last use. If a scope freed it, return it from the scope.',
  });
}

/**
 * The columns of a table in the order of a shape's fields, matched by name. If the table has other fields, or fields of
 * other types, throws the error returned by `refuse`.
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

/** Requires a column of one of the given types. For callers in TypeScript the compiler already checks this. */
export function requireType(given: unknown, types: readonly ScalarType[], what: string, primitive: string): void {
  if (given instanceof Column && types.includes(given.type)) {
    requireAlive(given, primitive, () => what);
    return;
  }
  throw wrongArgument(primitive, what, given, `a column of ${types.join(' or ')}`, { code: 'column/type' });
}

/** The types that have an order and a difference. */
export const NUMBERS: readonly ScalarType[] = ['u32', 'i32', 'f32'];

/** A table with the same fields as another one, made of new columns, which are given depth first. */
export function withColumns<C extends Table>(table: C, columns: readonly Column[]): C {
  return assemble(shapeOf(table), columns) as C;
}

/** The columns of a view's results, in the form of a shape. */
export function viewColumns<S extends Shape>(
  shape: S,
  context: Context | undefined,
  length: number | DeviceLength,
  view: View,
): ColumnsOf<S> {
  const columns = leafTypes(shape).map((type, result) => viewColumn(context, type, length, view, result));
  return assemble<Column>(shape, columns) as ColumnsOf<S>;
}

/** One result of a view as a column. */
export function viewColumn<T extends ScalarType>(
  context: Context | undefined,
  type: T,
  length: number | DeviceLength,
  view: View,
  result = 0,
): Column<T> {
  return new Column(context, type, length, { kind: 'view', view, result });
}

/** One word of memory as a column of one row. */
export function cellColumn<T extends ScalarType>(memory: Memory, type: T, word: number): Column<T> {
  return new Column(memory.context, type, 1, { kind: 'stored', memory, storage: storageOf(type), offset: word });
}

/** The storage of a type when every value takes a word. */
export function storageOf(type: ScalarType): Exclude<ScalarType, 'bool'> {
  return type === 'bool' ? 'u32' : type;
}

/** The common length of all columns. */
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

/** Whether two lengths are certainly equal. */
export function sameLength(a: number | DeviceLength, b: number | DeviceLength): boolean {
  if (typeof a === 'number' || typeof b === 'number') return a === b;
  return a.memory === b.memory && a.word === b.word && a.minus === b.minus && a.limit === b.limit;
}

/** Whether two captured arrays are the same elements. */
export function sameArray(a: StoredArray, b: StoredArray): boolean {
  return a.memory === b.memory && a.storage === b.storage && a.offset === b.offset && sameLength(a.length, b.length);
}

/** Requires a valid number of rows. */
export function requireLength(length: number | DeviceLength, primitive: string, argument = 'length'): void {
  const isCount =
    typeof length === 'object' && length !== null && (length as { memory?: unknown }).memory instanceof Memory;
  if (isCount || (Number.isInteger(length) && (length as number) >= 0 && (length as number) < 2 ** 32)) return;
  throw wrongArgument(primitive, argument, length, 'a number of rows: a whole number from 0 to 2^32 - 1', {
    code: 'column/size',
  });
}

function lengthMismatch(primitive: string, a: number | DeviceLength, b: number | DeviceLength): ArgumentError {
  const show = (length: number | DeviceLength): string =>
    typeof length === 'number' ? `${length}` : `a device count of at most ${length.limit}`;
  return new ArgumentError('column/length', `The columns given to ${primitive} must have the same length.`, {
    expected: show(a),
    got: show(b),
    remedy:
      typeof a === typeof b
        ? 'Columns form a table only if one primitive made them or their host lengths are equal.'
        : "If you chose the length of one of them, pass the other's column.length instead.",
  });
}

/** The context that the columns live in; undefined if none of them depends on stored data. */
export function contextOf(columns: readonly Column[], primitive: string): Context | undefined {
  let context: Context | undefined;
  for (const { context: own, length } of columns) {
    for (const home of [own, typeof length === 'number' ? undefined : length.memory.context]) {
      if (home === undefined || home === context || home === context?.recording?.outer) continue;
      if (context !== undefined && context !== home.recording?.outer) throw mixedContexts(primitive);
      context = home;
    }
  }
  return context;
}

export function mixedContexts(primitive: string): ArgumentError {
  return new ArgumentError('column/contexts', `The columns given to ${primitive} must live in the same context.`, {
    remedy: 'Move one of them with context.adopt(column).',
  });
}

/**
 * The context in which a primitive stores its result: that of its columns, otherwise the one named by the caller,
 * otherwise that of the current scope.
 */
export function requireContext(columns: readonly Column[], primitive: string): Context {
  const context = contextOf(columns, primitive);
  const current = currentContext();
  // If the columns belong to the context that a pipeline is being prepared for, the command belongs to the pipeline.
  if (current !== undefined && (context === undefined || current.context.recording?.outer === context)) {
    return current.context;
  }
  const isOther = context !== undefined && current?.isNamed && current.context !== context;
  if (isOther && current.context !== context.recording?.outer) throw otherContext(primitive);
  if (context !== undefined) return context;
  throw new ArgumentError('column/no-context', `${primitive} was given only views without a context.`, {
    remedy: 'Call it in context.scope(…), or pass the option { context }.',
  });
}

function otherContext(primitive: string): ArgumentError {
  const sentence = `The columns given to ${primitive} live in another context than its option.`;
  return new ArgumentError('column/contexts', sentence, {
    remedy: 'Omit the option, or move the columns with context.adopt(column).',
  });
}
