import {
  array,
  type Bool,
  Break,
  bool,
  type Column,
  For,
  fn,
  type I32,
  If,
  i32,
  map,
  select,
  sequence,
  u32,
  Var,
} from '../../primitives/index.ts';
import { type ReadMarks, UNREAD } from './vertices.ts';

/** Rings of more vertices are left to the host: a thread looks at every vertex of one. */
const LONGEST_RING = 4096;
/**
 * Where all vertices of a ring are so near to its first in either direction, no three of them are taken to stand on one
 * line for rounding: the host does where the area they span is below 2⁻⁴⁰ of that of their box, and it is a whole number.
 */
const REACH = 2 ** 20;

/**
 * How many vertices the ring has that ends at a mark, without those that close it, where there is nothing odd about it;
 * else 0. A ring is odd that is empty or short, has no area or may have none, is large, or has a vertex that is not read.
 */
const plainRing = fn(
  'plainRing',
  { other: u32, ends: array(u32), x: array(i32), y: array(i32) },
  u32,
  ({ other, ends, x, y }) => {
    const from = select(ends.at(other.sub(1)), u32(0), other.eq(0));
    const end = ends.at(other);
    const [fromX, fromY] = [x.at(from), y.at(from)];
    const closes = (index: Parameters<typeof x.at>[0]): Bool => x.at(index).eq(fromX).and(y.at(index).eq(fromY));
    const closed = closes(end.sub(1));
    const kept = end.sub(from).sub(u32(closed));
    // Two vertices that close it are for the host.
    const plain = Var(
      kept
        .ge(3)
        .and(kept.le(LONGEST_RING))
        .and(closes(from.add(kept).sub(1)).not()),
    );
    const bent = Var(bool(false));
    If(plain, () => {
      const [alongX, alongY] = [x.at(from.add(1)).sub(fromX), y.at(from.add(1)).sub(fromY)];
      For(from, from.add(kept), (vertex) => {
        const [atX, atY] = [x.at(vertex), y.at(vertex)];
        plain.set(atX.ne(UNREAD).and(isNear(atX, fromX)).and(isNear(atY, fromY)));
        If(plain.not(), () => Break());
        // Modulo 2³²: what is not 0 so, is not 0.
        const cross = alongX.mul(atY.sub(fromY)).sub(alongY.mul(atX.sub(fromX)));
        bent.set(bent.or(cross.ne(0)));
      });
    });
    return select(u32(0), kept, plain.and(bent));
  },
);

/** Whether two coordinates are less than {@link REACH} apart; by halves, as the difference may be past the integers. */
function isNear(a: I32, b: I32): Bool {
  return a
    .shr(1)
    .sub(b.shr(1))
    .abs()
    .lt(REACH / 2);
}

/**
 * Looks at the rings that end at the marks that are no vertices, and tells which of them can be taken as they stand.
 *
 * - Work O(vertices), span O(vertices of the largest ring that a device looks at).
 */
export function plainRings(vertices: ReadMarks['vertices'], others: ReadMarks['others']): Column<'u32'> {
  return map(plainRing, { other: sequence(others.at.length), ends: others.vertices, ...vertices });
}
