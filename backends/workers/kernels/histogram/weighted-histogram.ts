import type { WeightedHistogramCommand } from '../../../../primitives/contract/backend.ts';
import { weightsOf } from '../../../../primitives/derived/weighted-histogram-by-digits.ts';
import { Graph, type Node } from '../../../analyses/straight-line.ts';
import {
  argumentWords,
  beginKernel,
  emitChunk,
  emitOwnWord,
  emitRange,
  type KernelInputs,
  type KernelShape,
  kernelCode,
  lengthWords,
  ownWord,
  shapeKey,
  shapeOf,
  WORKER,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, type Launch, type Launcher, type Phase } from '../../commands/launch.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { straightProgram } from '../../wasm/program-graph.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, I64, V128 } from '../../wasm/wasm-encoder.ts';
import {
  type Int32,
  type Int64,
  i32,
  type Lanes,
  load64,
  loadVector,
  type Vector,
  v128,
} from '../../wasm/wasm-expressions.ts';
import { asInt32, type Int32Local } from '../../wasm/wasm-locals.ts';
import { atomicAdd64, fillMemory, forRange, lower, store, when } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';

/**
 * Index of the kernel-specific argument word that holds the address of the result. The next constants are the indices
 * of further words.
 */
const INTO = 0;
const BINS = 1;
/**
 * Index of the first of three words that describe the tables to which weights are added: the address of the first
 * table, the number of bytes per table, and the number of tables.
 */
const TABLES = 2;
const STRIDE = 3;
const TABLE_COUNT = 4;
/** Index of the word with the total size of all tables in bytes. */
const BYTES = 5;
const WORDS = 6;

/** Maximum total size of the private tables of all workers, in bytes. */
const PRIVATE_BYTES = 2 ** 27;
/** Bytes per chunk in the phase that clears the tables. */
const CLEAR_CHUNK = 65536;
/** Bins per chunk in the phase that adds up the tables. */
const MERGE_CHUNK = 2048;
/** Cost of clearing a bin of a private table and adding it to the result, relative to the cost of adding one row. */
const ROWS_PER_BIN = 0.5;

const ALL_LANES = 15;

/**
 * Bytes of a bin: one 64-bit sum per weight. The number of sums is rounded up to an even number, because a vector holds
 * two sums.
 */
function binBytes(weights: number): number {
  return 16 * Math.ceil(weights / 2);
}

/**
 * Adds up weights by bin. Each worker adds its rows to a private table; then the tables are added up. If private tables
 * would be too large, or if clearing them and adding them up would cost more than adding the rows, all workers add
 * atomically to one shared table instead. A private table has an extra bin for rows without a valid bin. A shared table
 * ignores these rows.
 */
export function launchWeightedHistogram(launcher: Launcher, command: WeightedHistogramCommand): Launch {
  const { extent, program, bins, into } = command;
  const { addresses, workers } = launcher;
  const weights = weightsOf(command);
  const shape = shapeOf([program], WORDS);
  const length = lengthWords(extent, addresses);
  const tableBytes = binBytes(weights) * (bins + 1);
  const hasTables = tableBytes * workers <= PRIVATE_BYTES && bins * workers * ROWS_PER_BIN <= Math.max(1024, length[2]);
  const tables = hasTables ? workers : 1;
  const isShared = tables < workers;
  const kernel = launcher.compile(`weights ${isShared} ${shapeKey(shape)}`, () => [
    emitClear(),
    emitAdding(shape, weights, isShared),
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
    words: argumentWords(shape, addresses, length, rows, own),
    phases: [
      over(clear, tableBytes * tables, CLEAR_CHUNK),
      { run: add, length, chunkSize: rows, minimum: 0 },
      over(merge, bins, MERGE_CHUNK),
    ],
  };
}

function emitClear(): FunctionBody {
  const code = kernelCode();
  const { from, to } = emitRange(code, ownWord(BYTES), CLEAR_CHUNK);
  fillMemory(code, ownWord(TABLES).add(from), 0, to.sub(from));
  return code.finish();
}

/** The table to which weights are added. */
interface WeightTable {
  readonly address: Int32;
  readonly bins: Int32;
  readonly weights: number;
}

function emitAdding(shape: KernelShape, weights: number, isShared: boolean): FunctionBody {
  const { code, inputs } = beginKernel(shape);
  const address = emitOwnWord(code, TABLES);
  const table: WeightTable = { address, bins: emitOwnWord(code, BINS), weights };
  if (!isShared) address.set(address.add(WORKER.mul(ownWord(STRIDE))));
  const { from, to } = emitChunk(code, inputs.extent);
  const index = code.local(I32);
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const row = inlineEntry(code, inputs.environments[0]!, [index]);
      const [bin, ...others] = row.map(asInt32);
      if (isShared) emitAtomicRow(code, table, bin!, others);
      else emitRow(code, table, bin!, others);
      releaseAll(code, row);
    },
    vector: isShared ? undefined : vectorRows(code, inputs, table, index),
  });
  return code.finish();
}

