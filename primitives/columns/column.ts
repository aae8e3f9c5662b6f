import { wrongArgument } from '../arguments.ts';
import type { ArrayBinding, DeviceBuffer, Storage } from '../backend.ts';
import type { Context } from '../context-type.ts';
import { ArgumentError, type ErrorDetails, type ErrorPlace } from '../errors.ts';
import { bool, f32, i32, u32 } from '../functors/functor.ts';
import type { Module, ScalarType } from '../functors/ir.ts';
import { assemble, isScalar, leafTypes, type Scalar, type Shape, shapeText } from '../functors/shapes.ts';
import { isRecord } from '../given.ts';

import { currentContext } from './current-context.ts';

/** The columns in which the library has stored results of a view. */
export interface Automatic {
  readonly context: Context;
  readonly length: Column['length'];
  /** What evaluating an element took. */
  readonly operations: number;
  readonly results: Map<number, Memory>;
  /** What the view was computed from: when any of it is freed or written to, the columns are freed. */
  readonly sources: Set<Memory>;
  /** The views given to commands that have read the columns. */
  readonly users: Set<WeakRef<View>>;
  /** The number of the last program that reads them. */
  usedBy: number;
  /** The number of the submission that they hold for: that of the next one where a source is a borrowed buffer. */
  readonly submission: number;
  /** Whether it held for an earlier one. Only programs of the command under way still read it. */
  hasPassed: boolean;
}

/** A buffer as columns hold it. */
export class Memory {
  readonly context: Context;
  readonly buffer: DeviceBuffer;
  /** The memory that counts the rows stored here; freed with the last of the memories whose rows it counts. */
  count: Memory | undefined;
  /** Memories not released whose rows are counted here. */
  dependents = 0;
  /** Whether a column whose rows are counted here was disposed of before the others. */
  goesWithLast = false;
  /** Waits that still need the buffer; it is freed after the last of them where it is released meanwhile. */
  holds = 0;
  released = false;
  /** Whether it is a buffer that is somebody else's: it is only read, and may change between submissions. */
  borrowed = false;
  /** Takes the buffer back once nobody holds it; the context's own is given back to the backend. */
  giveBack: (() => void) | undefined;
  /** What it is part of, if the library stored a view here by itself. */
  automatic: Automatic | undefined;
  /** What the library stored that was computed from this memory. */
  derived: Set<Automatic> | undefined;

  constructor(context: Context, buffer: DeviceBuffer, count?: Memory) {
    this.context = context;
    this.buffer = buffer;
    this.count = count;
    if (count !== undefined) count.dependents++;
    memoryOfBuffer.set(buffer, this);
  }

  /** The memory that holds a buffer, of those that did the last one. */
  static of(buffer: DeviceBuffer): Memory | undefined {
    return memoryOfBuffer.get(buffer);
  }
}

const memoryOfBuffer = new WeakMap<DeviceBuffer, Memory>();

/** A length that only the device knows: what stands in a cell, less `minus`, at most `limit`. */
export interface DeviceLength {
  readonly memory: Memory;
  readonly word: number;
  readonly minus: number;
  readonly limit: number;
}

/** Where the elements of a column come from. */
export type Source =
  | { readonly kind: 'stored'; readonly memory: Memory; readonly storage: Storage; readonly offset: number }
  /**
   * Result `result` of a functor of the index: a view, which costs no memory and fuses into what reads it. Where the result
   * is u32 and the column is not, it is the word that stands for the value, so that what only moves values keeps every bit.
   */
  | { readonly kind: 'view'; readonly view: View; readonly result: number };

/** A functor of the index with what it reads. Several columns share one when it returns a record. */
export interface View {
  /** Counts up from view to view: a view reads older views only. */
  readonly born: number;
  /** The primitive that made it. */
  readonly kind: string;
  /** Where the caller wrote it, if that was asked for. */
  readonly place: ErrorPlace | undefined;
  /** The view's own step. It calls the views that it reads by their names in `inputs`; a command links them. */
  readonly module: Module;
  readonly arrays: ReadonlyMap<string, StoredArray>;
  readonly inputs: readonly ViewInput[];
  /** Names of arrays, and inputs, in the order of their first use. */
  readonly reads: readonly (string | ViewInput)[];
  readonly uniforms: ReadonlyMap<string, number | boolean>;
  /** What evaluating an element costs where nothing that it reads is stored. */
  readonly cost: ViewCost;
  /** Memory that was taken for this view, and is freed with it. */
  readonly owned: Set<Memory>;
  /** Where the library has stored it, if it has. */
  automatic: Automatic | undefined;
}

