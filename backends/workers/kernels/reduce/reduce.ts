import type { MonoidProgram, ReduceCommand } from '../../../../primitives/contract/backend.ts';
import { combinesInAnyOrder } from '../../../analyses/monoid-shapes.ts';
import { Graph, type Node, noSlots, straightLine } from '../../../analyses/straight-line.ts';
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
  shapeKey,
  shapeOf,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, type IndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { slotsOf, straightProgram } from '../../wasm/program-graph.ts';
import { extracted } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32 } from '../../wasm/wasm-expressions.ts';
import { assign, type Int32Local, type ScalarLocal, type VectorLocal } from '../../wasm/wasm-locals.ts';
import { UNROLLED_VALUES } from '../rows/for-each.ts';
import { gridRows, hasWideRows } from '../rows/grid-rows.ts';
import { emitRowLoop } from '../rows/row-loop.ts';
import {
  emitCombine,
  emitIdentity,
  emitVectorIdentity,
  loadState,
  monoidKey,
  releaseAll,
  stateLocals,
  storeState,
  type VectorCombine,
  vectorCombine,
  vectorLocals,
} from '../shared/monoid-code.ts';

const PARTIALS = 0;
const INTO = 1;

/**
 * Reduces with an exact monoid, whose results do not depend on how the elements are grouped. Each chunk yields a
 * partial result; then one worker folds the partial results in order.
 */
export function launchExactReduce(launcher: Launcher, command: ReduceCommand): Launch {
  const { extent, program, monoid, into } = command;
  const shape = shapeOf([program], 2);
  const byRows = foldsByRows(command);
  const kernel = launcher.compile(`reduce ${byRows ? 'rows ' : ''}${monoidKey(monoid)} ${shapeKey(shape)}`, () => [
    emitPartials(shape, monoid, byRows),
    emitFold(shape, monoid),
  ]);
  const length = lengthWords(extent, launcher.addresses);
  const chunkSize = chunkSizeOf(length[2], launcher.workers);
  const leaves = monoid.types.length;
  const partials = launcher.scratch(4 * leaves * Math.ceil(length[2] / chunkSize));
  const own = [partials, launcher.addresses.of(into, leaves)];
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, own),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }, fixedPhase(kernel.functions[1]!, 1)],
  };
}

/** Whether the elements are folded row by row of a grid, in vectors. */
export function foldsByRows({ program, monoid }: ReduceCommand): boolean {
  return combinesInAnyOrder(monoid) && hasWideRows(program);
}

function emitPartials(shape: KernelShape, monoid: MonoidProgram, byRows: boolean): FunctionBody {
  const { code, inputs } = beginKernel(shape);
  const { from, to } = emitChunk(code, inputs.extent);
  const total = stateLocals(code, monoid);
  emitIdentity(monoid, total);
  const index = code.local(I32);
  const fold = (state: readonly ScalarLocal[], place: Int32Local): void => {
    const element = inlineEntry(code, inputs.environments[0]!, [place]);
    emitCombine(code, monoid, state, state, element);
    releaseAll(code, element);
  };
  const range = { from, to, index, scalar: () => fold(total, index) };
  if (!byRows || !emitRowFold(code, inputs, monoid, range, total)) {
    const vector = unorderedPart(code, inputs, monoid, index, total);
    if (vector === undefined && isShort(shape, monoid)) {
      foldQuarters(code, monoid, { from, to, index, total }, fold);
    }
    emitIndexLoop(code, { ...range, vector });
  }
  const address = code.local(I32);
  address.set(partialAt(monoid, CHUNK));
  storeState(code, address, total);
  return code.finish();
}

/**
 * Maximum number of values that the program and the monoid together may compute per element. If they compute more, the
 * code is not repeated for the four quarters of a chunk.
 */
const MAX_VALUES = 64;

function isShort(shape: KernelShape, monoid: MonoidProgram): boolean {
  const graph = new Graph('scalars');
  const elements = straightProgram(graph, shape, 0);
  const states = monoid.types.flatMap((type, leaf) => [0, 1].map((side) => graph.parameter(type, `${side}.${leaf}`)));
  const combined = straightLine(graph, monoid.module, noSlots, states);
  return elements !== undefined && combined !== undefined && graph.size <= MAX_VALUES;
}

interface Chunk {
  readonly from: Int32Local;
  readonly to: Int32Local;
  readonly index: Int32Local;
  readonly total: readonly ScalarLocal[];
}

/**
 * Folds the four quarters of a chunk in one loop. The four folds are independent, so the processor overlaps them. Then
 * combines the four results in order. At most three elements are left over; `from` becomes the index of the first of
 * them.
 */
