import { DOMAIN_STEPS } from '../../algorithms/quadrants/index.ts';
import type { Ring } from './ring-columns.ts';

export interface QuadrantByHand {
  readonly polygon: number;
  readonly level: number;
  readonly code: bigint;
  readonly boundary: boolean;
}

export interface Place {
  readonly column: number;
  readonly row: number;
  readonly level: number;
}

type Edge = readonly [ax: bigint, ay: bigint, bx: bigint, by: bigint];

const edgesOfRings = (rings: readonly Ring[]): Edge[] =>
  rings
    .flatMap((ring) =>
      ring.map(([x, y], i): Edge => {
        const [u, v] = ring.at(i - 1)!;
        return [BigInt(u), BigInt(v), BigInt(x), BigInt(y)];
      }),
    )
    // Leaves out edges of length 0, which a repeated vertex would give.
    .filter(([ax, ay, bx, by]) => ax !== bx || ay !== by);

/**
 * Returns whether the rings contain a quadrant's lower left corner, and which edges pass through the quadrant's
 * interior.
 */
export function edgesByHand(rings: readonly Ring[], place: Place): { corner: boolean; edges: Edge[] } {
  const edges = edgesOfRings(rings);
  return { corner: holdsCorner(edges, place), edges: edges.filter((edge) => passesThrough(edge, place)) };
}

/**
 * The expected quadrants of a polygon, found by recursion from the whole domain, with exact tests against all edges.
 */
export function splitByHand(polygon: number, rings: readonly Ring[], levels: number): QuadrantByHand[] {
  const edges = edgesOfRings(rings);
  const split = (place: Place): QuadrantByHand[] => {
    const boundary = edges.some((edge) => passesThrough(edge, place));
    if (!boundary && !holdsCorner(edges, place)) return [];
    if (!boundary || place.level === levels) return [{ polygon, level: place.level, code: codeOf(place), boundary }];
    return [0, 1, 2, 3].flatMap((child) =>
      split({
        column: 2 * place.column + (child & 1),
        row: 2 * place.row + (child >> 1),
        level: place.level + 1,
      }),
    );
  };
  return split({ column: 0, row: 0, level: 0 });
}

/**
 * Whether a part of an edge is strictly inside a quadrant. The edge is clipped to the four sides, and the middle of
 * what remains is tested.
 */
function passesThrough([ax, ay, bx, by]: Edge, place: Place): boolean {
  const { left, bottom, side } = boxOf(place);
  // Start and end of the remaining part of the edge, as fractions of the edge's length.
  let [from, to]: [Fraction, Fraction] = [
    [0n, 1n],
    [1n, 1n],
  ];
  for (const [a, b, low] of [
    [ax, bx, left],
    [ay, by, bottom],
  ] as const) {
    const high = low + side;
    if (a === b) {
      if (a <= low || a >= high) return false;
      continue;
    }
    const [enter, leave] = a < b ? [low, high] : [high, low];
    from = larger(from, fraction(enter - a, b - a));
    to = smaller(to, fraction(leave - a, b - a));
  }
  return less(from, to);
}

type Fraction = readonly [over: bigint, under: bigint];

const fraction = (over: bigint, under: bigint): Fraction => (under < 0n ? [-over, -under] : [over, under]);
const less = (a: Fraction, b: Fraction): boolean => a[0] * b[1] < b[0] * a[1];
const larger = (a: Fraction, b: Fraction): Fraction => (less(a, b) ? b : a);
const smaller = (a: Fraction, b: Fraction): Fraction => (less(b, a) ? b : a);

function holdsCorner(edges: readonly Edge[], place: Place): boolean {
  const { left, bottom } = boxOf(place);
  return holdsPoint(edges, left, bottom);
}

/**
 * Tests by the even-odd rule whether edges enclose a point, with a ray from the point to the left. A point on an edge
 * counts as right of the edge. A point at the same height as an end of an edge counts as above this end.
 */
function holdsPoint(edges: readonly Edge[], x: bigint, y: bigint): boolean {
  let holds = false;
  for (const [ax, ay, bx, by] of edges) {
    if (ay <= y === by <= y) continue;
    const [over, under] = fraction((y - ay) * (bx - ax), by - ay);
    if (over <= (x - ax) * under) holds = !holds;
  }
  return holds;
}

/** Whether the rings contain a point. */
export function ringsHold(rings: readonly Ring[], [x, y]: readonly [x: number, y: number]): boolean {
  return holdsPoint(edgesOfRings(rings), BigInt(x), BigInt(y));
}

function boxOf({ column, row, level }: Place): { left: bigint; bottom: bigint; side: bigint } {
  const side = BigInt(DOMAIN_STEPS) >> BigInt(level);
  return { left: BigInt(column) * side, bottom: BigInt(row) * side, side };
}

/**
 * The Morton code of a quadrant, which interleaves the bits of column and row. The lowest bit belongs to the column.
 */
function codeOf({ column, row, level }: Place): bigint {
  let code = 0n;
  for (let bit = 0; bit < level; bit++) {
    code |= BigInt((column >> bit) & 1) << BigInt(2 * bit);
    code |= BigInt((row >> bit) & 1) << BigInt(2 * bit + 1);
  }
  return code;
}

/** The column and row of the quadrant with a Morton code. */
export function placeOf(level: number, code: bigint): Place {
  const place = { column: 0, row: 0, level };
  for (let bit = 0; bit < level; bit++) {
    place.column |= Number((code >> BigInt(2 * bit)) & 1n) << bit;
    place.row |= Number((code >> BigInt(2 * bit + 1)) & 1n) << bit;
  }
  return place;
}
