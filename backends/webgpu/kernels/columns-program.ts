import type { Program } from '../../../primitives/backend.ts';
import type { Local, Module, ScalarType, Statement } from '../../../primitives/functors/ir.ts';
import type { Memory } from '../memory.ts';

/** The program that reads an element of every one of some columns of words at its index. */
export function columnsProgram(memories: readonly Memory[], length: number): Program {
  const arrays = memories.map((buffer, i) => [`a${i}`, { buffer, storage: 'u32', offset: 0, length }] as const);
  return { module: columnsModule(memories.map(() => 'u32')), arrays: new Map(arrays), uniforms: new Map() };
}

const columnModules = new Map<string, Module>();

/** The module that reads an element of every column a0, a1, … at its index. */
export function columnsModule(types: readonly ScalarType[]): Module {
  const key = types.join();
  const known = columnModules.get(key);
  if (known !== undefined) return known;
  const index: Local = { kind: 'local', type: 'u32', id: 0 };
  const values = types.map((type, i): Local => ({ kind: 'local', type, id: i + 1 }));
  const reads = values.map((local, i): Statement => ({ kind: 'read', local, array: `a${i}`, index }));
  const body: Statement[] = [...reads, { kind: 'return', values }];
  const module: Module = {
    functions: [{ name: 'columns', parameters: [index], results: types, body, fast: false }],
    arrays: new Map(types.map((type, i) => [`a${i}`, type])),
    uniforms: new Map(),
  };
  columnModules.set(key, module);
  return module;
}
