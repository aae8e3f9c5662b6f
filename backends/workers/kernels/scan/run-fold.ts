import { fixed } from '../../threads/queue.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import type { VectorPart } from '../../wasm/index-loop.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { loadVector, v128 } from '../../wasm/wasm-expressions.ts';
import { asInt32 } from '../../wasm/wasm-locals.ts';
import { forRounds, when } from '../../wasm/wasm-statements.ts';
import { UNROLLED_VALUES } from '../rows/for-each.ts';
import { combined, leaveState, type RunLeaves, type Runs, where } from './run-leaves.ts';
import type { ScanNodes, ScanSources } from './scan-nodes.ts';

/**
 * Vector code for the fold pass over a tile. The result is the number of runs (segments), and the fold of the last run.
 * A first loop only counts the heads (first elements) of runs and remembers the last round that has a head. A second
 * loop then folds the values from this round on.
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
  const count = asInt32(state[0]!);
  const offsets = graph.size > UNROLLED_VALUES ? [0] : [0, 4, 8, 12];
  const step = 4 * offsets.length;

  /**
   * Folds the values of a round from its last head on. Earlier values, and the previous totals, do not belong to the
   * last run.
   */
  const foldFromLastHead = (): void => {
    const heads = code.local(I32);
    for (const offset of offsets) {
      lanes.begin(offset);
      heads.set(lanes.value(head).bitmask().shl(4));
      for (const [k, local] of total.entries()) {
        const old = where(leaves, k, local, loadVector(heads, fixed.noHead));
        const fresh = where(leaves, k, lanes.value(elements[k + 1]!), loadVector(heads, fixed.lastRun));
        local.set(combined(code, leaves, k, old, fresh));
      }
    }
    code.release(heads);
  };
  const foldAll = (): void => {
    for (const offset of offsets) {
      lanes.begin(offset);
      for (const [k, local] of total.entries()) {
        local.set(combined(code, leaves, k, local, lanes.value(elements[k + 1]!)));
      }
    }
  };
  return {
    step,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      enter();
      counts.set(v128([0, 0, 0, 0]));
      restart.set(index);
      restarts.set(0);
    },
    round: () => {
      for (const [i, offset] of offsets.entries()) {
        lanes.begin(offset);
        const started = lanes.local(head);
        counts.set(counts.sub(started));
        some.set(i === 0 ? started : started.or(some));
      }
      when(code, some.anyTrue(), () => {
        restart.set(index);
        restarts.set(1);
      });
    },
    leave: () => {
      for (const lane of [0, 1, 2, 3]) count.set(count.add(counts.extract(lane)));
      end.set(index);
      index.set(restart);
      when(code, restarts, () => {
        foldFromLastHead();
        index.set(index.add(step));
      });
      forRounds(code, index, end, step, foldAll);
      leaveState(code, leaves);
    },
  };
}
