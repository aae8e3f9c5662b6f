import Flatbush from 'flatbush';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance, aRecord, type Kind, optional } from '../../primitives/checks/kinds.ts';
import { boxColumns, type Regions } from '../pixelbox/regions.ts';

/** Minimum bounding rectangles as columns, in pixels. They are half-open: `right` and `bottom` are exclusive. */
export type Boxes = Pick<Regions, 'left' | 'top' | 'right' | 'bottom'>;

export const someBoxes: Kind = aRecord<Boxes>(boxColumns);

/** Pairs of polygons as columns: polygon `p[i]` of one side with `q[i]` of the other, ordered by (p, q). */
export interface PairColumns {
  readonly p: Uint32Array;
  readonly q: Uint32Array;
}

/** Pairs of polygons whose boxes have common area. Only for these pairs are the exact areas computed later. */
export interface Candidates extends PairColumns {
  /**
   * Number of pairs whose boxes overlap or touch, even if only in an edge or a corner. The operator `&&` of PostGIS
   * finds the same pairs.
   */
  readonly meeting: number;
}

/** An index over the boxes of one side. */
export interface BoxIndex {
  readonly boxes: Boxes;
  /**
   * Indices of the polygons in the tree, ascending. Polygons with empty boxes are left out, because these polygons
   * contain no pixel.
   */
  readonly members: Uint32Array;
  /** The R-tree over the boxes of `members`; undefined if `members` is empty. */
  readonly tree: Flatbush | undefined;
}

const anIndex: Kind = aRecord<BoxIndex>({
  boxes: someBoxes,
  members: anInstance(Uint32Array),
  tree: optional(anInstance(Flatbush)),
});

/**
 * Builds an index of boxes, a packed Hilbert R-tree, for {@link filterPairs}. O(n log n).
 *
 * @example
 * const boxes = { left: Int32Array.of(0), top: Int32Array.of(0), right: Int32Array.of(2), bottom: Int32Array.of(2) };
 * filterPairs(boxes, indexBoxes(boxes)).q; // Uint32Array [0]
 */
export function indexBoxes(boxes: Boxes): BoxIndex {
  requireArguments('indexBoxes', { boxes }, { boxes: someBoxes });
  const { left, top, right, bottom } = boxes;
  const members = Uint32Array.from(left.keys()).filter((i) => hasArea(boxes, i));
  if (members.length === 0) return { boxes, members, tree: undefined };
  const tree = new Flatbush(members.length, 16, Int32Array);
  for (const i of members) tree.add(left[i]!, top[i]!, right[i]!, bottom[i]!);
  tree.finish();
  return { boxes, members, tree };
}

/**
 * Finds the pairs of polygons whose boxes have common area. No other pairs of polygons can have common area.
 *
 * Boxes are half-open, so boxes that share only an edge or a corner have no pixel in common. Such pairs are not
 * candidates, but `meeting` includes them, because the operator `&&` in the paper's query finds them. A box without
 * area belongs to a polygon without pixels, and is in no pair.
 *
 * Pairs are ordered by (p, q), regardless of the shape of the tree. O((p + pairs) log q) for boxes that overlap little,
 * as in segmentations.
 *
 * Source: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU Hybrid
 * Systems, 2012: the stages `builder` and `filter`.
 *
 * @example
 * const row = (left: number[], right: number[]): Boxes => ({
 *   left: Int32Array.from(left), right: Int32Array.from(right),
 *   top: new Int32Array(left.length), bottom: new Int32Array(left.length).fill(1),
 * });
 * const { p, q, meeting } = filterPairs(row([0, 2], [2, 4]), indexBoxes(row([1, 4], [3, 5])));
 * [p, q, meeting]; // [Uint32Array [0, 1], Uint32Array [0, 0], 3]
 */
export function filterPairs(p: Boxes, index: BoxIndex): Candidates {
  requireArguments('filterPairs', { p, index }, { p: someBoxes, index: anIndex });
  const { boxes: q, members, tree } = index;
  const found = growingPairs();
  if (tree === undefined) return found.columns();
  for (let i = 0; i < p.left.length; i++) {
    if (!hasArea(p, i)) continue;
    const [left, top, right, bottom] = [p.left[i]!, p.top[i]!, p.right[i]!, p.bottom[i]!];
    const met = tree.search(left, top, right, bottom);
    found.meet(met.length);
    for (const member of met.sort(ascending)) {
      const j = members[member]!;
      const width = Math.min(right, q.right[j]!) - Math.max(left, q.left[j]!);
      const height = Math.min(bottom, q.bottom[j]!) - Math.max(top, q.top[j]!);
      if (width > 0 && height > 0) found.add(i, j);
    }
  }
  return found.columns();
}

function hasArea({ left, top, right, bottom }: Boxes, i: number): boolean {
  return left[i]! < right[i]! && top[i]! < bottom[i]!;
}

function ascending(a: number, b: number): number {
  return a - b;
}

function growingPairs() {
  let p = new Uint32Array(1024);
  let q = new Uint32Array(1024);
  let length = 0;
  let meeting = 0;
  return {
    meet(count: number): void {
      meeting += count;
    },
    add(i: number, j: number): void {
      if (length === p.length) [p, q] = [doubled(p), doubled(q)];
      p[length] = i;
      q[length++] = j;
    },
    columns: (): Candidates => ({ p: p.slice(0, length), q: q.slice(0, length), meeting }),
  };
}

function doubled(column: Uint32Array): Uint32Array<ArrayBuffer> {
  const wider = new Uint32Array(2 * column.length);
  wider.set(column);
  return wider;
}
