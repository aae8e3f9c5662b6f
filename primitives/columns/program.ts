import { ArgumentError } from '../checks/errors.ts';
import type {
  ArrayBinding,
  CountRef,
  DeviceBuffer,
  ForEachCommand,
  Length,
  Program,
  Store,
} from '../contract/backend.ts';
import { If, Let, Var } from '../functors/control.ts';
import { callNamed, literal, operate, read, record, recorder } from '../functors/recorder.ts';
import { select } from '../functors/standard/choose.ts';
import { isVariable, type U32, Value } from '../functors/value.ts';
import { entryOf, type Module, type Operand, oneOf, type ScalarType } from '../ir/ir.ts';
import {
  type Column,
  type ColumnOwner,
  type DeviceLength,
  type Memory,
  releasedColumn,
  type StoredArray,
  type StoredOf,
  sameArray,
  type View,
  type ViewInput,
} from './column.ts';
import {
  cellOf,
  type FusionKey,
  type FusionTrace,
  knownFusion,
  rememberFusion,
  type UniformOrigin,
} from './known-fusions.ts';
import { linkViews } from './link-views.ts';
import { costWithInputs } from './step-cost.ts';
import { SymbolicUniform } from './symbolic.ts';
import { viewPlace } from './view-places.ts';

/**
 * A functor (a recorded function) of the row index, with the stored columns and the views that it reads. {@link fuse}
 * records it.
 */
export interface Fusion extends View {
  readonly results: readonly ScalarType[];
}

/**
 * The object through which the body of a fusion (the function that `fuse` records) reads columns, lengths and uniforms.
 */
export interface Loader {
  /** Loads element `index` of every column. Loading the same element again reuses the value. */
  load(columns: readonly Column[], index: U32): Value<ScalarType>[];
  /**
   * Like `load`, but elements at or past `length` are zero. `length` must be the length of all columns. Views with
   * loops are not evaluated at or past `length`, because a loop might not end for such an index.
   */
  loadWithin(columns: readonly Column[], index: U32, length: number | DeviceLength): Value<ScalarType>[];
  /** The length of a column as a u32 value in the recorded code. */
  length(length: number | DeviceLength): U32;
  /** A number that can change from launch to launch without a new compilation. */
  uniform<T extends ScalarType>(type: T, value: UniformValue): Value<T>;
  /** Captures a stored column, so that the body can read its elements; returns the name of the array. */
  capture(column: Column): string;
}

/** A number, or a placeholder for a number that each call of a prepared pipeline provides. */
export type UniformValue = number | boolean | SymbolicUniform;

type Body = (index: U32, parameters: readonly Value<ScalarType>[], loader: Loader) => readonly Value<ScalarType>[];

/** Everything that a body has read so far during its recording. */
interface Reads {
  readonly arrays: Map<string, StoredArray>;
  readonly inputs: (ViewInput & { readonly results: number[] })[];
  /** The names of the arrays and the input views, in the order in which the body first used them. */
  readonly order: (string | ViewInput)[];
  readonly uniforms: Map<string, number | boolean>;
  /** Which column, length or value each read and uniform came from; {@link rememberFusion} caches this. */
  readonly origins: {
    readonly reads: FusionTrace['reads'][number][];
    readonly uniforms: FusionTrace['uniforms'][number][];
  };
}

let born = 0;

/** The number of views made so far. Every view made later has a serial number `born` of at least this number. */
export function viewsBorn(): number {
  return born;
}

/**
 * Records a functor of the row index and of further parameters, whose types are `parameters`. `kind` is the name of the
 * primitive that uses the functor; by default, the functor's name. If `key` is given, `fuse` reuses an earlier
 * recording with an equivalent key.
 */
export function fuse(
  given: string | { readonly name: string; readonly kind: string },
  parameters: readonly ScalarType[],
  results: readonly ScalarType[],
  body: Body,
  key?: FusionKey,
): Fusion {
  const { name, kind } = typeof given === 'string' ? { name: given, kind: given } : given;
  const known = key && knownFusion(name, parameters, results, key);
  if (known !== undefined) {
    const uniforms = new Map<string, number | boolean>();
    for (const { type, value } of known.uniforms) uniforms.set(`u${uniforms.size}`, uniformValue(type, value));
    return fusionOf(kind, results, known.module, { ...known, uniforms });
  }
  const { module, reads } = recordBody(name, parameters, results, body);
  if (key !== undefined) rememberFusion(name, parameters, results, key, { module, ...reads.origins });
  return fusionOf(kind, results, module, reads);
}

