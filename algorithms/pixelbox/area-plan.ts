import { bandedWords } from './banded-masks.ts';
import { isNarrow, narrowWords } from './narrow-masks.ts';
import { type Regions, vertexCount } from './regions.ts';
import { mostRuns } from './runs.ts';

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
  /** Words that the mask of every region in a pair takes, or would take. */
  readonly words: { readonly p: Float64Array; readonly q: Float64Array };
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
 * O(regions + pairs), and the vertices of wide regions once.
 */
export function planAreas(p: Regions, q: Regions, pairs: RegionPairs, method: AreaMethod | 'auto'): AreaPlan {
  const sizes = { p: measureRegions(p, pairs.p), q: measureRegions(q, pairs.q) };
  const masked = { p: new Uint8Array(p.left.length), q: new Uint8Array(q.left.length) };
  if (method === 'masks' || method === 'auto') {
    const left = markSmall(p, pairs.p, sizes.p, masked.p) + markSmall(q, pairs.q, sizes.q, masked.q);
    if (left > 0) markWorthwhile({ p, q }, pairs, sizes, method, masked);
  }
  const classes = new Uint8Array(pairs.p.length);
  const counts = new Uint32Array(CLASSES.length);
  for (let pair = 0; pair < classes.length; pair++) {
    const [a, b] = [pairs.p[pair]!, pairs.q[pair]!];
    const found = masked.p[a]! & masked.q[b]! ? MASKS : signedClass({ p, q }, a, b, sizes, method);
    classes[pair] = found;
    counts[found]!++;
  }
  const [masks, corners32, corners64, sweep] = CLASSES.map((_, each) => members(classes, each, counts[each]!));
  const words = { p: sizes.p.words, q: sizes.q.words };
  return { masked, words, masks: masks!, corners32: corners32!, corners64: corners64!, sweep: sweep! };
}

const CLASSES = ['masks', 'corners32', 'corners64', 'sweep'] as const;
const [MASKS, CORNERS_32, CORNERS_64, SWEEP] = [0, 1, 2, 3] as const;

function members(classes: Uint8Array, wanted: number, count: number): Uint32Array {
  const pairs = new Uint32Array(count);
  for (let pair = 0, at = 0; at < count; pair++) if (classes[pair] === wanted) pairs[at++] = pair;
  return pairs;
}

/** Sizes of the regions that occur in pairs; 0 for the others. Taken once: those of wide regions ask for all their edges. */
interface RegionSizes {
  /** Both ends of all runs, at most; of narrow regions, whose slopes are short, about so many. */
  readonly corners: Float64Array;
  readonly words: Float64Array;
}

interface Sides<T> {
  readonly p: T;
  readonly q: T;
}

function measureRegions(regions: Regions, used: Uint32Array): RegionSizes {
  const count = regions.left.length;
  const sizes = { corners: new Float64Array(count), words: new Float64Array(count) };
  const seen = new Uint8Array(count);
  for (let i = 0; i < used.length; i++) {
    const region = used[i]!;
    if (seen[region] === 1) continue;
    seen[region] = 1;
    if (isNarrow(regions, region)) {
      sizes.corners[region] = vertexCount(regions, region);
      sizes.words[region] = narrowWords(regions, region);
    } else {
      const runs = mostRuns(regions, region);
      sizes.corners[region] = 2 * runs;
      sizes.words[region] = bandedWords(regions, region, runs);
    }
  }
  return sizes;
}

/** Whether a region can have a mask: areas of masks are 32-bit numbers. */
function canHaveMask({ left, top, right, bottom }: Regions, region: number, words: number): boolean {
  const pixels = (right[region]! - left[region]!) * (bottom[region]! - top[region]!);
  return words <= CHOICE.mostWords && pixels < 2 ** 32;
}

/** Marks the regions whose masks are small by themselves; returns how often it met others. */
function markSmall(regions: Regions, used: Uint32Array, sizes: RegionSizes, masked: Uint8Array): number {
  let others = 0;
  for (let i = 0; i < used.length; i++) {
    const region = used[i]!;
    if (masked[region] === 1) continue;
    const words = sizes.words[region]!;
    if (words <= CHOICE.wordsPerCorner * sizes.corners[region]! && canHaveMask(regions, region, words)) {
      masked[region] = 1;
    } else others++;
  }
  return others;
}

/** Marks the regions whose masks are worth it for all their pairs together; by masks alone, all that can have one. */
function markWorthwhile(
  sides: Sides<Regions>,
  pairs: RegionPairs,
  sizes: Sides<RegionSizes>,
  method: AreaMethod | 'auto',
  masked: Sides<Uint8Array>,
): void {
  const products = { p: new Float64Array(masked.p.length), q: new Float64Array(masked.q.length) };
  for (let pair = 0; pair < pairs.p.length; pair++) {
    const [a, b] = [pairs.p[pair]!, pairs.q[pair]!];
    const product = sizes.p.corners[a]! * sizes.q.corners[b]!;
    products.p[a]! += product;
    products.q[b]! += product;
  }
  for (const side of ['p', 'q'] as const) {
    for (const region of pairs[side]) {
      const words = sizes[side].words[region]!;
      const worth = method === 'masks' || words <= products[side][region]! / CHOICE.productsPerWord;
      if (worth && canHaveMask(sides[side], region, words)) masked[side][region] = 1;
    }
  }
}

function signedClass(
  { p, q }: Sides<Regions>,
  a: number,
  b: number,
  sizes: Sides<RegionSizes>,
  method: AreaMethod | 'auto',
): number {
  const products = sizes.p.corners[a]! * sizes.q.corners[b]!;
  if (method === 'sweep' || (method !== 'corners' && products >= CHOICE.sweepFrom)) return SWEEP;
  return sharedPixels(p, a, q, b) < 2 ** 32 ? CORNERS_32 : CORNERS_64;
}

function sharedPixels(p: Regions, a: number, q: Regions, b: number): number {
  const width = Math.min(p.right[a]!, q.right[b]!) - Math.max(p.left[a]!, q.left[b]!);
  const height = Math.min(p.bottom[a]!, q.bottom[b]!) - Math.max(p.top[a]!, q.top[b]!);
  return Math.max(0, width) * Math.max(0, height);
}
