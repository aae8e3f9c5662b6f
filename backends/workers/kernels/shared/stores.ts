import type { AtomicCombination } from '../../../../primitives/contract/backend.ts';
import { type Node, sharedShift } from '../../../analyses/straight-line.ts';
import { emitMinimum, emitStoreScalar, type StoreTarget } from '../../commands/kernel-arguments.ts';
import type { LaneCode } from '../../wasm/emit-lanes.ts';
import type { VectorCode } from '../../wasm/emit-simd.ts';
import { storedNodes } from '../../wasm/program-graph.ts';
import { emitExtract } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { atomic, I32, op, simd } from '../../wasm/wasm-encoder.ts';

/** Stores the results of one index from locals. */
export function emitStores(
  code: Code,
  stores: readonly StoreTarget[],
  index: number,
  results: readonly number[],
): void {
  for (const store of stores) {
    const at = store.index === undefined ? index : results[store.index]!;
    code.get(at);
    code.get(store.capacity);
    code.op(op.i32LtU);
    if (store.guard !== undefined) {
      code.get(results[store.guard]!);
      code.op(op.i32And);
    }
    code.when(() => {
      pushElement(code, store, at);
      if (store.combine === undefined) emitStoreScalar(code, store.type, results[store.value]!);
      else emitAtomic(code, store.combine, () => code.get(results[store.value]!));
    });
  }
}

const atomics: Partial<Record<AtomicCombination, number>> = {
  add: atomic.i32Add,
  and: atomic.i32And,
  or: atomic.i32Or,
  xor: atomic.i32Xor,
};

/** Combines a u32 with the word at the address on the stack. */
function emitAtomic(code: Code, name: AtomicCombination, value: () => void): void {
  const instruction = atomics[name];
  if (instruction === undefined) {
    emitAtomicExtremum(code, name === 'min' ? op.i32LtU : op.i32GtU, value);
    return;
  }
  value();
  code.atomic(instruction);
  code.op(op.drop);
}

/** WebAssembly has no atomic minimum or maximum: exchanges the word while the value is beyond the one in memory. */
function emitAtomicExtremum(code: Code, beyond: number, value: () => void): void {
  const address = code.local(I32);
  const seen = code.local(I32);
  const found = code.local(I32);
  code.tee(address);
  code.atomic(atomic.i32Load);
  code.set(found);
  const done = code.block();
  const again = code.loop();
  code.get(found);
  code.set(seen);
  value();
  code.get(seen);
  code.op(beyond, op.i32Eqz);
  code.brIf(done);
  code.get(address);
  code.get(seen);
  value();
  code.atomic(atomic.i32CompareExchange);
  code.tee(found);
  code.get(seen);
  code.op(op.i32Ne);
  code.brIf(again);
  code.end();
  code.end();
  for (const local of [address, seen, found]) code.release(local);
}

function pushElement(code: Code, { address }: StoreTarget, index: number): void {
  code.get(address);
  code.get(index);
  code.i32(2);
  code.op(op.i32Shl, op.i32Add);
}

/** Narrows a range of indices to the room of the stores at the launch index. */
export function narrowToStores(code: Code, stores: readonly StoreTarget[], to: number): void {
  for (const store of stores) if (store.index === undefined) emitMinimum(code, to, () => code.get(store.capacity));
}

/**
 * A store of flags as bits. The word of a flag is the launch index divided by 32, and all flags of a round belong to
 * the same word.
 */
interface BitStore {
  readonly store: StoreTarget;
  readonly flag: Node;
  /** Local of the bits of the round so far, starting at its first index. */
  readonly bits: number;
}

/** The stores that set the bits of their rows in words that each belong to a single chunk. */
export function bitStoresOf(code: Code, stores: readonly StoreTarget[], results: readonly Node[]): readonly BitStore[] {
  return stores.flatMap((store) => {
    const { combine, guard, index, value } = store;
    if (combine !== 'or' || guard === undefined || index === undefined) return [];
    const bits = results[value]!;
    const isBit = bits.kind === 'rowBits' && bits.of.kind === 'literal' && bits.of.value === 1;
    if (!isBit || sharedShift(results[index]!) !== 5) return [];
    return [{ store, flag: results[guard]!, bits: code.local(I32) }];
  });
}

/** Collects the flags of the four indices starting at `index + offset`. */
export function emitBits(code: Code, lanes: VectorCode, stores: readonly BitStore[], offset: number): void {
  for (const { flag, bits } of stores) {
    lanes.push(flag);
    code.simd(simd.i32x4Bitmask);
    if (offset > 0) {
      code.i32(offset);
      code.op(op.i32Shl);
      code.get(bits);
      code.op(op.i32Or);
    }
    code.set(bits);
  }
}

