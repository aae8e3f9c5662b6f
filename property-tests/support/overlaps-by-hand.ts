import type { Ring } from './ring-columns.ts';

/** Two even-odd regions and a square cell. The cell is given by its lower left corner (`x`, `y`) and its side. */
export interface CellCase {
  readonly p: readonly Ring[];
  readonly q: readonly Ring[];
  readonly x: number;
  readonly y: number;
  readonly side: number;
}

export type Edge = readonly [ax: bigint, ay: bigint, bx: bigint, by: bigint];

/** The part of a region that is inside a cell. */
export interface PartByHand {
  /**
   * Whether the region covers the cell's interior next to the lower left corner. `overlapByHand` cuts the cell into
   * trapezoids, and tests the trapezoid at this corner.
   */
  readonly corner: boolean;
  /** The edges that have a point strictly inside the cell. */
  readonly edges: readonly Edge[];
  /** Whether the region has any area in the cell. */
  readonly hasArea: boolean;
}

export interface CellByHand {
  readonly p: PartByHand;
  readonly q: PartByHand;
  readonly overlaps: boolean;
}

type Fraction = readonly [over: bigint, under: bigint];

const fraction = (over: bigint, under: bigint): Fraction => (under < 0n ? [-over, -under] : [over, under]);
const compare = (a: Fraction, b: Fraction): number => {
  const difference = a[0] * b[1] - b[0] * a[1];
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
};
const between = (a: Fraction, b: Fraction): Fraction => [a[0] * b[1] + b[0] * a[1], 2n * a[1] * b[1]];
const ascending = (all: readonly Fraction[]): Fraction[] =>
  [...all].sort(compare).filter((a, i, sorted) => i === 0 || compare(sorted[i - 1]!, a) !== 0);

/**
 * Tests exactly whether two regions overlap in a cell. The cell is cut into vertical slabs at every vertex and
 * crossing, and each slab into trapezoids at its edges. The regions overlap if both contain the middle of some
 * trapezoid.
 */
export function overlapByHand({ p, q, x, y, side }: CellCase): CellByHand {
  const regions = [edgesOf(p), edgesOf(q)] as const;
  const [left, bottom, length] = [BigInt(x), BigInt(y), BigInt(side)];
  const [right, top] = [left + length, bottom + length];
  const sides: Edge[] = [
    [left, bottom, right, bottom],
    [left, top, right, top],
  ];
  const slabs = slabsOf([...regions.flat(), ...sides], left, right);
  const parts = regions.map((edges) => ({
    corner: false,
    edges: edges.filter(([ax, ay, bx, by]) => ax === bx && spans(ax, left, right) && overlap(ay, by, bottom, top)),
    hasArea: false,
  }));
  let overlaps = false;
  for (const [number, middle] of slabs.entries()) {
    const heights = regions.map((edges) =>
      edges.filter((edge) => meetsColumn(edge, middle)).map((edge) => ({ edge, at: heightAt(edge, middle) })),
    );
    const inside = (at: Fraction): boolean => compare([bottom, 1n], at) < 0 && compare(at, [top, 1n]) < 0;
    const cuts = heights.flat().map(({ at }) => at);
    const levels = ascending([[bottom, 1n], [top, 1n], ...cuts.filter(inside)]);
    for (let i = 1; i < levels.length; i++) {
      const height = between(levels[i - 1]!, levels[i]!);
      const holds = heights.map((own) => own.filter(({ at }) => compare(at, height) < 0).length % 2 === 1);
      overlaps ||= holds.every(Boolean);
      for (const [region, part] of parts.entries()) {
        part.hasArea ||= holds[region]!;
        if (number === 0 && i === 1) part.corner = holds[region]!;
      }
    }
    for (const [region, { edges }] of parts.entries()) {
      for (const { edge, at } of heights[region]!) if (inside(at) && !edges.includes(edge)) edges.push(edge);
    }
  }
  return { p: parts[0]!, q: parts[1]!, overlaps };
}

/** The edges of all rings, without those of length 0. */
function edgesOf(rings: readonly Ring[]): Edge[] {
  return rings
    .flatMap((ring) =>
      ring.map(([x, y], i): Edge => {
        const [u, v] = ring.at(i - 1)!;
        return [BigInt(u), BigInt(v), BigInt(x), BigInt(y)];
      }),
    )
    .filter(([ax, ay, bx, by]) => ax !== bx || ay !== by);
}

/** The x coordinates of the middles of all slabs, from left to right. */
function slabsOf(edges: readonly Edge[], left: bigint, right: bigint): Fraction[] {
  const cuts: Fraction[] = edges.flatMap(([ax, , bx]): Fraction[] => [
    [ax, 1n],
    [bx, 1n],
  ]);
  for (const [i, a] of edges.entries()) for (const b of edges.slice(0, i)) cuts.push(...crossingOf(a, b));
  const within = cuts.filter((at) => compare([left, 1n], at) <= 0 && compare(at, [right, 1n]) <= 0);
  const sorted = ascending(within);
  return sorted.slice(1).map((at, i) => between(sorted[i]!, at));
}

/**
 * A list of the x coordinate at which the lines through two edges cross; empty if the lines are parallel. The edges
 * themselves need not cross there: additional cuts between slabs do no harm.
 */
function crossingOf([ax, ay, bx, by]: Edge, [cx, cy, dx, dy]: Edge): Fraction[] {
  const [ux, uy, vx, vy] = [bx - ax, by - ay, dx - cx, dy - cy];
  const under = ux * vy - uy * vx;
  if (under === 0n) return [];
  return [fraction(ax * under + ux * ((cx - ax) * vy - (cy - ay) * vx), under)];
}

function meetsColumn([ax, , bx]: Edge, at: Fraction): boolean {
  return compare([ax, 1n], at) < 0 !== compare([bx, 1n], at) < 0;
}

function heightAt([ax, ay, bx, by]: Edge, [over, under]: Fraction): Fraction {
  return fraction(ay * under * (bx - ax) + (over - ax * under) * (by - ay), under * (bx - ax));
}

function spans(at: bigint, from: bigint, to: bigint): boolean {
  return from < at && at < to;
}

function overlap(a: bigint, b: bigint, from: bigint, to: bigint): boolean {
  return (a < to || b < to) && (a > from || b > from);
}
