import type { ScanForm } from '../../../../primitives/contract/backend.ts';
import type { Node } from '../../../analyses/straight-line.ts';
import { emitMinimum, type StoreTarget } from '../../commands/kernel-arguments.ts';
import { fixed } from '../../threads/queue.ts';
import type { VectorCode } from '../../wasm/emit-simd.ts';
import type { VectorPart } from '../../wasm/index-loop.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
import { pushWords } from '../shared/stores.ts';
import { flagOf, type ScanNodes, type ScanSources } from './scan-nodes.ts';

type CompactForm = Extract<ScanForm, { readonly kind: 'compact' }>;

/**
 * Compaction: a sum of flags that says where the flagged elements go (copyIf, unique, partition). Four elements are moved
 * to the front of a vector by a permutation from a table and stored at once.
 */
interface Compaction {
  /** The flag that the scan adds up. */
  readonly flag: Node;
  /** Stores of the flagged elements, and of the others. */
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

/** Where elements of one kind go in a round. */
interface CompactionTarget {
  readonly stores: readonly StoreTarget[];
  readonly values: readonly number[];
  /** Pushes the place of the first one. */
  readonly place: () => void;
  /** Local of the end of what this tile may write. */
  readonly limit: number;
  /** Pushes the mask of the lanes. */
  readonly mask: () => void;
}

/**
 * The vectors of a compaction. Whole vectors are stored, with garbage behind the wanted lanes, which the tile's later
 * elements overwrite: so only as long as four more elements of the kind follow in the tile, and one by one after that.
 */
export function compactionPart(
  code: Code,
  lanes: VectorCode,
  { index, to, state, end }: ScanSources,
  { results }: ScanNodes,
  { flag, selected, rejected }: Compaction,
): VectorPart {
  const place = state[0]!;
  const mask = code.local(I32);
  const selectedEnd = code.local(I32);
  const rejectedEnd = code.local(I32);
  const pushRejectedPlace = (): void => {
    code.get(index);
    code.get(place);
    code.op(op.i32Sub);
  };
  return {
    step: 4,
    narrow: (from, last) => lanes.narrow(from, last),
    enter: () => {
      code.get(end[0]!);
      code.set(selectedEnd);
      code.get(to);
      code.get(end[0]!);
      code.op(op.i32Sub);
      code.set(rejectedEnd);
      for (const store of selected) emitMinimum(code, selectedEnd, () => code.get(store.capacity));
      for (const store of rejected) emitMinimum(code, rejectedEnd, () => code.get(store.capacity));
    },
    round: () => {
      lanes.begin(0);
      lanes.push(flag);
      code.simd(simd.i32x4Bitmask);
      code.set(mask);
      const words = wordsOf(code, lanes, [...selected, ...rejected], results);
      const valuesOf = (stores: readonly StoreTarget[]): number[] => stores.map(({ value }) => words.get(value)!);
      const sides: CompactionTarget[] = [
        {
          stores: selected,
          values: valuesOf(selected),
          place: () => code.get(place),
          limit: selectedEnd,
          mask: () => code.get(mask),
        },
        {
          stores: rejected,
          values: valuesOf(rejected),
          place: pushRejectedPlace,
          limit: rejectedEnd,
          mask: () => {
            code.get(mask);
            code.i32(15);
            code.op(op.i32Xor);
          },
        },
      ].filter(({ stores }) => stores.length > 0);
      for (const side of sides) emitSide(code, side);
      code.get(place);
      code.get(mask);
      code.op(op.i32Popcnt, op.i32Add);
      code.set(place);
      for (const local of words.values()) code.release(local);
    },
  };
}

/** The lanes of every stored result, as words, in locals. */
function wordsOf(
  code: Code,
  lanes: VectorCode,
  stores: readonly StoreTarget[],
  results: readonly Node[],
): Map<number, number> {
  const words = new Map<number, number>();
  for (const { value } of stores) {
    if (words.has(value)) continue;
    const local = code.local(V128);
    pushWords(code, lanes, results[value]!);
    code.set(local);
    words.set(value, local);
  }
  return words;
}

function emitSide(code: Code, side: CompactionTarget): void {
  const at = code.local(I32);
  side.place();
  code.tee(at);
  code.i32(4);
  code.op(op.i32Add);
  code.get(side.limit);
  code.op(op.i32LeU);
  code.when(
    () => emitWholeVectors(code, side, at),
    () => emitOneByOne(code, side, at),
  );
  code.release(at);
}

function emitWholeVectors(code: Code, { stores, values, mask }: CompactionTarget, at: number): void {
  const permutation = code.local(V128);
  mask();
  code.i32(4);
  code.op(op.i32Shl);
  code.simdMemory(simd.load, fixed.compaction);
  code.set(permutation);
  stores.forEach(({ address }, i) => {
    pushWord(code, address, at);
    code.get(values[i]!);
    code.get(permutation);
    code.simd(simd.swizzle);
    code.simdMemory(simd.store);
  });
  code.release(permutation);
}

function emitOneByOne(code: Code, { stores, values, mask }: CompactionTarget, at: number): void {
  for (const lane of [0, 1, 2, 3]) {
    mask();
    code.i32(1 << lane);
    code.op(op.i32And);
    code.when(() => {
      stores.forEach(({ address, capacity }, i) => {
        code.get(at);
        code.get(capacity);
        code.op(op.i32LtU);
        code.when(() => {
          pushWord(code, address, at);
          code.get(values[i]!);
          code.simd(simd.i32x4Extract, lane);
          code.memory(op.i32Store);
        });
      });
      code.get(at);
      code.i32(1);
      code.op(op.i32Add);
      code.set(at);
    });
  }
}

function pushWord(code: Code, address: number, index: number): void {
  code.get(address);
  code.get(index);
  code.i32(2);
  code.op(op.i32Shl, op.i32Add);
}
