import type { MapExtent } from './extent.ts';

/**
 * Full turns, in degrees, by which rings are moved so that a map of them is narrow: the circle of longitudes is cut in
 * the middle of the widest gap between the rings shown. A map of the United States thus has the Aleutians beyond 180° in
 * the west, beside the others.
 *
 * @param rings - Bounds of all rings, as written.
 * @param shown - Whether a ring decides on the cut; the others are moved to follow it.
 */
export function unrollLongitudes(rings: readonly MapExtent[], shown: (ring: number) => boolean): Float64Array {
  const cut = widestGap(rings.filter((extent, ring) => shown(ring) && extent.left <= extent.right));
  return Float64Array.from(rings, ({ left, right }) =>
    left <= right ? -360 * Math.floor(((left + right) / 2 - cut) / 360) : 0,
  );
}

/** The middle of the widest gap between intervals on the circle of longitudes; −180 where they leave none. */
function widestGap(intervals: readonly MapExtent[]): number {
  const arcs = intervals
    .map(({ left, right }) => ({ start: wrap(left), length: right - left }))
    .sort((a, b) => a.start - b.start);
  const first = arcs[0];
  if (first === undefined) return -180;
  let [reach, widest, cut] = [first.start, 0, -180];
  for (const { start, length } of [...arcs, { start: first.start + 360, length: 0 }]) {
    if (start - reach > widest) [widest, cut] = [start - reach, (start + reach) / 2];
    reach = Math.max(reach, start + length);
  }
  return cut;
}

/** A longitude from −180 up to, not including, 180. */
function wrap(longitude: number): number {
  return longitude - 360 * Math.floor((longitude + 180) / 360);
}
