import {
  entryOf,
  type IrFunction,
  type Module,
  type Operand,
  type OperationName,
  type ScalarType,
  type Statement,
} from '../../primitives/ir/ir.ts';

/**
 * The fields of every node of a graph. A graph is the straight-line code of a functor: calls are inlined, branches
 * become selections (if-conversion, Allen et al. 1983), and equal values are merged (hash-consing). All operations of
 * the graph are total. Unless {@link Lanes} is `scalars`, the graph can be evaluated for four lanes at a time.
 */

interface NodeCommon {
  readonly id: number;
  readonly type: ScalarType;
  /** Whether the value may differ between the lanes of a vector. */
  readonly varying: boolean;
}

export interface LiteralNode extends NodeCommon {
  readonly kind: 'literal';
  readonly value: number | boolean;
}

export interface UniformNode extends NodeCommon {
  readonly kind: 'uniform';
  readonly slot: number;
}

export interface OperationNode extends NodeCommon {
  readonly kind: 'operation';
  readonly name: OperationName;
  readonly operands: readonly Node[];
}

/**
 * Element `index` of an array. If `index` varies between lanes, it equals the launch index plus `shift` wherever the
 * launch index satisfies all conditions in `floors`. The value of `shift` is the same in all lanes.
 */
export interface ReadNode extends NodeCommon {
  readonly kind: 'read';
  readonly slot: number;
  readonly index: Node;
  readonly shift: Node | undefined;
  readonly floors: readonly Floor[];
}

/** Element `index` of an array, where `index` is `from` minus the launch index. `from` is the same in all lanes. */
export interface DescendingNode extends NodeCommon {
  readonly kind: 'descending';
  readonly slot: number;
  readonly index: Node;
  readonly from: Node;
}

/** The condition that the launch index plus `shift` is at least `min`. `shift` and `min` are the same in all lanes. */
export interface Floor {
  readonly shift: Node;
  readonly min: Node;
}

/**
 * What an index is: `by` plus the launch index or, if it descends, `by` minus the launch index. Valid where the launch
 * index satisfies all conditions in `floors`.
 */
interface Shift {
  readonly by: Node;
  readonly floors: readonly Floor[];
  readonly descends: boolean;
}

/** Element `index` of an array, for an arbitrary index. */
export interface GatherNode extends NodeCommon {
  readonly kind: 'gather';
  readonly slot: number;
  readonly index: Node;
}

/**
 * Element `index >> by` of an array, where `index` is the launch index. Four adjacent launch indices read the same
 * element if the first of them is a multiple of four.
 */
export interface SharedNode extends NodeCommon {
  readonly kind: 'shared';
  readonly slot: number;
  readonly by: number;
}

export type Node =
  | LiteralNode
  | OperationNode
  | ReadNode
  | DescendingNode
  | GatherNode
  | SharedNode
  /** `of << (index & 31)`, where `of` is the same in all lanes. */
  | (NodeCommon & { readonly kind: 'rowBits'; readonly of: Node })
  /** The launch index. */
  | (NodeCommon & { readonly kind: 'index' })
  /** A named value from outside the graph, which may differ between lanes. */
  | (NodeCommon & { readonly kind: 'parameter'; readonly name: string })
  /** A named value from outside the graph, which is the same in all lanes. */
  | (NodeCommon & { readonly kind: 'invariant'; readonly name: string })
  | UniformNode
  | (NodeCommon & { readonly kind: 'length'; readonly slot: number });

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
type NewNode = DistributiveOmit<Node, 'id'>;

/** The reason why a functor does not vectorize. */
export class NotStraight extends Error {
  static {
    NotStraight.prototype.name = 'NotStraight';
  }
}

/** Maximum number of values; more would not fit in vector registers anyway. */
const MAX_VALUES = 4096;
/** Maximum number of statements that {@link flatten} visits, including the statements of inlined calls. */
const MAX_WALKED = 2 ** 17;
/**
 * Maximum length of a chain of values, each computed from the previous. Emitters recurse along chains and overflow the
 * stack at about twice this length.
 */
