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

/** A group of a block has at most 2⁸ quads. */
const LEVELS = Math.log2(BLOCK / QUAD) + 1;

/**
 * Combines elements by the canonical combination tree as they come, so that no more than a few groups of each block are
 * kept.
 */
export class CombinationTree<S> {
  /** The prefixes of the element that was scanned last. The first element has no exclusive prefix. */
  exclusive: S | undefined;
  inclusive: S | undefined;

  readonly #combine: (left: S, right: S) => S;
  /** The tree of the totals of the blocks that are over, and the prefix before the block that is not. */
  #blocks: CombinationTree<S> | undefined;
  #beforeBlock: S | undefined;
  /** The number of quads of the block that are over; group d is the last one of 2^d quads, for each bit d of the number. */
  #quads = 0;
  readonly #groups: S[] = [];
  /** The quad that is not over: the prefix before it, its elements, and their number. */
  #beforeQuad: S | undefined;
  #local: S | undefined;
  #elements = 0;

  constructor(combine: (left: S, right: S) => S) {
    this.#combine = combine;
  }

  /** Takes the next element and finds its prefixes. */
  scan(element: S): void {
    if (this.#elements === 0) {
      this.#beforeQuad = this.#join(this.#beforeBlock, this.#quadPrefix());
      this.exclusive = this.#beforeQuad;
    } else {
      this.exclusive = this.inclusive;
    }
    const local = this.#join(this.#local, element) as S;
    this.inclusive = this.#join(this.#beforeQuad, local);
    this.#take(local);
  }

  /** Takes the next element. */
  add(element: S): void {
    this.#take(this.#join(this.#local, element) as S);
  }

  /** The combination of all elements; undefined if there were none. There must be no more elements. */
  end(): S | undefined {
    const total = this.#quadPrefix(this.#local);
    if (this.#blocks === undefined) return total;
    if (total !== undefined) this.#blocks.add(total);
    return this.#blocks.end();
  }

  /** Takes the local prefix of the next element. */
  #take(local: S): void {
    this.#local = local;
    if (++this.#elements < QUAD) return;
    let level = 0;
    let group = local;
    for (; (this.#quads >> level) & 1; level++) group = this.#combine(this.#groups[level] as S, group);
    this.#groups[level] = group;
    this.#quads++;
    this.#elements = 0;
    this.#local = undefined;
    if (this.#quads < BLOCK / QUAD) return;
    this.#quads = 0;
    this.#blocks ??= new CombinationTree(this.#combine);
    this.#blocks.add(group);
    this.#beforeBlock = this.#blocks.#next();
  }

  /** The exclusive prefix of the next element. */
  #next(): S | undefined {
    return this.#join(this.#join(this.#beforeBlock, this.#quadPrefix()), this.#local);
  }

  /** The combination of the groups of the block, and then of `last`. */
  #quadPrefix(last?: S): S | undefined {
    let prefix = last;
    for (let level = 0; level < LEVELS; level++) {
      if ((this.#quads >> level) & 1) prefix = this.#join(this.#groups[level], prefix);
    }
    return prefix;
  }

  #join(left: S | undefined, right: S | undefined): S | undefined {
    if (left === undefined) return right;
    return right === undefined ? left : this.#combine(left, right);
  }
}
