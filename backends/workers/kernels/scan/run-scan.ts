import type { Node } from '../../../analyses/straight-line.ts';
import type { StoreTarget } from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import type { VectorPart } from '../../wasm/index-loop.ts';
import { storedNodes } from '../../wasm/program-graph.ts';
import { emitExtract } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
import { UNROLLED_VALUES } from '../rows/for-each.ts';
import { combine, foldLanes, leaveState, pushHeads, pushWhereNot, type RunLeaves, type Runs } from './run-leaves.ts';
import type { ScanNodes, ScanSources } from './scan-nodes.ts';

/**
 * Combines the values of runs, and stores what their ends have. Of four rows of which none ends a run and at most the first
 * starts one, lanes fold side by side; the others are scanned from head to head.
 */
export function scanPart(
  code: Code,
  { inputs, index, state }: ScanSources,
  { graph, elements, inclusive, results }: ScanNodes,
  { head, guard }: Runs,
  leaves: RunLeaves,
  enter: () => void,
): VectorPart {
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.peelEnds([head, guard]);
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