const MAX_DEPTH = 1024;

/** Additional simplifications of operations; undefined if the operation cannot be simplified. */
export type Rules = (name: OperationName, type: ScalarType, operands: readonly Node[]) => Node | undefined;

/**
 * How a graph is evaluated. `vectors` evaluates four adjacent indices at a time. `aligned` does the same, but the first
 * index is a multiple of four, so that the four indices share a word of a bitset. `scalars` evaluates one index at a
 * time and therefore supports gathers and integer division.
 */
export type Lanes = 'vectors' | 'aligned' | 'scalars';

/** A graph under construction, in which equal values are one node. */
export class Graph {
  readonly #nodes = new Map<string, Node>();
  /** For each node id, the length of the longest chain of operands below the node. */
  readonly #depths: number[] = [];
  readonly #lanes: Lanes;
  readonly #rules: Rules | undefined;

  constructor(lanes: Lanes = 'vectors', rules?: Rules) {
    this.#lanes = lanes;
    this.#rules = rules;
  }

  /** The number of different values. */
  get size(): number {
    return this.#nodes.size;
  }

  literal(type: ScalarType, value: number | boolean): Node {
    return this.#node({ kind: 'literal', type, varying: false, value }, Object.is(value, -0) ? '-0' : String(value));
  }
  index(): Node {
    return this.#node({ kind: 'index', type: 'u32', varying: true }, '');
  }
  parameter(type: ScalarType, name: string): Node {
    return this.#node({ kind: 'parameter', type, varying: true, name }, name);
  }
  invariant(type: ScalarType, name: string): Node {
    return this.#node({ kind: 'invariant', type, varying: false, name }, name);
  }
  uniform(type: ScalarType, slot: number): Node {
    return this.#node({ kind: 'uniform', type, varying: false, slot }, `${slot}`);
  }
  length(slot: number): Node {
    return this.#node({ kind: 'length', type: 'u32', varying: false, slot }, `${slot}`);
  }

  read(type: ScalarType, slot: number, index: Node): Node {
    const shift = index.varying ? this.#shiftOf(index) : undefined;
    if (shift?.descends && this.#lanes !== 'scalars' && shift.floors.length === 0) {
      const from = shift.by;
      return this.#node({ kind: 'descending', type, varying: true, slot, index, from }, `${slot},${index.id}`);
    }
    if (index.varying && (shift === undefined || shift.descends)) {
      const by = this.#lanes === 'aligned' ? sharedShift(index) : undefined;
      if (by !== undefined) return this.#node({ kind: 'shared', type, varying: true, slot, by }, `${slot},${by}`);
      if (this.#lanes !== 'scalars') throw new NotStraight('it reads an array at an index of its own');
      return this.#node({ kind: 'gather', type, varying: true, slot, index }, `${slot},${index.id}`);
    }
    const { by, floors = [] } = shift ?? {};
    return this.#node(
      { kind: 'read', type, varying: index.varying, slot, index, shift: by, floors },
      `${slot},${index.id}`,
    );
  }

