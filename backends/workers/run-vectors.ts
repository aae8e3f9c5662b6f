import type { MonoidProgram } from '../../primitives/backend.ts';
import type { OperationName, ScalarType } from '../../primitives/functors/ir.ts';
import { combineGraph, leadsTo, leafOperation, restarting } from '../monoid-shapes.ts';
import { type Node, truthOf } from '../straight-line.ts';
import { VectorCode } from './emit-simd.ts';
import { UNROLLED_VALUES } from './for-each.ts';
import type { VectorPart } from './index-loop.ts';
import type { StoreTarget } from './kernel-arguments.ts';
import { storedNodes } from './program-graph.ts';
import { fixed } from './queue.ts';
import type { ScanNodes, ScanSources, ScanVectors } from './scan-vectors.ts';
import { emitExtract, emitSplat, emitVector, lanesOf } from './vector-operations.ts';
import type { Code } from './wasm-code.ts';
import { I32, op, simd, V128 } from './wasm-encoder.ts';

/**
 * A scan that numbers runs and combines within each, stored where the run has its number: reduceByKey. The number is a
 * count of bits, so that only the values are scanned, and most vectors have no row that is stored.
 */
export interface Runs {
  /** Whether an element starts a run. */
  readonly head: Node;
  /** What combines every value, element and state alike without their first leaf. */
  readonly operations: readonly OperationName[];
  /** Whether an element is stored. */
  readonly guard: Node;
}

/** The scan as one of runs; undefined where it is something else. */
export function runsOf({ inputs: { stores }, monoid }: ScanSources, nodes: ScanNodes): Runs | undefined {
  const operations = restartingOperations(monoid);
  const head = truthOf(nodes.elements[0]!);
  const [first] = stores;
  if (operations === undefined || head === undefined || first?.guard === undefined) return undefined;
  // The identity of a minimum of f32 is not what it is combined with where that is NaN.
  if (monoid.types.includes('f32')) return undefined;
  const place = nodes.graph.operation('sub', 'u32', [nodes.inclusive[0]!, nodes.graph.literal('u32', 1)]);
  const alike = stores.every(
    ({ index, guard, combine }) =>
      index !== undefined && nodes.results[index] === place && guard === first.guard && combine === undefined,
  );
  const guard = nodes.results[first.guard]!;
  const values = stores.map(({ value }) => nodes.results[value]!);
  // What stands before an element, and the number itself, are not at hand.
  const missing = new Set([...nodes.exclusive, nodes.inclusive[0]!]);
  return alike && ![guard, ...values].some((node) => leadsTo(node, missing)) ? { head, operations, guard } : undefined;
}

/** The commutative operation on every leaf but the first, where a monoid restarts. */
function restartingOperations(monoid: MonoidProgram): readonly OperationName[] | undefined {
  const { left, right } = combineGraph(monoid);
  const names = restarting(monoid)?.map((node, k) => leafOperation(node, left[k + 1]!, right[k + 1]!));
  return names?.every((name) => name !== undefined) ? names : undefined;
}

/** Vectors of the values, leaf by leaf. */
interface Leaves {
  readonly types: readonly ScalarType[];
  /** Exact and of whole numbers, so in any order: lanes may fold side by side. */
  readonly operations: readonly OperationName[];
  /** The identity in all lanes, in locals, and whether it is zero. */
  readonly identity: readonly number[];
  readonly zero: readonly boolean[];
  /** What was folded so far of the run under way: all lanes together. */
  readonly total: readonly number[];
  /** Locals of the scalar state: the count of heads, then the values. */
  readonly state: readonly number[];
}

export function runVectors(code: Code, sources: ScanSources, nodes: ScanNodes, runs: Runs): ScanVectors {
  const { monoid, state } = sources;
  const types = monoid.types.slice(1);
  const vectors = (): number[] => types.map(() => code.local(V128));
  const leaves: Leaves = {
    types,
    operations: runs.operations,
    identity: vectors(),
    zero: types.map((_, k) => Number(monoid.identity[k + 1]) === 0),
    total: vectors(),
    state,
  };
  const enter = (): void => {
    leaves.identity.forEach((local, k) => {
      code.v128(lanesOf(types[k]!, monoid.identity[k + 1]!));
      code.set(local);
    });
    enterState(code, leaves);
  };
  return {
    fold: foldPart(code, sources, nodes, runs, leaves, enter),
    scan: scanPart(code, sources, nodes, runs, leaves, enter),
    needsEnd: false,
  };
}

/** Pushes left ⊕ right, leaf k of each. */
function combine(code: Code, { types, operations }: Leaves, k: number, left: () => void, right: () => void): void {
  emitVector(code, operations[k]!, types[k]!, types[k]!, [left, right], undefined);
}

/** Pushes leaf k of a value in the lanes of a mask, which is pushed last, and the identity in the others. */
function pushWhere(code: Code, { identity, zero }: Leaves, k: number, value: () => void, mask: () => void): void {
  value();
  if (!zero[k]) code.get(identity[k]!);
  mask();
  code.simd(zero[k] ? simd.and : simd.bitselect);
}

