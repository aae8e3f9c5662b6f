import { entryOf } from '../../../../primitives/ir/ir.ts';
import { Graph, mostOf, type Node } from '../../../analyses/straight-line.ts';
import type { KernelInputs } from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { straightProgram } from '../../wasm/program-graph.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, I64, simd, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32, load, type Vector, v128, vector } from '../../wasm/wasm-expressions.ts';
import { asInt32, type Int32Local, type Int64Local, type ScalarLocal } from '../../wasm/wasm-locals.ts';
import { atomicAdd, store, when } from '../../wasm/wasm-statements.ts';
import { UNROLLED_VALUES } from '../rows/for-each.ts';
import { releaseAll } from '../shared/monoid-code.ts';

/** The table in which elements are counted. */
export interface TallyTable {
  readonly address: Int32;
  readonly bins: Int32;
  /**
   * Number of histograms in the table. Undefined if the table has only one histogram; the program then does not select
   * a histogram.
   */
  readonly runs: Int32 | undefined;
  /** Whether several workers count in the table, so that additions must be atomic. */
  readonly shared: boolean;
  /** The latest elements, which are counted together; only present if additions are atomic. */
  readonly latest?: Latest | undefined;
  /** Stride in bytes between the four tables of a worker, one per lane. Undefined if a worker has only one table. */
  readonly turn?: Int32 | undefined;
}

/** Adds `value` to the word at `address`, with an atomic addition if `atomically` is true. */
export function emitAdd(code: Code, atomically: boolean, address: Int32, value: Int32): void {
  if (atomically) {
    atomicAdd(code, address, value);
    return;
  }
  const at = code.local(I32);
  store(code, at.tee(address), load(at).add(value));
  code.release(at);
}

/**
 * The address of a counter, and how many elements of one after another belong to it. They are added when an element of
 * another counter follows: an atomic addition takes twenty times as long as a comparison, and longer still while other
 * threads add to the same counter, and elements that follow one another often have the same bin.
 */
interface Latest {
  readonly counter: Int32Local;
  readonly count: Int32Local;
}

/** Emits the start of a kernel function that counts with atomic additions. */
export function beginLatest(code: Code): Latest {
  const latest = { counter: code.local(I32), count: code.local(I32) };
  latest.counter.set(0);
  latest.count.set(0);
  return latest;
}

/** Adds the latest elements to their counter. */
export function addLatest(code: Code, { counter, count }: Latest): void {
  when(code, count, () => atomicAdd(code, counter, count));
}

/** Bitmask of all four lanes. */
const ALL_LANES = 15;

/** Counts `weight` elements. Does nothing if their bin or their histogram is out of range. */
function emitTally(
  code: Code,
  { address, bins, runs, shared, latest }: TallyTable,
  bin: Int32,
  histogram: Int32 | undefined,
  weight = 1,
): void {
  const isInside = bin.ltU(bins);
  const chosen = runs === undefined ? bin : bin.add(histogram!.mul(bins));
  const counter = address.add(chosen.shl(2));
  when(code, runs === undefined ? isInside : isInside.and(histogram!.ltU(runs)), () => {
    if (latest === undefined) {
      emitAdd(code, shared, counter, i32(weight));
      return;
    }
    const own = code.local(I32);
    when(code, own.tee(counter).ne(latest.counter), () => {
      addLatest(code, latest);
      latest.counter.set(own);
      latest.count.set(0);
    });
    latest.count.set(latest.count.add(weight));
    code.release(own);
  });
}

/** Counts the elements with the indices `from … to − 1`. */
export function emitTallies(code: Code, inputs: KernelInputs, table: TallyTable, from: Int32, to: Int32): void {
  const index = code.local(I32);
  const graph = new Graph('aligned');
  const bins = straightProgram(graph, inputs.shape, 0);
  const lanes = new VectorCode(code, { ...inputs, index });
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => emitElement(code, inputs, table, [index]),
    vector: bins && vectorTallies(code, table, lanes, graph, bins),
  });
}

/** Evaluates the program for one element and counts the result. */
function emitElement(code: Code, inputs: KernelInputs, table: TallyTable, args: readonly ScalarLocal[]): void {
  const results = inlineEntry(code, inputs.environments[0]!, args);
  const [bin, histogram] = results.map(asInt32);
  emitTally(code, table, bin!, histogram);
  releaseAll(code, results);
}

/** Computes the bins of four elements as a vector, then counts the elements one by one. */
function vectorTallies(
  code: Code,
  table: TallyTable,
  lanes: VectorCode,
  graph: Graph,
  bins: readonly Node[],
): VectorPart {
  if (table.runs === undefined && !table.shared) return quickTallies(code, table, lanes, graph, bins[0]!);
  lanes.prepare(bins);
  const chosen = bins.map(() => code.local(I32));
  return {
    step: 4,
    narrow: (from, to) => lanes.narrow(from, to),
    round: () => {
      lanes.begin(0);
      emitLaneTallies(code, table, lanes, bins, chosen);
    },
  };
}

