import type { Program } from '../../../../primitives/contract/backend.ts';
import type { Module } from '../../../../primitives/ir/ir.ts';
import { memoized } from '../../../../primitives/ir/memo.ts';
import {
  Graph,
  type LiteralNode,
  type Node,
  type Rules,
  type Slots,
  straightLine,
  type UniformNode,
} from '../../../analyses/straight-line.ts';

/**
 * A program over the cells of a grid, which divides its index by the width, as seen from within a row. There, the row
 * number is the same for all cells, the column is the index minus a constant, and all cells except a few at both ends
 * are away from the edges. A neighbour at any position is then a fixed number of elements away. Without a division, all
 * cells are one row.
 */
export interface GridRows {
  readonly graph: Graph;
  readonly results: readonly Node[];
  /**
   * Number of cells of a row, a uniform or a literal; undefined if the program does not refer to the end of the only
   * row.
   */
  readonly size: UniformNode | LiteralNode | undefined;
  /** The index divided by the number of cells; undefined if all cells are one row. */
  readonly row: Node | undefined;
  /** Number of cells at the start and at the end of a row for which the results do not hold. */
  readonly before: number;
  readonly after: number;
}

/** Maximum number of cells at either end of a row that are left out. */
const MAX_LEFT_OUT = 64;

/** Minimum number of cells between the ends for which row-wise evaluation is worthwhile. */
const MIN_BETWEEN = 64;

/**
 * A program as seen from within a row. Undefined if vectors can evaluate it as it is, if it has no rows, or if vectors
 * cannot evaluate it within rows either.
 */
export function gridRows(module: Module, slots: Slots): GridRows | undefined {
  const plain = new Graph('aligned');
  if (straightLine(plain, module, slots, [plain.index()]) !== undefined) return undefined;
  return rowsBy('division', module, slots) ?? rowsBy('one row', module, slots);
}

type Form = 'division' | 'one row';

function rowsBy(form: Form, module: Module, slots: Slots): GridRows | undefined {
  const found: GridRow = { size: undefined, before: 0, after: 0 };
  const graph: Graph = new Graph('vectors', (...operation) => rulesOf(form, graph, found)(...operation));
  const results = straightLine(graph, module, slots, [graph.index()]);
  if (results === undefined) return undefined;
  if (form === 'one row') return { graph, results, row: undefined, ...found };
  return found.size && { graph, results, row: graph.invariant('u32', ROW), ...found };
}

/** Whether to evaluate a program row by row: it must be possible, and the rows must be wide. Called at every launch. */
export function hasWideRows({ module, uniforms }: Program): boolean {
  const rows = rowsByName(module);
  if (rows === undefined) return false;
  const { size, before, after } = rows;
  if (size === undefined) return true;
  const cells = size.kind === 'uniform' ? uniforms.get([...module.uniforms.keys()][size.slot]!) : size.value;
  return Number(cells) >= before + MIN_BETWEEN + after;
}

/** The rows of a program on its own; slots are the positions of its arrays and uniforms. */
const rowsByName = memoized((module: Module): GridRows | undefined => {
  const [arrays, uniforms] = [[...module.arrays.keys()], [...module.uniforms.keys()]];
  return gridRows(module, { array: (name) => arrays.indexOf(name), uniform: (name) => uniforms.indexOf(name) });
});

const ROW = 'row';

/** Facts about the row so far: its size, and the cells left out at its ends. */
interface GridRow {
  size: GridRows['size'] | undefined;
  before: number;
  after: number;
}

/** A position along the row: `plus` after its beginning (the column) or `plus` before its end (the room left). */
interface Place {
  readonly from: 'beginning' | 'end';
  readonly plus: number;
}

