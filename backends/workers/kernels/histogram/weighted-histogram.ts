import type { WeightedHistogramCommand } from '../../../../primitives/contract/backend.ts';
import { weightsOf } from '../../../../primitives/weighted-histogram-by-digits.ts';
import { Graph, type Node, straightLine } from '../../../analyses/straight-line.ts';
import {
  argumentWords,
  CHUNK,
  emitChunk,
  emitInputs,
  emitMinimum,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  kernelParameters,
  type Layout,
  layoutOf,
  lengthWords,
  shapeKey,
  WORKER,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, type Launch, type Launcher, type Phase } from '../../commands/launch.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { slotsOf } from '../../wasm/program-graph.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { atomic, type FunctionBody, I32, I64, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import { emitCount } from '../shared/tree-code.ts';

/** Words of the kernels' own. */
const INTO = 0;
const BINS = 1;
/** The tables that weights are added to: where they begin, bytes from one worker's to the next's, and how many there are. */
const TABLES = 2;
const STRIDE = 3;
const TABLE_COUNT = 4;
/** Bytes of all tables. */
const BYTES = 5;
const WORDS = 6;

/** Bytes that the tables of all workers may take. */
const PRIVATE_BYTES = 2 ** 27;
/** Bytes of tables that are cleared, and bins that are added up, in one chunk. */
const CLEAR_CHUNK = 65536;
const MERGE_CHUNK = 2048;
/** A table takes as long to clear and to add up as this many rows for every bin. */
const ROWS_PER_BIN = 0.5;

const ALL_LANES = 15;

/** Bytes of a bin: a sum of 64 bits for every weight, two to a vector. */
function binBytes(weights: number): number {
  return 16 * Math.ceil(weights / 2);
}

/**
 * Adds weights by bin. Every worker adds to a table of its own, and the tables are added up; where they would outgrow the rows,
 * all workers add atomically to one. A table has one more bin, for rows that are left out.
 */
export function launchWeightedHistogram(launcher: Launcher, command: WeightedHistogramCommand): Launch {
  const { extent, program, bins, into } = command;
  const { addresses, workers } = launcher;
  const weights = weightsOf(command);
  const shape: KernelShape = { programs: [program], stores: [], words: WORDS };
  const layout = layoutOf(shape.programs);
  const length = lengthWords(extent, addresses);
  const tableBytes = binBytes(weights) * (bins + 1);
  const hasTables = tableBytes * workers <= PRIVATE_BYTES && bins * workers * ROWS_PER_BIN <= Math.max(1024, length[2]);
  const tables = hasTables ? workers : 1;
  const isShared = tables < workers;
  const kernel = launcher.compile(`weights ${isShared} ${shapeKey(shape, layout)}`, () => [
    emitClear(),
    emitAdding(shape, layout, weights, isShared),
    emitMerge(weights),
  ]);
  const [clear, add, merge] = kernel.functions as readonly [number, number, number];
  const first = launcher.scratch(tableBytes * tables);
  const own = [addresses.of(into, 2 * weights * bins), bins, first, tableBytes, tables, tableBytes * tables];
  const rows = chunkSizeOf(length[2], workers);
  const over = (run: number, size: number, chunkSize: number): Phase => {
    return { run, length: [0, 0, size], chunkSize, minimum: 0 };
  };
  return {
    words: argumentWords(shape, layout, addresses, length, rows, own),
    phases: [
      over(clear, tableBytes * tables, CLEAR_CHUNK),
      { run: add, length, chunkSize: rows, minimum: 0 },
      over(merge, bins, MERGE_CHUNK),
    ],
  };
}

/** The range of a phase over so many things: locals of its first one and of the one behind its last. */
function emitRange(code: Code, size: () => void, chunkSize: number): { readonly from: number; readonly to: number } {
  const [from, to] = [code.local(I32), code.local(I32)];
  code.get(CHUNK);
  code.i32(chunkSize);
  code.op(op.i32Mul);
  code.tee(from);
  code.i32(chunkSize);
  code.op(op.i32Add);
  code.set(to);
  emitMinimum(code, to, size);
  return { from, to };
}

function emitClear(): FunctionBody {
  const code = new Code(kernelParameters);
  const { from, to } = emitRange(code, () => code.get(emitOwnWord(code, BYTES)), CLEAR_CHUNK);
  code.get(emitOwnWord(code, TABLES));
  code.get(from);
  code.op(op.i32Add);
  code.i32(0);
  code.get(to);
  code.get(from);
  code.op(op.i32Sub);
  code.memoryFill();
  return code.finish();
}

/** Where rows are added. */
interface WeightTable {
  /** Local of its address. */
  readonly address: number;
  readonly bins: number;
  readonly weights: number;
}

function emitAdding(shape: KernelShape, layout: Layout, weights: number, isShared: boolean): FunctionBody {
  const code = new Code(kernelParameters);
  const inputs = emitInputs(code, shape, layout, []);
  const address = emitOwnWord(code, TABLES);
  const table: WeightTable = { address, bins: emitOwnWord(code, BINS), weights };
  if (!isShared) {
    code.get(address);
    code.get(WORKER);
    code.get(emitOwnWord(code, STRIDE));
    code.op(op.i32Mul, op.i32Add);
    code.set(address);
  }
  const { from, to } = emitChunk(code, inputs.extent);
  const index = code.local(I32);
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const [bin, ...others] = inlineEntry(code, inputs.environments[0]!, [index]);
      if (isShared) emitAtomicRow(code, table, bin!, others);
      else emitRow(code, table, bin!, others);
      releaseAll(code, [bin!, ...others]);
    },
    vector: isShared ? undefined : vectorRows(code, shape, layout, { ...inputs }, table, index),
  });
  return code.finish();
}

