import { GraphError } from '../../primitives/checks/errors.ts';
import { underPolicy, type Work } from '../run/attempts.ts';
import { discard, type Edge, emit, failUnlessOver, type NodeProgram, type NodeRun } from '../run/node-run.ts';
import { jointName, type Parcel } from '../run/parcel.ts';

/** Two items with equal keys. */
export interface Pair<L, R> {
  readonly left: L;
  readonly right: R;
}

/** Returns the function, with its error policy, that computes the keys for one side of a join. */
export type KeyOf = (node: NodeRun) => Work<unknown, unknown>;

/** Indices of the outputs of a join. */
const PAIRS = 0;
const LEFT_ONLY = 1;
const RIGHT_ONLY = 2;

interface Waiting {
  readonly key: unknown;
  readonly parcel: Parcel;
}

/** The state of one side of a join during a run, with the items that wait for a partner. */
interface JoinSide {
  readonly edge: Edge;
  /** Index of the output for this side's items without a partner. */
  readonly only: number;
  /** Makes a pair of an item of this side and its partner, with the left item first. */
  readonly pair: (item: Parcel, partner: Parcel) => Pair<Parcel, Parcel>;
  /** Items that wait for a partner, in order of arrival. */
  readonly waiting: Set<Waiting>;
  readonly byKey: Map<unknown, Waiting[]>;
  ended: boolean;
  /** Set when this side ends. Resolves when the items that then wait on the other side have been emitted. */
  flushed: Promise<void>;
  /** Wakes the reader of this side, which waits until the side has room for an item. */
  wake: () => void;
}

/**
 * Returns the program of a join node, which pairs items of two edges that have equal keys. Among items with equal keys,
 * the oldest are paired first. Each side keeps at most `hold` items that wait for a partner. While the other side has
 * not ended, a side with `hold` waiting items is not read.
 */
export function joinProgram(keyOf: { readonly left: KeyOf; readonly right: KeyOf }, hold: number): NodeProgram {
  return async (node) => {
    const left = newSide(node.inputs[0]!, LEFT_ONLY, (l, r) => ({ left: l, right: r }));
    const right = newSide(node.inputs[1]!, RIGHT_ONLY, (r, l) => ({ left: l, right: r }));
    const wakeBoth = (): void => {
      left.wake();
      right.wake();
    };
    node.abort.signal.addEventListener('abort', wakeBoth);
    await Promise.all([
      readSide(node, left, right, keyOf.left(node), hold),
      readSide(node, right, left, keyOf.right(node), hold),
    ]);
    node.abort.signal.removeEventListener('abort', wakeBoth);
    for (const side of [left, right]) for (const { parcel } of side.waiting) discard(node, parcel);
  };
}

function newSide(edge: Edge, only: number, pair: JoinSide['pair']): JoinSide {
  const flushed = Promise.resolve();
  return { edge, only, pair, waiting: new Set(), byKey: new Map(), ended: false, flushed, wake: () => {} };
}

async function readSide(
  node: NodeRun,
  mine: JoinSide,
  other: JoinSide,
  work: Work<unknown, unknown>,
  hold: number,
): Promise<void> {
  const { signal } = node.abort;
  const keyOf = underPolicy(node, { ...work, fn: async (item, context) => ({ key: await work.fn(item, context) }) });
  for (let index = 0; ; index++) {
    await placeFor(node, mine, other, hold);
    const next = await mine.edge.channel.take();
    if (next.done === true) break;
    const found = await keyOf(next.value, { signal, index, lane: mine.only - 1 }).catch((error) =>
      failUnlessOver(node, error),
    );
    if (typeof found === 'object')
      await place(node, mine, other, { ...(found as { key: unknown }), parcel: next.value });
  }
  mine.ended = true;
  if (!signal.aborted) mine.flushed = flush(node, other);
  other.wake();
  await mine.flushed;
}

/**
 * Waits until the side `mine` has room for one more item. If both sides are full, no pair can form, so the run fails.
 */
async function placeFor(node: NodeRun, mine: JoinSide, other: JoinSide, hold: number): Promise<void> {
  while (mine.waiting.size >= hold && !other.ended && !node.abort.signal.aborted) {
    if (other.waiting.size >= hold) return node.run.fail(bothFull(node, hold));
    await new Promise<void>((resolve) => {
      mine.wake = resolve;
    });
  }
}

async function place(node: NodeRun, mine: JoinSide, other: JoinSide, entry: Waiting): Promise<void> {
  const partner = takePartner(other, entry.key);
  if (partner !== undefined) {
    other.wake();
    await emit(node, PAIRS, paired(node, mine.pair(entry.parcel, partner.parcel)));
  } else if (other.ended) {
    await other.flushed;
    await emit(node, mine.only, entry.parcel);
  } else {
    mine.waiting.add(entry);
    const alike = mine.byKey.get(entry.key);
    if (alike === undefined) mine.byKey.set(entry.key, [entry]);
    else alike.push(entry);
  }
}

function paired(node: NodeRun, { left, right }: Pair<Parcel, Parcel>): Parcel {
  // Frees the items of the given pair, not `left.item` and `right.item`: a `broadcast` may have replaced the pair by a
  // copy that contains other items.
  const free = (pair: Pair<unknown, unknown>): void => {
    discard(node, { ...left, item: pair.left });
    discard(node, { ...right, item: pair.right });
  };
  const pair = { left: left.item, right: right.item };
  return { item: pair, name: jointName([left, right]), discard: free as Parcel['discard'], sizeOf: undefined };
}

function takePartner({ byKey, waiting }: JoinSide, key: unknown): Waiting | undefined {
  const alike = byKey.get(key);
  const oldest = alike?.shift();
  if (oldest === undefined) return undefined;
  waiting.delete(oldest);
  if (alike?.length === 0) byKey.delete(key);
  return oldest;
}

async function flush(node: NodeRun, side: JoinSide): Promise<void> {
  const entries = [...side.waiting];
  side.waiting.clear();
  side.byKey.clear();
  for (const { parcel } of entries) await emit(node, side.only, parcel);
}

function bothFull({ path }: NodeRun, hold: number): GraphError {
  return new GraphError(
    'graph/stalled',
    'Both sides of the join are full of items without a partner, so no pair can form.',
    {
      expected: `a pair among the ${hold} items held on each side`,
      got: `${hold} items without a partner on both sides`,
      remedy: 'Raise hold, or bring the inputs into similar orders.',
      place: { node: path },
    },
  );
}
