import type { ArrayBinding, DeviceBuffer, MonoidProgram, Program, Store } from '../../primitives/contract/backend.ts';
import { literal, operate, read, record } from '../../primitives/functors/recorder.ts';
import type { Local, Module, Operand, ScalarType } from '../../primitives/ir/ir.ts';
import { wordOfValue } from '../../primitives/ir/semantics.ts';

/** Columns for the leaves of a record, one after another in a single buffer. */
export interface LeafColumns {
  readonly buffer: DeviceBuffer;
  readonly types: readonly ScalarType[];
  /** Words from one leaf to the next. */
  readonly stride: number;
}

/** The arrays `name0`, `name1` … of the leaves, `length` elements from `first` on. */
export function leafArrays(
  name: string,
  { buffer, types, stride }: LeafColumns,
  first: number,
  length: number,
): Arrays {
  return new Map(
    types.map((type, leaf) => [
      `${name}${leaf}`,
      { buffer, storage: type === 'bool' ? 'u32' : type, offset: leaf * stride + first, length },
    ]),
  );
}

type Arrays = Map<string, ArrayBinding>;

/** The types of these arrays. */
export function leafTypes(name: string, types: readonly ScalarType[]): Map<string, ScalarType> {
  return new Map(types.map((type, leaf) => [`${name}${leaf}`, type]));
}

/** Stores of the first results of a program as leaves, from element `first` on. */
export function leafStores({ buffer, types, stride }: LeafColumns, first: number, length: number): Store[] {
  return types.map((_, leaf) => ({ buffer, offset: leaf * stride + first, capacity: length, value: leaf }));
}

/** Reads one element of every leaf. Call it while a module is recorded. */
export function readLeaves(name: string, types: readonly ScalarType[], index: Operand): Local[] {
  return types.map((type, leaf) => read(`${name}${leaf}`, type, index));
}

/** Selects one of two records, leaf by leaf. */
export function choose(otherwise: readonly Operand[], then: readonly Operand[], condition: Operand): Operand[] {
  return otherwise.map((leaf, i) => operate('select', [leaf, then[i]!, condition]));
}

/** The words of a monoid's identity. */
export function identityWords({ types, identity }: MonoidProgram): Uint32Array {
  return Uint32Array.from(identity, (value, leaf) => wordOfValue(types[leaf]!, value));
}

/** The program that reads the leaves of record `index`, with `step` elements between records. */
export function leavesProgram(leaves: LeafColumns, length: number, step = 1): Program {
  const { types } = leaves;
  const key = `${step} ${types.join()}`;
  const module =
    modules.get(key) ??
    record({ name: 'leaves', parameters: ['u32'], results: types, arrays: leafTypes('leaf', types) }, ([index]) =>
      readLeaves('leaf', types, operate('mul', [index!, literal('u32', step)])),
    );
  modules.set(key, module);
  return { module, arrays: leafArrays('leaf', leaves, 0, Math.max(0, (length - 1) * step + 1)), uniforms: new Map() };
}

/** The program that reads row `index` of columns that are in separate buffers. */
export function columnsProgram(
  types: readonly ScalarType[],
  buffers: readonly DeviceBuffer[],
  length: number,
): Program {
  const first = buffers[0]!;
  const { module, arrays } = leavesProgram({ buffer: first, types, stride: 0 }, length);
  const own = [...arrays].map(([name, binding], i): [string, ArrayBinding] => [
    name,
    { ...binding, buffer: buffers[i]! },
  ]);
  return { module, arrays: new Map(own), uniforms: new Map() };
}

const modules = new Map<string, Module>();
