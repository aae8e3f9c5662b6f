import { capacityOf, type Extent, type Program, type Store } from '../../../../primitives/contract/backend.ts';
import { largestOf } from '../../../../primitives/host/extremes.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, launch, tooManyBindings } from '../../launches/engine.ts';
import { boundArrays, emitProgram, type LinkedProgram, linkProgram, programKey } from '../../launches/link.ts';
import { createParameters, type LengthWords, type Parameters } from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';
import { separate } from '../../memory/snapshot.ts';
import { packArrays } from './pack-arrays.ts';
import { type BoundStore, bindGroup, groupStores, linkStores, type StoreGroup, storesKey } from './stores.ts';
import {
  bindPlacements,
  countBindings,
  type IndexRange,
  type LinkedStore,
  type Placements,
  placeArray,
  placeArrays,
  shorterWindows,
  windowsOf,
} from './windows.ts';

/** A kernel that evaluates programs for every index and stores results. */
export interface StoringKernel {
  /** The part of the kernel's key that identifies its code; the keys of its programs and stores are the other parts. */
  readonly key: string;
  readonly threads: number;
  /** Number of indices per thread. */
  readonly items: number;
  /** Number of workgroups for a range of indices; by default, as many as have a thread for each `items` indices. */
  readonly groups?: (indices: number) => number;
  /** Up to two words that the kernel receives with every dispatch. */
  readonly words?: readonly number[];
  /**
   * WGSL of the body of `main` and of the functions that it calls. {@link dispatchWord}s 0 and 1 are the start and end
   * of the launch's range of indices, and `words` follow.
   */
  readonly text: (
    length: LengthWords,
    stores: readonly BoundStore[],
  ) => { readonly declarations: string; readonly main: string };
}

/** The linked programs of a command, which all its launches share. */
interface Linked {
  readonly kernel: StoringKernel;
  readonly parameters: Parameters;
  readonly length: LengthWords;
  readonly programs: readonly LinkedProgram[];
}

/**
 * Runs a kernel for all indices of an extent. If one launch cannot bind all arrays and stores, there are several
 * launches. The keys of `programs` are prefixes for the WGSL names of each program.
 */
export function runStoring(
  engine: Engine,
  extent: Extent,
  programs: ReadonlyMap<string, Program>,
  stores: readonly Store[],
  kernel: StoringKernel,
): void {
  const capacity = capacityOf(extent);
  if (capacity === 0 || stores.length === 0) return;
  const { pool } = engine;
  const buffers = stores.map(({ buffer }) => buffer);
  const inputs = separate(engine, extent, [...programs.values()], buffers);
  const parameters = createParameters(pool);
  const written = linkStores(stores, parameters, inputs.extent);
  const linked: Linked = {
    kernel,
    parameters,
    length: parameters.length(inputs.extent),
    programs: [...programs.keys()].map((prefix, i) =>
      linkProgram(prefix, inputs.programs[i]!, parameters, inputs.extent),
    ),
  };
  for (const window of planWindows(engine, capacity, linked.programs, written)) {
    runWindow(engine, linked, window, written);
  }
  inputs.release();
}

function planWindows(
  engine: Engine,
  capacity: number,
  programs: readonly LinkedProgram[],
  stores: readonly LinkedStore[],
): readonly IndexRange[] {
  const windows = windowsOf(capacity, programs, stores);
  const arrays = programs.map(boundArrays);
  const first = arrays.flat().map((array) => placeArray(array, windows[0]!));
  if (countBindings(first) < engine.limits.storageBuffers) return windows;
  // There are too many arrays to bind separately, so a program's arrays will be copied into one buffer. Windows must be
  // short: one binding must hold the window's elements of all arrays that a program reads at the launch index.
  const linear = largestOf(arrays.map((each) => each.filter(({ pattern }) => pattern.kind === 'index').length));
  const slack = 2;
  return shorterWindows(windows, Math.max(1, Math.floor(engine.pool.partWords / Math.max(1, linear)) - slack));
}

function runWindow(engine: Engine, linked: Linked, window: IndexRange, stores: readonly LinkedStore[]): void {
  const { limits, pool } = engine;
  const { programs } = linked;
  const placements = programs.map((program) => placeArrays(program, window));
  const bound = (): number => countBindings(placements.flatMap((placed) => [...placed.values()]));
  const packed: (Memory | undefined)[] = [];
  for (const [i, program] of programs.entries()) {
    if (bound() >= limits.storageBuffers) packed.push(packArrays(engine, program, window, placements[i]!));
  }
  const reads = bound();
  if (reads >= limits.storageBuffers) throw tooManyBindings(reads + 1, limits.storageBuffers);
  for (const group of groupStores(stores, window, limits.storageBuffers - reads)) {
    launchGroup(engine, linked, window, placements, group);
  }
  for (const memory of packed) if (memory !== undefined) pool.release(memory);
}

function launchGroup(
  engine: Engine,
  { kernel, parameters, length, programs }: Linked,
  window: IndexRange,
  placements: readonly Placements[],
  group: readonly StoreGroup[],
): void {
  const {
    key,
    threads,
    items,
    text,
    words = [],
    groups = (indices) => Math.ceil(indices / (threads * items)),
  } = kernel;
  const bindings = createBindings(parameters);
  const bound = programs.map((program, i) => bindPlacements(program, placements[i]!, bindings));
  const stores = bindGroup(group, bindings);
  launch(engine, {
    key: `${key} ${threads}.${items} ${bound.map(programKey).join(' ')} ${storesKey(stores)}`,
    bindings,
    groups: groups(window.to - window.from),
    words: [window.from, window.to, ...words],
    code: (shader) => {
      const functions = bound.map((program) => emitProgram(program, shader));
      const { declarations, main } = text(length, stores);
      return { threads, declarations: [...functions, declarations].join('\n'), main };
    },
  });
}