/**
 * Sets the bits of the round that starts at the index. Chunks have whole words, so no other thread writes them at the
 * same time.
 */
export function emitBitWords(code: Code, stores: readonly BitStore[], index: number): void {
  const word = code.local(I32);
  const address = code.local(I32);
  for (const { store, bits } of stores) {
    code.get(index);
    code.i32(5);
    code.op(op.i32ShrU);
    code.tee(word);
    code.get(store.capacity);
    code.op(op.i32LtU);
    code.when(() => {
      pushElement(code, store, word);
      code.tee(address);
      code.get(address);
      code.memory(op.i32Load);
      code.get(bits);
      code.get(index);
      code.op(op.i32Shl, op.i32Or);
      code.memory(op.i32Store);
    });
  }
  code.release(word);
  code.release(address);
}

/** Stores the results of the four indices starting at `index + offset`. */
export function emitVectorStores(
  code: Code,
  lanes: VectorCode,
  stores: readonly StoreTarget[],
  index: number,
  offset: number,
  results: readonly Node[],
  launchIndex: Node,
): void {
  for (const store of stores) {
    if (store.index === undefined && store.combine === undefined)
      storeInPlace(code, lanes, store, index, offset, results);
    else storeLaneByLane(code, lanes, store, store.index === undefined ? launchIndex : results[store.index]!, results);
  }
}

/** Stores the results of index `index + offset`; stores at the launch index must have room. */
export function emitLaneStores(
  code: Code,
  lanes: LaneCode,
  stores: readonly StoreTarget[],
  index: number,
  offset: number,
  results: readonly Node[],
  launchIndex: Node,
): void {
  // Computed before any branch, so that all stores can use them.
  for (const node of storedNodes(stores, results)) if (node.kind !== 'literal') lanes.local(node);
  for (const store of stores) {
    const conditions: (() => void)[] = [];
    if (store.guard !== undefined) conditions.push(() => lanes.push(results[store.guard!]!));
    const inPlace = store.index === undefined && store.combine === undefined;
    const at = inPlace ? index : code.local(I32);
    if (!inPlace) {
      lanes.push(store.index === undefined ? launchIndex : results[store.index]!);
      code.set(at);
      conditions.push(() => {
        code.get(at);
        code.get(store.capacity);
        code.op(op.i32LtU);
      });
    }
    const pushValue = (): void => lanes.push(results[store.value]!);
    const put = (): void => {
      pushElement(code, store, at);
      if (store.combine !== undefined) {
        emitAtomic(code, store.combine, pushValue);
      } else {
        pushValue();
        code.memory(store.type === 'f32' ? op.f32Store : op.i32Store, inPlace ? 4 * offset : 0);
      }
    };
    conditions.forEach((push, k) => {
      push();
      if (k > 0) code.op(op.i32And);
    });
    if (conditions.length > 0) code.when(put);
    else put();
    if (!inPlace) code.release(at);
  }
}

function storeInPlace(
  code: Code,
  lanes: VectorCode,
  store: StoreTarget,
  index: number,
  offset: number,
  results: readonly Node[],
): void {
  pushElement(code, store, index);
  pushWords(code, lanes, results[store.value]!);
  if (store.guard !== undefined) {
    pushElement(code, store, index);
    code.simdMemory(simd.load, 4 * offset);
    lanes.push(results[store.guard]!);
    code.simd(simd.bitselect);
  }
  code.simdMemory(simd.store, 4 * offset);
}

function storeLaneByLane(code: Code, lanes: VectorCode, store: StoreTarget, at: Node, results: readonly Node[]): void {
  const value = lanes.local(results[store.value]!);
  const indices = lanes.local(at);
  const guard = store.guard === undefined ? undefined : lanes.local(results[store.guard]!);
  const element = code.local(I32);
  for (const lane of [0, 1, 2, 3]) {
    code.get(indices);
    code.simd(simd.i32x4Extract, lane);
    code.tee(element);
    code.get(store.capacity);
    code.op(op.i32LtU);
    if (guard !== undefined) {
      code.get(guard);
      emitExtract(code, 'bool', lane);
      code.op(op.i32And);
    }
    code.when(() => {
      const word = (): void => {
        code.get(value);
        emitExtract(code, store.type === 'bool' ? 'bool' : 'u32', lane);
      };
      pushElement(code, store, element);
      if (store.combine !== undefined) return emitAtomic(code, store.combine, word);
      word();
      code.memory(op.i32Store);
    });
  }
  code.release(element);
}

/** Pushes lanes in the form they have in memory: bools as 0 and 1. */
export function pushWords(code: Code, lanes: VectorCode, node: Node): void {
  lanes.push(node);
  if (node.type !== 'bool') return;
  code.v128([1, 1, 1, 1]);
  code.simd(simd.and);
}
