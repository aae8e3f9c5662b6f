import { createCache } from '../host/cache.ts';
import { createStructures, NumberList } from '../host/structures.ts';
import { entryOf, type Module, moduleWords, type ScalarType } from '../ir/ir.ts';
import { type Column, type DeviceLength, type StoredArray, sameArray, sameLength, type ViewInput } from './column.ts';
import type { SymbolicUniform } from './symbolic.ts';

type Length = number | DeviceLength;
type UniformValue = number | boolean | SymbolicUniform;

/**
 * The cache key of a body (the function that `fuse` records). If `fuse` has already recorded a body with an equal key
 * for columns of the same kinds, the recorded code is reused and the body does not run again.
 */
export interface FusionKey {
  /**
   * Identifies the code that the body records. Contains an object that stands for the place of the body in the source,
   * such as the enclosing function, and all values that change the recorded code (functors, types, numbers used as
   * literals).
   */
  readonly by: readonly (object | string | number | boolean)[];
  /** Every column that the body loads or captures. */
  readonly columns: readonly Column[];
  /** Every length that the body asks for. */
  readonly lengths?: readonly Length[];
  /** The values of the uniforms that the body asks for, in order. */
  readonly values?: readonly UniformValue[];
}

/** What a read in the body refers to: a column, or the word that holds a device length. */
export type Origin = Column | DeviceLength;

/** Where the value of a uniform comes from: a number given by the body, or a field of a length. */
export type UniformOrigin =
  | { readonly kind: 'value'; readonly value: UniformValue }
  | { readonly kind: 'number' | 'minus' | 'limit'; readonly length: Length };

/** The module that a body recorded, and all reads and uniforms that the body requested, in order. */
export interface FusionTrace {
  readonly module: Module;
  readonly reads: readonly { readonly origin: Origin; readonly results: readonly number[] | undefined }[];
  readonly uniforms: readonly { readonly type: ScalarType; readonly origin: UniformOrigin }[];
}

/** A {@link FusionTrace} in which columns, lengths and values are replaced by their indices in the key. */
interface Script {
  readonly module: Module;
  readonly reads: readonly {
    readonly kind: 'array' | 'count' | 'input';
    readonly at: number;
    readonly results: readonly number[];
  }[];
  readonly uniforms: readonly {
    readonly type: ScalarType;
    readonly kind: UniformOrigin['kind'];
    readonly at: number;
  }[];
}

/** The module of a body, with the arrays, views and uniform values that the body requested. */
export interface FusedReads {
  readonly module: Module;
  readonly arrays: ReadonlyMap<string, StoredArray>;
  readonly inputs: readonly ViewInput[];
  readonly order: readonly (string | ViewInput)[];
  readonly uniforms: readonly { readonly type: ScalarType; readonly value: UniformValue }[];
}

/** 8 MB. */
const MAX_WORDS = 2 ** 21;
/** Estimated memory of one read or uniform of a script, in 32-bit words. */
const ENTRY_WORDS = 16;

const scripts = createStructures<Script>(
  MAX_WORDS,
  // The script keeps the module alive, with all that is cached for the module.
  ({ module, reads, uniforms }) => moduleWords(module) + ENTRY_WORDS * (reads.length + uniforms.length),
);
const list = new NumberList();

/**
 * The module and the reads of a body, if a body with the given name, parameter types, result types and an equivalent
 * key was recorded before.
 */
export function knownFusion(
  name: string,
  parameters: readonly ScalarType[],
  results: readonly ScalarType[],
  key: FusionKey,
): FusedReads | undefined {
  describe(name, parameters, results, key);
  const script = scripts.get(list);
  return script && readsOf(script, key);
}

/** Caches the module and the reads that a body requested, for {@link knownFusion}. */
export function rememberFusion(
  name: string,
  parameters: readonly ScalarType[],
  results: readonly ScalarType[],
  key: FusionKey,
  trace: FusionTrace,
): void {
  const script = scriptOf(trace, key);
  describe(name, parameters, results, key);
  scripts.set(list, script);
}

/** Writes to `list`, which serves as the cache key, everything on which the reads and the module of a body depend. */
function describe(
  name: string,
  parameters: readonly ScalarType[],
  results: readonly ScalarType[],
  { by, columns, lengths = [] }: FusionKey,
): void {
  list.clear();
  list.push(numberOf(name));
  pushTypes(parameters);
  pushTypes(results);
  list.push(by.length);
  for (const each of by) pushPart(each);
  list.push(columns.length);
  for (let i = 0; i < columns.length; i++) pushColumn(columns, i);
  list.push(lengths.length);
  for (let i = 0; i < lengths.length; i++) pushLength(lengths, i, columns);
}

const TYPES: Readonly<Record<ScalarType, number>> = { u32: 0, i32: 1, f32: 2, bool: 3 };
/** Marks a view in the cache key `list`: added to the number that stands for the column's type. */
const VIEW = 4;

function pushTypes(types: readonly ScalarType[]): void {
  list.push(types.length);
  for (const type of types) list.push(TYPES[type]);
}

function pushPart(part: FusionKey['by'][number]): void {
  const isNumber = typeof part === 'number' || typeof part === 'boolean';
  list.push(isNumber ? 0 : 1);
  list.push(isNumber ? Number(part) : numberOf(part));
}

/**
 * Appends `columns[at]` to the cache key: its type and the index of the first column in `columns` with the same array
 * or view. For a view, also appends the index of the result; at the first column of a view, also the result types and
 * whether the view has loops.
 */
