import type { Program } from '../../../../primitives/contract/backend.ts';
import { read, record } from '../../../../primitives/functors/recorder.ts';
import { cached } from '../../../../primitives/host/cache.ts';
import type { Module, ScalarType } from '../../../../primitives/ir/ir.ts';
import type { Memory } from '../../memory/memory.ts';

/** A program that returns element `index` of each of several columns of words. */
export function columnsProgram(memories: readonly Memory[], length: number): Program {
  const arrays = memories.map((buffer, i) => [`a${i}`, { buffer, storage: 'u32', offset: 0, length }] as const);
  return { module: columnsModule(memories.map(() => 'u32')), arrays: new Map(arrays), uniforms: new Map() };
}

const columnModules = new Map<string, Module>();

/** A module that returns element `index` of each of the columns `a0`, `a1`, … */
export function columnsModule(types: readonly ScalarType[]): Module {
  return cached(columnModules, types.join(), () => {
    const arrays = new Map(types.map((type, i) => [`a${i}`, type]));
    return record({ name: 'columns', parameters: ['u32'], results: types, arrays }, ([index]) =>
      types.map((type, i) => read(`a${i}`, type, index!)),
    );
  });
}
