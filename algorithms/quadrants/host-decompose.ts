import { HostRows, type Words } from '../host-rows.ts';
import { DOMAIN_BITS, DOMAIN_STEPS, type DomainPolygons } from './domain.ts';
import { edgesOf } from './edges.ts';
import { flipsOnHost, lookOnHost, passesOnHost } from './host-edges.ts';

/** Quadrants in host memory, in the order of `decompose`. */
export interface HostQuadrants {
  readonly polygon: Uint32Array;
  readonly lo: Uint32Array;
  readonly hi: Uint32Array;
  readonly level: Uint32Array;
  readonly boundary: Uint32Array;
  /** As in `BoundaryEdges`. */
  readonly edges: {
    readonly corner: Uint32Array;
    readonly first: Uint32Array;
    readonly count: Uint32Array;
    readonly edge: Uint32Array;
    readonly ends: Int32Array;
  };
  /** What a descent level by level has after every step. */
  readonly steps: readonly HostStep[];
}

/** Numbers of leaves that a step settles, of quadrants that it leaves open, and of passages of edges through both. */
interface HostStep {
  leaves: number;
  leafPassages: number;
  open: number;
  passages: number;
}

/** The most passages of edges through leaves for which the host is asked. */
const MOST_PASSAGES = 2 ** 18;

/**
 * Whether decomposing on the host is faster than launches on workers, which would first have to be compiled. Also
 * whether all vertices are in the domain, as the host takes them.
 */
export function suitsHost({ polygonRings, ringVertices, x, y }: DomainPolygons, levels: number): boolean {
  if (x.length > MOST_PASSAGES) return false;
  const scale = 2 ** (levels - DOMAIN_BITS);
  let passages = 0;
  for (let ring = 0; ring + 1 < ringVertices.length; ring++) {
    const start = ringVertices[ring]!;
    const end = ringVertices[ring + 1]!;
    for (let v = start, u = end - 1; v < end; u = v++) {
      const vx = x[v]!;
      const vy = y[v]!;
      if (vx < 0 || vy < 0 || vx > DOMAIN_STEPS || vy > DOMAIN_STEPS) return false;
      passages += 1 + (Math.abs(vx - x[u]!) + Math.abs(vy - y[u]!)) * scale;
    }
  }
  return passages <= MOST_PASSAGES && polygonRings.length <= MOST_PASSAGES;
}

/**
 * Computes the same as `decompose` on one thread of the host. Polygons are split one after another, each from its
 * smallest enclosing quadrant down, depth first, which is the order of the result. A stack has the edges of the
 * quadrants on the way.
 */
