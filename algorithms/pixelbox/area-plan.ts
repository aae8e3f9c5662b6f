import { bandedWords } from './banded-masks.ts';
import { isNarrow, narrowWords } from './narrow-masks.ts';
import { type Regions, vertexCount } from './regions.ts';
import { maxRuns } from './runs.ts';

/** Methods to compute the areas of pairs. All of them are exact. */
export type AreaMethod = 'masks' | 'corners' | 'sweep';

/** Pairs of regions, given by their indices in two sets. */
export interface RegionPairs {
  readonly p: Uint32Array;
  readonly q: Uint32Array;
}

/** Which pairs are computed by which method, as indices of pairs. */
export interface AreaPlan {
  /**
   * Pairs computed by bit masks with one word per row. `banded` has the pairs computed by masks in bands, because at
   * least one region is too wide or too tall for a mask with one word per row.
   */
  readonly narrow: Uint32Array;
  /**
   * Whether all regions are narrow and small. Then all regions are drawn, without a search for the regions that occur
   * in pairs.
   */
  readonly isNarrow: boolean;
  readonly banded: Uint32Array;
  /**
   * Pairs computed by sums over corners in 32-bit arithmetic. `corners64` has the pairs that need 64-bit arithmetic.
   */
  readonly corners32: Uint32Array;
  readonly corners64: Uint32Array;
  readonly sweep: Uint32Array;
  readonly sizes: Sides<RegionSizes>;
}

/**
 * Constants for the choice of methods, measured by `bench/polygons/pixelbox-methods.ts`. A word of a mask takes about
 * as long as a few products of corners.
 */
const CHOICE: {
  /**
   * If a region's mask has at most this many words per corner of the region, the mask is drawn in any case, whatever
   * the region's pairs are.
   */
  readonly wordsPerCorner: number;
  /** Number of products of corners that cost as much as one word of a mask. */
  readonly productsPerWord: number;
  /** Minimum number of products of corners at which a pair is computed by the sweep. */
  readonly sweepFrom: number;
  /** Maximum number of words of a mask. */
  readonly maxWords: number;
} = { wordsPerCorner: 16, productsPerWord: 4, sweepFrom: 2 ** 23, maxWords: 2 ** 22 };

/**
 * Chooses the method of every pair by the sizes of its regions. A region gets a mask unless the mask would be far too
 * large for its number of corners. If both regions of a pair have masks, the masks are compared. Otherwise the method
 * is the sum over corners or, if there are many corners, the sweep.
 *
 * O(regions + pairs), plus the vertices of wide regions once.
 */
export function planAreas(p: Regions, q: Regions, pairs: RegionPairs, method: AreaMethod | 'auto'): AreaPlan {
  const draws = method === 'masks' || method === 'auto';
  if (draws && pairs.p.length >= Math.max(p.left.length, q.left.length) && isAllSmall(p) && isAllSmall(q)) {
    return planNarrow(p, q, pairs);
  }
  const sizes = { p: measureRegions(p, pairs.p, draws), q: measureRegions(q, pairs.q, draws) };
  if (draws && sizes.p.plain + sizes.q.plain > 0) markWorthwhile({ p, q }, pairs, sizes, method);
  const classes = new Uint8Array(pairs.p.length);
  const counts = new Uint32Array(CLASSES.length);
  for (let pair = 0; pair < classes.length; pair++) {
    const [a, b] = [pairs.p[pair]!, pairs.q[pair]!];
    const kind = Math.min(sizes.p.kinds[a]!, sizes.q.kinds[b]!);
    const found = kind === PLAIN ? signedClass({ p, q }, a, b, sizes, method) : NARROW - kind;
    classes[pair] = found;
    counts[found]!++;
  }
  const [narrow, banded, corners32, corners64, sweep] = CLASSES.map((_, each) => members(classes, each, counts[each]!));
  return {
    narrow: narrow!,
    isNarrow: false,
    banded: banded!,
    corners32: corners32!,
    corners64: corners64!,
    sweep: sweep!,
    sizes,
  };
}

