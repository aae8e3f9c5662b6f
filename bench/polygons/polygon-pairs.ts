import type { GridPolygons } from '../../algorithms/pixelbox/grid-polygons.ts';
import { mulberry32 } from '../shared/random.ts';
import { Canvas, type Ellipse, type Outline, SITE } from './polygon-blobs.ts';

/**
 * Options for two synthetic segmentations of tissue images. By default, they have the statistics of the data set used
 * for PixelBox: 462,016 and 458,878 rectilinear polygons of 150 pixels on average with a standard deviation of 100, and
 * 619,609 pairs whose bounding boxes intersect.
 *
 * Nuclei are ellipses with lognormal areas, alone or in groups of two to four. Both segmentations draw each nucleus
 * with a ragged rim of their own; the second also moves and resizes the nucleus slightly. In one of the segmentations,
 * a nucleus may be split in two, joined with a neighbour, or missing. Of each drawn nucleus, only the largest
 * 4-connected part is kept. Outlines follow the edges of pixels; an outline touches itself where two pixels of the
 * nucleus share only a corner.
 *
 * Source of the statistics: Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison
 * on CPU-GPU Hybrid Systems, 2012, section 5.
 */
export interface PairWorkload {
  readonly seed?: number;
  /** Total number of pairs, 619,609 by default. The number of polygons is proportional to the number of pairs. */
  readonly pairs?: number;
  /** Number of image tiles, 400 by default. */
  readonly tiles?: number;
  /** Integer by which all coordinates are multiplied, 1 by default. */
  readonly scale?: number;
}

/** The polygons of both segmentations in one tile of the image. */
export interface PolygonPairTile {
  readonly name: string;
  readonly first: GridPolygons;
  readonly second: GridPolygons;
  /**
   * Pairs of polygons, one from each segmentation, whose boxes share a pixel. The pairs ascend by (p, q). The boxes of
   * all other pairs do not even touch.
   */
  readonly pairs: { readonly p: Uint32Array; readonly q: Uint32Array };
  /** Number of polygons whose outlines touch themselves at a corner, per segmentation. */
  readonly touching: { readonly first: number; readonly second: number };
}

/** Numbers of polygons and pairs in the data set of the paper. */
export const PAPER: { readonly first: number; readonly second: number; readonly pairs: number } = {
  first: 462016,
  second: 458878,
  pairs: 619609,
};

const MEAN_AREA = 150;
const AREA_DEVIATION = 100;
/** Minimum number of pairs per tile. */
const FEWEST_PAIRS = 200;

/** Generates the tiles of a workload one at a time; equal seeds give equal tiles. */
export function* polygonPairs(workload: PairWorkload = {}): Generator<PolygonPairTile, void, void> {
  const { pairs = PAPER.pairs } = workload;
  const tiles = tilesOf(workload);
  const share = (all: number, tile: number): number => {
    const total = Math.round((all * pairs) / PAPER.pairs);
    return Math.floor((total * (tile + 1)) / tiles) - Math.floor((total * tile) / tiles);
  };
  for (let tile = 0; tile < tiles; tile++) {
    const wanted = {
      first: share(PAPER.first, tile),
      second: share(PAPER.second, tile),
      pairs: share(PAPER.pairs, tile),
    };
    yield drawTile(tile, wanted, workload);
  }
}

/**
 * The number of tiles to generate. The number is less than requested if a tile would otherwise have fewer than
 * {@link FEWEST_PAIRS} pairs.
 */
function tilesOf({ pairs = PAPER.pairs, tiles = 400 }: PairWorkload): number {
  return Math.max(1, Math.min(tiles, Math.floor(pairs / FEWEST_PAIRS)));
}

interface Counts {
  first: number;
  second: number;
  pairs: number;
}

/**
 * The polygons of both segmentations in one site (a square area with one group of nuclei), and the pairs whose boxes
 * intersect.
 */
interface Site {
  readonly first: Outline[];
  readonly second: Outline[];
  readonly pairs: readonly (readonly [number, number])[];
}

