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
 * A program over the cells of a grid, which divides its index by the width, as it looks from within a row: there the number
 * of the row is the same for all cells, the column is the index less something, and but for some cells at both ends nobody
 * is near an end. What was a neighbour anywhere is then so many elements away. Without a division, all cells are one row.
 */
export interface GridRows {
  readonly graph: Graph;
  readonly results: readonly Node[];
  /** Cells of a row, a uniform or a number; undefined where nothing is said of the end of the only row. */
  readonly size: UniformNode | LiteralNode | undefined;
  /** What the index divided by that is; undefined where all cells are one row. */
  readonly row: Node | undefined;
  /** Cells at the beginning and at the end of a row that the results do not hold for. */
  readonly before: number;
  readonly after: number;
}

/** Cells at either end of a row that are left out at most. */
const MAX_LEFT_OUT = 64;

/** Below so many cells between the ends, a row is not worth the trouble. */
const MIN_BETWEEN = 64;

/**
 * A program from within a row; undefined where vectors can evaluate it as it is, where it has no rows, and where vectors could
 * not evaluate it there either.
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

/** Whether a program is worth evaluating row by row: it can be, and its rows are wide. Asked at every launch. */
export function hasWideRows({ module, uniforms }: Program): boolean {
  const rows = rowsByName(module);
  if (rows === undefined) return false;
  const { size, before, after } = rows;
  if (size === undefined) return true;
  const cells = size.kind === 'uniform' ? uniforms.get([...module.uniforms.keys()][size.slot]!) : size.value;
  return Number(cells) >= before + MIN_BETWEEN + after;
}

/** The rows of a program by itself: its arrays and uniforms have the numbers that they stand at in it. */
const rowsByName = memoized((module: Module): GridRows | undefined => {
  const [arrays, uniforms] = [[...module.arrays.keys()], [...module.uniforms.keys()]];
  return gridRows(module, { array: (name) => arrays.indexOf(name), uniform: (name) => uniforms.indexOf(name) });
});

const ROW = 'row';

/** What is known of the row so far: its size, and the cells that were left out at its ends. */
interface GridRow {
  size: GridRows['size'] | undefined;
  before: number;
  after: number;
}

/** Where a number lies along the row: `plus` beyond its beginning (the column) or `plus` before its end (the room left). */
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
    // Whatever is no difference is none: the column is made by the rules that ask this.
    return found.size !== undefined && node.kind === 'operation' && node.name === 'sub' && node === column();
  };

  /** Whether cells are `count` and more away from an end of the row: those that are not are left out. */
  const isAway = (from: Place['from'], count: number): boolean => {
    if (count > MAX_LEFT_OUT) return false;
    if (from === 'beginning') found.before = Math.max(found.before, count);
    else found.after = Math.max(found.after, count);
    return true;
  };

  /** The place of a number that grows or falls with the column. */
  const placeOf = (node: Node): Place | undefined => {
    if (isColumn(node)) return { from: 'beginning', plus: 0 };
    if (node.kind !== 'operation' || node.name !== 'sub') return undefined;
    const [end, moving] = node.operands as readonly [Node, Node];
    const less = isColumn(moving) ? lessThanSize(end) : undefined;
    return less === undefined ? undefined : { from: 'end', plus: 1 - less };
  };

  /** Whether a number is the size; that of the only row is the first that the index is compared with. */
  const isSize = (node: Node): boolean => {
    if (form === 'one row' && node.kind === 'uniform') found.size ??= node;
    return node === found.size;
  };

  /** k of a number that is the size less k. */
  const lessThanSize = (node: Node): number | undefined => {
    if (isSize(node)) return 0;
    if (node.kind !== 'operation' || node.name !== 'sub' || !isSize(node.operands[0]!)) return undefined;
    return literalOf(node.operands[1]!);
  };

  /** Whether a < b, where that is the same for all cells but some at the ends. */
  const isLess = (a: Node, b: Node): boolean | undefined => {
    const [low, high] = [literalOf(a), literalOf(b)];
    const place = placeOf(low === undefined ? a : b);
    if (place === undefined) return undefined;
    // A place is at least as far as its end is away, and `plus`.
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