  operation(name: OperationName, type: ScalarType, operands: readonly Node[]): Node {
    const simpler = this.#rules?.(name, type, operands) ?? this.#simplify(name, type, operands);
    if (simpler !== undefined) return simpler;
    const varying = operands.some((operand) => operand.varying);
    if (
      this.#lanes === 'aligned' &&
      name === 'shl' &&
      type === 'u32' &&
      !operands[0]!.varying &&
      isRowBit(operands[1]!)
    ) {
      return this.#node({ kind: 'rowBits', type, varying: true, of: operands[0]! }, `${operands[0]!.id}`);
    }
    if (varying && this.#lanes !== 'scalars' && (name === 'rem' || (name === 'div' && type !== 'f32'))) {
      throw new NotStraight('it divides integers');
    }
    return this.#node(
      { kind: 'operation', type, varying, name, operands },
      `${name},${operands.map(({ id }) => id).join(',')}`,
    );
  }

  #node(node: NewNode, key: string): Node {
    const full = `${node.kind},${node.type},${key}`;
    let known = this.#nodes.get(full);
    if (known === undefined) {
      if (this.size === MAX_VALUES) throw new NotStraight(`it computes more than ${MAX_VALUES} values`);
      this.#depths.push(this.#depthOf(node));
      known = { ...node, id: this.#nodes.size } as Node;
      this.#nodes.set(full, known);
    }
    return known;
  }

  #depthOf(node: NewNode): number {
    let depth = 0;
    if (node.kind === 'operation') for (const { id } of node.operands) depth = Math.max(depth, this.#depths[id]! + 1);
    if (node.kind === 'read' || node.kind === 'gather' || node.kind === 'descending')
      depth = this.#depths[node.index.id]! + 1;
    if (node.kind === 'rowBits') depth = this.#depths[node.of.id]! + 1;
    if (depth > MAX_DEPTH) throw new NotStraight(`it computes a chain of more than ${MAX_DEPTH} values`);
    return depth;
  }

  /** Removes selections that if-conversion made superfluous, and conversions of bools to integers and back. */
  #simplify(name: OperationName, type: ScalarType, operands: readonly Node[]): Node | undefined {
    const [a, b, condition] = operands;
    if (name === 'select') {
      if (a === b) return a;
      return condition!.kind === 'literal' ? (condition!.value ? b : a) : undefined;
    }
    if (type !== 'bool') return undefined;
    if (name === 'and' && isLiteral(a, true)) return b;
    if (name === 'and' && isLiteral(b, true)) return a;
    if ((name === 'ne' && isLiteral(b, 0)) || (name === 'eq' && isLiteral(b, 1)) || name === 'convert') {
      return truthOf(a!);
    }
    return undefined;
  }

  /**
   * If `index` is a lane-invariant value plus or minus the launch index, modulo 2³², returns this value and the
   * conditions under which the equation holds; else undefined.
   */
  #shiftOf(index: Node): Shift | undefined {
    if (index.kind === 'index') return { by: this.literal('u32', 0), floors: [], descends: false };
    if (index.kind !== 'operation') return undefined;
    const [a, b] = index.operands as readonly [Node, Node];
    const invariant = (node: Node): Node => (node.type === 'u32' ? node : this.operation('bits', 'u32', [node]));
    switch (index.name) {
      case 'bits':
      case 'convert':
        return a.type === 'u32' || a.type === 'i32' ? this.#shiftOf(a) : undefined;
      case 'add':
      case 'sub': {
        if (index.name === 'sub' && !a.varying) {
          const taken = this.#shiftOf(b);
          return (
            taken && { ...taken, by: this.operation('sub', 'u32', [invariant(a), taken.by]), descends: !taken.descends }
          );
        }
        const [moving, other] = index.name === 'add' && !a.varying ? [b, a] : [a, b];
        const min = index.name === 'sub' ? this.#takenAtMost(moving, other) : undefined;
        const still = min ?? other;
        const shift = still.varying ? undefined : this.#shiftOf(moving);
        if (shift === undefined) return undefined;
        const by = this.operation(index.name, 'u32', [shift.by, invariant(still)]);
        if (min === undefined) return { ...shift, by };
        return shift.descends ? undefined : { ...shift, by, floors: [...shift.floors, { shift: shift.by, min }] };
      }
      default:
        return undefined;
    }
  }

  /**
   * If `taken` is `min(index, n)`, returns n; else undefined. The difference `index - min(index, n)` is `index - n`
   * clamped at 0. The clamping matters only for indices below n. The caller adds a {@link Floor} that excludes these
   * indices from evaluation in vectors.
   */
  #takenAtMost(index: Node, taken: Node): Node | undefined {
    if (this.#lanes === 'scalars' || taken.kind !== 'operation') return undefined;
    if (taken.name !== 'min' || taken.type !== 'u32') return undefined;
    const [a, b] = taken.operands;
    return a === index ? b : b === index ? a : undefined;
  }
}

