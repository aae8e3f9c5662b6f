import type { Cell, MonoidProgram, ScanCommand, ScanForm } from '../../../../primitives/contract/backend.ts';
import {
  ARGUMENTS,
  argumentWords,
  CHUNK,
  emitChunk,
  emitInputs,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  kernelParameters,
  type Layout,
  layoutOf,
  lengthWords,
  resultsOf,
  shapeKey,
  usesOf,
  WORKER,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { fixed } from '../../threads/queue.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop } from '../../wasm/index-loop.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { atomic, type FunctionBody, I32, op } from '../../wasm/wasm-encoder.ts';
import { emitChunkCount } from '../reduce/reduce.ts';
import {
  emitCombine,
  emitCopy,
  emitIdentity,
  emitLoadState,
  emitStoreState,
  monoidKey,
  releaseAll,
  stateLocals,
} from '../shared/monoid-code.ts';
import { emitStores } from '../shared/stores.ts';
import type { ScanVectors } from './scan-nodes.ts';
import { vectorScan } from './scan-vectors.ts';

/** Words of the kernel's own. */
const CHAIN = 0;
const TOTAL = 1;
const TILES = 2;

const LARGEST_TILE = 32768;

/**
 * A scan of a monoid that may be folded in any shape, in one pass over the input: a worker folds a tile, which brings it
 * into the cache, waits for the prefix of the tile before it, hands on its own, and scans the tile. Tiles are taken in
 * order, so the tile that is waited for is always at work. (Chained scan: Yan, Long and Zhang, StreamScan, 2013.)
 *
 * A worker that is alone knows every prefix and folds nothing. Where there are others, a tile whose prefix happens to be
 * known is folded all the same: they wait for its own, which is there sooner than at the end of its scan.
 */
export function launchExactScan(launcher: Launcher, command: ScanCommand): Launch {
  const { extent, program, monoid, emit, stores, total, form } = command;
  const shape: KernelShape = { programs: [program, emit], stores, words: 3 };
  const layout = layoutOf(shape.programs);
  const alone = launcher.workers === 1;
  const key = `scan ${monoidKey(monoid)} ${formKey(form)} ${total === undefined} ${alone} ${shapeKey(shape, layout)}`;
  const build = (): FunctionBody[] => [
    emitClear(shape, layout, monoid),
    emitScan(shape, layout, monoid, form, total !== undefined, alone),
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
    words: argumentWords(shape, layout, launcher.addresses, length, chunkSize, own),
    phases: [
      fixedPhase(kernel.functions[0]!, 1),
      { run: kernel.functions[1]!, length, chunkSize, minimum: total === undefined ? 0 : 1 },
    ],
    tiles: {
      key,
      build,
      anySize: false,
      uses: () => usesOf(shape, layout, launcher.addresses, extent, wordsFrom(total, leaves)),
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

/** Bytes that a tile has in the chain: whether its prefix is there, and the prefix. */
function strideOf({ types }: MonoidProgram): number {
  return 4 * (1 + types.length);
}

/** Marks the prefixes of all tiles as missing. */
function emitClear(shape: KernelShape, layout: Layout, monoid: MonoidProgram): FunctionBody {
  const code = new Code(kernelParameters);
  const { extent } = emitInputs(code, { ...shape, stores: [] }, layout, []);
  const chunks = emitChunkCount(code, extent);
  code.get(emitOwnWord(code, CHAIN));
  code.i32(0);
  code.get(chunks);
  code.i32(strideOf(monoid));
  code.op(op.i32Mul);
  code.memoryFill();
  return code.finish();
}

/** What the parts of the kernel share. */
interface Tile {
  readonly code: Code;
  readonly monoid: MonoidProgram;
  readonly inputs: KernelInputs;
  readonly from: number;
  readonly to: number;
  readonly index: number;
  /** The fold of the elements so far. */
  readonly state: readonly number[];
  readonly vectors: ScanVectors | undefined;
  /** Local with the address of the worker's room for the elements of a tile, where they are kept. */
  readonly room: number | undefined;
  /** Whether one worker has all tiles. */
  readonly alone: boolean;
}

function emitScan(
  shape: KernelShape,
  layout: Layout,
  monoid: MonoidProgram,
  form: ScanForm | undefined,
  hasTotal: boolean,
  alone: boolean,
): FunctionBody {
  const code = new Code(kernelParameters);
  const [program, emit] = shape.programs;
  const inputs = emitInputs(code, shape, layout, resultsOf(emit!));
  const { from, to } = emitChunk(code, inputs.extent);
  const index = code.local(I32);
  const state = stateLocals(code, monoid);
  const end = stateLocals(code, monoid);
  const sources = { program: program!, emit: emit!, layout, inputs, monoid, form, index, to, state, end };
  const vectors = vectorScan(code, sources);
  const room = vectors === undefined ? emitRoom(code, monoid) : undefined;
  const tile: Tile = { code, monoid, inputs, from, to, index, state, vectors, room, alone };

  const known = emitIsKnown(tile);
  code.get(known);
  code.op(op.i32Eqz);
  code.when(() => {
    emitIdentity(code, monoid, state);
    foldTile(tile);
    emitCopy(code, end, state);
    emitIdentity(code, monoid, state);
    code.get(CHUNK);
    code.when(() => awaitPrefix(tile, end));
    publishPrefix(tile, end);
    if (hasTotal) storeTotal(tile, end);
  });
  scanTile(tile);
  code.get(known);
  code.when(() => publishPrefix(tile, state));
  return code.finish();
}

/**
 * Whether the prefix of the tile before is there and the tile need not be folded first, in a local; it is then in `state`:
 * its own prefix is what its scan ends with. Not of the last tile, whose fold is the total.
 */
function emitIsKnown({ code, monoid, inputs, to, state, vectors, alone }: Tile): number {
  const known = code.local(I32);
  const before = code.local(I32);
  code.i32(0);
  code.set(known);
  if (vectors === undefined || vectors.needsEnd || !alone) return known;
  emitIdentity(code, monoid, state);
  code.get(to);
  code.get(inputs.extent);
  code.op(op.i32LtU);
  code.when(() => {
    code.get(CHUNK);
    code.when(
      () => {
        pushLinkBefore(code, monoid);
        code.tee(before);
        code.atomic(atomic.i32Load);
        code.tee(known);
        code.when(() => emitLoadState(code, monoid, () => code.get(before), state, 4));
      },
      () => {
        code.i32(1);
        code.set(known);
      },
    );
  });
  code.release(before);
  return known;
}

function pushLinkBefore(code: Code, monoid: MonoidProgram): void {
  pushLink(code, monoid, () => {
    code.get(CHUNK);
    code.i32(1);
    code.op(op.i32Sub);
  });
}

/** Elements that are costly to compute are computed once: their worker keeps those of its tile. */
function emitRoom(code: Code, monoid: MonoidProgram): number {
  const room = emitOwnWord(code, TILES);
  code.get(room);
  code.get(WORKER);
  code.get(ARGUMENTS);
  code.memory(op.i32Load, 12);
  code.op(op.i32Mul);
  code.i32(4 * monoid.types.length);
  code.op(op.i32Mul, op.i32Add);
  code.set(room);
  return room;
}

function foldTile({ code, monoid, inputs, from, to, index, state, vectors, room }: Tile): void {
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const element = inlineEntry(code, inputs.environments[0]!, [index]);
      if (room !== undefined) emitStoreState(code, monoid, () => pushRoom(code, monoid, room, from, index), element);
      emitCombine(code, monoid, state, state, element);
      releaseAll(code, element);
    },
    vector: vectors?.fold,
  });
}

function pushRoom(code: Code, { types }: MonoidProgram, room: number, from: number, index: number): void {
  code.get(room);
  code.get(index);
  code.get(from);
  code.op(op.i32Sub);
  code.i32(4 * types.length);
  code.op(op.i32Mul, op.i32Add);
}

/** Looks before a worker goes to sleep; and how long it sleeps before it looks whether it has to leave. */
const SPINS = 2000;
const SLEEP_NANOSECONDS = 10_000_000;

/** Waits for the prefix of the tile before, into `state`, and puts it before `end`. */
function awaitPrefix({ code, monoid, state }: Tile, end: readonly number[]): void {
  const before = code.local(I32);
  const spins = code.local(I32);
  pushLinkBefore(code, monoid);
  code.set(before);
  code.i32(0);
  code.set(spins);
  code.while(
    () => {
      code.get(before);
      code.atomic(atomic.i32Load);
      code.op(op.i32Eqz);
    },
    () => {
      code.i32(fixed.stop);
      code.atomic(atomic.i32Load);
      code.when(() => code.op(op.return));
      code.get(spins);
      code.i32(1);
      code.op(op.i32Add);
      code.tee(spins);
      code.i32(SPINS);
      code.op(op.i32GtU);
      code.when(() => {
        code.get(before);
        code.i32(0);
        code.i64(SLEEP_NANOSECONDS);
        code.atomic(atomic.wait32);
        code.op(op.drop);
      });
    },
  );
  emitLoadState(code, monoid, () => code.get(before), state, 4);
  emitCombine(code, monoid, end, state, end);
}

function publishPrefix({ code, monoid }: Tile, end: readonly number[]): void {
  const link = code.local(I32);
  pushLink(code, monoid, () => code.get(CHUNK));
  code.set(link);
  emitStoreState(code, monoid, () => code.get(link), end, 4);
  code.get(link);
  code.i32(1);
  code.atomic(atomic.i32Store);
  code.get(link);
  code.notifyAll();
}

function pushLink(code: Code, monoid: MonoidProgram, chunk: () => void): void {
  const chain = emitOwnWord(code, CHAIN);
  code.get(chain);
  chunk();
  code.i32(strideOf(monoid));
  code.op(op.i32Mul, op.i32Add);
  code.release(chain);
}

/** The last tile's prefix is the total. */
function storeTotal({ code, monoid, inputs, to }: Tile, end: readonly number[]): void {
  const total = emitOwnWord(code, TOTAL);
  code.get(to);
  code.get(inputs.extent);
  code.op(op.i32Eq);
  code.when(() => emitStoreState(code, monoid, () => code.get(total), end));
}

function scanTile({ code, monoid, inputs, from, to, index, state, vectors, room }: Tile): void {
  const inclusive = stateLocals(code, monoid);
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const element =
        room === undefined ? inlineEntry(code, inputs.environments[0]!, [index]) : stateLocals(code, monoid);
      if (room !== undefined) emitLoadState(code, monoid, () => pushRoom(code, monoid, room, from, index), element);
      emitCombine(code, monoid, inclusive, state, element);
      releaseAll(code, element);
      const results = inlineEntry(code, inputs.environments[1]!, [index, ...state, ...inclusive]);
      emitStores(code, inputs.stores, index, results);
      releaseAll(code, results);
      emitCopy(code, state, inclusive);
    },
    vector: vectors?.scan,
  });
}
