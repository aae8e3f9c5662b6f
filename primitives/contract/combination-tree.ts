/**
 * The canonical combination tree: the bracketing that all backends use for operators that are associative only in exact
 * arithmetic, such as f32 sums. The shape of the tree depends only on the number of elements, so all backends return
 * the same bytes.
 *
 * - A *quad* is 4 consecutive elements; its local prefixes are left folds: e0, e0⊕e1, (e0⊕e1)⊕e2, …
 * - A *block* is 1,024 consecutive elements (256 quads). The total of an aligned group of 2^d quads is the total of its
 *   left half ⊕ the total of its right half.
 * - The prefix before quad q of a block combines one aligned group for each set bit of q, from the lowest bit to the
 *   highest. Each new group is the left operand: S(high) ⊕ (… ⊕ (S(mid) ⊕ S(low))), where S(bit) is the total of the
 *   group for that bit. (Sklansky 1960.)
 * - The prefix before a block is an exclusive prefix of the sequence of block totals, computed by these same rules.
 * - An element's inclusive prefix is (block prefix ⊕ quad prefix) ⊕ local prefix. Its exclusive prefix replaces
 *   this local prefix by the local prefix of the previous element in the same quad.
 *
 * An operand without elements is skipped, never replaced by the identity: −0 + 0 would lose the sign of zero.
 */
export const BLOCK = 1024;
export const QUAD = 4;

type Combine<S> = (left: S, right: S) => S;

/** The combination of all elements; undefined if there are none. */
export function combineAll<S>(elements: readonly S[], combine: Combine<S>): S | undefined {
  if (elements.length <= BLOCK) return combineBlock(elements, combine);
  return combineAll(blockTotals(elements, combine), combine);
}

/** The prefixes of one element. `exclusive` is undefined for the first element. */
export interface Prefix<S> {
  readonly exclusive: S | undefined;
  readonly inclusive: S;
}

/** The inclusive and exclusive prefixes of every element, as the canonical combination tree brackets them. */
export function prefixes<S>(elements: readonly S[], combine: Combine<S>): Prefix<S>[] {
  const before =
    elements.length <= BLOCK
      ? [undefined]
      : prefixes(blockTotals(elements, combine), combine).map(({ exclusive }) => exclusive);
  return before.flatMap((prefix, block) =>
    blockPrefixes(elements.slice(block * BLOCK, (block + 1) * BLOCK), prefix, combine),
  );
}

function blockTotals<S>(elements: readonly S[], combine: Combine<S>): S[] {
  const totals: S[] = [];
  for (let from = 0; from < elements.length; from += BLOCK) {
    totals.push(combineBlock(elements.slice(from, from + BLOCK), combine)!);
  }
  return totals;
}

function combineBlock<S>(block: readonly S[], combine: Combine<S>): S | undefined {
  return groupTotals(quadTotals(block, combine), combine).at(-1)![0];
}

/** The totals of the aligned groups of 2^d quads, for every d. For each size, the last group may have fewer quads. */
function groupTotals<S>(quads: readonly S[], combine: Combine<S>): (readonly S[])[] {
  const levels = [quads];
  for (let groups = quads; groups.length > 1; ) {
    const halves = groups;
    groups = Array.from(
      { length: Math.ceil(halves.length / 2) },
      (_, i) => join(halves[2 * i], halves[2 * i + 1], combine)!,
    );
    levels.push(groups);
  }
  return levels;
}

function quadTotals<S>(block: readonly S[], combine: Combine<S>): S[] {
  return Array.from({ length: Math.ceil(block.length / QUAD) }, (_, quad) =>
    block.slice(quad * QUAD, (quad + 1) * QUAD).reduce(combine),
  );
}

function blockPrefixes<S>(block: readonly S[], prefix: S | undefined, combine: Combine<S>): Prefix<S>[] {
  const groups = groupTotals(quadTotals(block, combine), combine);
  return groups[0]!.flatMap((_, quad) => {
    const before = join(prefix, quadPrefix(groups, quad, combine), combine);
    let local: S | undefined;
    return block.slice(quad * QUAD, (quad + 1) * QUAD).map((element) => {
      const exclusive = join(before, local, combine);
      local = local === undefined ? element : combine(local, element);
      return { exclusive, inclusive: before === undefined ? local : combine(before, local) };
    });
  });
}

/** The combination of all quads of a block before the given quad, computed from the totals of aligned groups. */
function quadPrefix<S>(groups: readonly (readonly S[])[], quad: number, combine: Combine<S>): S | undefined {
  let prefix: S | undefined;
  for (let level = 0; quad >> level > 0; level++) {
    if (((quad >> level) & 1) === 0) continue;
    prefix = join(groups[level]![(quad >> level) - 1], prefix, combine);
  }
  return prefix;
}

function join<S>(left: S | undefined, right: S | undefined, combine: Combine<S>): S | undefined {
  if (left === undefined) return right;
  return right === undefined ? left : combine(left, right);
}