function recordBody(
  name: string,
  parameters: readonly ScalarType[],
  results: readonly ScalarType[],
  body: Body,
): { readonly module: Module; readonly reads: Reads } {
  const origins = { reads: [], uniforms: [] };
  const reads: Reads = { arrays: new Map(), inputs: [], order: [], uniforms: new Map(), origins };
  const recorded = record({ name, parameters: ['u32', ...parameters], results }, (locals) => {
    const [index, ...rest] = locals.map((local) => new Value(local));
    return body(index as U32, rest, createLoader(reads)).map((value) => value.operand);
  });
  return { module: oneOf(recorded), reads };
}

function fusionOf(
  kind: string,
  results: readonly ScalarType[],
  module: Module,
  { arrays, inputs, order, uniforms }: Pick<View, 'arrays' | 'inputs' | 'uniforms'> & { readonly order: View['reads'] },
): Fusion {
  return {
    born: born++,
    kind,
    place: viewPlace(),
    module,
    arrays,
    inputs,
    reads: order,
    uniforms,
    cost: costWithInputs(module, inputs),
    results,
    owned: new Set(),
    automatic: undefined,
  };
}

/**
 * The value to store for a uniform. A placeholder ({@link SymbolicUniform}), which occurs only while a pipeline is
 * being recorded, is stored unchanged.
 */
function uniformValue(type: ScalarType, value: UniformValue): number | boolean {
  return value instanceof SymbolicUniform ? (value as never) : literal(type, value).value;
}

function createLoader({ arrays, inputs, order, uniforms, origins }: Reads): Loader {
  const loadOnce = createMemo();
  const captureArray = (stored: StoredArray, type: ScalarType, origin: Column | DeviceLength): string => {
    for (const [name, known] of arrays) {
      if (sameArray(known, stored) && recorder().arrays.get(name) === type) return name;
    }
    const name = `a${order.length}`;
    arrays.set(name, stored);
    order.push(name);
    origins.reads.push({ origin, results: undefined });
    recorder().arrays.set(name, type);
    return name;
  };
  const uniform = (
    type: ScalarType,
    value: UniformValue,
    origin: UniformOrigin = { kind: 'value', value },
  ): Operand => {
    const name = `u${uniforms.size}`;
    uniforms.set(name, uniformValue(type, value));
    origins.uniforms.push({ type, origin });
    recorder().uniforms.set(name, type);
    return { kind: 'uniform', type, name };
  };
  const inputOf = (view: View, column: Column): Reads['inputs'][number] => {
    const known = inputs.find((input) => input.view === view);
    if (known !== undefined) return known;
    const input = { name: `view ${order.length}`, view, length: column.length, results: [] };
    inputs.push(input);
    order.push(input);
    origins.reads.push({ origin: column, results: input.results });
    return input;
  };
  const callView = ({ name, view }: ViewInput, index: U32): Value<ScalarType>[] =>
    callNamed(name, entryOf(view.module).results, [index.operand]).map((local) => new Value(local));
  const readArray = (name: string, type: ScalarType, index: Operand): Value<ScalarType>[] => [
    new Value(read(name, type, index)),
  ];

  const load = (columns: readonly Column[], index: U32): Value<ScalarType>[] =>
    columns.map((column) => {
      const { source, type } = column;
      if (source.kind === 'view') {
        const { view, result } = source;
        const input = inputOf(view, column);
        if (!input.results.includes(result)) input.results.push(result);
        const results = loadOnce(view, index, () => callView(input, index));
        return ofWord(results[result]!, type);
      }
      const name = captureArray(storedArray(column), type, column);
      return loadOnce(name, index, () => readArray(name, type, index.operand))[0]!;
    });

  const loader: Loader = {
    capture: (column) => captureArray(storedArray(column), column.type, column),
    load,
    loadWithin(columns, index, length) {
      // Reads of stored columns past their length give zero anyway, so no check is needed.
      if (columns.every(({ source }) => source.kind === 'stored')) return load(columns, index);
      const inside = index.lt(loader.length(length));
      const zeros = columns.map(({ type }) => new Value(literal(type, type === 'bool' ? false : 0)));
      if (!columns.some(({ source }) => source.kind === 'view' && source.view.cost.loops))
        return load(columns, index).map((value, i) => select(zeros[i]!, value, inside));
      const found = zeros.map(Var);
      If(inside, () => {
        for (const [i, value] of load(columns, index).entries()) found[i]!.set(value);
      });
      return found.map(Let);
    },
    length(length) {
      if (typeof length === 'number') return new Value<'u32'>(uniform('u32', length, { kind: 'number', length }));
      const cell = captureArray(cellOf(length), 'u32', length);
      const count = new Value<'u32'>(read(cell, 'u32', literal('u32', 0)));
      const minus = new Value<'u32'>(uniform('u32', length.minus, { kind: 'minus', length }));
      return lengthOfCount(count, minus, new Value<'u32'>(uniform('u32', length.limit, { kind: 'limit', length })));
    },
    uniform: <T extends ScalarType>(type: T, value: UniformValue) => new Value<T>(uniform(type, value)),
  };
  return loader;
}