function drawTile(tile: number, wanted: Counts, workload: PairWorkload): PolygonPairTile {
  const { seed = 1, scale = 1 } = workload;
  const random = mulberry32(Math.imul(seed, 0x9e3779b1) + tile);
  const sites = drawSites(wanted, random);
  const across = Math.ceil(Math.sqrt(tilesOf(workload)));
  const columns = Math.ceil(Math.sqrt(sites.length));
  const side = Math.ceil(Math.sqrt(wanted.first)) * SITE;
  const origin = { x: (tile % across) * side, y: Math.floor(tile / across) * side };
  const placed = sites.map((site, i) => ({
    site,
    x: origin.x + (i % columns) * SITE,
    y: origin.y + Math.floor(i / columns) * SITE,
  }));
  const columnsOf = (side: 'first' | 'second') =>
    polygonColumns(
      placed.flatMap(({ site, x, y }) => site[side].map((outline) => ({ outline, x, y }))),
      scale,
    );
  return {
    name: `tile-${String(tile).padStart(4, '0')}`,
    first: columnsOf('first'),
    second: columnsOf('second'),
    pairs: pairColumns(sites),
    touching: { first: countTouching(sites, 'first'), second: countTouching(sites, 'second') },
  };
}

/** Draws sites until a tile has exactly the wanted numbers of polygons and pairs. */
function drawSites(wanted: Counts, random: () => number): Site[] {
  const canvases = { first: new Canvas(), second: new Canvas() };
  const sites: Site[] = [];
  const left = { ...wanted };
  for (let attempts = 0; left.first > 0 || left.second > 0; attempts++) {
    if (attempts > 100 * (wanted.first + wanted.second)) throw new Error(`No sites fit ${JSON.stringify(left)}`);
    const site = drawSite(nextKind(left, random), canvases, random);
    if (site === undefined || !fits(site, left)) continue;
    left.first -= site.first.length;
    left.second -= site.second.length;
    left.pairs -= site.pairs.length;
    sites.push(site);
  }
  return sites;
}

/**
 * How a site (a square area with one group of nuclei) is drawn. A nucleus is split or joined only in the segmentation
 * `on`. With the change `none`, nuclei are drawn only in the segmentations that `on` names.
 */
interface SiteKind {
  readonly nuclei: number;
  readonly on: 'both' | 'first' | 'second';
  readonly change: 'none' | 'split' | 'joined';
}

const SINGLE: SiteKind = { nuclei: 1, on: 'both', change: 'none' };

/**
 * Chooses the kind of the next site so that the required pairs and polygons run out together: sites with several nuclei
 * are chosen while many pairs per polygon are left.
 */
function nextKind(left: Counts, random: () => number): SiteKind {
  const fewest = Math.min(left.first, left.second);
  const more = left.first > left.second ? 'first' : 'second';
  if (left.pairs === 0) return { nuclei: 1, on: more, change: 'none' };
  const crowded = left.pairs > fewest * (fewest < 20 ? 1 : 1.2 + 0.3 * random());
  const luck = random();
  if (luck < 0.05 && fewest >= 20) return { nuclei: 1, on: more, change: 'none' };
  if (luck < 0.09) return { nuclei: 1, on: more, change: 'split' };
  if (luck < 0.12) return { nuclei: 2, on: more === 'first' ? 'second' : 'first', change: 'joined' };
  return crowded ? { nuclei: luck < 0.5 ? 2 : luck < 0.8 ? 3 : 4, on: 'both', change: 'none' } : SINGLE;
}

/** Whether a tile can still reach its exact numbers of polygons and pairs after adding a site. */
function fits(site: Site, left: Counts): boolean {
  const fewest = Math.min(left.first - site.first.length, left.second - site.second.length);
  const pairs = left.pairs - site.pairs.length;
  return fewest >= 0 && pairs >= 0 && pairs <= 1.5 * fewest;
}

function drawSite(
  kind: SiteKind,
  canvases: { readonly first: Canvas; readonly second: Canvas },
  random: () => number,
): Site | undefined {
  const nuclei = placeNuclei(kind.nuclei, random);
  const found = nuclei.map((nucleus) => perturbed(nucleus, random));
  const first = drawSide(canvases.first, nuclei, kind, 'first', random);
  const second = drawSide(canvases.second, found, kind, 'second', random);
  const pairs = first && second && meetingBoxes(first, second);
  return pairs && { first: first!, second: second!, pairs };
}