export function decomposeOnHost(polygons: DomainPolygons, levels: number): HostQuadrants {
  const { ends, first, id } = edgesOf(polygons);
  const min = DOMAIN_BITS - levels;
  const depth = levels + 2;
  const most = id.reduce((max, _, owner) => Math.max(max, first[owner + 1]! - first[owner]!), 0);
  // Edges of the quadrants on the way down, those of a child behind those of its parent, and their effects.
  const stack = new Uint32Array(most * depth);
  const looks = new Uint8Array(most * depth);
  const steps = Array.from({ length: depth }, (): HostStep => ({ leaves: 0, leafPassages: 0, open: 0, passages: 0 }));
  const leaves = new HostRows(LEAF_WORDS);
  const edge = new HostRows(1);

  /** Splits a quadrant through which edges pass, unless it is small; keeps one that is inside, and drops others. */
  function settle(
    owner: number,
    x: number,
    y: number,
    shift: number,
    parity: number,
    from: number,
    to: number,
    step: number,
  ): void {
    const counts = steps[step]!;
    if (to > from && shift > min) {
      counts.open++;
      counts.passages += to - from;
      split(owner, x, y, shift, parity, from, to, step + 1);
    } else if (to > from || parity === 1) {
      counts.leaves++;
      counts.leafPassages += to - from;
      const words = leaves.take(1);
      const { count, stride } = leaves;
      const column = x >>> shift;
      const row = y >>> shift;
      words[count] = id[owner]!;
      words[count + stride] = spread(column) | (spread(row) << 1);
      words[count + 2 * stride] = spread(column >>> 16) | (spread(row >>> 16) << 1);
      words[count + 3 * stride] = DOMAIN_BITS - shift;
      words[count + 4 * stride] = to > from ? 1 : 0;
      words[count + 5 * stride] = parity;
      words[count + 6 * stride] = edge.count;
      words[count + 7 * stride] = to - from;
      leaves.count++;
      if (to === from) return;
      const edges = edge.take(to - from);
      for (let i = from; i < to; i++) edges[edge.count++] = stack[i]!;
    }
  }

  function split(
    owner: number,
    x: number,
    y: number,
    shift: number,
    parity: number,
    from: number,
    to: number,
    step: number,
  ): void {
    const half = shift - 1;
    let flips = 0;
    let passed = 0;
    for (let i = from; i < to; i++) {
      const at = 4 * stack[i]!;
      const look = lookOnHost(ends[at]! - x, ends[at + 1]! - y, ends[at + 2]! - x, ends[at + 3]! - y, half);
      looks[i] = look;
      passed |= look;
      flips ^= look >> 4;
    }
    for (let child = 0; child < 4; child++) {
      let end = to;
      if ((passed >> child) & 1) {
        for (let i = from; i < to; i++) if ((looks[i]! >> child) & 1) stack[end++] = stack[i]!;
      }
      const corner = parity ^ parityOn(flips, child);
      if (end > to || corner === 1) {
        settle(owner, x + ((child & 1) << half), y + ((child >> 1) << half), half, corner, to, end, step);
      }
    }
  }

  for (let owner = 0; owner < id.length; owner++) {
    const [from, to] = [first[owner]!, first[owner + 1]!];
    const { x, y, shift } = enclosing(ends, from, to, min);
    let [count, parity] = [0, 0];
    for (let number = from, at = 4 * from; number < to; number++, at += 4) {
      const ax = ends[at]! - x;
      const ay = ends[at + 1]! - y;
      const bx = ends[at + 2]! - x;
      const by = ends[at + 3]! - y;
      if (passesOnHost(ax, ay, bx, by, 2 ** shift)) stack[count++] = number;
      if (flipsOnHost(ax, ay, bx, by)) parity ^= 1;
    }
    settle(owner, x, y, shift, parity, 0, count, 0);
  }
  const [polygon, lo, hi, level, boundary, corner, firsts, counts] = leaves.columns() as [
    ...[Words, Words, Words, Words],
    ...[Words, Words, Words, Words],
  ];
  const edges = { corner, first: firsts, count: counts, edge: edge.columns()[0]!, ends };
  return { polygon, lo, hi, level, boundary, edges, steps };
}

const LEAF_WORDS = 8;

/** The smallest quadrant with a side of 2^min steps or more that contains some edges. */
function enclosing(
  ends: Int32Array,
  from: number,
  to: number,
  min: number,
): { readonly x: number; readonly y: number; readonly shift: number } {
  let [left, bottom, right, top] = [DOMAIN_STEPS, DOMAIN_STEPS, 0, 0];
  for (let at = 4 * from; at < 4 * to; at += 4) {
    const x = ends[at + 2]!;
    const y = ends[at + 3]!;
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < bottom) bottom = y;
    if (y > top) top = y;
  }
  const cell = (coordinate: number): number => Math.min(coordinate, DOMAIN_STEPS - 1);
  const [x0, y0] = [cell(left), cell(bottom)];
  const differ = (x0 ^ cell(Math.max(right - 1, left))) | (y0 ^ cell(Math.max(top - 1, bottom)));
  const shift = Math.max(min, 32 - Math.clz32(differ));
  return { x: Math.floor(x0 / 2 ** shift) * 2 ** shift, y: Math.floor(y0 / 2 ** shift) * 2 ** shift, shift };
}

/** The change of parity from a quadrant's corner to that of a child; `flips` are bits 4 to 6 of the effects. */
function parityOn(flips: number, child: number): number {
  if (child === 0) return 0;
  if (child === 1) return flips & 1;
  return child === 2 ? (flips >> 1) & 1 : ((flips >> 1) ^ (flips >> 2)) & 1;
}

/** Spreads the lower 16 bits: bit i moves to bit 2i. */
function spread(bits: number): number {
  let wide = bits & 0xffff;
  wide = (wide | (wide << 8)) & 0x00ff00ff;
  wide = (wide | (wide << 4)) & 0x0f0f0f0f;
  wide = (wide | (wide << 2)) & 0x33333333;
  return (wide | (wide << 1)) & 0x55555555;
}
