import { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import {
  capacityOf,
  type Extent,
  type Length,
  type Program,
  type Storage,
} from '../../../primitives/contract/backend.ts';
import {
  type AccessPattern,
  accessPatterns,
  arraysUpToIndex,
  ownedArrays,
} from '../../../primitives/ir/access-patterns.ts';
import { type Module, moduleNumber, type ScalarType } from '../../../primitives/ir/ir.ts';
import type { Memory } from '../memory/memory.ts';
import { emitModule, type Shader, type WgslEnvironment } from '../wgsl/emit-wgsl.ts';
import { zeroOf } from '../wgsl/wgsl-operations.ts';
import type { Bindings } from './bindings.ts';
import { type LengthWords, lengthExpression, type Parameters, parameter } from './parameters.ts';
import { TracedUniform } from './traced-uniform.ts';

/** A captured array of a program, linked to the parameters of a command. */
export interface LinkedArray {
  readonly name: string;
  readonly type: ScalarType;
  readonly storage: Storage;
  readonly pattern: AccessPattern;
  readonly memory: Memory;
  /**
   * `offset` is the index of the array's first element in `memory`. `offsetWord` is the index of the kernel parameter
   * with this offset.
   */
  readonly offset: number;
  readonly offsetWord: number;
  readonly length: LengthWords;
  /** `bound` is the array's length as given by the program. `covers` is true if the length is at least the extent. */
  readonly bound: Length;
  readonly covers: boolean;
  /**
   * Whether the program reads the array only below the extent, and the length is at least the extent. The index of a
   * read then needs no check.
   */
  readonly isInside: boolean;
  /**
   * If the array is only read at constant indices: maps each such index to the kernel parameter with the element's
   * value.
   */
  readonly cells: ReadonlyMap<number, number> | undefined;
  /** Whether the program reads and writes the array as an owned array. */
  readonly isOwned: boolean;
}

/** A program, with the indices of the kernel parameters for its offsets, lengths and uniforms. */
export interface LinkedProgram {
  readonly prefix: string;
  readonly module: Module;
  readonly arrays: readonly LinkedArray[];
  readonly uniforms: ReadonlyMap<string, number>;
  /** Names of the u32 uniforms whose values are known to be at least the extent. */
  readonly bounds: ReadonlySet<string>;
}

/** Log2 of the number of elements that a storage type packs into a word. */
export function packing(storage: Storage): number {
  return storage === 'u8' || storage === 'i8' ? 2 : storage === 'u16' || storage === 'i16' ? 1 : 0;
}

/** Links a program: adds its offsets, lengths and uniforms to the kernel parameters. */
export function linkProgram(
  prefix: string,
  { module, arrays, uniforms }: Program,
  parameters: Parameters,
  extent: Extent,
): LinkedProgram {
  const patterns = accessPatterns(module);
  const upToIndex = arraysUpToIndex(module);
  const owned = ownedArrays(module);
  const linked = [...module.arrays].map(([name, type]): LinkedArray => {
    const { buffer, storage, offset, length } = arrays.get(name)!;
    const memory = parameters.pool.resolve(buffer);
    const pattern = patterns.get(name)!;
    const inParameters = pattern.kind === 'cells' && packing(storage) === 0;
    const cells = inParameters
      ? new Map(pattern.indices.map((index) => [index, cellWord(parameters, memory, offset + index)]))
      : undefined;
    const words = parameters.length(length);
    const covers = reaches(length, extent);
    const isInside = upToIndex.has(name) && covers;
    const offsetWord = parameters.offset(memory, offset);
    const place = { memory, offset, offsetWord, length: words, bound: length };
    return { name, type, storage, pattern, ...place, covers, isInside, cells, isOwned: owned.has(name) };
  });
  const values = [...module.uniforms].map(([name, type]): [string, number] => {
    return [name, parameters.uniform(type, uniforms.get(name)!)];
  });
  const bounds = [...module.uniforms].filter(
    ([name, type]) => type === 'u32' && isAtLeast(uniforms.get(name)!, capacityOf(extent)),
  );
  return { prefix, module, arrays: linked, uniforms: new Map(values), bounds: new Set(bounds.map(([name]) => name)) };
}

/**
 * Whether the value of a uniform is at least `bound`. Returns false for a uniform whose value differs from call to
 * call.
 */
function isAtLeast(value: number | boolean | TracedUniform | SymbolicUniform, bound: number): boolean {
  if (value instanceof SymbolicUniform) return false;
  return value instanceof TracedUniform ? value.reaches(bound) : (value as number) >= bound;
}

/** Whether a length is known to be at least the extent. */
export function reaches(length: Length, extent: Extent): boolean {
  if (typeof length === 'number') return capacityOf(extent) <= length;
  if (typeof extent === 'number') return false;
  const { buffer, word, minus, limit } = extent;
  return buffer === length.buffer && word === length.word && minus >= length.minus && limit <= length.limit;
}

/**
 * Adds a word of device memory to the parameters. A word past the end of the buffer is replaced by 0. Such a word is
 * also past the array's length, so its value is not used.
 */
function cellWord(parameters: Parameters, memory: Memory, word: number): number {
  return word < memory.words ? parameters.cell(memory, word) : parameters.word(0);
}

/** The arrays of a program that need bindings, because their elements are not passed as parameters. */
export function boundArrays(program: LinkedProgram): readonly LinkedArray[] {
  return program.arrays.filter(({ cells }) => cells === undefined);
}

/** A program as one launch binds it. */
export interface BoundProgram {
  readonly program: LinkedProgram;
  /** The number of the binding of each array, by name. */
  readonly slots: ReadonlyMap<string, number>;
}

/** Binds the arrays of a program completely, with all parts (GPU buffers) of their buffers. */
export function bindArrays(program: LinkedProgram, bindings: Bindings): BoundProgram {
  const slots = boundArrays(program).map(({ name, memory, isOwned }): [string, number] => [
    name,
    bindings.bind(memory, isOwned ? 'update' : 'read'),
  ]);
  return { program, slots: new Map(slots) };
}

/**
 * Identifies the WGSL of a linked program for the cache of pipelines. Uniforms that read the same value of a prepared
 * call share a parameter, so the key has the parameter index of every uniform. The key omits the indices of other
 * parameters where the programs that were linked before determine them.
 */
export function programKey({ program: { prefix, module, arrays, uniforms }, slots }: BoundProgram): string {
  const each = arrays.map(({ name, storage, length, isInside, offsetWord, cells }) => {
    const place = cells === undefined ? `${slots.get(name)}` : `p${[...cells.values()].join('.')}`;
    return `${storage}${place}@${isInside ? '' : length.raw}.${offsetWord}`;
  });
  return `${prefix}${moduleNumber(module)}(${each.join()};${[...uniforms.values()].join('.')})`;
}

/** WGSL of a linked program: functions that read its arrays, and the functions of its module. */
export function emitProgram({ program, slots }: BoundProgram, shader: Shader): string {
  const { prefix, module, arrays } = program;
  const readers = arrays.map((array, i) => {
    const [name, slot] = [`${prefix}a${i}`, slots.get(array.name)];
    return array.isOwned ? emitOwned(prefix, name, array, slot!) : emitReader(name, array, slot);
  });
  const strip = arrays.some(({ isOwned }) => isOwned) ? [emitStrip(prefix)] : [];
  const functions = emitModule(module, { ...shader, prefix, ...capturesOf(program) });
  return [...strip, ...readers, functions].join('\n');
}

/**
 * Returns functions that emit WGSL expressions for the captures (arrays and uniforms) of a linked program. The
 * expressions for elements call the readers that {@link emitProgram} declares.
 */
export function capturesOf({
  prefix,
  arrays,
  uniforms,
}: LinkedProgram): Pick<WgslEnvironment, 'read' | 'write' | 'length' | 'uniform'> {
  const numbers = new Map(arrays.map(({ name }, i) => [name, i]));
  return {
    read: (name, index) => `${prefix}a${numbers.get(name)}(${index})`,
    write: (name, index, value) => `${prefix}a${numbers.get(name)}_put(${index}, ${value});`,
    length: (name) => lengthExpression(arrays[numbers.get(name)!]!.length),
    uniform: (name, type) => fromWord(type, parameter(uniforms.get(name)!)),
  };
}

/**
 * Emits a WGSL function that reads an element of an array. Past the array's length, the function returns zero. It has
 * no branch: it always loads a word and then selects either the word or zero, so that loads overlap. WebGPU keeps every
 * load inside the buffer. If the array is `isInside`, the function does not check the index, so kernels must discard
 * results past the extent.
 */
export function emitReader(name: string, array: LinkedArray, slot: number | undefined): string {
  const { type, length, isInside, cells } = array;
  const value = cells === undefined ? emitElement(array, slot!) : emitCells(cells, type);
  const inside = isInside ? 'value' : `select(${zeroOf(type)}, value, i < ${lengthExpression(length)})`;
  return `fn ${name}(i: u32) -> ${type} { ${value} return ${inside}; }`;
}

/**
 * WGSL variables with the first row and the number of rows of the thread's strip. Rows before the strip wrap around to
 * large numbers, so one comparison finds whether the strip owns a row.
 */
function emitStrip(prefix: string): string {
  return `var<private> ${prefix}first: u32;
var<private> ${prefix}rows: u32;`;
}

/** WGSL functions that read and write an element of an owned array, which is zero outside the strip. */
function emitOwned(prefix: string, name: string, { type, offsetWord }: LinkedArray, slot: number): string {
  const at = `i + ${parameter(offsetWord)}`;
  const owns = `i - ${prefix}first < ${prefix}rows`;
  return `fn ${name}(i: u32) -> ${type} { if (${owns}) { return ${fromWord(type, `load_${slot}(${at})`)}; } return ${zeroOf(type)}; }
fn ${name}_put(i: u32, value: ${type}) { if (${owns}) { store_${slot}(${at}, ${toWord(type, 'value')}); } }`;
}

function emitCells(cells: ReadonlyMap<number, number>, type: ScalarType): string {
  const cases = [...cells].map(([index, at]) => `case ${index}u: { value = ${fromWord(type, parameter(at))}; }`);
  return `var value = ${zeroOf(type)}; switch i { ${cases.join(' ')} default: {} }`;
}

function emitElement({ storage, type, offsetWord }: LinkedArray, slot: number): string {
  const at = `i + ${parameter(offsetWord)}`;
  const pack = packing(storage);
  if (pack === 0) return `let value = ${fromWord(type, `load_${slot}(${at})`)};`;
  const bits = 32 >> pack;
  const drop = 32 - bits;
  const up = `(load_${slot}(e >> ${pack}u) << (${drop}u - (e & ${(1 << pack) - 1}u) * ${bits}u))`;
  const value = storage.startsWith('i') ? `bitcast<u32>(bitcast<i32>${up} >> ${drop}u)` : `(${up} >> ${drop}u)`;
  return `let e = ${at}; let value = ${fromWord(type, value)};`;
}

/** WGSL that converts a 32-bit word to a value of a type. */
export function fromWord(type: ScalarType, word: string): string {
  return type === 'u32' ? word : type === 'bool' ? `(${word} != 0u)` : `bitcast<${type}>(${word})`;
}

/** WGSL that converts a value of a type to a 32-bit word. */
export function toWord(type: ScalarType, value: string): string {
  return type === 'u32' ? value : type === 'bool' ? `select(0u, 1u, ${value})` : `bitcast<u32>(${value})`;
}
