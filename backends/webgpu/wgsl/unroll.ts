import { evaluate } from '../../../primitives/ir/evaluate.ts';
import { entryOf, type Literal, type Module, type OperationName, type ScalarType } from '../../../primitives/ir/ir.ts';
import { Graph, type Node, type Rules, type Slots, straightLine } from '../../analyses/straight-line.ts';
import { isStraight, moduleOfNodes, neededFor, type SlotNames } from './graph-module.ts';

/**
 * The programs of a scan, unrolled for the `run` indices `first` … `first` + `run` − 1. Values that several indices
 * share are read and computed once. The code is valid only if `first` is at least `run` and `first` + `run` is below
 * the extent (number of indices).
 */
export interface Unrolled {
  /** The array elements that are read at fixed distances from `first`. All of them are inside their arrays. */
  readonly taps: readonly Tap[];
  /**
   * A module that returns the elements of the run (adjacent elements of one thread). Its results are all leaves (scalar
   * components) of the first element, then all leaves of the second element, and so on.
   */
  readonly element: RunFunction;
  /**
   * A module that returns the results of the emit program, index by index. The last parameters of the module are the
   * leaves (scalar components) of `run` + 1 states: the states before, between and after the elements.
   */
  readonly emit: RunFunction;
}

/** An element of an array, at index first + shift. */
export interface Tap {
  readonly slot: number;
  readonly shift: number;
  readonly type: ScalarType;
}

/**
 * A module of unrolled code. Its entry has these parameters: `first`, then the taps (array elements at fixed distances
 * from `first`) whose numbers are in `taps`, then the head flags of the elements whose numbers are in `heads`.
 */
export interface RunFunction {
  readonly module: Module;
  readonly taps: readonly number[];
  readonly heads: readonly number[];
}

/** A program to unroll, with the slot numbers of its captures (arrays and uniforms). */
export interface UnrolledProgram {
  readonly module: Module;
  readonly slots: Slots;
}

/** Names of arrays and uniforms, and facts about them, by slot number. */
export interface SlotFacts extends SlotNames {
  /** Whether an array has an element for every index of the extent (the indices of the scan). */
  covers(array: number): boolean;
  /** Whether the value of a uniform is at least the number of indices of the extent. */
  bounds(uniform: number): boolean;
}

/** Maximum number of parameters of a WGSL function. */
const MAX_PARAMETERS = 255;

/**
 * Unrolls the programs of a scan. Returns undefined if a program is not straight-line code or if the unrolled code has
 * too many parameters. With `heads`, the first leaf (scalar component) of an element is a head flag (the element starts
 * a segment), which `element` returns as a bool. The first leaf of a state is then the number of heads so far.
 */
export function unroll(
  program: UnrolledProgram,
  emit: UnrolledProgram,
  types: readonly ScalarType[],
  run: number,
  heads: boolean,
  facts: SlotFacts,
): Unrolled | undefined {
  if (!isStraight(program.module) || !isStraight(emit.module)) return undefined;
  const graph: Graph = new Graph('scalars', (...operation) => rules(...operation));
  const rules = rulesNearFirst(graph, run, facts);
  const indices = Array.from({ length: run }, (_, k) => indexAt(graph, k));
  const states = Array.from({ length: run + 1 }, (_, k) =>
    types.map((type, leaf) => graph.parameter(type, `state ${k}.${leaf}`)),
  );
  const elements = indices.map((index) => straightLine(graph, program.module, program.slots, [index]));
  const results = indices.map((index, k) =>
    straightLine(graph, emit.module, emit.slots, [index, ...states[k]!, ...states[k + 1]!]),
  );
  if (![...elements, ...results].every((nodes) => nodes !== undefined)) return undefined;
  const leaves = elements.map((nodes) => (heads ? [isSet(graph, nodes![0]!), ...nodes!.slice(1)] : nodes!));
  const read = leaves.flat();
  const emitted = results.flatMap((nodes) => nodes!);
  const tapped = new Map<Node, number>();
  const taps: Tap[] = [];
  for (const node of neededFor([...read, ...emitted], NOTHING)) {
    const tap = tapOf(node, run, facts);
    if (tap !== undefined) tapped.set(node, taps.push(tap) - 1);
  }
  const functionOf = (name: string, flags: readonly Node[], given: readonly Node[], nodes: readonly Node[]) => {
    const all = neededFor(nodes, NOTHING);
    const known = [...flags.keys()].filter((k) => all.includes(flags[k]!) && flags.indexOf(flags[k]!) === k);
    const needed = neededFor(nodes, new Set(known.map((k) => flags[k]!)));
    const used = needed.filter((node) => tapped.has(node));
    const parameters = [graph.index(), ...used, ...known.map((k) => flags[k]!), ...given];
    const module = moduleOfNodes(name, parameters, nodes, facts);
    return { module, taps: used.map((node) => tapped.get(node)!), heads: known };
  };
  const flags = heads ? leaves.map(([head]) => head!) : [];
  const isComputed = flags.every((node) => node.kind === 'operation');
  const unrolled = {
    taps,
    element: functionOf('elements', [], [], read),
    emit: functionOf('emit', isComputed ? flags : [], states.flat(), emitted),
  };
  const max = entryOf(unrolled.emit.module).parameters.length;
  return max <= MAX_PARAMETERS && taps.length < MAX_PARAMETERS ? unrolled : undefined;
}

