import {
  type ArrayBinding,
  capacityOf,
  type Extent,
  type Program,
  type Store,
} from '../../../../primitives/contract/backend.ts';
import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { type Engine, tooManyBindings } from '../../launches/engine.ts';
import { forEach } from '../rows/for-each.ts';
import { columnsModule } from './columns-program.ts';
import { type KernelSource, linkSource } from './source.ts';
import { countBindings, placeArrays } from './windows.ts';

/**
 * Links a program for a kernel that binds `others` more buffers and processes tiles of `tile` elements. If the program
 * needs too many bindings, or if a boundary between an array's GPU buffers is inside a tile, the results of the program
 * are stored first and the kernel reads the stored results.
 */
export function prepareSource(
  engine: Engine,
  extent: Extent,
  program: Program,
  tile: number,
  others: number,
): KernelSource {
  const fused = linkSource(engine, extent, program);
  if (fits(engine, fused, tile, others)) return fused;
  const stored = storeResults(engine, extent, program);
  const linked = linkSource(engine, extent, stored.program);
  if (!fits(engine, linked, tile, others)) {
    throw tooManyBindings(others + countBindings(firstPlacements(linked).values()), engine.limits.storageBuffers);
  }
  return { ...linked, release: stored.release };
}

function firstPlacements({ program, windows }: KernelSource): ReturnType<typeof placeArrays> {
  return placeArrays(program, windows[0]!);
}

function fits({ limits }: Engine, linked: KernelSource, tile: number, others: number): boolean {
  const needed = others + countBindings(firstPlacements(linked).values());
  return needed <= limits.storageBuffers && linked.windows.every(({ from }) => from % tile === 0);
}

/** Stores the results of a program in temporary columns. Returns a program that reads the columns. */
export function storeResults(engine: Engine, extent: Extent, program: Program): { program: Program; release(): void } {
  const { results } = entryOf(program.module);
  const { columns, stores, release } = allocateColumns(engine.pool, results, capacityOf(extent));
  forEach(engine, extent, program, stores);
  const arrays = new Map(columns.map((column, i) => [`a${i}`, column]));
  return { program: { module: columnsModule(results), arrays, uniforms: new Map() }, release };
}

/** Temporary columns and their stores. Store `i` writes value `i` of a program to column `i`. */
export interface TemporaryColumns {
  readonly columns: readonly ArrayBinding[];
  readonly stores: readonly Store[];
  release(): void;
}

/**
 * Allocates a column for each type. If all columns fit into one binding, they share a buffer. Otherwise, each column
 * gets its own buffer, and all these buffers are split into GPU buffers at the same indices.
 */
export function allocateColumns(
  pool: Engine['pool'],
  types: readonly ScalarType[],
  capacity: number,
): TemporaryColumns {
  const together = types.length * capacity <= pool.partWords;
  const sizes = together ? [types.length * capacity] : types.map(() => capacity);
  const buffers = sizes.map((words) => pool.allocate(words));
  const columns = types.map(
    (type, i): ArrayBinding => ({
      buffer: buffers[together ? 0 : i]!,
      storage: type === 'bool' ? 'u32' : type,
      offset: together ? i * capacity : 0,
      length: capacity,
    }),
  );
  const stores = columns.map(({ buffer, offset }, value): Store => ({ buffer, offset, capacity, value }));
  return { columns, stores, release: () => buffers.forEach((buffer) => void pool.release(buffer)) };
}
