import type { MonoidProgram } from '../primitives/backend.ts';
import { entryOf, type Module, type OperationName } from '../primitives/functors/ir.ts';
import { Graph, type Node, noSlots, straightLine } from './straight-line.ts';

/** What a monoid does with two operands; no results where that is no straight line. */
export interface CombineGraph {
  readonly left: readonly Node[];
  readonly right: readonly Node[];
  readonly results: readonly Node[] | undefined;
}

const known = new WeakMap<Module, CombineGraph>();

export function combineGraph({ module, types }: MonoidProgram): CombineGraph {
  const made = known.get(module);
  if (made !== undefined) return made;
  const graph = new Graph();
  const left = types.map((type, leaf) => graph.parameter(type, `left${leaf}`));
  const right = types.map((type, leaf) => graph.parameter(type, `right${leaf}`));
  const combined = { left, right, results: straightLine(graph, module, noSlots, [...left, ...right]) };
  known.set(module, combined);
  return combined;
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
export function leafOperation(node: Node, left: Node, right: Node): OperationName | undefined {
  if (node.kind !== 'operation' || !commutative.has(node.name)) return undefined;
  const [a, b] = node.operands;
  return (a === left && b === right) || (a === right && b === left) ? node.name : undefined;
}

/**
 * What the leaves after the first are combined to, of a monoid that counts heads in its first leaf, from zero, and starts
 * all others anew where the right side has one: each is a selection of that and of the right side.
 */
export function restarting(monoid: MonoidProgram): readonly Node[] | undefined {
  const { left, right, results } = combineGraph(monoid);
  if (results === undefined || !countsFromZero(monoid)) return undefined;
  const combined = results.slice(1).map((node, k) => {
    if (node.kind !== 'operation' || node.name !== 'select') return undefined;
    const [inner, fresh, condition] = node.operands;
    const starts = condition!.kind === 'operation' && condition!.name === 'ne' ? condition!.operands : [];
    const [count, zero] = starts;
    if (count !== right[0] || zero?.kind !== 'literal' || zero.value !== 0 || fresh !== right[k + 1]) return undefined;
    return leadsTo(inner!, new Set([left[0]!, right[0]!])) ? undefined : inner;
  });
  return combined.length > 0 && combined.every((node) => node !== undefined) ? combined : undefined;
}

/** Whether the first leaf is a sum of u32, from zero. */
function countsFromZero(monoid: MonoidProgram): boolean {
  const { left, right, results } = combineGraph(monoid);
  const { types, identity } = monoid;
  if (results === undefined || types[0] !== 'u32' || identity[0] !== 0) return false;
  return leafOperation(results[0]!, left[0]!, right[0]!) === 'add';
}

/**
 * Whether a node is made of one of some others. Every node is visited once: nodes share operands, so that there are
 * exponentially many paths between them.
 */
export function leadsTo(node: Node, targets: ReadonlySet<Node>): boolean {
  const seen = new Set([node]);
  // A set is iterated over what is added meanwhile, too.
  for (const each of seen) {
    if (targets.has(each)) return true;
    if (each.kind === 'operation') for (const operand of each.operands) seen.add(operand);
  }
  return false;
}

/** Whether a scan adds up flags: a program whose result is a truth value as a number, under addition. */
export function addsFlags(program: Module, monoid: MonoidProgram): boolean {
  return monoid.types.length === 1 && countsFromZero(monoid) && isFlagged(program);
}

/** Whether the first result of a program is a truth value as a number. */
export function isFlagged(module: Module): boolean {
  const { body } = entryOf(module);
  const end = body.at(-1);
  const [value] = end?.kind === 'return' ? end.values : [];
  if (value?.kind !== 'local') return false;
  const made = body.find((statement) => statement.kind === 'let' && statement.local.id === value.id);
  if (made?.kind !== 'let' || made.operation.name !== 'convert') return false;
  return value.type === 'u32' && made.operation.operands[0]?.type === 'bool';
}