/**
 * Records the code that computes a length from the count that the device stored: `min(limit, max(0, count − minus))`.
 */
export function lengthOfCount(count: U32, minus: U32, limit: U32): U32 {
  return count.max(minus).sub(minus).min(limit);
}

/**
 * Converts a value to the type of the column, if a view returned the value as its bit pattern. Other values are
 * returned unchanged.
 */
function ofWord(value: Value<ScalarType>, type: ScalarType): Value<ScalarType> {
  if (value.operand.type === type) return value;
  return new Value(operate(type === 'bool' ? 'convert' : 'bits', [value.operand], type));
}

type Values = Value<ScalarType>[];

/**
 * Makes a function that loads values and remembers them by `what` and `index`. A remembered value is reused only in
 * code where its definition is in scope.
 */
function createMemo(): (what: string | View, index: U32, load: () => Values) => Values {
  const known = new Map<
    string | View,
    { readonly index: Operand; readonly block: unknown; readonly values: Values }[]
  >();
  return (what, index, load) => {
    // If the index is a variable, it may have been assigned since an earlier load, so the value is loaded again.
    if (isVariable(index)) return load();
    const { blocks } = recorder();
    const entries = known.get(what) ?? [];
    const found = entries.find(
      (entry) => sameOperand(entry.index, index.operand) && blocks.includes(entry.block as never),
    );
    if (found !== undefined) return found.values;
    const values = load();
    known.set(what, [...entries, { index: index.operand, block: blocks.at(-1), values }]);
    return values;
  };
}

function sameOperand(a: Operand, b: Operand): boolean {
  return a === b || (a.kind === 'literal' && b.kind === 'literal' && a.value === b.value);
}

/** The memory of a stored column, as an array that a program can read. */
export function storedArray(column: Column): StoredArray {
  if (column.source.kind === 'stored') return { ...column.source, length: column.length };
  throw new ArgumentError('column/view', 'A view must be stored before it is captured as an array.', {
    remedy: 'Store it first: context.materialize(column).',
  });
}

/**
 * Links a fusion and the views that it reads into a program for the backend. Throws if memory that the program reads
 * was freed. With a `context`, the views that are cheaper to store than to evaluate at every read are stored first.
 * `rows` is the number of rows of the command.
 */
export function programOf(fusion: Fusion, context?: ColumnOwner, rows: Column['length'] = 0): Program {
  return linkedProgram(fusion, context && storedFor(fusion, context, rows));
}

function storedFor(fusion: Fusion, { automatic }: ColumnOwner, rows: Column['length']): StoredOf | undefined {
  return fusion.inputs.length === 0
    ? undefined
    : automatic.storeFor(fusion, typeof rows === 'number' ? rows : rows.limit);
}

