import type { Cell, MonoidProgram, ScanCommand, ScanForm } from '../../../../primitives/contract/backend.ts';
import {
  argumentWords,
  beginKernel,
  CHUNK,
  CHUNK_SIZE,
  emitChunk,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  lengthWords,
  ownWord,
  resultsOf,
  shapeKey,
  shapeOf,
  usesOf,
  WORKER,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { fixed } from '../../threads/queue.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop } from '../../wasm/index-loop.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { atomic, type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { atomicLoad, atomicResult, type Int32, i32, i64 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local, ScalarLocal } from '../../wasm/wasm-locals.ts';
import { atomicStore, drop, fillMemory, leave, notifyAll, when, whileTrue } from '../../wasm/wasm-statements.ts';
import { emitChunkCount } from '../reduce/reduce.ts';
import {
  copyAll,
  emitCombine,
  emitIdentity,
  loadState,
  monoidKey,
  releaseAll,
  stateLocals,
  storeState,
} from '../shared/monoid-code.ts';
import { emitStores } from '../shared/stores.ts';
import type { ScanVectors } from './scan-nodes.ts';
import { vectorScan } from './scan-vectors.ts';

/**
 * Indices of the kernel-specific argument words. CHAIN is the address of the tiles' prefixes, TOTAL the address of the
 * result, and TILES the address of scratch memory for elements.
 */
const CHAIN = 0;
const TOTAL = 1;
const TILES = 2;

const LARGEST_TILE = 32768;

/**
 * Scans with an exact monoid (its results do not depend on the brackets) in one pass over the input.
 *
 * A worker folds a tile, which brings the tile into the cache. The worker then waits for the inclusive prefix of the
 * preceding tile, publishes the inclusive prefix of its own tile, and scans its tile. Workers take tiles in order, so
 * some worker is already at work on the preceding tile. (Chained scan: Yan, Long and Zhang, StreamScan, 2013.)
 *
 * A single worker skips the fold if possible (see `emitIsKnown`). With several workers, each tile is folded, even if
 * the prefix of the preceding tile is known: the fold publishes the tile's prefix earlier than the scan could.
 */
export function launchExactScan(launcher: Launcher, command: ScanCommand): Launch {
  const { extent, program, monoid, emit, stores, total, form } = command;
  const shape = shapeOf([program, emit], 3, stores);
  const alone = launcher.workers === 1;
  const key = `scan ${monoidKey(monoid)} ${formKey(form)} ${total === undefined} ${alone} ${shapeKey(shape)}`;
  const build = (): FunctionBody[] => [
    emitClear(shape, monoid),
    emitScan(shape, monoid, form, total !== undefined, alone),
  ];
  const kernel = launcher.compile(key, build);
  const length = lengthWords(extent, launcher.addresses);
  const chunkSize = chunkSizeOf(length[2], launcher.workers, LARGEST_TILE);
  const leaves = monoid.types.length;
  const own = [
    launcher.scratch(Math.max(1, Math.ceil(length[2] / chunkSize)) * strideOf(monoid)),
    total === undefined ? 0 : launcher.addresses.of(total, leaves),
    launcher.scratch(launcher.workers * chunkSize * 4 * leaves),
  ];
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, own),
    phases: [
      fixedPhase(kernel.functions[0]!, 1),
      { run: kernel.functions[1]!, length, chunkSize, minimum: total === undefined ? 0 : 1 },
    ],
    tiles: {
      key,
      build,
      anySize: false,
      uses: () => usesOf(shape, launcher.addresses, extent, wordsFrom(total, leaves)),
    },
  };
}

function formKey(form: ScanForm | undefined): string {
  if (form === undefined) return '';
  return form.kind === 'runs' ? `runs ${monoidKey(form.inner)}` : `compact ${form.selected} ${form.rejected ?? ''}`;
}

function wordsFrom(total: Cell | undefined, leaves: number): Cell[] {
  return total === undefined ? [] : Array.from({ length: leaves }, (_, k) => ({ ...total, word: total.word + k }));
}

/**
 * Number of bytes per tile in the chain of prefixes. They hold a flag that says whether the prefix is present, then the
 * inclusive prefix.
 */
function strideOf({ types }: MonoidProgram): number {
  return 4 * (1 + types.length);
}

/** Marks the prefixes of all tiles as not present yet. */
function emitClear(shape: KernelShape, monoid: MonoidProgram): FunctionBody {
  const { code, inputs } = beginKernel({ ...shape, stores: [] });
  const { extent } = inputs;
  const chunks = emitChunkCount(code, extent);
  fillMemory(code, emitOwnWord(code, CHAIN), 0, chunks.mul(strideOf(monoid)));
  return code.finish();
}

/** The values that different sections of the kernel's code share while they process one tile. */
export interface Tile {
  readonly code: Code;
  readonly monoid: MonoidProgram;
  readonly inputs: KernelInputs;
  readonly from: Int32;
  readonly to: Int32;
  readonly index: Int32Local;
  /** The fold of the elements so far, as one local per leaf (scalar component). */
  readonly state: readonly ScalarLocal[];
  readonly vectors: ScanVectors | undefined;
  /**
   * The address of scratch memory with the elements of the worker's tile; undefined if elements are computed twice
   * instead.
   */
  readonly room: Int32 | undefined;
  /** Whether only one worker runs the launch. */
  readonly alone: boolean;
}