/** A view that another view, or a command, reads. */
export interface ViewInput {
  /** What the module that reads it calls it. */
  readonly name: string;
  readonly view: View;
  readonly length: number | DeviceLength;
  /** The results that are read. */
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
  /** Operations of views that it may evaluate more often than once a row: storing saves fewer. */
  readonly repeated: number;
  readonly loops: boolean;
}

/** A stored column as a captured array. */
export interface StoredArray {
  readonly memory: Memory;
  readonly storage: ArrayBinding['storage'];
  readonly offset: number;
  readonly length: number | DeviceLength;
}

/**
 * A vector of scalars that lives on one backend, or a view that is computed where it is read.
 *
 * `length` is a number, or a {@link DeviceLength} after primitives whose result only the device can count.
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

  /** The most elements that this column can have. */
  get capacity(): number {
    return typeof this.length === 'number' ? this.length : this.length.limit;
  }
}

/** A column or a record of columns of equal length: a table, stored field by field. */
export type Table = Column | { readonly [name: string]: Table };

/** The columns that hold values of a shape. */
export type ColumnsOf<S extends Shape> =
  S extends Scalar<infer T> ? Column<T> : { readonly [K in keyof S]: S[K] extends Shape ? ColumnsOf<S[K]> : never };

const scalars: Readonly<Record<ScalarType, Scalar<ScalarType>>> = { u32, i32, f32, bool };

/** The shape whose values the rows of a table are. */
export function shapeOf(table: Table): Shape {
  return table instanceof Column
    ? scalars[table.type]
    : Object.fromEntries(Object.entries(table).map(([name, field]) => [name, shapeOf(field)]));
}

/**
 * The columns of a table, depth first in the order of its fields. `call` and `argument` are what errors name.
 *
 * @throws {@link ArgumentError} where something else stands for a column, or a column's memory was freed.
 */
export function columnsOf(table: Table, call = 'A primitive', argument = 'a table'): Column[] {
  const columns: Column[] = [];
  collectColumns(table, call, argument, columns, 0);
  return columns;
}

/** No table is deeper, unless it holds itself. */
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
      remedy: 'Make a column of a typed array with context.column(array).',
    });
  }
  if (depth === DEEPEST_TABLE) throw tableTooDeep(call, argument);
  for (const name of Object.keys(table)) {
    collectColumns(table[name] as Table, call, depth < 3 ? `${argument}.${name}` : argument, columns, depth + 1);
  }
}

function tableTooDeep(call: string, argument: string): ArgumentError {
  return new ArgumentError('column/nested', `${call} was given records inside of each other as ${argument}.`, {
    expected: `at most ${DEEPEST_TABLE} of them`,
    got: 'more, or a record that holds itself',
  });
}

/** A column whose memory was not freed, as far as it can be seen without looking into views. */
export function requireAlive({ source }: Column, call: string, argument: () => string): void {
  if (source.kind === 'view' || !source.memory.released) return;
  throw releasedColumn(`${call} was given, as ${argument()}, a column whose memory was freed.`);
}

/** The error of a column that is used after its memory was freed. */
export function releasedColumn(sentence: string): ArgumentError {
  return new ArgumentError('column/released', sentence, {
    remedy: 'Dispose of it after its last use. If a scope freed it, return it from the scope.',
  });
}

/**
 * The columns of a table in the order of a shape's fields, found by their names as those of a functor's parameters are. What
 * `refuse` makes is thrown where the table has other fields, or of other types.
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

/** A column of one of the types that a primitive takes in this place; what tsc says, said again where it was not asked. */
export function requireType(given: unknown, types: readonly ScalarType[], what: string, primitive: string): void {
  if (given instanceof Column && types.includes(given.type)) {
    requireAlive(given, primitive, () => what);
    return;
  }
  throw wrongArgument(primitive, what, given, `a column of ${types.join(' or ')}`, { code: 'column/type' });
}

