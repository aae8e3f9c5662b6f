import type { Regions } from './regions.ts';
import { maskWords } from './row-masks.ts';

/** How the areas of pairs can be found; all are exact. */
export type AreaMethod = 'masks' | 'corners' | 'sweep';

/** Pairs of regions by their numbers in two sets. */
export interface RegionPairs {
  readonly p: Uint32Array;
  readonly q: Uint32Array;
}

/** Which pairs are done how, by their numbers, and which regions need masks for it. */
export interface AreaPlan {
  readonly masked: { readonly p: Uint8Array; readonly q: Uint8Array };
  readonly masks: Uint32Array;
  /** By sums over corners modulo 2³² and modulo 2⁶⁴. */
  readonly corners32: Uint32Array;
  readonly corners64: Uint32Array;
  readonly sweep: Uint32Array;
}

/** What the choice rests on, from `bench/pixelbox-methods.ts`: words of a mask, and products of corners, take time alike. */
export const CHOICE: {
  /** Words of a mask that are worth one corner of its region, whatever its partners. */
  readonly wordsPerCorner: number;
  /** Products of corners that take as long as one word of a mask. */
  readonly productsPerWord: number;
  /** Products of corners from which a pair is swept. */
  readonly sweepFrom: number;
  /** Words that one mask may have. */
  readonly mostWords: number;
} = { wordsPerCorner: 16, productsPerWord: 4, sweepFrom: 2 ** 23, mostWords: 2 ** 22 };

/**
 * Chooses the method of every pair by the sizes of its regions: masks where both have them, which they do unless theirs
 * would be far larger than what their corners ask for; else the sum over corners, or the sweep where they are many.
 *
 * O(regions + pairs).
 */
export function planAreas(p: Regions, q: Regions, pairs: RegionPairs, method: AreaMethod | 'auto'): AreaPlan {
  const masked = { p: new Uint8Array(p.left.length), q: new Uint8Array(q.left.length) };
  if (method === 'masks' || method === 'auto') {
    const products = productsOfCorners(p, q, pairs);
    markMasked(p, pairs.p, products.p, method, masked.p);
    markMasked(q, pairs.q, products.q, method, masked.q);
  }
  const lists = { masks: [], corners32: [], corners64: [], sweep: [] } as Record<PairClass, number[]>;
  for (let pair = 0; pair < pairs.p.length; pair++) {
    const [a, b] = [pairs.p[pair]!, pairs.q[pair]!];
    if (masked.p[a] === 1 && masked.q[b] === 1) lists.masks.push(pair);
    else lists[unmasked(p, a, q, b, method)].push(pair);
  }
  const numbers = (list: readonly number[]): Uint32Array => Uint32Array.from(list);
  return {
    masked,
    masks: numbers(lists.masks),
    corners32: numbers(lists.corners32),
    corners64: numbers(lists.corners64),
    sweep: numbers(lists.sweep),
  };
}

type PairClass = 'masks' | 'corners32' | 'corners64' | 'sweep';

const cornersOf = ({ cornerStart }: Regions, region: number): number => cornerStart[region + 1]! - cornerStart[region]!;

/** For every region the products of its corners with those of its partners, summed. */
function productsOfCorners(p: Regions, q: Regions, pairs: RegionPairs): { p: Float64Array; q: Float64Array } {
  const products = { p: new Float64Array(p.left.length), q: new Float64Array(q.left.length) };
  for (let pair = 0; pair < pairs.p.length; pair++) {
    const [a, b] = [pairs.p[pair]!, pairs.q[pair]!];
    const product = cornersOf(p, a) * cornersOf(q, b);
    products.p[a]! += product;
    products.q[b]! += product;
  }
  return products;
}

function markMasked(
  regions: Regions,
  used: Uint32Array,
  products: Float64Array,
  method: AreaMethod | 'auto',
  masked: Uint8Array,
): void {
  const { wordsPerCorner, productsPerWord, mostWords } = CHOICE;
  for (const region of used) {
    const words = maskWords(regions, region);
    const worth = wordsPerCorner * cornersOf(regions, region) + products[region]! / productsPerWord;
    masked[region] = words <= mostWords && (method === 'masks' || words <= worth) ? 1 : 0;
  }
}

function unmasked(p: Regions, a: number, q: Regions, b: number, method: AreaMethod | 'auto'): PairClass {
  const products = cornersOf(p, a) * cornersOf(q, b);
  if (method === 'sweep' || (method !== 'corners' && products >= CHOICE.sweepFrom)) return 'sweep';
  return sharedPixels(p, a, q, b) < 2 ** 32 ? 'corners32' : 'corners64';
}

function sharedPixels(p: Regions, a: number, q: Regions, b: number): number {
  const width = Math.min(p.right[a]!, q.right[b]!) - Math.max(p.left[a]!, q.left[b]!);
  return Math.max(0, width) * sharedRows(p, a, q, b);
}

/** Whether a mask of the region has one word a row. */
export function isNarrow({ left, right }: Regions, region: number): boolean {
  return right[region]! - left[region]! <= 32;
}

/** Rows that the boxes of two regions share. */
export function sharedRows(p: Regions, a: number, q: Regions, b: number): number {
  return Math.max(0, Math.min(p.bottom[a]!, q.bottom[b]!) - Math.max(p.top[a]!, q.top[b]!));
}