function emitScan(
  shape: KernelShape,
  monoid: MonoidProgram,
  form: ScanForm | undefined,
  hasTotal: boolean,
  alone: boolean,
): FunctionBody {
  const { code, inputs } = beginKernel(shape, resultsOf(shape.programs[1]!));
  const { from, to } = emitChunk(code, inputs.extent);
  const index = code.local(I32);
  const state = stateLocals(code, monoid);
  const end = stateLocals(code, monoid);
  const sources = { inputs, monoid, form, index, to, state, end };
  const vectors = vectorScan(code, sources);
  const room = vectors === undefined ? emitRoom(code, monoid) : undefined;
  const tile: Tile = { code, monoid, inputs, from, to, index, state, vectors, room, alone };

  const known = emitIsKnown(tile);
  when(code, known.isZero(), () => {
    emitIdentity(monoid, state);
    foldTile(tile);
    copyAll(end, state);
    emitIdentity(monoid, state);
    when(code, CHUNK, () => awaitPrefix(tile, end));
    publishPrefix(tile, end);
    if (hasTotal) storeTotal(tile, end);
  });
  scanTile(tile);
  when(code, known, () => publishPrefix(tile, state));
  return code.finish();
}

/**
 * Returns a local that says whether the tile can be scanned without folding it first. If so, `state` is set to the
 * prefix before the tile; after the scan, `state` is the inclusive prefix to publish. This works only for a single
 * worker, and only if the vector scan does not need the inclusive prefix in advance. The last tile is always folded,
 * because its fold gives the total.
 */
function emitIsKnown({ code, monoid, inputs, to, state, vectors, alone }: Tile): Int32 {
  const known = code.local(I32);
  const before = code.local(I32);
  known.set(0);
  if (vectors === undefined || vectors.needsEnd || !alone) return known;
  emitIdentity(monoid, state);
  const look = (): void => {
    const isThere = known.tee(atomicLoad(before.tee(linkOf(monoid, CHUNK.sub(1)))));
    when(code, isThere, () => loadState(monoid, before, state, 4));
  };
  when(code, to.ltU(inputs.extent), () => when(code, CHUNK, look, () => known.set(1)));
  code.release(before);
  return known;
}

/**
 * The address of the scratch memory in which the worker keeps the elements of its tile, so that costly elements are not
 * computed twice.
 */
function emitRoom(code: Code, monoid: MonoidProgram): Int32 {
  const room = emitOwnWord(code, TILES);
  room.set(room.add(WORKER.mul(CHUNK_SIZE).mul(4 * monoid.types.length)));
  return room;
}

function foldTile({ code, monoid, inputs, from, to, index, state, vectors, room }: Tile): void {
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const element = inlineEntry(code, inputs.environments[0]!, [index]);
      if (room !== undefined) storeState(code, placeIn(room, monoid, index.sub(from)), element);
      emitCombine(code, monoid, state, state, element);
      releaseAll(code, element);
    },
    vector: vectors?.fold,
  });
}

/** The address of an element in the worker's scratch memory. */
function placeIn(room: Int32, { types }: MonoidProgram, element: Int32): Int32 {
  return room.add(element.mul(4 * types.length));
}

/** The number of polls before a worker sleeps, and the maximum sleep until it checks the stop flag again. */
const SPINS = 2000;
const SLEEP_NANOSECONDS = 10_000_000;

/** Waits for the prefix of the preceding tile, loads the prefix into `state`, and prepends the prefix to `end`. */
function awaitPrefix({ code, monoid, state }: Tile, end: readonly ScalarLocal[]): void {
  const before = code.local(I32);
  const spins = code.local(I32);
  before.set(linkOf(monoid, CHUNK.sub(1)));
  spins.set(0);
  whileTrue(code, atomicLoad(before).isZero(), () => {
    when(code, atomicLoad(fixed.stop), () => leave(code));
    when(code, spins.tee(spins.add(1)).gtU(SPINS), () =>
      drop(code, atomicResult(atomic.wait32, before, i32(0), i64(SLEEP_NANOSECONDS))),
    );
  });
  loadState(monoid, before, state, 4);
  emitCombine(code, monoid, end, state, end);
}

function publishPrefix({ code, monoid }: Tile, end: readonly ScalarLocal[]): void {
  const link = code.local(I32);
  link.set(linkOf(monoid, CHUNK));
  storeState(code, link, end, 4);
  atomicStore(code, link, 1);
  notifyAll(code, link);
}

/** The address of a tile's entry in the chain of prefixes. */
function linkOf(monoid: MonoidProgram, chunk: Int32): Int32 {
  return ownWord(CHAIN).add(chunk.mul(strideOf(monoid)));
}

/** Stores the total of all elements, which is the inclusive prefix of the last tile. */
function storeTotal({ code, inputs, to }: Tile, end: readonly ScalarLocal[]): void {
  const total = emitOwnWord(code, TOTAL);
  when(code, to.eq(inputs.extent), () => storeState(code, total, end));
}

export function scanTile({ code, monoid, inputs, from, to, index, state, vectors, room }: Tile): void {
  const inclusive = stateLocals(code, monoid);
  /** The element at the current index in new locals, either computed or loaded from the scratch memory. */
  const takeElement = (): ScalarLocal[] => {
    if (room === undefined) return inlineEntry(code, inputs.environments[0]!, [index]);
    const element = stateLocals(code, monoid);
    loadState(monoid, placeIn(room, monoid, index.sub(from)), element);
    return element;
  };
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const element = takeElement();
      emitCombine(code, monoid, inclusive, state, element);
      releaseAll(code, element);
      const results = inlineEntry(code, inputs.environments[1]!, [index, ...state, ...inclusive]);
      emitStores(code, inputs.stores, index, results);
      releaseAll(code, results);
      copyAll(state, inclusive);
    },
    vector: vectors?.scan,
  });
}
