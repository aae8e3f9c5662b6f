import { fixed } from '../../threads/queue.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { emitRounds, type VectorPart } from '../../wasm/index-loop.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
import { UNROLLED_VALUES } from '../rows/for-each.ts';
import { combine, leaveState, pushHeads, pushWhere, type RunLeaves, type Runs } from './run-leaves.ts';
import type { ScanNodes, ScanSources } from './scan-nodes.ts';

/**
 * The fold of runs is how many there are and what the last of them combines to: heads are counted first, without a look at
 * values, and then those from the last round that has a head on are folded.
 */
export function foldPart(
  code: Code,
  { inputs, index, state }: ScanSources,
  { graph, elements }: ScanNodes,
  { head }: Runs,
  leaves: RunLeaves,
  enter: () => void,
): VectorPart {
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.peelEnds([head]);
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
        code.get(index);
        code.i32(step);
        code.op(op.i32Add);
        code.set(index);
      });
      emitRounds(code, index, end, step, foldAll);
      leaveState(code, leaves);
    },
  };
}
