import { capacityOf } from '../contract/backend.ts';
import type { Column, View, ViewCost, ViewInput } from './column.ts';
import { READ, stepCost } from './step-cost.ts';

/**
 * Decides which of the views that a command reads are stored before the command runs. A view is stored if evaluating it
 * at every read costs more than storing it once.
 *
 * Let a view have `rows` rows, `reads` reads and `operations` operations an element. Evaluating costs `reads ·
 * operations`; storing costs `rows · (operations + STORE) + reads · READ`. The view is stored if that saves at least
 * {@link MIN_SAVING} operations a row. If the code of a reader would still be longer than {@link MAX_STATEMENTS}, the
 * longest inputs of the reader are stored too. The plan depends on the structure of the views, their numbers of rows
 * and the available memory.
 */

/** Cost of storing an element, in operations. A share of the cost of the launch is included. */
export const STORE = 8;
/**
 * Minimum saving for which a view is stored, in operations a row. On some devices, storing a view with a smaller saving
 * is no faster than evaluating the view at every read.
 */
export const MIN_SAVING = 112;
/**
 * Minimum saving, in operations a row, for which a view is stored even though it takes more than half of the available
 * memory. Without the stored view, the command would take intolerably long.
 */
const MIN_SAVING_IF_SHORT = 2 ** 16;
/**
 * Maximum number of statements of a program after all calls are inlined. Longer code takes long to compile, and
 * emitters, which recurse into operands, could overflow the stack.
 */
export const MAX_STATEMENTS = 1024;

/** A view that a command reads, directly or indirectly, and the decision whether to store it. */
export interface PlannedView {
  readonly view: View;
  readonly length: Column['length'];
  readonly rows: number;
  /** Indices of the view's results that are read. */
  readonly results: ReadonlySet<number>;
  /** Total number of reads of the view's elements in the command. */
  readonly reads: number;
  /** Number of operations to evaluate one element of the view. A stored input counts as reads of memory. */
  readonly operations: number;
  /** Number of operations that storing the view saves for each row. */
  readonly saving: number;
  /** Bytes available for storing the view. */
  readonly roomBytes: number;
  /** Why the view is stored: too many evaluations, or too much code. Undefined if it is not stored. */
  readonly cut: 'evaluations' | 'code' | undefined;
}

/** A planned view that is to be stored. */
export type Cut = PlannedView & { readonly cut: 'evaluations' | 'code' };

/** A view in the graph from which the plan is made; the fields are filled in step by step. */
interface Node extends PlannedView {
  readonly results: Set<number>;
  /** The views that this view reads and that were not stored by an earlier command. */
  readonly inputs: Edge[];
  /** Number of array reads for one element of the view: the reads of inputs that earlier commands stored. */
  storedReads: number;
  reads: number;
  operations: number;
  statements: number;
  /** Statements of the longest single step (one view's own code), which storing views cannot shorten. */
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

/** Whether an earlier command has stored an input, so that it can be read from memory. */
export type IsStored = (input: ViewInput) => boolean;

/**
 * Plans which views to store before a command with the given number of rows. Returns the views that the command reads
 * and that are not stored yet, followed by `root`, the view that stands for the command itself. Each view comes before
 * its readers, so views can be stored in this order.
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

/** Whether storing a view would take more than half of the available memory. */
export function isShort(planned: PlannedView): boolean {
  return 2 * bytesOf(planned) > planned.roomBytes;
}

/**
 * The views that a root reads, directly or indirectly, as nodes. Each node comes before its readers; the root is last.
 */
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
 * Counts how often the command reads elements of each view. A reader that is evaluated more often than once a row might
 * itself be stored, and would then be evaluated once a row. The count assumes this case, so it is a lower bound.
 */
function countReads(nodes: readonly Node[]): void {
  for (const { reads, rows, inputs } of nodes.toReversed()) {
    for (const { node, times } of inputs) node.reads += times * Math.min(reads, rows);
  }
}

function isTooLong({ statements, longestStep }: Pick<ViewCost, 'statements' | 'longestStep'>): boolean {
  return statements > MAX_STATEMENTS + longestStep;
}

/**
 * Whether no view that a command reads is worth storing. The test is quick, because it uses only an upper bound of the
 * savings.
 */
export function isCheap(cost: ViewCost): boolean {
  return cost.repeated < MIN_SAVING && !isTooLong(cost);
}

/**
 * Decides to store the inputs of a node, the longest first, until the node's code is short enough or no input is long.
 */
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

/**
 * Operations that storing a view saves, divided by the number of rows of the view or of the command, whichever is
 * larger.
 */
function savingOf({ reads, rows, operations }: Node, commandRows: number): number {
  return (reads * (operations - READ) - rows * (operations + STORE)) / Math.max(1, rows, commandRows);
}
