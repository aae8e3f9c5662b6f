import type { MapExtent } from './extent.ts';

/**
 * Full turns, in degrees, by which rings are moved so that their map is narrow. The circle of longitudes is cut in the
 * middle of the widest gap between the rings shown. So a map of the United States shows the Aleutians beyond 180° in
 * the west, next to the other islands.
 *
 * @param rings - Bounds of all rings, as written.
 * @param shown - Whether a ring determines the cut. Other rings are moved accordingly.
 */
export function unrollLongitudes(rings: readonly MapExtent[], shown: (ring: number) => boolean): Float64Array {
  const cut = widestGap(rings.filter((extent, ring) => shown(ring) && extent.left <= extent.right));
  return Float64Array.from(rings, ({ left, right }) =>
    left <= right ? -360 * Math.floor(((left + right) / 2 - cut) / 360) : 0,
  );
}

/** The middle of the widest gap between intervals on the circle of longitudes; −180 if there is no gap. */
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

/** A longitude in [−180, 180). */
function wrap(longitude: number): number {
  return longitude - 360 * Math.floor((longitude + 180) / 360);
}
