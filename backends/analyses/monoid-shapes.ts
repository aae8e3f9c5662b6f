import type { MonoidProgram } from '../../primitives/contract/backend.ts';
import { entryOf, type Module, type OperationName } from '../../primitives/ir/ir.ts';
import { memoized } from '../../primitives/ir/memo.ts';
import { Graph, type Node, noSlots, straightLine } from './straight-line.ts';

/** The operations of a monoid as a graph. `results` is undefined if the monoid is not straight-line code. */
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

/**
 * Whether a monoid's operands may be combined in any order. The monoid must be exact, and it must either be declared
 * commutative or have code that shows that it is commutative.
 */
export function combinesInAnyOrder(monoid: MonoidProgram): boolean {
  return monoid.exact && (monoid.commutative || leafOperations(monoid) !== undefined);
}

/**
 * The operation on each leaf (scalar component), if the monoid applies one commutative operation to each leaf; else
 * undefined.
 */
export function leafOperations(monoid: MonoidProgram): readonly OperationName[] | undefined {
  const { left, right, results } = combineGraph(monoid);
  const names = results?.map((node, leaf) => leafOperation(node, left[leaf]!, right[leaf]!));
  return names?.every((name) => name !== undefined) ? names : undefined;
}

/** The operation of a node, if it is a commutative operation on the nodes `left` and `right`; else undefined. */
function leafOperation(node: Node, left: Node, right: Node): OperationName | undefined {
  if (node.kind !== 'operation' || !commutative.has(node.name)) return undefined;
  const [a, b] = node.operands;
  return (a === left && b === right) || (a === right && b === left) ? node.name : undefined;
}

/** Whether a scan counts flags: `program` returns a bool converted to a number, and the monoid adds. */
export function addsFlags(program: Module, monoid: MonoidProgram): boolean {
  const { types, identity } = monoid;
  if (types.length > 1 || types[0] !== 'u32' || identity[0] !== 0) return false;
  return leafOperations(monoid)?.[0] === 'add' && isFlagged(program);
}

/** Whether the result of a program is a bool converted to a number. */
function isFlagged(module: Module): boolean {
  const { body } = entryOf(module);
  const end = body.at(-1);
  const [value] = end?.kind === 'return' ? end.values : [];
  if (value?.kind !== 'local') return false;
  const made = body.find((statement) => statement.kind === 'let' && statement.local.id === value.id);
  if (made?.kind !== 'let' || made.operation.name !== 'convert') return false;
  return value.type === 'u32' && made.operation.operands[0]?.type === 'bool';
}