/** Links a fusion into a program. Inputs that `storedOf` finds are read from memory; all others are evaluated. */
function linkedProgram(fusion: Fusion, storedOf?: StoredOf): Program {
  const { module, arrays, uniforms } = fusion.inputs.length === 0 ? fusion : linkViews(fusion, storedOf);
  const bindings = [...arrays].map(([name, array]): [string, ArrayBinding] => [name, bindingOf(array)]);
  return { module, arrays: new Map(bindings), uniforms };
}

function bindingOf({ memory, storage, offset, length }: StoredArray): ArrayBinding {
  return { buffer: alive(memory).buffer, storage, offset, length: extentOf(length) };
}

/** Stores the results of a fusion for every row of a length. */
export function storeRows(
  context: ColumnOwner,
  length: Column['length'],
  fusion: Fusion,
  stores: readonly Store[],
): void {
  context.backend.run(storing(length, fusion, storedFor(fusion, context, length), stores));
}

/** The command that stores the results of a fusion. Inputs that `storedOf` finds are read from memory. */
export function storing(
  length: Column['length'],
  fusion: Fusion,
  storedOf: StoredOf | undefined,
  stores: readonly Store[],
): ForEachCommand {
  const across = acrossOf(fusion, storedOf, new Set());
  const program = linkedProgram(fusion, storedOf);
  return { kind: 'forEach', extent: extentOf(length), program, ...(across && { across }), stores };
}

/** The number of cells of a row of the first transposed grid that is evaluated, not read from memory. */
function acrossOf(view: View, storedOf: StoredOf | undefined, seen: Set<View>): number | undefined {
  if (view.across !== undefined) return view.across;
  for (const input of view.inputs) {
    if (seen.has(input.view) || storedOf?.(input) !== undefined) continue;
    seen.add(input.view);
    const across = acrossOf(input.view, storedOf, seen);
    if (across !== undefined) return across;
  }
  return undefined;
}

/** Stores the result of a fusion that reads no views, for its only row, in the first word of some memory. */
export function storeWord(context: ColumnOwner, fusion: Fusion, memory: Memory): void {
  const store = { buffer: alive(memory).buffer, offset: 0, capacity: 1, value: 0 };
  context.backend.run({ kind: 'forEach', extent: 1, program: programOf(fusion), stores: [store] });
}

/** Converts the length of a column to the form that backends use. */
export function extentOf(length: number | DeviceLength): Length {
  if (typeof length === 'number') return length;
  const { memory, word, minus, limit } = length;
  return { buffer: alive(memory).buffer, word, minus, limit } satisfies CountRef;
}

/** The memory of a stored column of 32-bit words, as the target of a store. Packed columns are not allowed. */
export function destination(column: Column): Pick<Store, 'buffer' | 'offset' | 'capacity'> {
  const { source, capacity } = column;
  if (source.kind === 'view' || !['u32', 'i32', 'f32'].includes(source.storage)) {
    throw new ArgumentError('column/not-writable', 'Only stored columns of 32-bit words can be written to.', {
      expected: 'a stored column of u32, i32 or f32',
      got: source.kind === 'view' ? 'a view' : `a column packed as ${source.storage}`,
      remedy: 'Store it first: context.materialize(column).',
    });
  }
  const memory = alive(source.memory);
  if (memory.borrowed) throw borrowedColumn();
  if (memory.derived !== undefined) memory.context.automatic.forgetDerived(memory);
  return { buffer: memory.buffer, offset: source.offset, capacity };
}

function borrowedColumn(): ArgumentError {
  return new ArgumentError('column/borrowed', 'A borrowed buffer must not be written to.', {
    remedy: "Write to one of the library's own columns, for example one made by fill().",
  });
}

/** Requires that memory has not been freed. */
export function alive(memory: Memory): Memory {
  if (memory.released) throw releasedColumn('A column must not be used after its memory was freed.');
  used?.set(memory.buffer, memory);
  return memory;
}

let used: Map<DeviceBuffer, Memory> | undefined;

/** Calls `run`, and adds to `memories` all memory that commands use meanwhile, by its buffer. */
export function notingMemory<R>(memories: Map<DeviceBuffer, Memory>, run: () => R): R {
  const outer = used;
  used = memories;
  try {
    return run();
  } finally {
    used = outer;
  }
}
