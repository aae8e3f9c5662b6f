/** A multi-attribute quadtree (MAQ-tree, see `algorithms/maq-tree`) as plain arrays, with up to 13 levels. */
export interface BuiltTree {
  readonly code: Uint32Array;
  readonly level: Uint32Array;
  readonly firstChild: Uint32Array;
  readonly childCount: Uint32Array;
  readonly firstEntry: Uint32Array;
  readonly entryCount: Uint32Array;
  readonly polygon: Uint32Array;
}

/** Maximum number of levels for which a code and its level fit in one 32-bit key. */
export const MAX_LEVELS = 13;

/**
 * Builds a tree over the quadrants of one set of polygons, in optimized plain JavaScript on one thread. A radix sort
 * orders the quadrants by level and code. Then the nodes of each level are made, from the smallest quadrants to the
 * root, by merging two sorted lists: the quadrants of this level, and the parents of the nodes on the level below.
 */
export function buildByHand(polygon: Uint32Array, code: Uint32Array, level: Uint32Array): BuiltTree {
  const count = polygon.length;
  const keys = new Uint32Array(count);
  for (let i = 0; i < count; i++) keys[i] = ((level[i]! << (2 * MAX_LEVELS)) | code[i]!) >>> 0;
  const order = radixOrder(keys);
  const entries = new Uint32Array(count);
  for (let i = 0; i < count; i++) entries[i] = polygon[order[i]!]!;
  const levels = mergeLevels(keys, order);
  return layOut(levels, entries);
}

/** Row numbers, sorted by the keys of the rows with a stable radix sort (four passes of eight bits). */
function radixOrder(keys: Uint32Array): Uint32Array {
  let order = Uint32Array.from(keys.keys());
  let next = new Uint32Array(keys.length);
  for (let shift = 0; shift < 32; shift += 8) {
    const starts = new Uint32Array(257);
    for (let i = 0; i < keys.length; i++) starts[((keys[i]! >>> shift) & 255) + 1]!++;
    for (let digit = 0; digit < 256; digit++) starts[digit + 1]! += starts[digit]!;
    for (let i = 0; i < keys.length; i++) {
      const row = order[i]!;
      next[starts[(keys[row]! >>> shift) & 255]!++] = row;
    }
    [order, next] = [next, order];
  }
  return order;
}

interface Level {
  readonly code: number[];
  readonly childCount: number[];
  readonly firstEntry: number[];
  readonly entryCount: number[];
}

function mergeLevels(keys: Uint32Array, order: Uint32Array): Level[] {
  const levels: Level[] = [];
  const mask = 2 ** (2 * MAX_LEVELS) - 1;
  let end = order.length;
  let below: Level | undefined;
  const last = end === 0 ? -1 : keys[order[end - 1]!]! >>> (2 * MAX_LEVELS);
  for (let level = last; level >= 0; level--) {
    let start = end;
    while (start > 0 && keys[order[start - 1]!]! >>> (2 * MAX_LEVELS) === level) start--;
    const made: Level = { code: [], childCount: [], firstEntry: [], entryCount: [] };
    let [own, child] = [start, 0];
    const children = below?.code ?? [];
    while (own < end || child < children.length) {
      const ownCode = own < end ? keys[order[own]!]! & mask : Number.POSITIVE_INFINITY;
      const parent = child < children.length ? children[child]! >>> 2 : Number.POSITIVE_INFINITY;
      const code = Math.min(ownCode, parent);
      const [firstOwn, firstChild] = [own, child];
      while (own < end && (keys[order[own]!]! & mask) === code) own++;
      while (child < children.length && children[child]! >>> 2 === code) child++;
      made.code.push(code);
      made.childCount.push(child - firstChild);
      made.firstEntry.push(firstOwn);
      made.entryCount.push(own - firstOwn);
    }
    levels.unshift(made);
    below = made;
    end = start;
  }
  return levels;
}

function layOut(levels: readonly Level[], polygon: Uint32Array): BuiltTree {
  const nodes = levels.reduce((sum, { code }) => sum + code.length, 0);
  const column = (): Uint32Array => new Uint32Array(nodes);
  const tree = {
    code: column(),
    level: column(),
    firstChild: column(),
    childCount: column(),
    firstEntry: column(),
    entryCount: column(),
    polygon,
  };
  let at = 0;
  for (const [level, { code, childCount, firstEntry, entryCount }] of levels.entries()) {
    tree.code.set(code, at);
    tree.childCount.set(childCount, at);
    tree.firstEntry.set(firstEntry, at);
    tree.entryCount.set(entryCount, at);
    tree.level.fill(level, at, at + code.length);
    let child = at + code.length;
    for (let i = 0; i < code.length; i++) {
      tree.firstChild[at + i] = child;
      child += childCount[i]!;
    }
    at += code.length;
  }
  return tree;
}

/**
 * For each window, walks down the tree from the root and counts the nodes that have entries and intersect the window.
 * Returns the total count. Coordinates are columns and rows of the finest grid.
 */
export function countByWalking(tree: BuiltTree, sides: Uint32Array, bits: number): number {
  const { code, level, firstChild, childCount, entryCount } = tree;
  const [left, bottom] = cornersOf(code, level, bits);
  const stack = new Uint32Array(4 * 32);
  let met = 0;
  for (let window = 0; 4 * window < sides.length; window++) {
    const [x0, y0] = [sides[4 * window]!, sides[4 * window + 1]!];
    const [x1, y1] = [sides[4 * window + 2]!, sides[4 * window + 3]!];
    if (x0 >= x1 || y0 >= y1) continue;
    let depth = 1;
    stack[0] = 0;
    while (depth > 0) {
      const node = stack[--depth]!;
      const side = 2 ** (bits - level[node]!);
      const [x, y] = [left[node]!, bottom[node]!];
      if (x >= x1 || y >= y1 || x + side <= x0 || y + side <= y0) continue;
      if (entryCount[node]! > 0) met++;
      const first = firstChild[node]!;
      for (let k = childCount[node]! - 1; k >= 0; k--) stack[depth++] = first + k;
    }
  }
  return met;
}

/** The lower left corners of all nodes, in steps of the finest grid. */
export function cornersOf(
  code: Uint32Array,
  level: Uint32Array,
  bits: number,
): [left: Float64Array, bottom: Float64Array] {
  const [left, bottom] = [new Float64Array(code.length), new Float64Array(code.length)];
  for (let node = 0; node < code.length; node++) {
    let [x, y] = [0, 0];
    for (let bit = 0; bit < level[node]!; bit++) {
      x |= ((code[node]! >>> (2 * bit)) & 1) << bit;
      y |= ((code[node]! >>> (2 * bit + 1)) & 1) << bit;
    }
    left[node] = x * 2 ** (bits - level[node]!);
    bottom[node] = y * 2 ** (bits - level[node]!);
  }
  return [left, bottom];
}