function emitLaneTallies(
  code: Code,
  table: TallyTable,
  lanes: VectorCode,
  bins: readonly Node[],
  chosen: readonly Int32Local[],
): void {
  const vectors = bins.map((node) => lanes.local(node));
  const tally = (lane: number, weight: number): void => {
    for (const [result, own] of vectors.entries()) chosen[result]!.set(own.extract(lane));
    emitTally(code, table, chosen[0]!, chosen[1], weight);
  };
  const tallyEach = (): void => {
    for (const lane of [0, 1, 2, 3]) tally(lane, 1);
  };
  if (table.latest === undefined) {
    tallyEach();
    return;
  }
  const same = vectors.map((bin) => vector(simd.i32x4Eq, bin, bin.extract(0).splat()));
  when(
    code,
    same
      .reduce((all: Vector, one) => all.and(one))
      .bitmask()
      .eq(ALL_LANES),
    () => tally(0, 4),
    tallyEach,
  );
}

/**
 * Vector code for a single histogram that is not shared. If all four bins of a vector are out of range, the vector is
 * skipped. If all four bins are in range, the addresses of their counters are computed as a vector. If the worker has
 * four tables, each lane counts in a separate table.
 *
 * If the upper bound {@link mostOf} proves that every bin is in range, the range checks are omitted and the loop is
 * software-pipelined: while eight elements are counted, the addresses for the next eight elements are computed.
 */
function quickTallies(code: Code, table: TallyTable, lanes: VectorCode, graph: Graph, bin: Node): VectorPart {
  lanes.prepare([bin]);
  const { bins, turn } = table;
  const [ends, bases] = [code.local(V128), code.local(V128)];
  const [address, chosen, inside, outside] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const sets = [0, 1].map(() => [0, 1, 2, 3].map(() => code.local(I64)));
  const steps = graph.size > UNROLLED_VALUES ? 2 : 4;

  const count = (at: Int32): void => store(code, address.tee(at), load(address).add(1));
  const countPairs = (pairs: readonly Int64Local[]): void => {
    for (const pair of pairs) {
      count(pair.wrap());
      count(pair.shrU(32).wrap());
    }
  };
  /** Computes the addresses of four bins, and extracts two addresses at a time as one 64-bit integer. */
  const takePairs = (vector: Vector, pairs: readonly Int64Local[]): void => {
    const addresses = code.local(V128);
    addresses.set(vector.shl(2).add(bases));
    for (const [half, pair] of pairs.entries()) pair.set(addresses.extractI64(half));
    code.release(addresses);
  };
  const takeEight = (offset: number, pairs: readonly Int64Local[]): void => {
    for (const half of [0, 1]) {
      lanes.begin(offset + 4 * half);
      takePairs(lanes.local(bin), pairs.slice(2 * half, 2 * half + 2));
    }
  };
  const countInside = (): void => {
    takeEight(0, sets[0]!);
    for (let step = 0; step < steps; step++) {
      if (step + 1 < steps) takeEight(8 * (step + 1), sets[(step + 1) % 2]!);
      countPairs(sets[step % 2]!);
    }
  };
  const countFour = (offset: number): void => {
    lanes.begin(offset);
    const vector = lanes.local(bin);
    const pairs = sets[0]!.slice(0, 2);
    when(
      code,
      outside.tee(vector.geU(ends).bitmask()),
      () => when(code, outside.ne(ALL_LANES), () => emitLaneTallies(code, table, lanes, [bin], [chosen])),
      () => {
        takePairs(vector, pairs);
        countPairs(pairs);
      },
    );
  };
  return {
    step: 8 * steps,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      inside.set(i32(mostOf(bin)).ltU(bins));
      ends.set(bins.splat());
      const first = table.address.splat();
      bases.set(turn === undefined ? first : first.add(turn.splat().mul(v128([0, 1, 2, 3]))));
    },
    round: () =>
      when(code, inside, countInside, () => {
        for (let offset = 0; offset < 8 * steps; offset += 4) countFour(offset);
      }),
  };
}

/** A row to count: its index, the ranks to count (`first … ranks − 1`), and the values computed once per row. */
export interface TallyRow {
  readonly index: Int32Local;
  readonly first: Int32;
  readonly ranks: Int32;
  readonly leaves: readonly ScalarLocal[];
}

/**
 * Emits code that counts the elements of one row. In the loop over the ranks (positions in the row), the row's index
 * and the values computed once per row (`leaves`) are invariant.
 */
export function emitRanks(
  code: Code,
  inputs: KernelInputs,
  table: TallyTable,
  { index, first, ranks, leaves }: TallyRow,
): void {
  const rank = code.local(I32);
  const graph = new Graph();
  const shared = entryOf(inputs.environments[0]!.module).parameters.map(({ type }, i) => graph.invariant(type, `${i}`));
  const args = shared.map((node, i) => (i === 1 ? graph.index() : node));
  const bins = straightProgram(graph, inputs.shape, 0, args);
  const lanes = new VectorCode(code, { ...inputs, index: rank });
  for (const [i, local] of [index, rank, ...leaves].entries()) lanes.bindInvariant(shared[i]!, local);
  emitIndexLoop(code, {
    from: first,
    to: ranks,
    index: rank,
    scalar: () => emitElement(code, inputs, table, [index, rank, ...leaves]),
    vector: bins && vectorTallies(code, table, lanes, graph, bins),
  });
  code.release(rank);
}