/** Pushes the address of a bin in a local. */
function pushBin(code: Code, { address, weights }: WeightTable, bin: number): void {
  code.get(address);
  code.get(bin);
  code.i32(binBytes(weights));
  code.op(op.i32Mul, op.i32Add);
}

function emitAtomicRow(code: Code, table: WeightTable, bin: number, weights: readonly number[]): void {
  code.get(bin);
  code.get(table.bins);
  code.op(op.i32LtU);
  code.when(() => {
    for (const [w, weight] of weights.entries()) {
      pushBin(code, table, bin);
      code.get(weight);
      code.op(op.i64ExtendI32U);
      code.atomic64(atomic.i64Add, 8 * w);
      code.op(op.drop);
    }
  });
}

function emitRow(code: Code, table: WeightTable, bin: number, weights: readonly number[]): void {
  const address = code.local(I32);
  emitMinimum(code, bin, () => code.get(table.bins));
  pushBin(code, table, bin);
  code.set(address);
  for (let pair = 0; pair < weights.length; pair += 2) {
    const [first, second] = [weights[pair]!, weights[pair + 1]];
    emitAddPair(code, address, pair, () => {
      code.get(first);
      code.op(op.i64ExtendI32U);
      code.simd(simd.i64x2Splat);
      if (second === undefined) code.i64(0);
      else {
        code.get(second);
        code.op(op.i64ExtendI32U);
      }
      code.simd(simd.i64x2Replace, 1);
    });
  }
  code.release(address);
}

/** Adds two weights, of 64 bits each, to the sums of a bin. */
function emitAddPair(code: Code, address: number, pair: number, weights: () => void): void {
  code.get(address);
  code.get(address);
  code.simdMemory(simd.load, 8 * pair);
  weights();
  code.simd(simd.i64x2Add);
  code.simdMemory(simd.store, 8 * pair);
}