/** Whether all regions of a set are narrow and have small masks. */
function isAllSmall(regions: Regions): boolean {
  let region = 0;
  while (region < regions.left.length && isSmallNarrow(regions, region)) region++;
  return region === regions.left.length;
}

function isSmallNarrow(regions: Regions, region: number): boolean {
  return isNarrow(regions, region) && isSmall(narrowWords(regions, region), vertexCount(regions, region));
}

/** Plans masks for all regions, without a search for the regions that occur in pairs. */
function planNarrow(p: Regions, q: Regions, pairs: RegionPairs): AreaPlan {
  const none = new Uint32Array(0);
  const sizes = { p: narrowSizes(p), q: narrowSizes(q) };
  return {
    narrow: ascending(pairs.p.length),
    isNarrow: true,
    banded: none,
    corners32: none,
    corners64: none,
    sweep: none,
    sizes,
  };
}

function narrowSizes(regions: Regions): RegionSizes {
  const none = new Float64Array(0);
  const kinds = new Uint8Array(regions.left.length).fill(NARROW);
  return { kinds, plain: 0, wide: new Uint32Array(0), corners: none, words: none };
}

const CLASSES = ['narrow', 'banded', 'corners32', 'corners64', 'sweep'] as const;
const [CORNERS_32, CORNERS_64, SWEEP] = [2, 3, 4] as const;

/** The numbers 0, 1, 2 … as an array. */
export function ascending(length: number): Uint32Array {
  const numbers = new Uint32Array(length);
  for (let i = 0; i < length; i++) numbers[i] = i;
  return numbers;
}

function members(classes: Uint8Array, wanted: number, count: number): Uint32Array {
  const pairs = new Uint32Array(count);
  for (let pair = 0, at = 0; at < count; pair++) if (classes[pair] === wanted) pairs[at++] = pair;
  return pairs;
}

/** Kinds of regions: in no pair, in pairs but without a mask, with a mask in bands, with a narrow mask. */
const [UNUSED, PLAIN, BANDED, NARROW] = [0, 1, 2, 3] as const;

/** Sizes of the regions that occur in pairs, from which methods are chosen. */
export interface RegionSizes {
  readonly kinds: Uint8Array;
  /** Number of regions whose size alone does not justify a mask. */
  readonly plain: number;
  /** Index of each wide region in `corners` and `words`, which have entries only for wide regions. */
  readonly wide: Uint32Array;
  /**
   * For each wide region, an upper bound of the number of ends of its runs (horizontal edges, and steps of sloped
   * edges).
   */
  readonly corners: Float64Array;
  /** Number of words of the mask of each wide region, whether the region gets a mask or not. */
  readonly words: Float64Array;
}

interface Sides<T> {
  readonly p: T;
  readonly q: T;
}

/**
 * Measures the regions that occur in pairs. If `draws` is true, every region whose mask is small enough gets a mask.
 */
function measureRegions(regions: Regions, used: Uint32Array, draws: boolean): RegionSizes {
  const kinds = new Uint8Array(regions.left.length);
  for (let i = 0; i < used.length; i++) kinds[used[i]!] = PLAIN;
  let [plain, wideCount] = [0, 0];
  for (let region = 0; region < kinds.length; region++) {
    if (kinds[region] === UNUSED) continue;
    if (!isNarrow(regions, region)) wideCount++;
    else if (draws && isSmallNarrow(regions, region)) kinds[region] = NARROW;
    else plain++;
  }
  const wide = new Uint32Array(wideCount === 0 ? 0 : kinds.length);
  const [corners, words] = [new Float64Array(wideCount), new Float64Array(wideCount)];
  for (let region = 0, at = 0; at < wideCount; region++) {
    if (kinds[region] !== PLAIN || isNarrow(regions, region)) continue;
    const runs = maxRuns(regions, region);
    corners[at] = 2 * runs;
    words[at] = bandedWords(regions, region, runs);
    if (draws && isSmall(words[at]!, corners[at]!) && canHaveMask(regions, region, words[at]!)) kinds[region] = BANDED;
    else plain++;
    wide[region] = at++;
  }
  return { kinds, plain, wide, corners, words };
}