function pushColumn(columns: readonly Column[], at: number): void {
  const { type, source } = columns[at]!;
  let first = 0;
  if (source.kind === 'stored') {
    while (first < at && !isSameArray(columns[first]!, columns[at]!)) first++;
    list.push(TYPES[type]);
    list.push(first);
    return;
  }
  const { view, result } = source;
  while (first < at && !isOfView(columns[first]!, view)) first++;
  list.push(VIEW + TYPES[type]);
  list.push(first);
  list.push(result);
  if (first < at) return;
  pushTypes(entryOf(view.module).results);
  list.push(Number(view.cost.loops));
}

function isSameArray(a: Column, b: Column): boolean {
  if (a.source.kind === 'view' || b.source.kind === 'view') return false;
  const [one, other] = [a.source, b.source];
  return (
    one.memory === other.memory &&
    one.storage === other.storage &&
    one.offset === other.offset &&
    sameLength(a.length, b.length)
  );
}

function isOfView({ source }: Column, view: ViewInput['view']): boolean {
  return source.kind === 'view' && source.view === view;
}

/**
 * Appends `lengths[at]` to the cache key: the index of the first equal length in `lengths`. For a device length (a
 * length that only the device knows), also appends two more indices: of the first length that is computed from the same
 * word of memory, and of the first column that consists of only this word.
 */
function pushLength(lengths: readonly Length[], at: number, columns: readonly Column[]): void {
  const length = lengths[at]!;
  list.push(lengths.findIndex((each) => sameLength(each, length)));
  if (typeof length === 'number') {
    list.push(-2);
    return;
  }
  list.push(lengths.findIndex((each) => typeof each !== 'number' && isSameCell(each, length)));
  const cell = cellOf(length);
  list.push(
    columns.findIndex(
      ({ source, length: own }) => source.kind === 'stored' && sameArray({ ...source, length: own }, cell),
    ),
  );
}

function isSameCell(a: DeviceLength, b: DeviceLength): boolean {
  return a.memory === b.memory && a.word === b.word;
}

/** The word from which a device length is computed, as an array of one element. */
export function cellOf(length: DeviceLength): StoredArray {
  return { memory: length.memory, storage: 'u32', offset: length.word, length: 1 };
}

const numbers = new WeakMap<object, number>();
const textNumbers = createCache<string, number>({ max: 2 ** 14 });
let next = 0;

/**
 * A number that identifies a text or an object. Different texts and objects have different numbers. A text dropped from
 * the bounded cache gets a new number.
 */
function numberOf(each: object | string): number {
  const isText = typeof each === 'string';
  const known = isText ? textNumbers.get(each) : numbers.get(each);
  if (known !== undefined) return known;
  const number = next++;
  if (isText) textNumbers.set(each, number);
  else numbers.set(each, number);
  return number;
}

function scriptOf({ module, reads, uniforms }: FusionTrace, { columns, lengths = [], values = [] }: FusionKey): Script {
  let value = 0;
  return {
    module,
    reads: reads.map(({ origin, results }) => {
      if ('source' in origin) {
        const at = known(columns.indexOf(origin));
        return { kind: results === undefined ? 'array' : 'input', at, results: [...(results ?? [])] };
      }
      const at = known(lengths.findIndex((each) => typeof each !== 'number' && isSameCell(each, origin)));
      return { kind: 'count', at, results: [] };
    }),
    uniforms: uniforms.map(({ type, origin }) => {
      const at =
        origin.kind === 'value'
          ? known(Object.is(values[value], origin.value) ? value++ : -1)
          : known(lengths.findIndex((each) => sameLength(each, origin.length)));
      return { type, kind: origin.kind, at };
    }),
  };
}

/**
 * Returns `at`, an index into the cache key of a body. Throws if `at` is negative: the body requested a column, length
 * or value that is not in the key. Without this check, a later call with an equal key could read a column or value of
 * an earlier call.
 */
function known(at: number): number {
  if (at >= 0) return at;
  throw new RangeError('A fusion asks for something that is not in its key.');
}

/**
 * The reads and uniform values of a cached script. The indices in the script are replaced by the columns, lengths and
 * values of the given key.
 */
function readsOf({ module, reads, uniforms }: Script, { columns, lengths = [], values = [] }: FusionKey): FusedReads {
  const arrays = new Map<string, StoredArray>();
  const inputs: ViewInput[] = [];
  const order: (string | ViewInput)[] = [];
  for (const { kind, at, results } of reads) {
    if (kind === 'input') {
      const { source, length } = columns[at]!;
      const { view } = source as Extract<Column['source'], { kind: 'view' }>;
      const input = { name: `view ${order.length}`, view, length, results };
      inputs.push(input);
      order.push(input);
    } else {
      const name = `a${order.length}`;
      arrays.set(name, kind === 'count' ? cellOf(lengths[at] as DeviceLength) : arrayOf(columns[at]!));
      order.push(name);
    }
  }
  const given = uniforms.map(({ type, kind, at }) => {
    if (kind === 'value') return { type, value: values[at]! };
    const length = lengths[at]!;
    if (kind === 'number') return { type, value: length as number };
    return { type, value: (length as DeviceLength)[kind] };
  });
  return { module, arrays, inputs, order, uniforms: given };
}

function arrayOf({ source, length }: Column): StoredArray {
  const { memory, storage, offset } = source as Extract<Column['source'], { kind: 'stored' }>;
  return { memory, storage, offset, length };
}
