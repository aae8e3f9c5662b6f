import type { Column, View, ViewCost, ViewInput } from './column.ts';
import { READ, stepCost } from './step-cost.ts';

/**
 * Decides which of the views that a command reads are stored before it runs: those that cost more to evaluate at every read
 * than to store once.
 *
 * A view that is read `reads` times, has `rows` rows and takes `operations` an element costs `reads · operations` where it is
 * evaluated, and `rows · (operations + STORE) + reads · READ` where it is stored. It is stored where that saves
 * {@link MIN_SAVING} operations a row or more; a command whose code would still be longer than {@link MAX_STATEMENTS}
 * stores the longest of what it reads. The plan depends on the structure, on the numbers of rows and on the room in memory.
 */

/** Operations that storing an element takes as long as, with its share of a launch. */
export const STORE = 8;
/** Operations a row that storing a view has to save: below that, fusing is as good on some device. */
export const MIN_SAVING = 112;
/** Where memory is short, as much as no user would wait for. */
const MIN_SAVING_IF_SHORT = 2 ** 16;
/** Statements with all calls inlined: compiling takes time, and emitters descend into what an operation is made of. */
export const MAX_STATEMENTS = 1024;

/** A view that a command reads, directly or through others, with what is to be done with it. */
export interface PlannedView {
  readonly view: View;
  readonly length: Column['length'];
  readonly rows: number;
  /** The results that are read. */
  readonly results: ReadonlySet<number>;
  /** How many elements of it are read in all. */
  readonly reads: number;
  /** How many operations evaluating one of them takes, where what is to be stored is stored. */
  readonly operations: number;
  /** The operations that storing it saves, a row. */
  readonly saving: number;
  /** Bytes that were left for it. */
  readonly roomBytes: number;
  /** Why it is stored, if it is: it is evaluated too often, or the code gets too long. */
  readonly cut: 'evaluations' | 'code' | undefined;
}

/** A view that is better stored. */
export type Cut = PlannedView & { readonly cut: 'evaluations' | 'code' };

/** The same while it is planned. */
interface Node extends PlannedView {
  readonly results: Set<number>;
  /** Views that it reads and that are not stored. */
  readonly inputs: Edge[];
  /** Reads of arrays in place of inputs that are stored. */
  storedReads: number;
  reads: number;
  operations: number;
  statements: number;
  /** Statements of the longest single step, which no cut makes shorter. */
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
 * The views that a command of so many rows reads and that are not stored, each before those that read it: in this order they
 * are stored. The command itself is the last.
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

/** Bytes that storing a view takes. */
function bytesOf({ rows, results }: Pick<PlannedView, 'rows' | 'results'>): number {
  return 4 * rows * results.size;
}

/** Whether storing a view takes more than half of the memory left. */
export function isShort(planned: PlannedView): boolean {
  return 2 * bytesOf(planned) > planned.roomBytes;
}

/** The views under a root, each before those that read it. */
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
    const capacity = typeof length === 'number' ? length : length.limit;
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

/** Counts the elements of every view that are read, if what reads it is evaluated no oftener than stored: a lower bound. */
function countReads(nodes: readonly Node[]): void {
  for (const { reads, rows, inputs } of nodes.toReversed()) {
    for (const { node, times } of inputs) node.reads += times * Math.min(reads, rows);
  }
}

function isTooLong({ statements, longestStep }: Pick<ViewCost, 'statements' | 'longestStep'>): boolean {
  return statements > MAX_STATEMENTS + longestStep;
}

/** Whether nothing of a view is worth storing, as what storing could save at most tells. */
export function isCheap(cost: ViewCost): boolean {
  return cost.repeated < MIN_SAVING && !isTooLong(cost);
}

/** Stores the longest inputs of a node until its code is short enough, or nothing is left to be stored. */
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

/** The operations that storing a view saves, a row of the view or of the command, whichever has more. */
function savingOf({ reads, rows, operations }: Node, commandRows: number): number {
  return (reads * (operations - READ) - rows * (operations + STORE)) / Math.max(1, rows, commandRows);
}
