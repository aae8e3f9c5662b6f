import type { Cell, Extent, MonoidProgram, Program } from '../../../../primitives/contract/backend.ts';
import { combinesInAnyOrder } from '../../../analyses/monoid-shapes.ts';
import { Graph, type Node, noSlots, straightLine } from '../../../analyses/straight-line.ts';
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
  shapeKey,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { slotsOf } from '../../wasm/program-graph.ts';
import { emitExtract } from '../../wasm/vector-operations.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, op } from '../../wasm/wasm-encoder.ts';
import { UNROLLED_VALUES } from '../rows/for-each.ts';
import {
  emitCombine,
  emitIdentity,
  emitLoadState,
  emitStoreState,
  emitVectorIdentity,
  monoidKey,
  releaseAll,
  stateLocals,
  type VectorCombine,
  vectorCombine,
  vectorLocals,
} from '../shared/monoid-code.ts';

const PARTIALS = 0;
const INTO = 1;

/** Folds with an exact monoid: a partial result per chunk, then the fold of these. */
export function launchExactReduce(
  launcher: Launcher,
  extent: Extent,
  program: Program,
  monoid: MonoidProgram,
  into: Cell,
): Launch {
  const shape: KernelShape = { programs: [program], stores: [], words: 2 };
  const layout = layoutOf(shape.programs);
  const kernel = launcher.compile(`reduce ${monoidKey(monoid)} ${shapeKey(shape, layout)}`, () => [
    emitPartials(shape, layout, monoid),
    emitFold(shape, layout, monoid),
  ]);
  const length = lengthWords(extent, launcher.addresses);
  const chunkSize = chunkSizeOf(length[2], launcher.workers);
  const leaves = monoid.types.length;
  const partials = launcher.scratch(4 * leaves * Math.ceil(length[2] / chunkSize));
  const own = [partials, launcher.addresses.of(into, leaves)];
  return {
    words: argumentWords(shape, layout, launcher.addresses, length, chunkSize, own),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }, fixedPhase(kernel.functions[1]!, 1)],
  };
}

function emitPartials(shape: KernelShape, layout: Layout, monoid: MonoidProgram): FunctionBody {
  const code = new Code(kernelParameters);
  const inputs = emitInputs(code, shape, layout, []);
  const { from, to } = emitChunk(code, inputs.extent);
  const total = stateLocals(code, monoid);
  emitIdentity(code, monoid, total);
  const index = code.local(I32);
  const fold = (state: readonly number[], place: number): void => {
    const element = inlineEntry(code, inputs.environments[0]!, [place]);
    emitCombine(code, monoid, state, state, element);
    releaseAll(code, element);
  };
  const vector = unorderedPart(code, shape.programs[0]!, layout, inputs, monoid, index, total);
  if (vector === undefined && isShort(shape.programs[0]!, layout, monoid)) {
    foldQuarters(code, monoid, { from, to, index, total }, fold);
  }
  emitIndexLoop(code, { from, to, index, scalar: () => fold(total, index), vector });
  const address = code.local(I32);
  pushPartial(code, monoid, CHUNK);
  code.set(address);
  emitStoreState(code, monoid, () => code.get(address), total);
  return code.finish();
}

/** Maximum number of values of a program and a monoid for which their code is repeated. */
const MAX_VALUES = 64;

function isShort({ module }: Program, layout: Layout, monoid: MonoidProgram): boolean {
  const graph = new Graph('scalars');
  const elements = straightLine(graph, module, slotsOf(layout, 0), [graph.index()]);
  const states = monoid.types.flatMap((type, leaf) => [0, 1].map((side) => graph.parameter(type, `${side}.${leaf}`)));
  const combined = straightLine(graph, monoid.module, noSlots, states);
  return elements !== undefined && combined !== undefined && graph.size <= MAX_VALUES;
}

interface Chunk {
  readonly from: number;
  readonly to: number;
  readonly index: number;
  readonly total: readonly number[];
}

/**
 * Folds the quarters of a chunk side by side, so that none waits for the result of another, then combines their results
 * in order. Advances `from` to the remaining elements.
 */