/**
 * If `index` is the launch index shifted right by a constant number of bits, at least two, returns this number. Four
 * adjacent launch indices then give the same result.
 */
export function sharedShift(index: Node): number | undefined {
  if (index.kind !== 'operation' || index.name !== 'shr' || index.operands[0]!.kind !== 'index') return undefined;
  const by = index.operands[1]!;
  return by.kind === 'literal' && Number(by.value) >= 2 && Number(by.value) < 32 ? Number(by.value) : undefined;
}

/**
 * Whether a shift count is the launch index modulo 32. The plain index matches too: shifts use their count modulo 32.
 */
function isRowBit(count: Node): boolean {
  if (count.kind === 'index') return true;
  if (count.kind !== 'operation' || count.name !== 'and') return false;
  return count.operands[0]!.kind === 'index' && isLiteral(count.operands[1], 31);
}

function isLiteral(node: Node | undefined, value: number | boolean): boolean {
  return node?.kind === 'literal' && node.value === value;
}

/** An upper bound of a u32, derived from its operations. For example, `x & 15` is at most 15. */
export function mostOf(node: Node): number {
  // Nodes share operands, so the number of paths can be exponential. Each node is therefore visited once.
  const known = new Map<Node, number>();
  const max = (each: Node): number => {
    const found = known.get(each) ?? maxByOperands(each, max);
    known.set(each, found);
    return found;
  };
  return max(node);
}

function maxByOperands(node: Node, max: (operand: Node) => number): number {
  const all = 2 ** 32 - 1;
  if (node.kind === 'literal') return Number(node.value) >>> 0;
  if (node.kind !== 'operation' || node.type !== 'u32') return all;
  const [a, b] = node.operands as readonly [Node, Node];
  switch (node.name) {
    case 'and':
    case 'min':
      return Math.min(max(a), max(b));
    case 'shr':
      return b.kind === 'literal' ? max(a) >>> Number(b.value) : max(a);
    case 'convert':
      return a.type === 'bool' ? 1 : all;
    default:
      return all;
  }
}

/** If an integer was converted from a bool, returns the bool; else undefined. */
export function truthOf(node: Node): Node | undefined {
  if (node.kind !== 'operation') return undefined;
  const [a, b, condition] = node.operands;
  if (node.name === 'convert' && a!.type === 'bool' && node.type !== 'f32') return a;
  if (node.name === 'select' && isLiteral(a, 0) && isLiteral(b, 1)) return condition;
  return undefined;
}

/** Maps the names of a module's arrays and uniforms to their slot numbers in the graph. */
export interface Slots {
  array(name: string): number;
  uniform(name: string): number;
}

/** The state of {@link flatten} for one function. */
interface Frame {
  readonly values: Map<number, Node>;
  /** The condition under which the current statement runs; undefined if it always runs. */
  path: Node | undefined;
  /** The condition under which the function has returned. */
  returned: Node | undefined;
  results: readonly Node[] | undefined;
}

/**
 * Adds the operations of a module's entry to a graph. Throws {@link NotStraight} if the graph cannot represent them.
 */
