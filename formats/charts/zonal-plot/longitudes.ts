import type { MapExtent } from './extent.ts';

/**
 * Returns, for each ring, the multiple of 360° to add to the longitudes of the ring. The map is then as narrow as
 * possible: the circle of longitudes is cut in the middle of the widest gap between the rings on the map. For example,
 * a map of the United States shows the Aleutian islands beyond 180° in the west, next to the other islands.
 *
 * @param rings - Bounds of all rings, in the coordinates of the file.
 * @param shown - Whether a ring is shown on the map. Only the rings on the map determine where the circle is cut, but
 * all rings are moved.
 */
export function unrollLongitudes(rings: readonly MapExtent[], shown: (ring: number) => boolean): Float64Array {
  const cut = widestGap(rings.filter((extent, ring) => shown(ring) && extent.left <= extent.right));
  return Float64Array.from(rings, ({ left, right }) =>
    left <= right ? -360 * Math.floor(((left + right) / 2 - cut) / 360) : 0,
  );
}

/** The longitude in the middle of the widest gap between intervals; −180 if there is no gap. */
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

/** Moves a longitude by full turns into [−180, 180). */
function wrap(longitude: number): number {
  return longitude - 360 * Math.floor((longitude + 180) / 360);
}
