import type { Program, Store } from '../../primitives/contract/backend.ts';
import { projectResults } from '../../primitives/ir/project.ts';

/** A single store, and a program that computes only the results that this store needs. */
export interface LoneStore {
  readonly program: Program;
  readonly store: Store;
}

/**
 * Splits a command with several stores into one program for each store, so that each program reads fewer arrays.
 * Returns undefined if there are fewer than two stores. Also returns undefined if the programs cannot run one after
 * another, because the command reads an array that a store writes, or because a store has a `combine`.
 */
export function storesAlone(program: Program, stores: readonly Store[]): LoneStore[] | undefined {
  const read = new Set([...program.arrays.values()].map(({ buffer }) => buffer));
  const bound = stores.some(({ buffer, combine }) => read.has(buffer) || combine !== undefined);
  return stores.length < 2 || bound ? undefined : stores.map((store) => storeAlone(program, store));
}

function storeAlone({ module, arrays, uniforms }: Program, store: Store): LoneStore {
  const { index, guard } = store;
  const results = [...new Set([store.value, index, guard].filter((result) => result !== undefined))];
  const projected = projectResults(module, results);
  const kept = <T>(named: ReadonlyMap<string, T>, names: ReadonlyMap<string, unknown>): Map<string, T> =>
    new Map([...named].filter(([name]) => names.has(name)));
  return {
    program: {
      module: projected,
      arrays: kept(arrays, projected.arrays),
      uniforms: kept(uniforms, projected.uniforms),
    },
    store: {
      ...store,
      value: results.indexOf(store.value),
      ...(index !== undefined && { index: results.indexOf(index) }),
      ...(guard !== undefined && { guard: results.indexOf(guard) }),
    },
  };
}
