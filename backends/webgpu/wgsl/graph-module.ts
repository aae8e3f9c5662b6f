import type { Local, Module, Operand, ScalarType, Statement } from '../../../primitives/ir/ir.ts';
import type { Node, Slots } from '../../analyses/straight-line.ts';

/** The names of a graph's arrays and uniforms, by slot number. */
export interface SlotNames {
  array(slot: number): string;
  uniform(slot: number): string;
}

/**
 * Converts part of a graph to a module with one function. The function computes the nodes `results` from the nodes
 * `parameters` and evaluates each node only once.
 */
export function moduleOfNodes(
  name: string,
  parameters: readonly Node[],
  results: readonly Node[],
  names: SlotNames,
): Module {
  const locals = new Map<Node, Local>();
  const localOf = (node: Node): Local => {
    const local: Local = { kind: 'local', type: node.type, id: locals.size };
    locals.set(node, local);
    return local;
  };
  const declared = parameters.map(localOf);
  const uniforms = new Map<string, ScalarType>();
  const arrays = new Map<string, ScalarType>();
  const operandOf = (node: Node): Operand => {
    const { type } = node;
    if (node.kind === 'literal') return { kind: 'literal', type, value: node.value };
    if (node.kind !== 'uniform') return locals.get(node)!;
    uniforms.set(names.uniform(node.slot), type);
    return { kind: 'uniform', type, name: names.uniform(node.slot) };
  };
  const arrayOf = (slot: number, type: ScalarType): string => {
    arrays.set(names.array(slot), type);
    return names.array(slot);
  };
  const statementOf = (node: Node): Statement[] => {
    switch (node.kind) {
      case 'operation': {
        const operands = node.operands.map(operandOf);
        return [{ kind: 'let', local: localOf(node), operation: { name: node.name, operands } }];
      }
      case 'read':
      case 'gather': {
        const index = operandOf(node.index);
        return [{ kind: 'read', local: localOf(node), array: arrayOf(node.slot, node.type), index }];
      }
      default:
        return [];
    }
  };
  const needed = neededFor(results, new Set(parameters));
  const body = needed.flatMap(statementOf);
  body.push({ kind: 'return', values: results.map(operandOf) });
  const fn = { name, parameters: declared, results: results.map(({ type }) => type), body, fast: false };
  return { functions: [fn], arrays, uniforms };
}

/**
 * The nodes `nodes` and all nodes from which they are computed, operands first. Nodes in `given` are left out, and so
 * are nodes that only nodes in `given` need.
 */
export function neededFor(nodes: readonly Node[], given: ReadonlySet<Node>): Node[] {
  const found = new Set<Node>();
  const visit = (node: Node): void => {
    if (found.has(node) || given.has(node)) return;
    found.add(node);
    if (node.kind === 'operation') node.operands.forEach(visit);
    else if (node.kind === 'read' || node.kind === 'gather') visit(node.index);
  };
  nodes.forEach(visit);
  return [...found].sort((a, b) => a.id - b.id);
}

const NOT_STRAIGHT: ReadonlySet<Statement['kind']> = new Set(['if', 'loop', 'length', 'localArray']);

/**
 * Whether a module executes the same operations at every index. If some operations are executed only at some indices,
 * they may be invalid at other indices and must not be moved.
 */
export function isStraight({ functions }: Module): boolean {
  return functions.every(({ body, fast }) => !fast && body.every(({ kind }) => !NOT_STRAIGHT.has(kind)));
}

/** Assigns slot numbers to arrays and uniforms at their first use. `names` maps the slots back to names. */
export function slotsByName(): { readonly slots: Slots; readonly names: SlotNames } {
  const arrays: string[] = [];
  const uniforms: string[] = [];
  const slotIn = (known: string[], name: string): number =>
    known.includes(name) ? known.indexOf(name) : known.push(name) - 1;
  return {
    slots: { array: (name) => slotIn(arrays, name), uniform: (name) => slotIn(uniforms, name) },
    names: { array: (slot) => arrays[slot]!, uniform: (slot) => uniforms[slot]! },
  };
}
