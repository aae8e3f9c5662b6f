import type { OperationName, ScalarType } from '../../primitives/functors/ir.ts';
import { VectorCode } from './emit-simd.ts';
import { UNROLLED_VALUES } from './for-each.ts';
import type { VectorPart } from './index-loop.ts';
import type { StoreTarget } from './kernel-arguments.ts';
import { type CombineGraph, leafOperation } from './monoid-code.ts';
import { storedNodes } from './program-graph.ts';
import { fixed } from './queue.ts';
import type { ScanNodes, ScanSources, ScanVectors } from './scan-vectors.ts';
import { type Node, truthOf } from './straight-line.ts';
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
export function runsOf(
  { inputs: { stores }, monoid: { types } }: ScanSources,
  nodes: ScanNodes,
  combination: CombineGraph,
): Runs | undefined {
  const operations = restarting(combination);
  const head = truthOf(nodes.elements[0]!);
  const [first] = stores;
  if (operations === undefined || head === undefined || first?.guard === undefined) return undefined;
  // The identity of a minimum of f32 is not what it is combined with where that is NaN.
  if (types[0] !== 'u32' || types.includes('f32')) return undefined;
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

/** The operation on every leaf but the first, a sum, where all start anew as the right side's first leaf is not zero. */
function restarting({ left, right, results }: CombineGraph): readonly OperationName[] | undefined {
  if (results === undefined || leafOperation(results[0]!, left[0]!, right[0]!) !== 'add') return undefined;
  const names = results.slice(1).map((node, k) => {
    if (node.kind !== 'operation' || node.name !== 'select') return undefined;
    const [combined, fresh, condition] = node.operands;
    const starts = condition!.kind === 'operation' && condition!.name === 'ne' ? condition!.operands : [];
    const [count, zero] = starts;
    if (count !== right[0] || zero?.kind !== 'literal' || zero.value !== 0 || fresh !== right[k + 1]) return undefined;
    return leafOperation(combined!, left[k + 1]!, right[k + 1]!);
  });
  return names.length > 0 && names.every((name) => name !== undefined) ? names : undefined;
}

function leadsTo(node: Node, targets: ReadonlySet<Node>): boolean {
  return targets.has(node) || (node.kind === 'operation' && node.operands.some((operand) => leadsTo(operand, targets)));
}

/** Vectors of the values, leaf by leaf. */
interface Leaves {
  readonly types: readonly ScalarType[];
  readonly operations: readonly OperationName[];
  /** The identity in all lanes, in locals, and whether it is zero. */
  readonly identity: readonly number[];
  readonly zero: readonly boolean[];
  /** What was folded so far. */
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
  const setIdentity = (): void =>
    leaves.identity.forEach((local, k) => {
      code.v128(lanesOf(types[k]!, monoid.identity[k + 1]!));
      code.set(local);
    });
  return {
    fold: foldPart(code, sources, nodes, runs, leaves, setIdentity),
    scan: scanPart(code, sources, nodes, runs, leaves, setIdentity),
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

/**
 * Lanes fold every fourth element each, from the last head on: where a vector has heads, all before the last of them is
 * dropped.
 */
function foldPart(
  code: Code,
  { inputs, index, state }: ScanSources,
  { graph, elements }: ScanNodes,
  { head }: Runs,
  leaves: Leaves,
  setIdentity: () => void,
): VectorPart {
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.leaveEnds([head]);
  lanes.prepare([head, ...elements.slice(1)]);
  const { identity, total } = leaves;
  const heads = code.local(I32);
  const kept = code.local(V128);
  const offsets = graph.size > UNROLLED_VALUES ? [0] : [0, 4, 8, 12];
  return {
    step: 4 * offsets.length,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      setIdentity();
      total.forEach((local, k) => {
        code.get(state[k + 1]!);
        emitSplat(code, leaves.types[k]!);
        code.get(identity[k]!);
        code.shuffle([0, 4, 5, 6]);
        code.set(local);
      });
    },
    round: () => {
      for (const offset of offsets) {
        lanes.begin(offset);
        pushHeads(code, lanes, head);
        code.tee(heads);
        code.get(state[0]!);
        code.get(heads);
        code.op(op.i32Popcnt, op.i32Add);
        code.set(state[0]!);
        code.i32(4);
        code.op(op.i32Shl);
        code.tee(heads);
        code.simdMemory(simd.load, fixed.lastRun);
        code.set(kept);
        total.forEach((local, k) => {
          const pushOld = (): void => code.get(local);
          const pushFresh = (): void => lanes.push(elements[k + 1]!);
          const pushNoHead = (): void => {
            code.get(heads);
            code.simdMemory(simd.load, fixed.noHead);
          };
          combine(
            code,
            leaves,
            k,
            () => pushWhere(code, leaves, k, pushOld, pushNoHead),
            () => pushWhere(code, leaves, k, pushFresh, () => code.get(kept)),
          );
          code.set(local);
        });
      }
    },
    leave: () =>
      total.forEach((local, k) => {
        for (const choice of [
          [2, 3, 2, 3],
          [1, 1, 1, 1],
        ] as const) {
          combine(
            code,
            leaves,
            k,
            () => code.get(local),
            () => {
              code.get(local);
              code.get(local);
              code.shuffle(choice);
            },
          );
          code.set(local);
        }
        code.get(local);
        emitExtract(code, leaves.types[k]!, 0);
        code.set(state[k + 1]!);
      }),
  };
}

function pushHeads(code: Code, lanes: VectorCode, flag: Node): void {
  lanes.push(flag);
  code.simd(simd.i32x4Bitmask);
}

/** Scans the values of four elements from head to head, and stores those that end a run. */
function scanPart(
  code: Code,
  { inputs, index, state }: ScanSources,
  { graph, elements, inclusive, results }: ScanNodes,
  { head, guard }: Runs,
  leaves: Leaves,
  setIdentity: () => void,
): VectorPart {
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.leaveEnds([head, guard]);
  lanes.prepare([head, ...elements.slice(1), ...storedNodes(inputs.stores, results)]);
  const { identity, total } = leaves;
  const zero = code.local(V128);
  const started = code.local(V128);
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

  const scanFour = (offset: number): void => {
    lanes.begin(offset);
    const heads = code.local(I32);
    code.get(lanes.local(head));
    code.tee(started);
    code.simd(simd.i32x4Bitmask);
    code.set(heads);
    local.forEach((value, k) => {
      lanes.push(elements[k + 1]!);
      code.set(value);
    });
    step([0, 4, 5, 6], identity);
    widen([0, 4, 5, 6]);
    step([0, 1, 4, 5], identity);
    widen([0, 1, 4, 5]);
    step([3, 3, 3, 3], total);
    local.forEach((value, k) => {
      code.get(value);
      code.set(total[k]!);
      lanes.bind(inclusive[k + 1]!, value);
    });
    storeEnds(code, lanes, inputs.stores, results, guard, heads, state[0]!);
    code.get(state[0]!);
    code.get(heads);
    code.op(op.i32Popcnt, op.i32Add);
    code.set(state[0]!);
    code.release(heads);
  };
  return {
    step: 4 * offsets.length,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      setIdentity();
      code.v128([0, 0, 0, 0]);
      code.set(zero);
      total.forEach((vector, k) => {
        code.get(state[k + 1]!);
        emitSplat(code, leaves.types[k]!);
        code.set(vector);
      });
    },
    round: () => offsets.forEach(scanFour),
    leave: () =>
      total.forEach((vector, k) => {
        code.get(vector);
        emitExtract(code, leaves.types[k]!, 3);
        code.set(state[k + 1]!);
      }),
  };
}

/** Stores the lanes that the guard holds for, each at the number of its run, which `count` runs are before. */
function storeEnds(
  code: Code,
  lanes: VectorCode,
  stores: readonly StoreTarget[],
  results: readonly Node[],
  guard: Node,
  heads: number,
  count: number,
): void {
  const ends = code.local(I32);
  const place = code.local(I32);
  pushHeads(code, lanes, guard);
  code.tee(ends);
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
  for (const local of [ends, place]) code.release(local);
}