const NOTHING: ReadonlySet<Node> = new Set();
function isSet(graph: Graph, flag: Node): Node {
  return graph.operation('ne', 'bool', [flag, graph.literal('u32', 0)]);
}

function tapOf(node: Node, run: number, { covers }: SlotFacts): Tap | undefined {
  if (node.kind !== 'read' && node.kind !== 'gather') return undefined;
  const shift = shiftOf(node.index);
  if (shift === undefined || Math.abs(shift) > run || !covers(node.slot)) return undefined;
  return { slot: node.slot, shift, type: node.type };
}

/** The node of the index first + shift, in the one form that the rules below recognise. */
function indexAt(graph: Graph, shift: number): Node {
  return shift === 0
    ? graph.index()
    : graph.operation('add', 'u32', [graph.index(), graph.literal('u32', shift >>> 0)]);
}

function shiftOf(node: Node): number | undefined {
  if (node.kind === 'index') return 0;
  if (node.kind !== 'operation' || node.name !== 'add') return undefined;
  const [first, shift] = node.operands;
  return first!.kind === 'index' && shift!.kind === 'literal' ? (shift!.value as number) | 0 : undefined;
}

/** Simplifies operations on constants and on indices near `first`. */
function rulesNearFirst(graph: Graph, run: number, { bounds }: SlotFacts): Rules {
  const isNear = (shift: number | undefined): shift is number => shift !== undefined && Math.abs(shift) <= run;

  /** The sign of a − b if it is known, else undefined. */
  const compare = (a: Node, b: Node): number | undefined => {
    const [left, right] = [shiftOf(a), shiftOf(b)];
    if (isNear(left)) {
      if (isNear(right)) return Math.sign(left - right);
      // `first` is at least `run`, so `a` is at least run + left.
      if (b.kind === 'literal' && (b.value as number) < run + left) return 1;
      if (b.kind === 'uniform' && bounds(b.slot)) return -1;
    }
    const turned = isNear(right) && left === undefined ? compare(b, a) : undefined;
    return turned === undefined ? undefined : -turned;
  };

  return (name, type, operands) => {
    const [a, b] = operands as readonly [Node, Node];
    if (isConstant(type, operands)) {
      const values = operands.map(({ value }) => value);
      return graph.literal(type, evaluate(name, operands[0]!.type, type, values));
    }
    if (type === 'bool' && (name === 'and' || name === 'or')) return absorbed(name, a, b);
    if (a.type !== 'u32' || b?.type !== 'u32') return undefined;
    if (name === 'add' || name === 'sub') return shifted(graph, name, a, b);
    const sign = compare(a, b);
    if (sign === undefined) return undefined;
    if (name === 'min') return sign <= 0 ? a : b;
    if (name === 'max') return sign >= 0 ? a : b;
    const holds = comparisons[name]?.(sign);
    return holds === undefined ? undefined : graph.literal('bool', holds);
  };
}

const comparisons: Partial<Record<OperationName, (sign: number) => boolean>> = {
  eq: (sign) => sign === 0,
  ne: (sign) => sign !== 0,
  lt: (sign) => sign < 0,
  le: (sign) => sign <= 0,
  gt: (sign) => sign > 0,
  ge: (sign) => sign >= 0,
};

/**
 * Whether an operation can be evaluated now. Operations on f32 are left to the device, because its zeros and NaNs may
 * differ from the host's.
 */
function isConstant(
  type: ScalarType,
  operands: readonly Node[],
): operands is readonly (Node & { readonly value: Literal['value'] })[] {
  return type !== 'f32' && operands.every((node) => node.kind === 'literal' && node.type !== 'f32');
}

function absorbed(name: 'and' | 'or', a: Node, b: Node): Node | undefined {
  const neutral = name === 'and';
  if (a === b) return a;
  if (a.kind === 'literal') return a.value === neutral ? b : a;
  if (b.kind === 'literal') return b.value === neutral ? a : b;
  return undefined;
}

function shifted(graph: Graph, name: 'add' | 'sub', a: Node, b: Node): Node | undefined {
  const [left, right] = [shiftOf(a), shiftOf(b)];
  if (name === 'add' && left === undefined && right !== undefined && a.kind === 'literal')
    return shifted(graph, name, b, a);
  if (left === undefined) return undefined;
  if (name === 'sub' && right !== undefined) return graph.literal('u32', (left - right) >>> 0);
  if (b.kind !== 'literal') return undefined;
  const by = b.value as number;
  // An index plus a constant needs no simplification.
  if (name === 'add' && a.kind === 'index' && by !== 0) return undefined;
  return indexAt(graph, (name === 'add' ? left + by : left - by) | 0);
}
