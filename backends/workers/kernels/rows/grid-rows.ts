import type { Program } from '../../../../primitives/contract/backend.ts';
import type { Module } from '../../../../primitives/ir/ir.ts';
import { memoized } from '../../../../primitives/ir/memo.ts';
import {
  Graph,
  type Lanes,
  type LiteralNode,
  type Node,
  type Rules,
  type Slots,
  straightLine,
  type UniformNode,
} from '../../../analyses/straight-line.ts';

/**
 * A program over the cells of a grid, specialized to the cells of one row, so that vectors can evaluate it.
 *
 * The program divides its index by the width of the grid. Within a row, the row number is loop-invariant, and the
 * column is the index minus a constant. Cells near either end of the row are left out. For all other cells, each
 * neighbour is at a fixed offset. If the program has no division, all cells form a single row.
 */
export interface GridRows {
  readonly graph: Graph;
  readonly results: readonly Node[];
  /**
   * Number of cells per row: a uniform or a literal. Undefined if all cells form a single row and the program does not
   * compare indices with the end of the row.
   */
  readonly size: UniformNode | LiteralNode | undefined;
  /** The row number: the index divided by the size. Undefined if all cells form a single row. */
  readonly row: Node | undefined;
  /** Number of cells left out at the start of a row. The specialized program is wrong for these cells. */
  readonly before: number;
  /** Number of cells left out at the end of a row. */
  readonly after: number;
}

/** Maximum number of cells that may be left out at either end of a row. */
const MAX_LEFT_OUT = 64;

/** Minimum number of cells between the left-out ends for which row-wise evaluation is worthwhile. */
const MIN_BETWEEN = 64;

/**
 * Specializes a program to the cells of one row. Undefined if vectors can evaluate the original program, if the program
 * does not treat indices as rows, or if vectors cannot evaluate the specialized program either.
 */
export function gridRows(module: Module, slots: Slots): GridRows | undefined {
  const plain = new Graph('aligned');
  if (straightLine(plain, module, slots, [plain.index()]) !== undefined) return undefined;
  return rowsBy('division', module, slots) ?? rowsBy('one row', module, slots);
}

/** Specializes a program to the cells of one row for code of one cell at a time, which may read elements anywhere. */
export function scalarRows(module: Module, slots: Slots): GridRows | undefined {
  return rowsBy('division', module, slots, 'scalars');
}

type Form = 'division' | 'one row';

function rowsBy(form: Form, module: Module, slots: Slots, lanes: Lanes = 'vectors'): GridRows | undefined {
  const found: GridRow = { size: undefined, before: 0, after: 0 };
  const graph: Graph = new Graph(lanes, (...operation) => rulesOf(form, graph, found)(...operation));
  const results = straightLine(graph, module, slots, [graph.index()]);
  if (results === undefined) return undefined;
  if (form === 'one row') return { graph, results, row: undefined, ...found };
  return found.size && { graph, results, row: graph.invariant('u32', ROW), ...found };
}

/**
 * Whether to evaluate a program row by row: the program can be specialized, and the rows are wide enough. Because this
 * function is called at every launch, the specialization is memoized.
 */
export function hasWideRows({ module, uniforms }: Program): boolean {
  const rows = rowsByName(module);
  if (rows === undefined) return false;
  const { size, before, after } = rows;
  if (size === undefined) return true;
  const cells = size.kind === 'uniform' ? uniforms.get([...module.uniforms.keys()][size.slot]!) : size.value;
  return Number(cells) >= before + MIN_BETWEEN + after;
}

/** Specializes a program for {@link hasWideRows}, with the positions of arrays and uniforms in the module as slots. */
const rowsByName = memoized((module: Module): GridRows | undefined => {
  const [arrays, uniforms] = [[...module.arrays.keys()], [...module.uniforms.keys()]];
  return gridRows(module, { array: (name) => arrays.indexOf(name), uniform: (name) => uniforms.indexOf(name) });
});

const ROW = 'row';

/** The facts collected while the graph is built: the size of a row, and the number of cells left out at its ends. */
interface GridRow {
  size: GridRows['size'] | undefined;
  before: number;
  after: number;
}

/**
 * A value of the program that counts cells of the current row. If `from` is `beginning`, the value is `plus` more than
 * the number of cells before the current cell; if `from` is `end`, it is `plus` more than the number of cells after the
 * current cell.
 */
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
    // Only a difference can be the column. The name must be checked before `column()` is called: `column()` applies the
    // rules that call this function, so the recursion would never end.
    return found.size !== undefined && node.kind === 'operation' && node.name === 'sub' && node === column();
  };

  /**
   * Leaves out the `count` cells nearest to one end of the row. Returns false and leaves out nothing if `count` exceeds
   * {@link MAX_LEFT_OUT}.
   */
  const isAway = (from: Place['from'], count: number): boolean => {
    if (count > MAX_LEFT_OUT) return false;
    if (from === 'beginning') found.before = Math.max(found.before, count);
    else found.after = Math.max(found.after, count);
    return true;
  };

  /** A node as a {@link Place}: the column, or the size minus a literal minus the column. Undefined for other nodes. */
  const placeOf = (node: Node): Place | undefined => {
    if (isColumn(node)) return { from: 'beginning', plus: 0 };
    if (node.kind !== 'operation' || node.name !== 'sub') return undefined;
    const [end, moving] = node.operands as readonly [Node, Node];
    const less = isColumn(moving) ? lessThanSize(end) : undefined;
    return less === undefined ? undefined : { from: 'end', plus: 1 - less };
  };

  /**
   * Whether a node is the size of a row. For a single row, the first uniform compared with the index becomes the size.
   */
  const isSize = (node: Node): boolean => {
    if (form === 'one row' && node.kind === 'uniform') found.size ??= node;
    return node === found.size;
  };

  /** The literal k if the node is the size minus k; undefined for other nodes. */
  const lessThanSize = (node: Node): number | undefined => {
    if (isSize(node)) return 0;
    if (node.kind !== 'operation' || node.name !== 'sub' || !isSize(node.operands[0]!)) return undefined;
    return literalOf(node.operands[1]!);
  };

  /**
   * The value of a < b if it is the same for all cells that are not left out; undefined otherwise. The function may
   * leave out more cells in order to make the value the same.
   */
  const isLess = (a: Node, b: Node): boolean | undefined => {
    const [low, high] = [literalOf(a), literalOf(b)];
    const place = placeOf(low === undefined ? a : b);
    if (place === undefined) return undefined;
    // Between the end `place.from` of the row and any cell that is not left out, there are at least as many cells as
    // are left out at this end.
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
