import type { AtomicCombination } from '../../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { type Node, sharedShift } from '../../../analyses/straight-line.ts';
import type { StoreTarget } from '../../commands/kernel-arguments.ts';
import type { LaneCode } from '../../wasm/emit-lanes.ts';
import type { VectorCode } from '../../wasm/emit-simd.ts';
import { storedNodes } from '../../wasm/program-graph.ts';
import { wordsOf } from '../../wasm/vector-operations.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { atomic, I32 } from '../../wasm/wasm-encoder.ts';
import { atomicLoad, atomicResult, type Int32, load, loadVector, type Vector } from '../../wasm/wasm-expressions.ts';
import { asInt32, type Int32Local, type ScalarLocal } from '../../wasm/wasm-locals.ts';
import { block, brIf, doWhile, drop, lower, store, when } from '../../wasm/wasm-statements.ts';

/** Stores the results for one index. The results are in locals. */
export function emitStores(
  code: Code,
  stores: readonly StoreTarget[],
  index: Int32,
  results: readonly ScalarLocal[],
): void {
  for (const target of stores) {
    const { capacity, guard, combine, value } = target;
    const at = target.index === undefined ? index : asInt32(results[target.index]!);
    const isInside = at.ltU(capacity);
    when(code, guard === undefined ? isInside : isInside.and(asInt32(results[guard]!)), () => {
      const address = elementAt(target, at);
      if (combine === undefined) store(code, address, results[value]!);
      else emitAtomic(code, combine, address, asInt32(results[value]!));
    });
  }
}

const atomics: Partial<Record<AtomicCombination, number>> = {
  add: atomic.i32Add,
  and: atomic.i32And,
  or: atomic.i32Or,
  xor: atomic.i32Xor,
};

/** Atomically combines a u32 with the word at an address. */
function emitAtomic(code: Code, name: AtomicCombination, address: Int32, value: Int32): void {
  const instruction = atomics[name];
  if (instruction === undefined) emitAtomicExtremum(code, name as 'min' | 'max', address, value);
  else drop(code, atomicResult(instruction, address, value));
}

/**
 * Atomic minimum or maximum, which WebAssembly lacks. Repeats a compare-exchange until the value is stored, or until
 * the word in memory is at most (for a minimum) or at least (for a maximum) the value.
 */
function emitAtomicExtremum(code: Code, name: 'min' | 'max', address: Int32, value: Int32): void {
  const at = code.local(I32);
  const seen = code.local(I32);
  const found = code.local(I32);
  found.set(atomicLoad(at.tee(address)));
  block(code, (done) => {
    const exchange = (): void => {
      seen.set(found);
      const isBeyond = name === 'min' ? value.ltU(seen) : value.gtU(seen);
      brIf(code, done, isBeyond.isZero());
    };
    doWhile(code, exchange, found.tee(atomicResult(atomic.i32CompareExchange, at, seen, value)).ne(seen));
  });
  for (const local of [at, seen, found]) code.release(local);
}

function elementAt({ address }: StoreTarget, index: Int32): Int32 {
  return address.add(index.shl(2));
}

/**
 * Lowers `to`, the end of a range of indices, so that plain stores are in bounds. A plain store writes the value of
 * index i to word i.
 */
export function narrowToStores(code: Code, stores: readonly StoreTarget[], to: Int32Local): void {
  for (const { index, capacity } of stores) if (index === undefined) lower(code, to, capacity);
}

/**
 * A store that sets one bit per index. The bit of index i is in word ⌊i ÷ 32⌋. All bits of a round are in the same
 * word.
 */
interface BitStore {
  readonly store: StoreTarget;
  readonly flag: Node;
  /** The bits collected in the current round. Bit 0 belongs to the first index of the round. */
  readonly bits: Int32Local;
}

/**
 * Finds the stores that set one bit per index. Chunks are multiples of 32 indices, so each word belongs to one chunk.
 */
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

/** Collects the bits of the four indices from `index + offset` on. */
export function emitBits(lanes: VectorCode, stores: readonly BitStore[], offset: number): void {
  for (const { flag, bits } of stores) {
    const flags = lanes.value(flag).bitmask();
    bits.set(offset > 0 ? flags.shl(offset).or(bits) : flags);
  }
}

/**
 * Stores the bits of the round that starts at `index`. Each word belongs to one chunk, so no other thread writes the
 * word at the same time.
 */
