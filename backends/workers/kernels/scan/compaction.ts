import type { ScanForm } from '../../../../primitives/contract/backend.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import type { StoreTarget } from '../../commands/kernel-arguments.ts';
import { fixed } from '../../threads/queue.ts';
import type { VectorCode } from '../../wasm/emit-simd.ts';
import type { VectorPart } from '../../wasm/index-loop.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, loadVector, type Vector } from '../../wasm/wasm-expressions.ts';
import { asInt32, type Int32Local, type VectorLocal } from '../../wasm/wasm-locals.ts';
import { lower, store, when } from '../../wasm/wasm-statements.ts';
import { storedWords } from '../shared/stores.ts';
import { flagOf, type ScanNodes, type ScanSources } from './scan-nodes.ts';

type CompactForm = Extract<ScanForm, { readonly kind: 'compact' }>;

/**
 * The stores of a compaction (copyIf, unique, partition). The prefix sum of the flags gives the position of each
 * flagged element in the output. A permutation from a table moves the flagged lanes of a vector to the front of the
 * vector, and one instruction stores the vector.
 */
interface Compaction {
  /** The flag of an element. The prefix sum of the flags is the output position. */
  readonly flag: Node;
  /** The stores for flagged elements, and the stores for elements without a flag. */
  readonly selected: readonly StoreTarget[];
  readonly rejected: readonly StoreTarget[];
}

export function compactionOf(stores: readonly StoreTarget[], nodes: ScanNodes, form: CompactForm): Compaction {
  return {
    flag: flagOf(nodes),
    selected: stores.filter(({ guard }) => guard === form.selected),
    rejected: stores.filter(({ guard }) => guard === form.rejected),
  };
}

/** The destination of the flagged elements of a round, or of the elements without a flag. */
interface CompactionTarget {
  readonly stores: readonly StoreTarget[];
  readonly values: readonly Vector[];
  /** The output position of the first element of the round, and the end of the range that the tile may write. */
  readonly place: Int32;
  readonly limit: Int32;
  /** A mask with one bit per lane, which is set if the lane's element is stored at this destination. */
  readonly mask: Int32;
}

const ALL_LANES = 15;

/**
 * The vector loop of a compaction. It stores whole vectors, in which the lanes after the stored elements contain
 * garbage. Later elements of the tile overwrite the garbage. When fewer than four positions are left in the tile's
 * range, the loop stores elements one by one.
 */
export function compactionPart(
  code: Code,
  lanes: VectorCode,
  { index, to, state, end }: ScanSources,
  { results }: ScanNodes,
  { flag, selected, rejected }: Compaction,
): VectorPart {
  const [place, placeAtEnd] = [asInt32(state[0]!), asInt32(end[0]!)];
  const mask = code.local(I32);
  const selectedEnd = code.local(I32);
  const rejectedEnd = code.local(I32);
  return {
    step: 4,
    narrow: (from, last) => lanes.narrow(from, last),
    enter: () => {
      selectedEnd.set(placeAtEnd);
      rejectedEnd.set(to.sub(placeAtEnd));
      for (const { capacity } of selected) lower(code, selectedEnd, capacity);
      for (const { capacity } of rejected) lower(code, rejectedEnd, capacity);
    },
    round: () => {
      lanes.begin(0);
      mask.set(lanes.value(flag).bitmask());
      const words = wordsOf(code, lanes, [...selected, ...rejected], results);
      const valuesOf = (stores: readonly StoreTarget[]): Vector[] => stores.map(({ value }) => words.get(value)!);
      const sides: CompactionTarget[] = [
        { stores: selected, values: valuesOf(selected), place, limit: selectedEnd, mask },
        {
          stores: rejected,
          values: valuesOf(rejected),
          place: index.sub(place),
          limit: rejectedEnd,
          mask: mask.xor(ALL_LANES),
        },
      ];
      for (const side of sides) if (side.stores.length > 0) emitSide(code, side);
      place.set(place.add(mask.popcount()));
      for (const local of words.values()) code.release(local);
    },
  };
}

/**
 * The values of the stored results, as locals in the form that memory stores. The keys of the map are the numbers of
 * the results.
 */
function wordsOf(
  code: Code,
  lanes: VectorCode,
  stores: readonly StoreTarget[],
  results: readonly Node[],
): Map<number, VectorLocal> {
  const words = new Map<number, VectorLocal>();
  for (const { value } of stores) {
    if (words.has(value)) continue;
    const local = code.local(V128);
    local.set(storedWords(lanes, results[value]!));
    words.set(value, local);
  }
  return words;
}

function emitSide(code: Code, side: CompactionTarget): void {
  const at = code.local(I32);
  when(
    code,
    at.tee(side.place).add(4).leU(side.limit),
    () => emitWholeVectors(code, side, at),
    () => emitOneByOne(code, side, at),
  );
  code.release(at);
}

function emitWholeVectors(code: Code, { stores, values, mask }: CompactionTarget, at: Int32): void {
  const permutation = code.local(V128);
  permutation.set(loadVector(mask.shl(4), fixed.compaction));
  for (const [i, { address }] of stores.entries()) {
    store(code, address.add(at.shl(2)), values[i]!.swizzle(permutation));
  }
  code.release(permutation);
}

function emitOneByOne(code: Code, { stores, values, mask }: CompactionTarget, at: Int32Local): void {
  for (const lane of [0, 1, 2, 3]) {
    when(code, mask.and(1 << lane), () => {
      for (const [i, { address, capacity }] of stores.entries()) {
        when(code, at.ltU(capacity), () => store(code, address.add(at.shl(2)), values[i]!.extract(lane)));
      }
      at.set(at.add(1));
    });
  }
}
