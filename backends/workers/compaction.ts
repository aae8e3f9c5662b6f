import type { OperationName } from '../../primitives/functors/ir.ts';
import { type Node, truthOf } from '../straight-line.ts';
import type { VectorCode } from './emit-simd.ts';
import type { VectorPart } from './index-loop.ts';
import { emitMinimum, type StoreTarget } from './kernel-arguments.ts';
import { fixed } from './queue.ts';
import type { ScanNodes, ScanSources } from './scan-nodes.ts';
import { pushWords } from './stores.ts';
import type { Code } from './wasm-code.ts';
import { I32, op, simd, V128 } from './wasm-encoder.ts';

/**
 * Compaction: a sum of flags whose only use is to say where the flagged elements go (copyIf, unique, partition). Four
 * elements are moved to the front of a vector by a permutation out of a table and stored at once.
 */
export interface Compactions {
  /** The flag that the scan adds up. */
  readonly flag: Node;
  /** Stores of the flagged elements, and of the others. */
  readonly chosen: readonly StoreTarget[];
  readonly others: readonly StoreTarget[];
}

/** The scan as a compaction; undefined where it is something else. */
export function compactionsOf(
  { inputs: { stores } }: ScanSources,
  nodes: ScanNodes,
  operations: readonly OperationName[] | undefined,
): Compactions | undefined {
  const [element, ...more] = nodes.elements;
  const flag = truthOf(element!);
  if (more.length > 0 || element!.type !== 'u32' || operations?.[0] !== 'add' || flag === undefined) return undefined;
  const chosen = stores.filter((store) => storesFlagged(store, nodes, flag));
  const others = stores.filter((store) => storesUnflagged(store, nodes, flag));
  return stores.length > 0 && chosen.length + others.length === stores.length ? { flag, chosen, others } : undefined;
}

/** Whether a store puts the flagged elements, and no others, at their number among the flagged. */
function storesFlagged({ index, guard, combine }: StoreTarget, nodes: ScanNodes, flag: Node): boolean {
  if (index === undefined || guard === undefined || combine !== undefined) return false;
  return nodes.results[index] === nodes.exclusive[0] && isFlag(nodes.results[guard]!, nodes, flag);
}

/** Whether a store puts the elements without a flag at their number among those. */
function storesUnflagged({ index, guard, combine }: StoreTarget, nodes: ScanNodes, flag: Node): boolean {
  if (index === undefined || guard === undefined || combine !== undefined) return false;
  const condition = nodes.results[guard]!;
  const place = nodes.graph.operation('sub', 'u32', [nodes.graph.index(), nodes.exclusive[0]!]);
  return nodes.results[index] === place && isNoFlag(condition, nodes, flag);
}

function isFlag(node: Node, nodes: ScanNodes, flag: Node): boolean {
  return (
    node === flag || comparesPrefixes(node, 'ne', nodes) || (isNot(node) && isNoFlag(node.operands[0]!, nodes, flag))
  );
}

function isNoFlag(node: Node, nodes: ScanNodes, flag: Node): boolean {
  return comparesPrefixes(node, 'eq', nodes) || (isNot(node) && isFlag(node.operands[0]!, nodes, flag));
}

function isNot(node: Node): node is Node & { kind: 'operation' } {
  return node.kind === 'operation' && node.name === 'not';
}

/** The prefixes before and with an element differ exactly where its flag is set. */
function comparesPrefixes(node: Node, name: OperationName, { exclusive, inclusive }: ScanNodes): boolean {
  if (node.kind !== 'operation' || node.name !== name) return false;
  const [a, b] = node.operands;
  return (a === exclusive[0] && b === inclusive[0]) || (a === inclusive[0] && b === exclusive[0]);
}

/** Where elements of one kind go in a round. */
interface Side {
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
 * The vectors of a compaction. Whole vectors are stored, with garbage behind the chosen lanes, which the tile's later
 * elements overwrite: so only as long as four more elements of the kind follow in the tile, and one by one after that.
 */
export function compactionPart(
  code: Code,
  lanes: VectorCode,
  { index, to, state, end }: ScanSources,
  { results }: ScanNodes,
  { flag, chosen, others }: Compactions,
): VectorPart {
  const place = state[0]!;
  const mask = code.local(I32);
  const chosenEnd = code.local(I32);
  const othersEnd = code.local(I32);
  const pushOthersPlace = (): void => {
    code.get(index);
    code.get(place);
    code.op(op.i32Sub);
  };
  return {
    step: 4,
    narrow: (from, last) => lanes.narrow(from, last),
    enter: () => {
      code.get(end[0]!);
      code.set(chosenEnd);
      code.get(to);
      code.get(end[0]!);
      code.op(op.i32Sub);
      code.set(othersEnd);
      for (const store of chosen) emitMinimum(code, chosenEnd, () => code.get(store.capacity));
      for (const store of others) emitMinimum(code, othersEnd, () => code.get(store.capacity));
    },
    round: () => {
      lanes.begin(0);
      lanes.push(flag);
      code.simd(simd.i32x4Bitmask);
      code.set(mask);
      const words = wordsOf(code, lanes, [...chosen, ...others], results);
      const valuesOf = (stores: readonly StoreTarget[]): number[] => stores.map(({ value }) => words.get(value)!);
      const sides: Side[] = [
        {
          stores: chosen,
          values: valuesOf(chosen),
          place: () => code.get(place),
          limit: chosenEnd,
          mask: () => code.get(mask),
        },
        {
          stores: others,
          values: valuesOf(others),
          place: pushOthersPlace,
          limit: othersEnd,
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

function emitSide(code: Code, side: Side): void {
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

function emitWholeVectors(code: Code, { stores, values, mask }: Side, at: number): void {
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

function emitOneByOne(code: Code, { stores, values, mask }: Side, at: number): void {
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