function foldQuarters(
  code: Code,
  monoid: MonoidProgram,
  { from, to, index, total }: Chunk,
  fold: (state: readonly ScalarLocal[], place: Int32Local) => void,
): void {
  const [quarter, end, place] = [code.local(I32), code.local(I32), code.local(I32)];
  const others = [1, 2, 3].map(() => stateLocals(code, monoid));
  for (const state of others) emitIdentity(monoid, state);
  end.set(quarter.tee(to.sub(from).shrU(2)).add(from));
  const scalar = (): void => {
    place.set(index);
    for (const state of [total, ...others]) {
      fold(state, place);
      place.set(place.add(quarter));
    }
  };
  emitIndexLoop(code, { from, to: end, index, scalar });
  for (const state of others) emitCombine(code, monoid, total, total, state);
  from.set(from.add(quarter.shl(2)));
  for (const local of [quarter, end, place, ...others.flat()]) code.release(local);
}

/**
 * Folds cells of a grid row by row, in vectors in which the row is the same in all lanes, as stores do. Returns whether
 * it can.
 */
function emitRowFold(
  code: Code,
  inputs: KernelInputs,
  monoid: MonoidProgram,
  range: Omit<IndexLoop, 'vector'>,
  total: readonly ScalarLocal[],
): boolean {
  const rows = gridRows(inputs.shape.programs[0]!.module, slotsOf(inputs.shape, 0));
  const combine = rows && vectorCombine(code, monoid);
  if (combine === undefined) return false;
  emitRowLoop(code, inputs, rows!, range, (bind) => {
    const lanes = new VectorCode(code, { ...inputs, index: range.index });
    bind(lanes);
    lanes.prepare(rows!.results);
    return unorderedFold(code, lanes, rows!.graph.size, rows!.results, monoid, combine, total);
  });
  return true;
}

/**
 * Vector code for a fold in any order: each lane has a separate partial result. Undefined if the monoid is not
 * commutative, or if the program or the monoid is not straight-line code.
 */
function unorderedPart(
  code: Code,
  inputs: KernelInputs,
  monoid: MonoidProgram,
  index: Int32Local,
  total: readonly ScalarLocal[],
): VectorPart | undefined {
  if (!combinesInAnyOrder(monoid)) return undefined;
  const graph = new Graph('aligned');
  const elements = straightProgram(graph, inputs.shape, 0);
  const combine = elements && vectorCombine(code, monoid);
  if (combine === undefined) return undefined;
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.prepare(elements!);
  return unorderedFold(code, lanes, graph.size, elements!, monoid, combine, total);
}

/**
 * Vector code that folds `elements` into the locals `total`, in any order. `size` is the number of values that the code
 * computes per element. The loop is unrolled only if `size` is small.
 */
export function unorderedFold(
  code: Code,
  lanes: VectorCode,
  size: number,
  elements: readonly Node[],
  monoid: MonoidProgram,
  combine: VectorCombine,
  total: readonly ScalarLocal[],
): VectorPart {
  const { types } = monoid;
  const offsets = size > UNROLLED_VALUES || types.length > 2 ? [0] : [0, 4, 8, 12];
  const sums = offsets.map(() => vectorLocals(code, monoid));
  const lane = stateLocals(code, monoid);
  return {
    step: 4 * offsets.length,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      for (const sum of sums) emitVectorIdentity(monoid, sum);
    },
    round: () =>
      offsets.forEach((offset, copy) => {
        lanes.begin(offset);
        const element = elements.map((node) => lanes.local(node));
        combine(sums[copy]!, sums[copy]!, element);
      }),
    leave: () => {
      const [first, ...rest] = sums as [VectorLocal[], ...VectorLocal[][]];
      for (const other of rest) combine(first, first, other);
      for (const place of [0, 1, 2, 3]) {
        types.forEach((type, leaf) => {
          assign(lane[leaf]!, extracted(type, first[leaf]!, place));
        });
        emitCombine(code, monoid, total, total, lane);
      }
    },
  };
}

function emitFold(shape: KernelShape, monoid: MonoidProgram): FunctionBody {
  const { code, inputs } = beginKernel(shape);
  const { extent } = inputs;
  const chunks = emitChunkCount(code, extent);
  const total = stateLocals(code, monoid);
  emitIdentity(monoid, total);
  const chunk = code.local(I32);
  const partial = stateLocals(code, monoid);
  const address = code.local(I32);
  emitIndexLoop(code, {
    from: i32(0),
    to: chunks,
    index: chunk,
    scalar: () => {
      address.set(partialAt(monoid, chunk));
      loadState(monoid, address, partial);
      emitCombine(code, monoid, total, total, partial);
    },
  });
  storeState(code, emitOwnWord(code, INTO), total);
  return code.finish();
}

/** The address of a chunk's partial result. */
function partialAt({ types }: MonoidProgram, chunk: Int32): Int32 {
  return ownWord(PARTIALS).add(chunk.mul(4 * types.length));
}

/** The number of chunks of the launch, as a local. */
export function emitChunkCount(code: Code, extent: Int32): Int32 {
  const size = code.local(I32);
  const chunks = code.local(I32);
  size.set(CHUNK_SIZE);
  chunks.set(ceilDiv(extent, size));
  code.release(size);
  return chunks;
}

/** ⌈a ÷ b⌉ for unsigned operands. */
export function ceilDiv(a: Int32, b: Int32 | number): Int32 {
  return a.divU(b).add(a.remU(b).ne(0));
}