/** The address of the sums of a bin. */
function binAt({ address, weights }: WeightTable, bin: Int32): Int32 {
  return address.add(bin.mul(binBytes(weights)));
}

function emitAtomicRow(code: Code, table: WeightTable, bin: Int32, weights: readonly Int32[]): void {
  when(code, bin.ltU(table.bins), () => {
    for (const [w, weight] of weights.entries()) atomicAdd64(code, binAt(table, bin), weight.extendU(), 8 * w);
  });
}

function emitRow(code: Code, table: WeightTable, bin: Int32Local, weights: readonly Int32[]): void {
  const address = code.local(I32);
  lower(code, bin, table.bins);
  address.set(binAt(table, bin));
  for (let pair = 0; pair < weights.length; pair += 2) {
    const [first, second] = [weights[pair]!, weights[pair + 1]];
    emitAddPair(
      code,
      address,
      pair,
      first
        .extendU()
        .splat()
        .replaceI64(1, second?.extendU() ?? 0),
    );
  }
  code.release(address);
}

/** Adds a vector of two 64-bit weights to the sums `pair` and `pair + 1` of a bin. */
function emitAddPair(code: Code, address: Int32, pair: number, weights: Vector): void {
  store(code, address, loadVector(address, 8 * pair).addI64(weights), 8 * pair);
}

/** Vector code that computes the bins and weights of four rows, and adds the rows one by one, two weights at a time. */
function vectorRows(code: Code, inputs: KernelInputs, table: WeightTable, index: Int32): VectorPart | undefined {
  const graph = new Graph('aligned');
  const nodes = straightProgram(graph, inputs.shape, 0);
  if (nodes === undefined) return undefined;
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.prepare(nodes);
  const [ends, bases] = [code.local(V128), code.local(V128)];
  const [addresses, bin] = [code.local(V128), code.local(V128)];
  return {
    step: 4,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      ends.set(table.bins.splat());
      bases.set(table.address.splat());
    },
    round: () => {
      lanes.begin(0);
      const outside = bin.tee(lanes.local(nodes[0]!)).geU(ends).bitmask();
      when(code, outside.ne(ALL_LANES), () => {
        addresses.set(bases.add(bin.minU(ends).mul(i32(binBytes(table.weights)).splat())));
        emitFourRows(code, addresses, nodes.slice(1), lanes);
      });
    },
  };
}

function emitFourRows(code: Code, addresses: Vector, weights: readonly Node[], lanes: VectorCode): void {
  const [address, low, high] = [code.local(I32), code.local(V128), code.local(V128)];
  for (let pair = 0; pair < weights.length; pair += 2) {
    const [first, second] = [weights[pair]!, weights[pair + 1]];
    /**
     * Interleaves two weights of two neighbouring rows: both weights of the first row, then both weights of the second
     * row.
     */
    const interleaved = (order: Lanes): Vector => {
      const all = lanes.local(first);
      return all.shuffle(second === undefined ? v128([0, 0, 0, 0]) : lanes.local(second), order);
    };
    low.set(interleaved([0, 4, 1, 5]));
    high.set(interleaved([2, 6, 3, 7]));
    for (const lane of [0, 1, 2, 3]) {
      address.set(addresses.extract(lane));
      const two = lane < 2 ? low : high;
      emitAddPair(code, address, pair, lane % 2 === 0 ? two.extendLowU() : two.extendHighU());
    }
  }
  for (const local of [address, low, high]) code.release(local);
}

/** Emits the function that adds up the tables, and stores each 64-bit sum as a low and a high word. */
function emitMerge(weights: number): FunctionBody {
  const code = kernelCode();
  const bins = emitOwnWord(code, BINS);
  const into = emitOwnWord(code, INTO);
  const stride = emitOwnWord(code, STRIDE);
  const tables = emitOwnWord(code, TABLE_COUNT);
  const first = emitOwnWord(code, TABLES);
  const { from, to } = emitRange(code, bins, MERGE_CHUNK);
  const [bin, at, sum] = [code.local(I32), code.local(I32), code.local(I64)];
  const storeHalf = (column: number, half: Int64): void =>
    store(code, into.add(bins.mul(column).add(bin).shl(2)), half.wrap());
  const addUp = (w: number): void => {
    sum.set(0);
    at.set(binAt({ address: first, bins, weights }, bin));
    forRange(code, tables, () => {
      sum.set(sum.add(load64(at, 8 * w)));
      at.set(at.add(stride));
    });
    storeHalf(2 * w, sum);
    storeHalf(2 * w + 1, sum.shrU(32));
  };
  emitIndexLoop(code, {
    from,
    to,
    index: bin,
    scalar: () => {
      for (let w = 0; w < weights; w++) addUp(w);
    },
  });
  return code.finish();
}