function rulesOf(form: Form, graph: Graph, found: GridRow): Rules {
  const row = graph.invariant('u32', ROW);
  const start = (): Node => graph.operation('mul', 'u32', [row, found.size!]);
  const column = (): Node => graph.operation('sub', 'u32', [graph.index(), start()]);
  const isColumn = (node: Node): boolean => {
    if (form === 'one row') return node.kind === 'index';
    // Only a difference can be the column. This check comes first because making the column applies the rules that call
    // this function.
    return found.size !== undefined && node.kind === 'operation' && node.name === 'sub' && node === column();
  };

  /** Whether cells are at least `count` away from an end of the row; closer cells are left out. */
  const isAway = (from: Place['from'], count: number): boolean => {
    if (count > MAX_LEFT_OUT) return false;
    if (from === 'beginning') found.before = Math.max(found.before, count);
    else found.after = Math.max(found.after, count);
    return true;
  };

  /** The position of a number that increases or decreases with the column. */
  const placeOf = (node: Node): Place | undefined => {
    if (isColumn(node)) return { from: 'beginning', plus: 0 };
    if (node.kind !== 'operation' || node.name !== 'sub') return undefined;
    const [end, moving] = node.operands as readonly [Node, Node];
    const less = isColumn(moving) ? lessThanSize(end) : undefined;
    return less === undefined ? undefined : { from: 'end', plus: 1 - less };
  };

  /** Whether a number is the size. The size of a single row is the first uniform that the index is compared with. */
  const isSize = (node: Node): boolean => {
    if (form === 'one row' && node.kind === 'uniform') found.size ??= node;
    return node === found.size;
  };

  /** k, for a number that is the size minus k. */
  const lessThanSize = (node: Node): number | undefined => {
    if (isSize(node)) return 0;
    if (node.kind !== 'operation' || node.name !== 'sub' || !isSize(node.operands[0]!)) return undefined;
    return literalOf(node.operands[1]!);
  };

  /** Whether a < b, if that is the same for all cells except some at the ends. */
  const isLess = (a: Node, b: Node): boolean | undefined => {
    const [low, high] = [literalOf(a), literalOf(b)];
    const place = placeOf(low === undefined ? a : b);
    if (place === undefined) return undefined;
    // A position is its distance from its end, which is at least the number of cells left out, plus `plus`.
    if (high !== undefined) return isAway(place.from, high - place.plus) ? false : undefined;
    if (low !== undefined) return isAway(place.from, low + 1 - place.plus) ? true : undefined;
    const less = isColumn(a) ? lessThanSize(b) : undefined;
    return less !== undefined && isAway('end', less) ? true : undefined;
  };

  const divide = (name: 'div' | 'rem', [index, by]: readonly Node[]): Node | undefined => {
    if (form === 'one row' || index!.kind !== 'index' || (by!.kind !== 'uniform' && by!.kind !== 'literal'))
      return undefined;
    found.size ??= by;
    if (found.size !== by) return undefined;
    return name === 'div' ? row : column();
  };

  return (name, _type, operands) => {
    const [a, b] = operands as readonly [Node, Node];
    if (a.type !== 'u32') return undefined;
    const truth = (value: boolean | undefined): Node | undefined =>
      value === undefined ? undefined : graph.literal('bool', value);
    const opposite = (value: boolean | undefined): boolean | undefined => (value === undefined ? undefined : !value);
    switch (name) {
      case 'div':
      case 'rem':
        return divide(name, operands);
      case 'mul':
        return form === 'division' && a === found.size && b === row ? start() : undefined;
      case 'sub':
        return form === 'division' && a.kind === 'index' && isColumn(b) ? start() : undefined;
      case 'min':
      case 'max': {
        const less = isLess(a, b) ?? opposite(isLess(b, a));
        return less === undefined ? undefined : less === (name === 'min') ? a : b;
      }
      case 'lt':
        return truth(isLess(a, b));
      case 'gt':
        return truth(isLess(b, a));
      case 'ge':
        return truth(opposite(isLess(a, b)));
      case 'le':
        return truth(opposite(isLess(b, a)));
      default:
        return undefined;
    }
  };
}

function literalOf(node: Node): number | undefined {
  return node.kind === 'literal' && node.type === 'u32' ? Number(node.value) : undefined;
}