function isSmall(words: number, corners: number): boolean {
  return words <= CHOICE.wordsPerCorner * corners;
}

/**
 * Returns an upper bound of the number of ends of the runs of a region (horizontal edges, and steps of sloped edges).
 * For a narrow region, returns the number of vertices as an estimate, because sloped edges of narrow regions have few
 * steps.
 */
function cornersOf(regions: Regions, { wide, corners }: RegionSizes, region: number): number {
  return isNarrow(regions, region) ? vertexCount(regions, region) : corners[wide[region]!]!;
}

/** Number of words of the mask of a region, whether the region gets a mask or not. */
function wordsOf(regions: Regions, { wide, words }: RegionSizes, region: number): number {
  return isNarrow(regions, region) ? narrowWords(regions, region) : words[wide[region]!]!;
}

/** Number of words of the mask of a region; 0 if it has no mask. */
export function maskedWords(regions: Regions, sizes: RegionSizes, region: number): number {
  return sizes.kinds[region]! < BANDED ? 0 : wordsOf(regions, sizes, region);
}

/** Whether a region can have a mask: the mask is not too large, and the area fits in 32 bits. */
function canHaveMask({ left, top, right, bottom }: Regions, region: number, words: number): boolean {
  const pixels = (right[region]! - left[region]!) * (bottom[region]! - top[region]!);
  return words <= CHOICE.maxWords && pixels < 2 ** 32;
}

/**
 * Gives a mask to a region if all pairs of the region together justify it. With the method `masks`, every region that
 * can have a mask gets one.
 */
function markWorthwhile(
  sides: Sides<Regions>,
  pairs: RegionPairs,
  sizes: Sides<RegionSizes>,
  method: AreaMethod | 'auto',
): void {
  const count = (side: 'p' | 'q'): number => sides[side].left.length;
  const products = { p: new Float64Array(count('p')), q: new Float64Array(count('q')) };
  for (let pair = 0; pair < pairs.p.length; pair++) {
    const [a, b] = [pairs.p[pair]!, pairs.q[pair]!];
    const product = cornersOf(sides.p, sizes.p, a) * cornersOf(sides.q, sizes.q, b);
    products.p[a]! += product;
    products.q[b]! += product;
  }
  for (const side of ['p', 'q'] as const) {
    const { kinds } = sizes[side];
    for (let region = 0; region < kinds.length; region++) {
      if (kinds[region] !== PLAIN) continue;
      const words = wordsOf(sides[side], sizes[side], region);
      const worth = method === 'masks' || words <= products[side][region]! / CHOICE.productsPerWord;
      if (!worth || !canHaveMask(sides[side], region, words)) continue;
      kinds[region] = isNarrow(sides[side], region) ? NARROW : BANDED;
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
  const products = cornersOf(p, sizes.p, a) * cornersOf(q, sizes.q, b);
  if (method === 'sweep' || (method !== 'corners' && products >= CHOICE.sweepFrom)) return SWEEP;
  return sharedPixels(p, a, q, b) < 2 ** 32 ? CORNERS_32 : CORNERS_64;
}

function sharedPixels(p: Regions, a: number, q: Regions, b: number): number {
  const width = Math.min(p.right[a]!, q.right[b]!) - Math.max(p.left[a]!, q.left[b]!);
  const height = Math.min(p.bottom[a]!, q.bottom[b]!) - Math.max(p.top[a]!, q.top[b]!);
  return Math.max(0, width) * Math.max(0, height);
}