export function emitBitWords(code: Code, stores: readonly BitStore[], index: Int32): void {
  const word = code.local(I32);
  const address = code.local(I32);
  for (const { store: target, bits } of stores) {
    when(code, word.tee(index.shrU(5)).ltU(target.capacity), () =>
      store(code, address.tee(elementAt(target, word)), load(address).or(bits.shl(index))),
    );
  }
  code.release(word);
  code.release(address);
}

/** Stores the results for the four indices from `index + offset` on. */
export function emitVectorStores(
  code: Code,
  lanes: VectorCode,
  stores: readonly StoreTarget[],
  index: Int32,
  offset: number,
  results: readonly Node[],
  launchIndex: Node,
): void {
  for (const target of stores) {
    if (target.index === undefined && target.combine === undefined)
      storeInPlace(code, lanes, target, index, offset, results);
    else
      storeLaneByLane(code, lanes, target, target.index === undefined ? launchIndex : results[target.index]!, results);
  }
}

/** Stores the results for `index + offset`. For plain stores, the caller must make sure that the index is in bounds. */
export function emitLaneStores(
  code: Code,
  lanes: LaneCode,
  stores: readonly StoreTarget[],
  index: Int32Local,
  offset: number,
  results: readonly Node[],
  launchIndex: Node,
): void {
  // All values are computed before the first branch, so that every store can use them.
  for (const node of storedNodes(stores, results)) if (node.kind !== 'literal') lanes.local(node);
  for (const target of stores) {
    emitLaneStore(code, lanes, target, index, offset, results, launchIndex);
  }
}

function emitLaneStore(
  code: Code,
  lanes: LaneCode,
  target: StoreTarget,
  index: Int32,
  offset: number,
  results: readonly Node[],
  launchIndex: Node,
): void {
  const { capacity, guard, combine } = target;
  const isInPlace = target.index === undefined && combine === undefined;
  const at = isInPlace ? undefined : code.local(I32);
  at?.set(lanes.value(target.index === undefined ? launchIndex : results[target.index]!));
  const value = results[target.value]!;
  const put = (): void => {
    const address = elementAt(target, at ?? index);
    if (combine !== undefined) emitAtomic(code, combine, address, lanes.value(value));
    else store(code, address, lanes.scalar(value), isInPlace ? 4 * offset : 0);
  };
  const conditions = [
    ...(guard === undefined ? [] : [lanes.value(results[guard]!)]),
    ...(at === undefined ? [] : [at.ltU(capacity)]),
  ];
  if (conditions.length === 0) put();
  else
    when(
      code,
      conditions.reduce((all, one) => all.and(one)),
      put,
    );
  if (at !== undefined) code.release(at);
}

function storeInPlace(
  code: Code,
  lanes: VectorCode,
  target: StoreTarget,
  index: Int32,
  offset: number,
  results: readonly Node[],
): void {
  const address = elementAt(target, index);
  const words = storedWords(lanes, results[target.value]!);
  const isGuarded = target.guard !== undefined;
  const stored = isGuarded
    ? words.bitselect(loadVector(address, 4 * offset), lanes.value(results[target.guard]!))
    : words;
  store(code, address, stored, 4 * offset);
}

function storeLaneByLane(code: Code, lanes: VectorCode, target: StoreTarget, at: Node, results: readonly Node[]): void {
  const { type, capacity, combine } = target;
  const value = lanes.local(results[target.value]!);
  const indices = lanes.local(at);
  const guard = target.guard === undefined ? undefined : lanes.local(results[target.guard]!);
  const element = code.local(I32);
  for (const lane of [0, 1, 2, 3]) {
    const isInside = element.tee(indices.extract(lane)).ltU(capacity);
    when(code, guard === undefined ? isInside : isInside.and(guard.extract(lane).and(1)), () => {
      const address = elementAt(target, element);
      const word = wordOf(type, value, lane);
      if (combine === undefined) store(code, address, word);
      else emitAtomic(code, combine, address, word);
    });
  }
  code.release(element);
}

/** One lane as a word to store. A bool becomes 0 or 1. */
export function wordOf(type: ScalarType, lanes: Vector, lane: number): Int32 {
  return type === 'bool' ? lanes.extract(lane).and(1) : lanes.extract(lane);
}

/** The lanes of a node as words to store. Bools become 0 or 1. */
export function storedWords(lanes: VectorCode, node: Node): Vector {
  return wordsOf(node.type, lanes.value(node));
}
