import type { ArrayBinding, DeviceBuffer, MonoidProgram, Program, Store } from '../../primitives/contract/backend.ts';
import { literal, operate, read, record } from '../../primitives/functors/recorder.ts';
import { cached } from '../../primitives/host/cache.ts';
import { wordOfValue } from '../../primitives/ir/evaluate.ts';
import type { Local, Module, Operand, ScalarType } from '../../primitives/ir/ir.ts';

/** The columns of a record type, one per leaf (scalar component), in a single buffer. */
export interface LeafColumns {
  readonly buffer: DeviceBuffer;
  readonly types: readonly ScalarType[];
  /** Distance in words from the start of one leaf's column to the start of the next. */
  readonly stride: number;
}

/**
 * Bindings `name0`, `name1` … of the columns of leaves (scalar components): `length` elements from element `first` on.
 */
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

/** The element types of the arrays `name0`, `name1` … of {@link leafArrays}. */
export function leafTypes(name: string, types: readonly ScalarType[]): Map<string, ScalarType> {
  return new Map(types.map((type, leaf) => [`${name}${leaf}`, type]));
}

/**
 * Stores that write a program's first results, one result per leaf (scalar component), to the columns of the leaves.
 * The columns are written from element `first` on.
 */
export function leafStores({ buffer, types, stride }: LeafColumns, first: number, length: number): Store[] {
  return types.map((_, leaf) => ({ buffer, offset: leaf * stride + first, capacity: length, value: leaf }));
}

/** Records a read of element `index` of every leaf (scalar component). Must be called while a module is recorded. */
export function readLeaves(name: string, types: readonly ScalarType[], index: Operand): Local[] {
  return types.map((type, leaf) => read(`${name}${leaf}`, type, index));
}

/** Selects `then` if the condition is true, else `otherwise`, leaf by leaf (for each scalar component). */
export function choose(otherwise: readonly Operand[], then: readonly Operand[], condition: Operand): Operand[] {
  return otherwise.map((leaf, i) => operate('select', [leaf, then[i]!, condition]));
}

/** The words of a monoid's identity. */
export function identityWords({ types, identity }: MonoidProgram): Uint32Array {
  return Uint32Array.from(identity, (value, leaf) => wordOfValue(types[leaf]!, value));
}

/** A program that returns the leaves (scalar components) at element `index` · `step` of the columns. */
export function leavesProgram(leaves: LeafColumns, length: number, step = 1): Program {
  const { types } = leaves;
  const key = `${step} ${types.join()}`;
  const module = cached(modules, key, () =>
    record({ name: 'leaves', parameters: ['u32'], results: types, arrays: leafTypes('leaf', types) }, ([index]) =>
      readLeaves('leaf', types, operate('mul', [index!, literal('u32', step)])),
    ),
  );
  return { module, arrays: leafArrays('leaf', leaves, 0, Math.max(0, (length - 1) * step + 1)), uniforms: new Map() };
}

/** A program that returns row `index` of columns in separate buffers. */
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
