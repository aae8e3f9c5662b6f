import { capacityOf } from '../contract/backend.ts';
import type { Column, View, ViewCost, ViewInput } from './column.ts';
import { READ, stepCost } from './step-cost.ts';

/**
 * Decides which of the views that a command reads are stored before it runs: those that cost more to evaluate at every
 * read than to store once.
 *
 * Let a view have `rows` rows, `reads` reads and `operations` operations an element. Evaluating it costs `reads ·
 * operations`; storing it costs `rows · (operations + STORE) + reads · READ`. It is stored if that saves at least
 * {@link MIN_SAVING} operations a row. If the code of the command would still be longer than {@link MAX_STATEMENTS},
 * its longest inputs are stored too. The plan depends on the structure, the numbers of rows and the memory available.
 */

/** Cost of storing an element, in operations, including its share of a launch. */
export const STORE = 8;
/** Minimum saving, in operations a row. Below this, fusing is at least as fast on some device. */
export const MIN_SAVING = 112;
/** Minimum saving if memory is short: evaluating would take intolerably long. */
const MIN_SAVING_IF_SHORT = 2 ** 16;
/** Maximum statements with all calls inlined: longer code takes long to compile, and emitters recurse into operands. */
export const MAX_STATEMENTS = 1024;

/** A view that a command reads, directly or indirectly, with the decision about it. */
export interface PlannedView {
  readonly view: View;
  readonly length: Column['length'];
  readonly rows: number;
  /** The indices of the results that are read. */
  readonly results: ReadonlySet<number>;
  /** Total number of its elements that are read. */
  readonly reads: number;
  /** Operations for evaluating one element, given the decisions about its inputs. */
  readonly operations: number;
  /** Operations a row saved by storing it. */
  readonly saving: number;
  /** Bytes available for storing it. */
  readonly roomBytes: number;
  /** Why it is stored, if it is: too many evaluations, or too much code. */
  readonly cut: 'evaluations' | 'code' | undefined;
}

/** A view that is to be stored. */
export type Cut = PlannedView & { readonly cut: 'evaluations' | 'code' };

/** A view during planning. */
interface Node extends PlannedView {
  readonly results: Set<number>;
  /** The views that it reads and that are not stored. */
  readonly inputs: Edge[];
  /** Array reads that replace stored inputs. */
  storedReads: number;
  reads: number;
  operations: number;
  statements: number;
  /** Statements of the longest single step, which storing cannot shorten. */
  longestStep: number;
  saving: number;
  roomBytes: number;
  cut: PlannedView['cut'];
}

interface Edge {
  readonly node: Node;
  readonly results: readonly number[];
  readonly times: number;
  readonly places: number;
}

/** Whether an input is stored already. */
export type IsStored = (input: ViewInput) => boolean;

/**
 * Plans a command with the given number of rows. Returns the views that it reads and that are not stored yet, each
 * before its readers, which is the order to store them in. The last entry is the command itself.
 */
export function planStores(root: View, rows: number, isStored: IsStored, roomBytes: number): readonly PlannedView[] {
  const nodes = collectNodes(root, rows, isStored);
  const whole = nodes.at(-1)!;
  countReads(nodes);
  let room = roomBytes;
  for (const node of nodes) {
    sumUp(node);
    shorten(node);
    if (node === whole) break;
    node.saving = savingOf(node, whole.rows);
    node.roomBytes = room;
    if (node.saving < (isShort(node) ? MIN_SAVING_IF_SHORT : MIN_SAVING)) continue;
    node.cut = 'evaluations';
    room -= bytesOf(node);
  }
  return nodes;
}

/** Whether a planned view is to be stored. */
export function isCut(planned: PlannedView): planned is Cut {
  return planned.cut !== undefined;
}

/** Bytes needed to store a view. */
function bytesOf({ rows, results }: Pick<PlannedView, 'rows' | 'results'>): number {
  return 4 * rows * results.size;
}

/** Whether storing a view takes more than half of the memory available. */
export function isShort(planned: PlannedView): boolean {
  return 2 * bytesOf(planned) > planned.roomBytes;
}

/** The views under a root, each before its readers. */
function collectNodes(root: View, rows: number, isStored: IsStored): Node[] {
  const nodes: Node[] = [];
  const known = new Map<View, Node>();
  const open: { readonly node: Node; next: number }[] = [];
  const enter = (view: View, length: Column['length'], of: number): Node => {
    const node: Node = {
      view,
      length,
      rows: of,
      results: new Set(),
      inputs: [],
      storedReads: 0,
      reads: 0,
      operations: 0,
      statements: 0,
      longestStep: 0,
      saving: 0,
      roomBytes: 0,
      cut: undefined,
    };
    known.set(view, node);
    open.push({ node, next: 0 });
    return node;
  };
  enter(root, rows, rows).reads = rows;
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const { node } = top;
    const input = node.view.inputs[top.next++];
    if (input === undefined) {
      open.pop();
      nodes.push(node);
      continue;
    }
    const { name, view, length, results } = input;
    const { times, places } = stepCost(node.view.module).calls.get(name) ?? { times: 0, places: 0 };
    if (isStored(input)) {
      node.storedReads += times * results.length;
      continue;
    }
    const capacity = capacityOf(length);
    const read = known.get(view) ?? enter(view, length, capacity);
    for (const result of results) read.results.add(result);
    node.inputs.push({ node: read, results, times, places });
  }
  return nodes;
}

function sumUp(node: Node): void {
  const own = stepCost(node.view.module);
  node.operations = own.operations + READ * node.storedReads;
  node.statements = own.statements + node.storedReads;
  node.longestStep = own.statements;
  for (const { node: input, results, times, places } of node.inputs) {
    const isRead = isCut(input);
    node.operations += times * (isRead ? READ * results.length : input.operations);
    node.statements += places * (isRead ? results.length : input.statements);
    if (!isRead) node.longestStep = Math.max(node.longestStep, input.longestStep);
  }
}

/**
 * Counts the reads of every view. If a reader is evaluated more often than it has rows, only one evaluation a row is
 * counted, as if it were stored, so the count is a lower bound.
 */
function countReads(nodes: readonly Node[]): void {
  for (const { reads, rows, inputs } of nodes.toReversed()) {
    for (const { node, times } of inputs) node.reads += times * Math.min(reads, rows);
  }
}

function isTooLong({ statements, longestStep }: Pick<ViewCost, 'statements' | 'longestStep'>): boolean {
  return statements > MAX_STATEMENTS + longestStep;
}

/** Whether storing cannot pay for any input of a view, by the upper bound of the savings. */
export function isCheap(cost: ViewCost): boolean {
  return cost.repeated < MIN_SAVING && !isTooLong(cost);
}

/** Decides to store the longest inputs of a node until its code is short enough, or no input is left to store. */
function shorten(node: Node): void {
  while (isTooLong(node)) {
    let longest: Node | undefined;
    for (const { node: input } of node.inputs) {
      const isLonger = input.statements > Math.max(longest?.statements ?? 0, MAX_STATEMENTS / 16);
      if (input.cut === undefined && isLonger) longest = input;
    }
    if (longest === undefined) return;
    longest.cut = 'code';
    sumUp(node);
  }
}

/** Operations saved by storing a view, a row of the view or of the command, whichever has more rows. */
function savingOf({ reads, rows, operations }: Node, commandRows: number): number {
  return (reads * (operations - READ) - rows * (operations + STORE)) / Math.max(1, rows, commandRows);
}
