import { entryOf } from '../../../../primitives/ir/ir.ts';
import { Graph, mostOf, type Node, straightLine } from '../../../analyses/straight-line.ts';
import type { KernelInputs, KernelShape, Layout } from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { slotsOf } from '../../wasm/program-graph.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { atomic, I32, I64, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
import { UNROLLED_VALUES } from '../rows/for-each.ts';
import { releaseAll } from '../shared/monoid-code.ts';

/** Locals that say where an element is counted. */
export interface TallyTable {
  readonly address: number;
  readonly bins: number;
  /** Histograms in the table, where the program chooses one of them. */
  readonly runs: number | undefined;
  /** Whether other workers count into it too. */
  readonly shared: boolean;
  /** Where a worker has a table for each of four neighbours: local of the bytes from one of them to the next. */
  readonly turn?: number | undefined;
}

/** Adds to the word whose address is on the stack. */
export function emitAdd(code: Code, atomically: boolean, value: () => void): void {
  if (atomically) {
    value();
    code.atomic(atomic.i32Add);
    code.op(op.drop);
    return;
  }
  const address = code.local(I32);
  code.tee(address);
  code.get(address);
  code.memory(op.i32Load);
  value();
  code.op(op.i32Add);
  code.memory(op.i32Store);
  code.release(address);
}

/** The mask of four lanes. */
const ALL_LANES = 15;

/** Counts a bin of a histogram, in locals; what lies outside is left out. */
function emitTally(code: Code, table: TallyTable, bin: number, histogram: number | undefined): void {
  code.get(bin);
  code.get(table.bins);
  code.op(op.i32LtU);
  if (table.runs !== undefined) {
    code.get(histogram!);
    code.get(table.runs);
    code.op(op.i32LtU, op.i32And);
  }
  code.when(() => {
    code.get(table.address);
    code.get(bin);
    if (table.runs !== undefined) {
      code.get(histogram!);
      code.get(table.bins);
      code.op(op.i32Mul, op.i32Add);
    }
    code.i32(2);
    code.op(op.i32Shl, op.i32Add);
    emitAdd(code, table.shared, () => code.i32(1));
  });
}

/** Counts the elements of a range of indices. */
export function emitTallies(
  code: Code,
  shape: KernelShape,
  layout: Layout,
  inputs: KernelInputs,
  table: TallyTable,
  from: number,
  to: number,
): void {
  const index = code.local(I32);
  const graph = new Graph('aligned');
  const bins = straightLine(graph, shape.programs[0]!.module, slotsOf(layout, 0), [graph.index()]);
  const lanes = new VectorCode(code, { ...inputs, index });
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const results = inlineEntry(code, inputs.environments[0]!, [index]);
      emitTally(code, table, results[0]!, results[1]);
      releaseAll(code, results);
    },
    vector: bins && vectorTallies(code, table, lanes, graph, bins),
  });
}

/** Bins are computed four at once; counting remains one by one. */
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
  chosen: readonly number[],
): void {
  const vectors = bins.map((node) => lanes.local(node));
  for (const lane of [0, 1, 2, 3]) {
    vectors.forEach((vector, result) => {
      code.get(vector);
      code.simd(simd.i32x4Extract, lane);
      code.set(chosen[result]!);
    });
    emitTally(code, table, chosen[0]!, chosen[1]);
  }
}

/**
 * Four bins that are all outside are passed over. Where all are inside, which may be known beforehand, their addresses are computed at once too, each in the table
 * whose turn it is. Where it is known, the addresses of eight elements are taken out of their vectors while the eight before
 * them are counted.
 */
