import { BLOCK, QUAD } from '../../primitives/contract/combination-tree.ts';

type Combine<S> = (left: S, right: S) => S;

/**
 * The total by the canonical tree, which is the prescribed bracketing for inexact monoids. The laws compare reductions
 * and scans with this recursive implementation. It was written only from the description of the tree, so it is
 * independent of the code under test.
 */
export function canonicalTotal<S>(elements: readonly S[], combine: Combine<S>): S | undefined {
  if (elements.length > BLOCK) return canonicalTotal(totalsOfBlocks(elements, combine), combine);
  return totalOfGroup(elements, 0, Math.log2(BLOCK / QUAD), combine);
}

/** The prefixes of one element. The exclusive prefix of the first element is undefined. */
export interface CanonicalPrefix<S> {
  readonly exclusive: S | undefined;
  readonly inclusive: S;
}

/** The inclusive and exclusive prefixes of all elements, by the canonical tree. */
export function canonicalPrefixes<S>(elements: readonly S[], combine: Combine<S>): CanonicalPrefix<S>[] {
  const blocks = blocksOf(elements);
  const before = blocks.length > 1 ? canonicalPrefixes(totalsOfBlocks(elements, combine), combine) : [];
  return blocks.flatMap((block, b) => prefixesInBlock(block, before[b]?.exclusive, combine));
}

/** The inclusive and exclusive prefix of the last element, by the canonical tree. */
export function canonicalLastPrefix<S>(elements: readonly S[], combine: Combine<S>): CanonicalPrefix<S> {
  const before = canonicalPrefixes(totalsOfBlocks(elements, combine), combine).at(-1);
  return prefixesInBlock(blocksOf(elements).at(-1)!, before?.exclusive, combine).at(-1)!;
}

function prefixesInBlock<S>(block: readonly S[], before: S | undefined, combine: Combine<S>): CanonicalPrefix<S>[] {
  return quadsOf(block).flatMap((quad, q) => {
    const prefix = join(before, totalBeforeQuad(block, q, combine), combine);
    return quad.map((_, i) => ({
      exclusive: join(prefix, fold(quad.slice(0, i), combine), combine),
      inclusive: join(prefix, fold(quad.slice(0, i + 1), combine), combine)!,
    }));
  });
}

function totalsOfBlocks<S>(elements: readonly S[], combine: Combine<S>): S[] {
  return blocksOf(elements).map((block) => canonicalTotal(block, combine)!);
}

const blocksOf = <S>(elements: readonly S[]): S[][] => chunks(elements, BLOCK);
const quadsOf = <S>(block: readonly S[]): S[][] => chunks(block, QUAD);

function chunks<S>(elements: readonly S[], size: number): S[][] {
  const count = Math.ceil(elements.length / size);
  return Array.from({ length: count }, (_, i) => elements.slice(i * size, (i + 1) * size));
}

/**
 * Returns the total of the elements of a block that precede a quad. These elements form aligned groups of quads, one
 * group for each bit that is set in `quad`. The total is S(high) ⊕ (… ⊕ S(low)), where S is the total of a group.
 */
function totalBeforeQuad<S>(block: readonly S[], quad: number, combine: Combine<S>): S | undefined {
  const groups: (S | undefined)[] = [];
  let start = 0;
  for (let level = Math.log2(BLOCK / QUAD) - 1; level >= 0; level--) {
    if ((quad & (1 << level)) === 0) continue;
    groups.push(totalOfGroup(block, start, level, combine));
    start += 1 << level;
  }
  return groups.reduceRight((low, high) => join(high, low, combine), undefined);
}

function totalOfGroup<S>(block: readonly S[], quad: number, level: number, combine: Combine<S>): S | undefined {
  if (level === 0) return fold(block.slice(quad * QUAD, (quad + 1) * QUAD), combine);
  if (quad * QUAD >= block.length) return undefined;
  const half = 1 << (level - 1);
  return join(
    totalOfGroup(block, quad, level - 1, combine),
    totalOfGroup(block, quad + half, level - 1, combine),
    combine,
  );
}

function fold<S>(elements: readonly S[], combine: Combine<S>): S | undefined {
  return elements.length === 0 ? undefined : elements.reduce(combine);
}

function join<S>(left: S | undefined, right: S | undefined, combine: Combine<S>): S | undefined {
  if (left === undefined) return right;
  return right === undefined ? left : combine(left, right);
}
