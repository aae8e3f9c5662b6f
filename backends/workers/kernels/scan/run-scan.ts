import type { Node } from '../../../analyses/straight-line.ts';
import type { StoreTarget } from '../../commands/kernel-arguments.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import type { VectorPart } from '../../wasm/index-loop.ts';
import { storedNodes } from '../../wasm/program-graph.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, type Lanes, type Vector, v128 } from '../../wasm/wasm-expressions.ts';
import { asInt32 } from '../../wasm/wasm-locals.ts';
import { store, when } from '../../wasm/wasm-statements.ts';
import { UNROLLED_VALUES } from '../rows/for-each.ts';
import { wordOf } from '../shared/stores.ts';
import { combined, foldLanes, leaveState, type RunLeaves, type Runs, whereNot } from './run-leaves.ts';
import type { ScanNodes, ScanSources } from './scan-nodes.ts';

/**
 * Vector code for the scan pass: combines the values of each run (segment), and stores the result of a run at its last
 * element. A vector is simple if it stores nothing and only its first element may be a head (the start of a run); then
 * each lane folds separately. All other vectors need a segmented scan.
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
  const count = asInt32(state[0]!);
  const zero = code.local(V128);
  const started = code.local(V128);
  const [heads, ends] = [code.local(I32), code.local(I32)];
  const local = total.map(() => code.local(V128));
  const offsets = graph.size > UNROLLED_VALUES ? [0] : [0, 4];

  /**
   * Combines each lane of the values with a preceding lane, which `choice` picks from `before` and the values. Lanes in
   * `started` keep their values, because they are at or after the head (first element) of their run.
   */
  const putInFront = (choice: Lanes, before: readonly Vector[]): void => {
    for (const [k, value] of local.entries()) {
      const left = whereNot(leaves, k, before[k]!.shuffle(value, choice), started);
      value.set(combined(code, leaves, k, left, value));
    }
  };
  const widen = (choice: Lanes): void => started.set(started.or(zero.shuffle(started, choice)));

  const foldFour = (): void => {
    const first = started.shuffle(started, [0, 0, 0, 0]);
    for (const [k, sum] of total.entries()) {
      sum.set(combined(code, leaves, k, whereNot(leaves, k, sum, first), local[k]!));
    }
    count.set(count.add(heads));
  };
  const scanFour = (): void => {
    foldLanes(code, leaves);
    putInFront([0, 4, 5, 6], identity);
    widen([0, 4, 5, 6]);
    putInFront([0, 1, 4, 5], identity);
    widen([0, 1, 4, 5]);
    putInFront([3, 3, 3, 3], total);
    for (const [k, value] of local.entries()) {
      total[k]!.set(identity[k]!.shuffle(value, [0, 1, 2, 7]));
      lanes.bind(inclusive[k + 1]!, value);
    }
    storeEnds(code, lanes, inputs.stores, results, ends, heads, count);
    count.set(count.add(heads.popcount()));
  };
  const takeFour = (offset: number): void => {
    lanes.begin(offset);
    heads.set(started.tee(lanes.local(head)).bitmask());
    ends.set(lanes.value(guard).bitmask());
    // Both branches use the elements, so the elements are computed before the branch.
    for (const [k, value] of local.entries()) value.set(lanes.value(elements[k + 1]!));
    when(code, heads.and(0b1110).or(ends), scanFour, foldFour);
  };
  return {
    step: 4 * offsets.length,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      enter();
      zero.set(v128([0, 0, 0, 0]));
    },
    round: () => offsets.forEach(takeFour),
    leave: () => leaveState(code, leaves),
  };
}

/**
 * Stores the values of the lanes in `ends`, each at the position that is the number of its run (segment). `count` is
 * the number of runs that started before this vector.
 */
function storeEnds(
  code: Code,
  lanes: VectorCode,
  stores: readonly StoreTarget[],
  results: readonly Node[],
  ends: Int32,
  heads: Int32,
  count: Int32,
): void {
  const place = code.local(I32);
  when(code, ends, () => {
    const values = stores.map(({ value }) => lanes.local(results[value]!));
    const storeLane = (lane: number): void => {
      place.set(count.add(heads.and((2 << lane) - 1).popcount()).sub(1));
      for (const [s, { address, capacity, type }] of stores.entries()) {
        when(code, place.ltU(capacity), () => store(code, address.add(place.shl(2)), wordOf(type, values[s]!, lane)));
      }
    };
    for (const lane of [0, 1, 2, 3]) when(code, ends.and(1 << lane), () => storeLane(lane));
  });
  code.release(place);
}