function foldQuarters(
  code: Code,
  monoid: MonoidProgram,
  { from, to, index, total }: Chunk,
  fold: (state: readonly number[], place: number) => void,
): void {
  const [quarter, end, place] = [code.local(I32), code.local(I32), code.local(I32)];
  const others = [1, 2, 3].map(() => stateLocals(code, monoid));
  for (const state of others) emitIdentity(code, monoid, state);
  code.get(to);
  code.get(from);
  code.op(op.i32Sub);
  code.i32(2);
  code.op(op.i32ShrU);
  code.tee(quarter);
  code.get(from);
  code.op(op.i32Add);
  code.set(end);
  const scalar = (): void => {
    code.get(index);
    code.set(place);
    for (const state of [total, ...others]) {
      fold(state, place);
      code.get(place);
      code.get(quarter);
      code.op(op.i32Add);
      code.set(place);
    }
  };
  emitIndexLoop(code, { from, to: end, index, scalar });
  for (const state of others) emitCombine(code, monoid, total, total, state);
  code.get(from);
  code.get(quarter);
  code.i32(2);
  code.op(op.i32Shl, op.i32Add);
  code.set(from);
  for (const local of [quarter, end, place, ...others.flat()]) code.release(local);
}

/** Each lane folds every fourth element; only for commutative monoids. */
function unorderedPart(
  code: Code,
  program: Program,
  layout: Layout,
  inputs: KernelInputs,
  monoid: MonoidProgram,
  index: number,
  total: readonly number[],
): VectorPart | undefined {
  if (!combinesInAnyOrder(monoid)) return undefined;
  const graph = new Graph('aligned');
  const elements = straightLine(graph, program.module, slotsOf(layout, 0), [graph.index()]);
  const combine = elements && vectorCombine(code, monoid);
  if (combine === undefined) return undefined;
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.prepare(elements!);
  return unorderedFold(code, lanes, graph.size, elements!, monoid, combine, total);
}

/** The vector part of a fold of `elements` into the locals `total`. */
export function unorderedFold(
  code: Code,
  lanes: VectorCode,
  size: number,
  elements: readonly Node[],
  monoid: MonoidProgram,
  combine: VectorCombine,
  total: readonly number[],
): VectorPart {
  const { types } = monoid;
  const offsets = size > UNROLLED_VALUES || types.length > 2 ? [0] : [0, 4, 8, 12];
  const sums = offsets.map(() => vectorLocals(code, monoid));
  const lane = stateLocals(code, monoid);
  return {
    step: 4 * offsets.length,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      for (const sum of sums) emitVectorIdentity(code, monoid, sum);
    },
    round: () =>
      offsets.forEach((offset, copy) => {
        lanes.begin(offset);
        const element = elements.map((node) => lanes.local(node));
        combine(sums[copy]!, sums[copy]!, element);
      }),
    leave: () => {
      const [first, ...rest] = sums as [number[], ...number[][]];
      for (const other of rest) combine(first, first, other);
      for (const place of [0, 1, 2, 3]) {
        types.forEach((type, leaf) => {
          code.get(first[leaf]!);
          emitExtract(code, type, place);
          code.set(lane[leaf]!);
        });
        emitCombine(code, monoid, total, total, lane);
      }
    },
  };
}

function emitFold(shape: KernelShape, layout: Layout, monoid: MonoidProgram): FunctionBody {
  const code = new Code(kernelParameters);
  const { extent } = emitInputs(code, shape, layout, []);
  const chunks = emitChunkCount(code, extent);
  const total = stateLocals(code, monoid);
  emitIdentity(code, monoid, total);
  const chunk = code.local(I32);
  const zero = code.local(I32);
  const partial = stateLocals(code, monoid);
  const address = code.local(I32);
  code.i32(0);
  code.set(zero);
  emitIndexLoop(code, {
    from: zero,
    to: chunks,
    index: chunk,
    scalar: () => {
      pushPartial(code, monoid, chunk);
      code.set(address);
      emitLoadState(code, monoid, () => code.get(address), partial);
      emitCombine(code, monoid, total, total, partial);
    },
  });
  const into = emitOwnWord(code, INTO);
  emitStoreState(code, monoid, () => code.get(into), total);
  return code.finish();
}

function pushPartial(code: Code, { types }: MonoidProgram, chunk: number): void {
  const partials = emitOwnWord(code, PARTIALS);
  code.get(partials);
  code.get(chunk);
  code.i32(4 * types.length);
  code.op(op.i32Mul, op.i32Add);
  code.release(partials);
}

/** The number of chunks of the extent, as a local. */
export function emitChunkCount(code: Code, extent: number): number {
  const size = code.local(I32);
  const chunks = code.local(I32);
  code.get(ARGUMENTS);
  code.memory(op.i32Load, 12);
  code.set(size);
  emitCeilDiv(
    code,
    () => code.get(extent),
    () => code.get(size),
  );
  code.set(chunks);
  code.release(size);
  return chunks;
}

/** Pushes ⌈a ÷ b⌉. */
export function emitCeilDiv(code: Code, a: () => void, b: () => void): void {
  a();
  b();
  code.op(op.i32DivU);
  a();
  b();
  code.op(op.i32RemU);
  code.i32(0);
  code.op(op.i32Ne, op.i32Add);
}
