import { requireArguments } from '../../primitives/checks/arguments.ts';
import { type Boxes, someBoxes } from './filter.ts';

/** Numbers of pairs that consist of a box of `p` and a box of `q`. */
export interface BoxMeetings {
  /** Number of pairs whose boxes overlap in area. */
  readonly candidates: number;
  /** Number of pairs whose boxes overlap or touch, even if only in an edge or a corner. */
  readonly meeting: number;
}

/**
 * Counts the pairs of boxes that `filterPairs` finds, without listing them. Takes O(n log n) for n boxes of `p` and `q`
 * together, however many pairs there are. A line sweeps down the rows. At the top of each box, the boxes of the other
 * set that cross the line are counted, except those that end left of the box or begin right of it. Binary indexed trees
 * over the columns give these counts. A box without area is in no pair.
 *
 * Source: Fenwick, A New Data Structure for Cumulative Frequency Tables, 1994.
 *
 * @example
 * const row = (left: number[], right: number[]): Boxes => ({
 *   left: Int32Array.from(left), right: Int32Array.from(right),
 *   top: new Int32Array(left.length), bottom: new Int32Array(left.length).fill(1),
 * });
 * countMeetings(row([0, 2], [2, 4]), row([1, 4], [3, 5])); // { candidates: 2, meeting: 3 }
 */
export function countMeetings(p: Boxes, q: Boxes): BoxMeetings {
  requireArguments('countMeetings', { p, q }, { p: someBoxes, q: someBoxes });
  const sweep = prepareSweep(p, q);
  return { candidates: countAlong(sweep, false), meeting: countAlong(sweep, true) };
}

/** All boxes of `p` and `q` except boxes without area, in one table. */
interface Sweep {
  /** The side to which each box belongs: 0 for p, 1 for q. */
  readonly side: Uint8Array;
  /** Left and right edges of the boxes, as ranks among the distinct pixel columns at which a box begins or ends. */
  readonly left: Uint32Array;
  readonly right: Uint32Array;
  readonly ranks: number;
  readonly top: Int32Array;
  readonly bottom: Int32Array;
  /**
   * Indices of the boxes in the order in which the sweep line enters them. `byBottom` has the order in which the line
   * leaves them.
   */
  readonly byTop: Uint32Array;
  readonly byBottom: Uint32Array;
}

function prepareSweep(p: Boxes, q: Boxes): Sweep {
  const [ofP, ofQ] = [membersOf(p), membersOf(q)];
  const count = ofP.length + ofQ.length;
  const side = new Uint8Array(count).fill(1, ofP.length);
  const both = (name: keyof Boxes): Int32Array => {
    const column = new Int32Array(count);
    for (const [row, box] of ofP.entries()) column[row] = p[name][box]!;
    for (const [row, box] of ofQ.entries()) column[ofP.length + row] = q[name][box]!;
    return column;
  };
  const [left, right, top, bottom] = [both('left'), both('right'), both('top'), both('bottom')];
  const columns = distinct(left, right);
  return {
    side,
    left: ranksIn(columns, left),
    right: ranksIn(columns, right),
    ranks: columns.length,
    top,
    bottom,
    byTop: orderBy(top),
    byBottom: orderBy(bottom),
  };
}

function membersOf({ left, top, right, bottom }: Boxes): Uint32Array {
  return Uint32Array.from(left.keys()).filter((i) => left[i]! < right[i]! && top[i]! < bottom[i]!);
}

function distinct(a: Int32Array, b: Int32Array): Int32Array {
  const all = new Int32Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all.sort().filter((value, i, sorted) => i === 0 || sorted[i - 1] !== value);
}

function ranksIn(sorted: Int32Array, values: Int32Array): Uint32Array {
  return Uint32Array.from(values, (value) => {
    let [from, to] = [0, sorted.length];
    while (to - from > 1) {
      const middle = (from + to) >>> 1;
      if (sorted[middle]! <= value) from = middle;
      else to = middle;
    }
    return from;
  });
}

function orderBy(column: Int32Array): Uint32Array {
  return Uint32Array.from(column.keys()).sort((a, b) => column[a]! - column[b]!);
}

/**
 * Counts the pairs of boxes that overlap in area or, if `closed`, that overlap or touch. A pair is counted when the
 * sweep line reaches the top of the later of the two boxes.
 */
function countAlong({ side, left, right, ranks, top, bottom, byTop, byBottom }: Sweep, closed: boolean): number {
  const onLine = [sideOnLine(ranks), sideOnLine(ranks)] as const;
  let [pairs, leaving] = [0, 0];
  for (const box of byTop) {
    for (; leaving < byBottom.length; leaving++) {
      const gone = byBottom[leaving]!;
      if (closed ? bottom[gone]! >= top[box]! : bottom[gone]! > top[box]!) break;
      onLine[side[gone]!]!.add(left[gone]!, right[gone]!, -1);
    }
    pairs += onLine[1 - side[box]!]!.meeting(left[box]!, right[box]!, closed);
    onLine[side[box]!]!.add(left[box]!, right[box]!, 1);
  }
  return pairs;
}

/** The boxes of one side that cross the sweep line, in two trees: counted by left rank and by right rank. */
function sideOnLine(ranks: number) {
  const [begins, ends] = [new Int32Array(ranks + 1), new Int32Array(ranks + 1)];
  let count = 0;
  return {
    add(left: number, right: number, by: 1 | -1): void {
      addAt(begins, left, by);
      addAt(ends, right, by);
      count += by;
    },
    meeting(left: number, right: number, closed: boolean): number {
      const before = countBelow(ends, closed ? left : left + 1);
      const behind = count - countBelow(begins, closed ? right + 1 : right);
      return count - before - behind;
    },
  };
}

/** Adds `by` to the count of a rank in a binary indexed tree. */
function addAt(tree: Int32Array, rank: number, by: number): void {
  for (let node = rank + 1; node < tree.length; node += node & -node) tree[node]! += by;
}

/** The sum of the counts of all ranks below `rank`. */
function countBelow(tree: Int32Array, rank: number): number {
  let sum = 0;
  for (let node = rank; node > 0; node -= node & -node) sum += tree[node]!;
  return sum;
}
