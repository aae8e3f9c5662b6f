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

/** Rings with more vertices are left to the host, because one thread reads all vertices of a ring. */
const LONGEST_RING = 4096;
/**
 * If all vertices of a ring are this close to its first along both axes, rounding cannot make its area vanish: the host
 * treats vertices as collinear if their area is below 2⁻⁴⁰ of that of their box, and the area is an integer.
 */
const REACH = 2 ** 20;

/**
 * Number of vertices of the ring that ends at a mark, without closing vertices, if the ring is plain; else 0. A ring is
 * not plain if it is empty or short, has no area or may have none, is large, or has an unread vertex.
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
    // Rings with two closing vertices are left to the host.
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
        // Modulo 2³²: a value that is not 0 modulo 2³² is not 0.
        const cross = alongX.mul(atY.sub(fromY)).sub(alongY.mul(atX.sub(fromX)));
        bent.set(bent.or(cross.ne(0)));
      });
    });
    return select(u32(0), kept, plain.and(bent));
  },
);

/** Whether two coordinates differ by less than {@link REACH}. Compares halves, because the difference may overflow. */
function isNear(a: I32, b: I32): Bool {
  return a
    .shr(1)
    .sub(b.shr(1))
    .abs()
    .lt(REACH / 2);
}

/**
 * Checks the rings that end at marks other than vertices, and finds those that are plain.
 *
 * - Work O(vertices), span O(vertices of the largest ring that a device reads).
 */
export function plainRings(vertices: ReadMarks['vertices'], others: ReadMarks['others']): Column<'u32'> {
  return map(plainRing, { other: sequence(others.at.length), ends: others.vertices, ...vertices });
}