function quickTallies(code: Code, table: TallyTable, lanes: VectorCode, graph: Graph, bin: Node): VectorPart {
  lanes.prepare([bin]);
  const [ends, bases] = [code.local(V128), code.local(V128)];
  const [address, chosen, inside, outside] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const sets = [0, 1].map(() => [0, 1, 2, 3].map(() => code.local(I64)));
  const steps = graph.size > UNROLLED_VALUES ? 2 : 4;

  const count = (): void => {
    code.tee(address);
    code.get(address);
    code.memory(op.i32Load);
    code.i32(1);
    code.op(op.i32Add);
    code.memory(op.i32Store);
  };
  const countPairs = (pairs: readonly number[]): void => {
    for (const pair of pairs) {
      code.get(pair);
      code.op(op.i32WrapI64);
      count();
      code.get(pair);
      code.i64(32);
      code.op(op.i64ShrU, op.i32WrapI64);
      count();
    }
  };
  /** Takes the addresses of four elements, two by two. */
  const takePairs = (vector: number, pairs: readonly number[]): void => {
    const addresses = code.local(V128);
    code.get(vector);
    code.i32(2);
    code.simd(simd.i32x4Shl);
    code.get(bases);
    code.simd(simd.i32x4Add);
    code.set(addresses);
    pairs.forEach((pair, half) => {
      code.get(addresses);
      code.simd(simd.i64x2Extract, half);
      code.set(pair);
    });
    code.release(addresses);
  };
  const takeEight = (offset: number, pairs: readonly number[]): void => {
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
    code.get(vector);
    code.get(ends);
    code.simd(simd.i32x4GeU);
    code.simd(simd.i32x4Bitmask);
    code.tee(outside);
    const pairs = sets[0]!.slice(0, 2);
    code.when(
      () => {
        code.get(outside);
        code.i32(ALL_LANES);
        code.op(op.i32Ne);
        code.when(() => emitLaneTallies(code, table, lanes, [bin], [chosen]));
      },
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
      code.i32(mostOf(bin));
      code.get(table.bins);
      code.op(op.i32LtU);
      code.set(inside);
      code.get(table.bins);
      code.simd(simd.i32x4Splat);
      code.set(ends);
      code.get(table.address);
      code.simd(simd.i32x4Splat);
      if (table.turn !== undefined) {
        code.get(table.turn);
        code.simd(simd.i32x4Splat);
        code.v128([0, 1, 2, 3]);
        code.simd(simd.i32x4Mul);
        code.simd(simd.i32x4Add);
      }
      code.set(bases);
    },
    round: () => {
      code.get(inside);
      code.when(countInside, () => {
        for (let offset = 0; offset < 8 * steps; offset += 4) countFour(offset);
      });
    },
  };
}

/** Locals: the row, the range of its ranks, and what was computed for it. */
export interface TallyRow {
  readonly index: number;
  readonly first: number;
  readonly ranks: number;
  readonly leaves: readonly number[];
}

/** Counts the ranks of one row. To the vectors, the rank is the index, and nothing of the row varies. */
export function emitRanks(
  code: Code,
  { programs }: KernelShape,
  layout: Layout,
  inputs: KernelInputs,
  table: TallyTable,
  { index, first, ranks, leaves }: TallyRow,
): void {
  const { module } = programs[0]!;
  const rank = code.local(I32);
  const graph = new Graph();
  const shared = entryOf(module).parameters.map(({ type }, i) => graph.invariant(type, `${i}`));
  const args = shared.map((node, i) => (i === 1 ? graph.index() : node));
  const bins = straightLine(graph, module, slotsOf(layout, 0), args);
  const lanes = new VectorCode(code, { ...inputs, index: rank });
  [index, rank, ...leaves].forEach((local, i) => {
    lanes.bindInvariant(shared[i]!, local);
  });
  emitIndexLoop(code, {
    from: first,
    to: ranks,
    index: rank,
    scalar: () => {
      const results = inlineEntry(code, inputs.environments[0]!, [index, rank, ...leaves]);
      emitTally(code, table, results[0]!, results[1]);
      releaseAll(code, results);
    },
    vector: bins && vectorTallies(code, table, lanes, graph, bins),
  });
  code.release(rank);
}