function drawSide(
  canvas: Canvas,
  nuclei: readonly Ellipse[],
  { on, change }: SiteKind,
  side: 'first' | 'second',
  random: () => number,
): Outline[] | undefined {
  canvas.clear();
  const isChanged = on === side;
  if (change === 'none' && on !== 'both' && !isChanged) return [];
  const angle = random() * Math.PI;
  const drawn =
    isChanged && change === 'split'
      ? ([1, -1] as const).map((half) => canvas.draw(nuclei, random, { angle, side: half }))
      : isChanged && change === 'joined'
        ? [canvas.draw(nuclei, random)]
        : nuclei.map((nucleus) => canvas.draw([nucleus], random));
  return drawn.every((outline) => outline !== undefined) ? drawn : undefined;
}

/** Nuclei near the middle of a site, so close together that most of their boxes intersect. */
function placeNuclei(count: number, random: () => number): Ellipse[] {
  const nuclei = Array.from({ length: count }, () => ({
    radius: Math.min(24, Math.sqrt(lognormal(random) / Math.PI)),
    aspect: 1 + 0.8 * random(),
    angle: random() * Math.PI,
  }));
  const mean = nuclei.reduce((sum, { radius }) => sum + radius, 0) / count;
  const spread = count === 1 ? 0 : (mean * 1.05) / Math.sin(Math.PI / count);
  const turn = random() * 2 * Math.PI;
  return nuclei.map((nucleus, i) => ({
    ...nucleus,
    x: SITE / 2 + random() * 2 + spread * Math.cos(turn + (2 * Math.PI * i) / count),
    y: SITE / 2 + random() * 2 + spread * Math.sin(turn + (2 * Math.PI * i) / count),
  }));
}

/** The nucleus as the second segmentation sees it: moved by about a pixel, and larger or smaller. */
function perturbed(nucleus: Ellipse, random: () => number): Ellipse {
  return {
    ...nucleus,
    x: nucleus.x + normal(random),
    y: nucleus.y + normal(random),
    radius: nucleus.radius * Math.exp(0.08 * normal(random)),
  };
}

function lognormal(random: () => number): number {
  const variance = Math.log(1 + (AREA_DEVIATION / MEAN_AREA) ** 2);
  return MEAN_AREA * Math.exp(Math.sqrt(variance) * normal(random) - variance / 2);
}

/** A normal random number by the Box–Muller method. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** The pairs of outlines whose boxes share a pixel; undefined if two boxes share only an edge or a corner. */
function meetingBoxes(first: readonly Outline[], second: readonly Outline[]): [number, number][] | undefined {
  const pairs: [number, number][] = [];
  for (const [p, a] of first.entries()) {
    for (const [q, b] of second.entries()) {
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width > 0 && height > 0) pairs.push([p, q]);
      else if (width >= 0 && height >= 0) return undefined;
    }
  }
  return pairs;
}

function polygonColumns(placed: readonly { outline: Outline; x: number; y: number }[], scale: number): GridPolygons {
  const vertices = placed.reduce((sum, { outline }) => sum + outline.x.length, 0);
  const rings = placed.reduce((sum, { outline }) => sum + outline.ringEnds.length, 0);
  const [x, y] = [new Int32Array(vertices), new Int32Array(vertices)];
  const [polygonRings, ringVertices] = [new Uint32Array(placed.length + 1), new Uint32Array(rings + 1)];
  let [vertex, ring] = [0, 0];
  placed.forEach(({ outline, x: left, y: top }, polygon) => {
    for (const end of outline.ringEnds) ringVertices[++ring] = vertex + end;
    for (let i = 0; i < outline.x.length; i++, vertex++) {
      x[vertex] = scale * (left + outline.x[i]!);
      y[vertex] = scale * (top + outline.y[i]!);
    }
    polygonRings[polygon + 1] = ring;
  });
  return { polygonRings, ringVertices, x, y };
}

function pairColumns(sites: readonly Site[]): { p: Uint32Array; q: Uint32Array } {
  let [first, second] = [0, 0];
  const all = sites.flatMap((site) => {
    const pairs = site.pairs.map(([p, q]) => [first + p, second + q] as const);
    first += site.first.length;
    second += site.second.length;
    return pairs;
  });
  return { p: Uint32Array.from(all, ([p]) => p), q: Uint32Array.from(all, ([, q]) => q) };
}

function countTouching(sites: readonly Site[], side: 'first' | 'second'): number {
  return sites.flatMap((site) => site[side]).filter(({ touchesItself }) => touchesItself).length;
}