/** The same in the lanes that are not in the mask. */
function pushWhereNot(code: Code, { identity, zero }: Leaves, k: number, value: () => void, mask: () => void): void {
  if (!zero[k]) code.get(identity[k]!);
  value();
  mask();
  code.simd(zero[k] ? simd.andNot : simd.bitselect);
}

/** The state in the first lanes of the totals, and the identity in the others. */
function enterState(code: Code, { types, identity, total, state }: Leaves): void {
  total.forEach((local, k) => {
    code.get(state[k + 1]!);
    emitSplat(code, types[k]!);
    code.get(identity[k]!);
    code.shuffle([0, 4, 5, 6]);
    code.set(local);
  });
}

/** Combines the lanes of the totals: all lanes have all of it. */
function foldLanes(code: Code, leaves: Leaves): void {
  for (const choice of [
    [2, 3, 0, 1],
    [1, 0, 3, 2],
  ] as const) {
    leaves.total.forEach((local, k) => {
      const other = (): void => {
        code.get(local);
        code.get(local);
        code.shuffle(choice);
      };
      combine(code, leaves, k, () => code.get(local), other);
      code.set(local);
    });
  }
}

function leaveState(code: Code, leaves: Leaves): void {
  foldLanes(code, leaves);
  leaves.total.forEach((local, k) => {
    code.get(local);
    emitExtract(code, leaves.types[k]!, 0);
    code.set(leaves.state[k + 1]!);
  });
}

/**
 * The fold of runs is how many there are and what the last of them combines to: heads are counted first, without a look at
 * values, and then those from the last round that has a head on are folded.
 */
function foldPart(
  code: Code,
  { inputs, index, state }: ScanSources,
  { graph, elements }: ScanNodes,
  { head }: Runs,
  leaves: Leaves,
  enter: () => void,
): VectorPart {
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.leaveEnds([head]);
  lanes.prepare([head, ...elements.slice(1)]);
  const { total } = leaves;
  const [counts, some] = [code.local(V128), code.local(V128)];
  const [restart, end, restarts] = [code.local(I32), code.local(I32), code.local(I32)];
  const offsets = graph.size > UNROLLED_VALUES ? [0] : [0, 4, 8, 12];
  const step = 4 * offsets.length;

  /** All before the last head of the round is dropped. */
  const foldFromLastHead = (): void => {
    const heads = code.local(I32);
    const pushMask = (table: number) => (): void => {
      code.get(heads);
      code.simdMemory(simd.load, table);
    };
    for (const offset of offsets) {
      lanes.begin(offset);
      pushHeads(code, lanes, head);
      code.i32(4);
      code.op(op.i32Shl);
      code.set(heads);
      total.forEach((local, k) => {
        const pushFresh = (): void => lanes.push(elements[k + 1]!);
        combine(
          code,
          leaves,
          k,
          () => pushWhere(code, leaves, k, () => code.get(local), pushMask(fixed.noHead)),
          () => pushWhere(code, leaves, k, pushFresh, pushMask(fixed.lastRun)),
        );
        code.set(local);
      });
    }
    code.release(heads);
  };
  const foldAll = (): void => {
    for (const offset of offsets) {
      lanes.begin(offset);
      total.forEach((local, k) => {
        combine(
          code,
          leaves,
          k,
          () => code.get(local),
          () => lanes.push(elements[k + 1]!),
        );
        code.set(local);
      });
    }
  };
  const advance = (): void => {
    code.get(index);
    code.i32(step);
    code.op(op.i32Add);
    code.set(index);
  };

  return {
    step,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      enter();
      code.v128([0, 0, 0, 0]);
      code.set(counts);
      code.get(index);
      code.set(restart);
      code.i32(0);
      code.set(restarts);
    },
    round: () => {
      offsets.forEach((offset, i) => {
        lanes.begin(offset);
        const started = lanes.local(head);
        code.get(counts);
        code.get(started);
        code.simd(simd.i32x4Sub);
        code.set(counts);
        code.get(started);
        if (i > 0) {
          code.get(some);
          code.simd(simd.or);
        }
        code.set(some);
      });
      code.get(some);
      code.simd(simd.anyTrue);
      code.when(() => {
        code.get(index);
        code.set(restart);
        code.i32(1);
        code.set(restarts);
      });
    },
    leave: () => {
      for (const lane of [0, 1, 2, 3]) {
        code.get(state[0]!);
        code.get(counts);
        code.simd(simd.i32x4Extract, lane);
        code.op(op.i32Add);
        code.set(state[0]!);
      }
      code.get(index);
      code.set(end);
      code.get(restart);
      code.set(index);
      code.get(restarts);
      code.when(() => {
        foldFromLastHead();
        advance();
      });
      code.while(
        () => {
          code.get(index);
          code.get(end);
          code.op(op.i32LtU);
        },
        () => {
          foldAll();
          advance();
        },
      );
      leaveState(code, leaves);
    },
  };
}

function pushHeads(code: Code, lanes: VectorCode, flag: Node): void {
  lanes.push(flag);
  code.simd(simd.i32x4Bitmask);
}

