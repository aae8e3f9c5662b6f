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

/**
 * Maximum number of vertices of a ring that a device checks, because one thread reads all of them. The host checks
 * larger rings.
 */
const LONGEST_RING = 4096;
/**
 * Each vertex of a plain ring is closer than this to the first vertex of the ring, along each axis. So the host, which
 * allows for rounding, does not take a plain ring for collinear either: it would do so if no cross product exceeded
 * 2⁻⁴⁰ · |x · y|, where (x, y) is the offset of the farthest vertex from the first. Within the distance, this limit is
 * below 1, but a cross product of integers that is not 0 is at least 1.
 */
const REACH = 2 ** 20;

/**
 * For a mark that ends a plain ring, the number of vertices of the ring, not counting a repetition of the first vertex
 * at the end; for any other mark, 0. A ring is not plain if it has too few or too many vertices, only collinear
 * vertices, an unread vertex, or a vertex beyond {@link REACH}.
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
    // A ring whose first vertex is repeated twice at its end is not plain, so the host parses it.
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
        // Computed modulo 2³². If the result is not 0, the exact cross product is not 0 either.
        const cross = alongX.mul(atY.sub(fromY)).sub(alongY.mul(atX.sub(fromX)));
        bent.set(bent.or(cross.ne(0)));
      });
    });
    return select(u32(0), kept, plain.and(bent));
  },
);

/**
 * Whether the halves of two coordinates differ by less than half of {@link REACH}; then the coordinates differ by less
 * than `REACH`. The halves are compared because the difference of the coordinates may overflow.
 */
function isNear(a: I32, b: I32): Bool {
  return a
    .shr(1)
    .sub(b.shr(1))
    .abs()
    .lt(REACH / 2);
}

/**
 * Checks the rings of a text. Returns a row for each mark that is not a vertex: the number of vertices of the ring if
 * the mark ends a plain ring, else 0.
 *
 * - Work O(vertices), span O(vertices of the largest ring that a device reads).
 */
export function plainRings(vertices: ReadMarks['vertices'], others: ReadMarks['others']): Column<'u32'> {
  return map(plainRing, { other: sequence(others.at.length), ends: others.vertices, ...vertices });
}