/** Bins and weights are computed four at once; rows are added one after the other, two weights at a time. */
function vectorRows(
  code: Code,
  shape: KernelShape,
  layout: Layout,
  inputs: KernelInputs,
  table: WeightTable,
  index: number,
): VectorPart | undefined {
  const graph = new Graph('aligned');
  const nodes = straightLine(graph, shape.programs[0]!.module, slotsOf(layout, 0), [graph.index()]);
  if (nodes === undefined) return undefined;
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.prepare(nodes);
  const [ends, bases] = [code.local(V128), code.local(V128)];
  const [addresses, bin] = [code.local(V128), code.local(V128)];
  return {
    step: 4,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      code.get(table.bins);
      code.simd(simd.i32x4Splat);
      code.set(ends);
      code.get(table.address);
      code.simd(simd.i32x4Splat);
      code.set(bases);
    },
    round: () => {
      lanes.begin(0);
      code.get(lanes.local(nodes[0]!));
      code.tee(bin);
      code.get(ends);
      code.simd(simd.i32x4GeU);
      code.simd(simd.i32x4Bitmask);
      code.i32(ALL_LANES);
      code.op(op.i32Ne);
      code.when(() => {
        code.get(bases);
        code.get(bin);
        code.get(ends);
        code.simd(simd.i32x4MinU);
        code.i32(binBytes(table.weights));
        code.simd(simd.i32x4Splat);
        code.simd(simd.i32x4Mul);
        code.simd(simd.i32x4Add);
        code.set(addresses);
        emitFourRows(code, addresses, nodes.slice(1), lanes);
      });
    },
  };
}

function emitFourRows(code: Code, addresses: number, weights: readonly Node[], lanes: VectorCode): void {
  const [address, low, high] = [code.local(I32), code.local(V128), code.local(V128)];
  for (let pair = 0; pair < weights.length; pair += 2) {
    const [first, second] = [weights[pair]!, weights[pair + 1]];
    /** The pairs of two neighbours side by side: two weights of the first, two of the second. */
    const interleave = (into: number, order: readonly [number, number, number, number]): void => {
      code.get(lanes.local(first));
      if (second === undefined) code.v128([0, 0, 0, 0]);
      else code.get(lanes.local(second));
      code.shuffle(order);
      code.set(into);
    };
    interleave(low, [0, 4, 1, 5]);
    interleave(high, [2, 6, 3, 7]);
    for (const lane of [0, 1, 2, 3]) {
      code.get(addresses);
      code.simd(simd.i32x4Extract, lane);
      code.set(address);
      emitAddPair(code, address, pair, () => {
        code.get(lane < 2 ? low : high);
        code.simd(lane % 2 === 0 ? simd.i64x2ExtendLowU : simd.i64x2ExtendHighU);
      });
    }
  }
  for (const local of [address, low, high]) code.release(local);
}

/** Adds the tables up and writes both halves of every sum. */
function emitMerge(weights: number): FunctionBody {
  const code = new Code(kernelParameters);
  const bins = emitOwnWord(code, BINS);
  const into = emitOwnWord(code, INTO);
  const stride = emitOwnWord(code, STRIDE);
  const tables = emitOwnWord(code, TABLE_COUNT);
  const first = emitOwnWord(code, TABLES);
  const { from, to } = emitRange(code, () => code.get(bins), MERGE_CHUNK);
  const [bin, at, sum] = [code.local(I32), code.local(I32), code.local(I64)];
  emitIndexLoop(code, {
    from,
    to,
    index: bin,
    scalar: () => {
      for (let w = 0; w < weights; w++) {
        code.i64(0);
        code.set(sum);
        pushBin(code, { address: first, bins, weights }, bin);
        code.set(at);
        emitCount(code, tables, () => {
          code.get(sum);
          code.get(at);
          code.memory(op.i64Load, 8 * w);
          code.op(op.i64Add);
          code.set(sum);
          code.get(at);
          code.get(stride);
          code.op(op.i32Add);
          code.set(at);
        });
        for (const half of [0, 1]) {
          code.get(into);
          code.get(bins);
          code.i32(2 * w + half);
          code.op(op.i32Mul);
          code.get(bin);
          code.op(op.i32Add);
          code.i32(2);
          code.op(op.i32Shl, op.i32Add);
          code.get(sum);
          if (half === 1) {
            code.i64(32);
            code.op(op.i64ShrU);
          }
          code.op(op.i32WrapI64);
          code.memory(op.i32Store);
        }
      }
    },
  });
  return code.finish();
}