/**
 * Combines the values of runs, and stores what their ends have. Of four rows of which none ends a run and at most the first
 * starts one, lanes fold side by side; the others are scanned from head to head.
 */
function scanPart(
  code: Code,
  { inputs, index, state }: ScanSources,
  { graph, elements, inclusive, results }: ScanNodes,
  { head, guard }: Runs,
  leaves: Leaves,
  enter: () => void,
): VectorPart {
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.leaveEnds([head, guard]);
  lanes.prepare([head, guard, ...elements.slice(1), ...storedNodes(inputs.stores, results)]);
  const { identity, total } = leaves;
  const [count] = state;
  const zero = code.local(V128);
  const started = code.local(V128);
  const [heads, ends] = [code.local(I32), code.local(I32)];
  const local = total.map(() => code.local(V128));
  const offsets = graph.size > UNROLLED_VALUES ? [0] : [0, 4];

  /** Puts what stands `choice` lanes before in front of the lanes that have no head yet. */
  const step = (choice: readonly [number, number, number, number], before: readonly number[]): void => {
    local.forEach((value, k) => {
      const pushBefore = (): void => {
        code.get(before[k]!);
        code.get(value);
        code.shuffle(choice);
      };
      const pushLeft = (): void => pushWhereNot(code, leaves, k, pushBefore, () => code.get(started));
      combine(code, leaves, k, pushLeft, () => code.get(value));
      code.set(value);
    });
  };
  const widen = (choice: readonly [number, number, number, number]): void => {
    code.get(started);
    code.get(zero);
    code.get(started);
    code.shuffle(choice);
    code.simd(simd.or);
    code.set(started);
  };

  const foldFour = (): void => {
    total.forEach((sum, k) => {
      const pushFirst = (): void => {
        code.get(started);
        code.get(started);
        code.shuffle([0, 0, 0, 0]);
      };
      const pushOld = (): void => pushWhereNot(code, leaves, k, () => code.get(sum), pushFirst);
      combine(code, leaves, k, pushOld, () => code.get(local[k]!));
      code.set(sum);
    });
    code.get(count!);
    code.get(heads);
    code.op(op.i32Add);
    code.set(count!);
  };
  const scanFour = (): void => {
    foldLanes(code, leaves);
    step([0, 4, 5, 6], identity);
    widen([0, 4, 5, 6]);
    step([0, 1, 4, 5], identity);
    widen([0, 1, 4, 5]);
    step([3, 3, 3, 3], total);
    local.forEach((value, k) => {
      code.get(identity[k]!);
      code.get(value);
      code.shuffle([0, 1, 2, 7]);
      code.set(total[k]!);
      lanes.bind(inclusive[k + 1]!, value);
    });
    storeEnds(code, lanes, inputs.stores, results, ends, heads, count!);
    code.get(count!);
    code.get(heads);
    code.op(op.i32Popcnt, op.i32Add);
    code.set(count!);
  };
  const takeFour = (offset: number): void => {
    lanes.begin(offset);
    code.get(lanes.local(head));
    code.tee(started);
    code.simd(simd.i32x4Bitmask);
    code.set(heads);
    pushHeads(code, lanes, guard);
    code.set(ends);
    // What both branches need is computed before them.
    local.forEach((value, k) => {
      lanes.push(elements[k + 1]!);
      code.set(value);
    });
    code.get(heads);
    code.i32(0b1110);
    code.op(op.i32And);
    code.get(ends);
    code.op(op.i32Or);
    code.when(scanFour, foldFour);
  };
  return {
    step: 4 * offsets.length,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      enter();
      code.v128([0, 0, 0, 0]);
      code.set(zero);
    },
    round: () => offsets.forEach(takeFour),
    leave: () => leaveState(code, leaves),
  };
}

/** Stores the lanes whose bits `ends` has, each at the number of its run, which `count` runs are before. */
function storeEnds(
  code: Code,
  lanes: VectorCode,
  stores: readonly StoreTarget[],
  results: readonly Node[],
  ends: number,
  heads: number,
  count: number,
): void {
  const place = code.local(I32);
  code.get(ends);
  code.when(() => {
    const values = stores.map(({ value }) => lanes.local(results[value]!));
    for (const lane of [0, 1, 2, 3]) {
      code.get(ends);
      code.i32(1 << lane);
      code.op(op.i32And);
      code.when(() => {
        code.get(count);
        code.get(heads);
        code.i32((2 << lane) - 1);
        code.op(op.i32And, op.i32Popcnt, op.i32Add);
        code.i32(1);
        code.op(op.i32Sub);
        code.set(place);
        stores.forEach(({ address, capacity, type }, s) => {
          code.get(place);
          code.get(capacity);
          code.op(op.i32LtU);
          code.when(() => {
            code.get(address);
            code.get(place);
            code.i32(2);
            code.op(op.i32Shl, op.i32Add);
            code.get(values[s]!);
            emitExtract(code, type === 'bool' ? 'bool' : 'u32', lane);
            code.memory(op.i32Store);
          });
        });
      });
    }
  });
  code.release(place);
}
