/** The coordinates of the vertices of a ring, in turn. */
export interface RingPlaces {
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
}

/** The farthest distance of a vertex of one ring from the edges of another, in cells. By comparing all with all. */
export function farFromEdges(ring: RingPlaces, other: RingPlaces, cell: number): number {
  let farthest = 0;
  for (let v = 0; v < ring.x.length; v++) {
    let nearest = Number.POSITIVE_INFINITY;
    for (let a = 0; a < other.x.length; a++) {
      const b = (a + 1) % other.x.length;
      const [dx, dy] = [other.x[b]! - other.x[a]!, other.y[b]! - other.y[a]!];
      const [px, py] = [ring.x[v]! - other.x[a]!, ring.y[v]! - other.y[a]!];
      const square = dx * dx + dy * dy;
      const along = square === 0 ? 0 : Math.min(1, Math.max(0, (px * dx + py * dy) / square));
      nearest = Math.min(nearest, Math.hypot(px - along * dx, py - along * dy));
    }
    farthest = Math.max(farthest, nearest / cell);
  }
  return farthest;
}
