/** A fraction of whole numbers in lowest terms; the denominator is positive. */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
}

/** Rings of a group that is filled by the even-odd rule, in whole steps. */
export type WholeGroup = readonly (readonly (readonly [x: number, y: number])[])[];

/** A rectangle in whole steps. */
export interface WholeBox {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/**
 * The exact share of a box that lies in a union of groups, each filled by the even-odd rule: between two neighbouring
 * heights at which an edge begins, ends, crosses another edge or a side of the box, all areas are trapezoids.
 */
export function exactShare(groups: readonly WholeGroup[], { left, top, right, bottom }: WholeBox): Rational {
  const edges = groups.flatMap((rings, group) =>
    rings.flatMap((ring) => ring.map((end, i) => edgeOf(ring[(i + ring.length - 1) % ring.length]!, end, group))),
  );
  const [l, t, r, b] = [left, top, right, bottom].map(whole) as [Rational, Rational, Rational, Rational];
  const heights = [t, b];
  const slanted = edges.filter(({ y0, y1 }) => less(y0, y1));
  for (const [i, edge] of slanted.entries()) {
    heights.push(edge.y0, edge.y1, ...heightsAt(edge, l), ...heightsAt(edge, r));
    for (const other of slanted.slice(0, i)) heights.push(...crossingHeights(edge, other));
  }
  const events = heights.filter((y) => !less(y, t) && !less(b, y)).sort(compare);
  let sum: Rational = whole(0);
  for (let i = 1; i < events.length; i++) {
    const [from, to] = [events[i - 1]!, events[i]!];
    if (!less(from, to)) continue;
    const middle = divide(add(from, to), whole(2));
    const open = slanted.filter(({ y0, y1 }) => !less(from, y0) && !less(y1, to));
    open.sort((one, two) => compare(xAt(one, middle), xAt(two, middle)));
    const isOdd = new Set<number>();
    for (const [at, edge] of open.entries()) {
      if (!isOdd.delete(edge.group)) isOdd.add(edge.group);
      const next = open[at + 1];
      if (isOdd.size === 0 || next === undefined) continue;
      for (const y of [from, to]) sum = add(sum, multiply(subtract(to, from), gap(edge, next, y, l, r)));
    }
  }
  return divide(sum, multiply(whole(2), multiply(subtract(r, l), subtract(b, t))));
}

interface Edge {
  readonly x0: Rational;
  readonly y0: Rational;
  readonly x1: Rational;
  readonly y1: Rational;
  readonly group: number;
}

function edgeOf(a: readonly [number, number], b: readonly [number, number], group: number): Edge {
  const [low, high] = a[1] <= b[1] ? [a, b] : [b, a];
  return { x0: whole(low[0]), y0: whole(low[1]), x1: whole(high[0]), y1: whole(high[1]), group };
}

function xAt({ x0, y0, x1, y1 }: Edge, y: Rational): Rational {
  return add(x0, divide(multiply(subtract(x1, x0), subtract(y, y0)), subtract(y1, y0)));
}

/** The height at which an edge, prolonged, meets an upright line. */
function heightsAt({ x0, y0, x1, y1 }: Edge, x: Rational): Rational[] {
  if (compare(x0, x1) === 0) return [];
  return [add(y0, divide(multiply(subtract(y1, y0), subtract(x, x0)), subtract(x1, x0)))];
}

/** The height at which two edges, prolonged, meet. */
function crossingHeights(a: Edge, b: Edge): Rational[] {
  const slope = ({ x0, y0, x1, y1 }: Edge): Rational => divide(subtract(x1, x0), subtract(y1, y0));
  const [m, n] = [slope(a), slope(b)];
  if (compare(m, n) === 0) return [];
  const start = (edge: Edge, by: Rational): Rational => subtract(edge.x0, multiply(by, edge.y0));
  return [divide(subtract(start(b, n), start(a, m)), subtract(m, n))];
}

/** The distance between two edges at a height, inside the box. */
function gap(from: Edge, to: Edge, y: Rational, left: Rational, right: Rational): Rational {
  const clamp = (x: Rational): Rational => (less(x, left) ? left : less(right, x) ? right : x);
  return subtract(clamp(xAt(to, y)), clamp(xAt(from, y)));
}

function whole(n: number): Rational {
  return { n: BigInt(n), d: 1n };
}

function reduced(n: bigint, d: bigint): Rational {
  let [a, b] = [n < 0n ? -n : n, d < 0n ? -d : d];
  while (b !== 0n) [a, b] = [b, a % b];
  const by = d < 0n ? -a : a;
  return { n: n / by, d: d / by };
}

function add(a: Rational, b: Rational): Rational {
  return reduced(a.n * b.d + b.n * a.d, a.d * b.d);
}

function subtract(a: Rational, b: Rational): Rational {
  return reduced(a.n * b.d - b.n * a.d, a.d * b.d);
}

function multiply(a: Rational, b: Rational): Rational {
  return reduced(a.n * b.n, a.d * b.d);
}

function divide(a: Rational, b: Rational): Rational {
  return reduced(a.n * b.d, a.d * b.n);
}

function compare(a: Rational, b: Rational): number {
  const [left, right] = [a.n * b.d, b.n * a.d];
  return left < right ? -1 : left > right ? 1 : 0;
}

function less(a: Rational, b: Rational): boolean {
  return compare(a, b) < 0;
}
