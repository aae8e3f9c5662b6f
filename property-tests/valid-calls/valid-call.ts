import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Column, Context, fn, u32 } from '../../primitives/index.ts';

/**
 * The arguments of a valid call, by name and in order. If a name ends with `?`, the argument is optional. If a name
 * ends with `*`, columns of any type and context are accepted. Both endings can also mark the fields of records.
 */
export type Arguments = { readonly [name: string]: unknown };

/** A valid call of an exported function, class or method. Tests replace one argument at a time with garbage. */
export interface ValidCall {
  /** Makes new arguments for each call. */
  readonly args: () => Arguments;
  /** The function to call; the exported function by default. */
  readonly call?: (...args: unknown[]) => unknown;
  /** If given, errors of this call do not have to name the wrong argument. The text is the reason. */
  readonly unnamed?: string;
  /**
   * Garbage that the call accepts. A key is `path: kind` for one kind of garbage at a path, `path` for all kinds at
   * this path, or `*` for all garbage. The value is the reason why the garbage is accepted.
   */
  readonly takes?: { readonly [given: string]: string };
}

export type ValidCalls = { readonly [name: string]: ValidCall | (() => Arguments) };

/** The valid calls of an object's methods. */
export function methods(
  type: string,
  object: object,
  calls: { readonly [method: string]: (() => Arguments) | ValidCall },
): ValidCalls {
  const all = Object.entries(calls).map(([name, valid]): [string, ValidCall] => {
    const call = (...args: unknown[]): unknown =>
      (object as Record<string, (...args: unknown[]) => unknown>)[name]!(...args);
    return [`${type}.${name}`, typeof valid === 'function' ? { args: valid, call } : { call, ...valid }];
  });
  return Object.fromEntries(all);
}

export const context: Context = new Context(createReferenceBackend());
export const foreign: Context = new Context(createReferenceBackend());

export const x: Column<'u32'> = context.column(Uint32Array.of(1, 2, 3));
export const y: Column<'f32'> = context.column(Float32Array.of(0.5, 1, 2));
export const flags: Column<'bool'> = context.column([true, false, true]);
const strangers: readonly Column[] = [
  foreign.column(Uint32Array.of(1, 2, 3)),
  foreign.column(Int32Array.of(1, 2, 3)),
  foreign.column(Float32Array.of(0.5, 1, 2)),
  foreign.column([true, false, true]),
];
const gone: readonly Column[] = [
  context.column(Uint32Array.of(1)),
  context.column(Int32Array.of(1)),
  context.column(Float32Array.of(1)),
  context.column([true]),
];
context.dispose(gone);
const double = fn('double', { x: u32 }, u32, ({ x }) => x.mul(2));

/** Objects whose fields are never replaced by garbage, because users do not build such objects themselves. */
const whole = new WeakSet<object>();
export function opaque<T extends object>(object: T): T {
  whole.add(object);
  return object;
}

/** Garbage: values that are wrong for nearly every argument. Each kind of garbage has a name. */
export const garbage: { readonly [name: string]: (valid: unknown) => unknown } = {
  nothing: () => undefined,
  null: () => null,
  NaN: () => Number.NaN,
  'a negative fraction': () => -0.5,
  'a number': () => 7,
  'a text': () => 'text',
  true: () => true,
  'a bigint': () => 10n,
  'a symbol': () => Symbol('symbol'),
  'an object': () => ({}),
  'an array': () => [],
  'an array of undefined': () => [undefined],
  'a function': () => (a: unknown) => a,
  'a functor': () => double,
  'a promise': (valid) => Promise.resolve(valid),
  'a Map': () => new Map(),
  'a Date': () => new Date(0),
  'a typed array': (valid) => (valid instanceof Float64Array ? Uint16Array.of(1) : Float64Array.of(1)),
  'a column of another type': (valid) => (valid instanceof Column && valid.type !== 'f32' ? y : x),
  'a released column': (valid) => like(valid, gone),
  'a column of another context': (valid) => like(valid, strangers),
};

function like(valid: unknown, columns: readonly Column[]): Column {
  return columns.find(({ type }) => valid instanceof Column && valid.type === type) ?? columns[0]!;
}

/** Whether a value has the JavaScript type or class of a valid argument and, for columns, the same element type. */
export function isAlike(given: unknown, valid: unknown): boolean {
  const isList = Array.isArray(valid) && ArrayBuffer.isView(given);
  return isList || kindOf(given) === kindOf(valid);
}

function kindOf(value: unknown): string {
  if (value instanceof Column) return `a column of ${value.type}`;
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  return Object.prototype.toString.call(value);
}

/**
 * The paths of all values that tests replace by garbage: the arguments, the fields of records in them, and the first
 * elements of arrays in them.
 */
export function pathsIn(args: Arguments): string[][] {
  return Object.entries(args).flatMap(([name, value]) => [[name], ...pathsBelow(value).map((path) => [name, ...path])]);
}

function pathsBelow(value: unknown): string[][] {
  if (Array.isArray(value) && value.length > 0) return [['0'], ...pathsBelow(value[0]).map((path) => ['0', ...path])];
  return isPlainRecord(value) && !whole.has(value) ? pathsIn(value) : [];
}

function isPlainRecord(value: unknown): value is Arguments {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

export const nameOf = (name: string): string => name.replace(/[?*]$/, '');

/** Removes `?` and `*` from the names of arguments. If `path` is given, also replaces the value at this path. */
export function called(value: unknown, path: readonly string[] | undefined, given: unknown): unknown {
  if (path?.length === 0) return given;
  const [first, ...rest] = path ?? [];
  const below = (name: string, part: unknown): unknown => called(part, name === first ? rest : undefined, given);
  if (Array.isArray(value)) return value.map((part, at) => below(String(at), part));
  if (!isPlainRecord(value) || whole.has(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [nameOf(name), below(name, part)]));
}

/** The value at a path. */
export function partAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((part: unknown, name) => (part as Arguments)[name], value);
}
