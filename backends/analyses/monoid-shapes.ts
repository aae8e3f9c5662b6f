import type { MonoidProgram } from '../../primitives/contract/backend.ts';
import { entryOf, type Module, type OperationName } from '../../primitives/ir/ir.ts';
import { memoized } from '../../primitives/ir/memo.ts';
import { Graph, type Node, noSlots, straightLine } from './straight-line.ts';

/** What a monoid does with two operands; no results where that is no straight line. */
export interface CombineGraph {
  readonly left: readonly Node[];
  readonly right: readonly Node[];
  readonly results: readonly Node[] | undefined;
}

const graphOf = memoized((module: Module): CombineGraph => {
  const graph = new Graph();
  const { parameters } = entryOf(module);
  const leaves = parameters.map(({ type }, i) => graph.parameter(type, `operand${i}`));
  const [left, right] = [leaves.slice(0, leaves.length / 2), leaves.slice(leaves.length / 2)];
  return { left, right, results: straightLine(graph, module, noSlots, leaves) };
});

export function combineGraph({ module }: MonoidProgram): CombineGraph {
  return graphOf(module);
}

const commutative: ReadonlySet<OperationName> = new Set(['add', 'mul', 'min', 'max', 'and', 'or', 'xor']);

/** Whether a monoid's operands may be combined in any order: as it says, or as can be seen of it. */
export function combinesInAnyOrder(monoid: MonoidProgram): boolean {
  return monoid.exact && (monoid.commutative || leafOperations(monoid) !== undefined);
}

/** The operation on every leaf, where the monoid is nothing but commutative operations on one leaf each. */
export function leafOperations(monoid: MonoidProgram): readonly OperationName[] | undefined {
  const { left, right, results } = combineGraph(monoid);
  const names = results?.map((node, leaf) => leafOperation(node, left[leaf]!, right[leaf]!));
  return names?.every((name) => name !== undefined) ? names : undefined;
}

/** The commutative operation that a node is on two others. */
function leafOperation(node: Node, left: Node, right: Node): OperationName | undefined {
  if (node.kind !== 'operation' || !commutative.has(node.name)) return undefined;
  const [a, b] = node.operands;
  return (a === left && b === right) || (a === right && b === left) ? node.name : undefined;
}

/** Whether a scan adds up flags: a program whose result is a truth value as a number, under addition. */
export function addsFlags(program: Module, monoid: MonoidProgram): boolean {
  const { types, identity } = monoid;
  if (types.length > 1 || types[0] !== 'u32' || identity[0] !== 0) return false;
  return leafOperations(monoid)?.[0] === 'add' && isFlagged(program);
}

/** Whether the result of a program is a truth value as a number. */
function isFlagged(module: Module): boolean {
  const { body } = entryOf(module);
  const end = body.at(-1);
  const [value] = end?.kind === 'return' ? end.values : [];
  if (value?.kind !== 'local') return false;
  const made = body.find((statement) => statement.kind === 'let' && statement.local.id === value.id);
  if (made?.kind !== 'let' || made.operation.name !== 'convert') return false;
  return value.type === 'u32' && made.operation.operands[0]?.type === 'bool';
}