/** The types that have an order and a difference. */
export const NUMBERS: readonly ScalarType[] = ['u32', 'i32', 'f32'];

/** A table of the same form out of other columns, depth first in the order of its fields. */
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

/** How values of a type are stored, one to a word. */
export function storageOf(type: ScalarType): Exclude<ScalarType, 'bool'> {
  return type === 'bool' ? 'u32' : type;
}

/** The length that all columns share. */
export function commonLength(columns: readonly Column[], primitive: string): number | DeviceLength {
  const [first, ...rest] = columns;
  if (first === undefined) {
    throw new ArgumentError('column/none', `${primitive} was given no column.`, {
      remedy: 'Pass at least one column.',
    });
  }
  for (const column of rest) {
    if (!sameLength(first.length, column.length)) throw lengthMismatch(primitive, first.length, column.length);
  }
  return first.length;
}

/** Whether two lengths are known to be the same number. */
export function sameLength(a: number | DeviceLength, b: number | DeviceLength): boolean {
  if (typeof a === 'number' || typeof b === 'number') return a === b;
  return a.memory === b.memory && a.word === b.word && a.minus === b.minus && a.limit === b.limit;
}

/** Whether two captured arrays are the same elements. */
export function sameArray(a: StoredArray, b: StoredArray): boolean {
  return a.memory === b.memory && a.storage === b.storage && a.offset === b.offset && sameLength(a.length, b.length);
}

/** A number of rows that a column can have. */
export function requireLength(length: number | DeviceLength, primitive: string, argument = 'length'): void {
  const isCount =
    typeof length === 'object' && length !== null && (length as { memory?: unknown }).memory instanceof Memory;
  if (isCount || (Number.isInteger(length) && (length as number) >= 0 && (length as number) < 2 ** 32)) return;
  throw wrongArgument(primitive, argument, length, 'a number of rows: a whole number from 0 below 2^32', {
    code: 'column/size',
  });
}

function lengthMismatch(primitive: string, a: number | DeviceLength, b: number | DeviceLength): ArgumentError {
  const show = (length: number | DeviceLength): string =>
    typeof length === 'number' ? `${length}` : `a device count of at most ${length.limit}`;
  return new ArgumentError('column/length', `The columns given to ${primitive} differ in length.`, {
    expected: show(a),
    got: show(b),
    remedy:
      typeof a === typeof b
        ? 'Columns are rows of one table only where one primitive made them or their host lengths are equal.'
        : 'Where you made one of them of a length of your own, pass the length of the other, column.length, in its place.',
  });
}

/** The one context that the columns live in; undefined where all of them are views of nothing stored. */
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
  return new ArgumentError('column/contexts', `${primitive} was given columns of different contexts.`, {
    remedy: 'Move one of them with context.adopt(column).',
  });
}

/**
 * The context that a primitive stores its result in: that of its columns, or else the one that the caller named, or else that of
 * the scope under way.
 */
export function requireContext(columns: readonly Column[], primitive: string): Context {
  const context = contextOf(columns, primitive);
  const current = currentContext();
  // Of columns around a pipeline that is being prepared, its commands are part of the pipeline.
  if (current !== undefined && (context === undefined || current.context.recording?.outer === context)) {
    return current.context;
  }
  const isOther = context !== undefined && current?.isNamed && current.context !== context;
  if (isOther && current.context !== context.recording?.outer) throw otherContext(primitive);
  if (context !== undefined) return context;
  throw new ArgumentError('column/no-context', `${primitive} was given views of no context.`, {
    remedy: 'Call it in context.scope(…), or give it the option { context }.',
  });
}

function otherContext(primitive: string): ArgumentError {
  const sentence = `${primitive} was given columns of another context than the one in its options.`;
  return new ArgumentError('column/contexts', sentence, {
    remedy: 'Leave the option out, or move the columns with context.adopt(column).',
  });
}