export function flatten(graph: Graph, module: Module, slots: Slots, args: readonly Node[]): readonly Node[] {
  const call = (fn: IrFunction, values: readonly Node[]): readonly Node[] => {
    const frame: Frame = {
      values: new Map(fn.parameters.map(({ id }, i) => [id, values[i]!])),
      path: undefined,
      returned: undefined,
      results: undefined,
    };
    walk(frame, fn.body);
    return frame.results!;
  };

  const nodeOf = (frame: Frame, operand: Operand): Node => {
    if (operand.kind === 'literal') return graph.literal(operand.type, operand.value);
    return operand.kind === 'local'
      ? frame.values.get(operand.id)!
      : graph.uniform(operand.type, slots.uniform(operand.name));
  };

  const both = (a: Node | undefined, b: Node | undefined): Node | undefined =>
    a === undefined || b === undefined ? (a ?? b) : graph.operation('and', 'bool', [a, b]);
  const not = (a: Node): Node => graph.operation('not', 'bool', [a]);
  const active = (frame: Frame): Node | undefined =>
    both(frame.path, frame.returned === undefined ? undefined : not(frame.returned));
  const blend = (old: Node, fresh: Node, condition: Node | undefined): Node =>
    condition === undefined ? fresh : graph.operation('select', fresh.type, [old, fresh, condition]);

  const leave = (frame: Frame, values: readonly Node[]): void => {
    const condition = active(frame);
    frame.results = frame.results?.map((old, i) => blend(old, values[i]!, condition)) ?? values;
    const now = condition ?? graph.literal('bool', true);
    frame.returned = frame.returned === undefined ? now : graph.operation('or', 'bool', [frame.returned, now]);
  };

  const branch = (frame: Frame, statement: Extract<Statement, { kind: 'if' }>): void => {
    const outer = frame.path;
    const condition = nodeOf(frame, statement.condition);
    frame.path = both(outer, condition);
    walk(frame, statement.consequent);
    frame.path = both(outer, not(condition));
    walk(frame, statement.alternative);
    frame.path = outer;
  };

  let walked = 0;
  const walk = (frame: Frame, statements: readonly Statement[]): void => {
    walked += statements.length;
    // A repeated call with the same arguments adds few values, but its statements are visited again. MAX_WALKED bounds
    // this work.
    if (walked > MAX_WALKED) throw new NotStraight(`it has more than ${MAX_WALKED} operations, all calls inlined`);
    for (const statement of statements) step(frame, statement);
  };

  const step = (frame: Frame, statement: Statement): void => {
    const value = (operand: Operand): Node => nodeOf(frame, operand);
    switch (statement.kind) {
      case 'let': {
        const { name, operands } = statement.operation;
        frame.values.set(statement.local.id, graph.operation(name, statement.local.type, operands.map(value)));
        break;
      }
      case 'read': {
        const slot = slots.array(statement.array);
        frame.values.set(statement.local.id, graph.read(statement.local.type, slot, value(statement.index)));
        break;
      }
      case 'length':
        frame.values.set(statement.local.id, graph.length(slots.array(statement.array)));
        break;
      case 'var':
        frame.values.set(statement.local.id, value(statement.value));
        break;
      case 'set': {
        const { id } = statement.local;
        frame.values.set(id, blend(frame.values.get(id)!, value(statement.value), active(frame)));
        break;
      }
      case 'call': {
        const callee = module.functions.find(({ name }) => name === statement.callee)!;
        const results = call(callee, statement.args.map(value));
        statement.results.forEach(({ id }, i) => {
          frame.values.set(id, results[i]!);
        });
        break;
      }
      case 'if':
        branch(frame, statement);
        break;
      case 'return':
        leave(frame, statement.values.map(value));
        break;
      case 'readOwned':
      case 'writeOwned':
        throw new NotStraight('it writes');
      case 'localArray':
      case 'readLocal':
      case 'writeLocal':
        throw new NotStraight('it has a local array with computed indices');
      default:
        throw new NotStraight('it has a loop');
    }
  };

  return call(entryOf(module), args);
}

/** The results of a module as nodes of the graph; undefined if the module is not straight-line code. */
export function straightLine(
  graph: Graph,
  module: Module,
  slots: Slots,
  args: readonly Node[],
): readonly Node[] | undefined {
  try {
    return flatten(graph, module, slots, args);
  } catch (error) {
    if (error instanceof NotStraight) return undefined;
    throw error;
  }
}

const nothing = (): never => {
  throw new RangeError('a monoid captures nothing');
};

/** Slots for a module without arrays and uniforms; both methods throw. */
export const noSlots: Readonly<Record<'array' | 'uniform', () => never>> = { array: nothing, uniform: nothing };
