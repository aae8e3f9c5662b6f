import type { Polygons } from '../../../algorithms/geometry/polygons.ts';
import { type Ring, ringOf } from '../ring-nesting.ts';

/** A ring of a zone: its vertices from `start` to `end`, exclusive, which a writer takes backwards if `isReversed`. */
export interface WrittenRing {
  readonly start: number;
  readonly end: number;
  readonly isReversed: boolean;
}

/** The rings of a part of a zone: the outline, then the holes. */
export type WrittenPart = readonly WrittenRing[];

/**
 * The parts of a zone as formats of polygons want them: the outline first, counterclockwise, and then its holes, clockwise
 * (RFC 7946, section 3.1.6). The outline is the ring with the greatest area. Rings of fewer than three vertices, which
 * enclose nothing, are left out.
 */
export function partsOfZone({ polygonRings, ringVertices, ringParts, x, y }: Polygons, zone: number): WrittenPart[] {
  const parts = new Map<number, Ring[]>();
  for (let ring = polygonRings[zone]!; ring < polygonRings[zone + 1]!; ring++) {
    const [start, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    if (end - start < 3) continue;
    const part = ringParts?.[ring] ?? 0;
    const rings = parts.get(part) ?? [];
    parts.set(part, rings);
    rings.push(ringOf(x, y, start, end));
  }
  return Array.from(parts.values(), (rings) => {
    const outline = rings.reduce((a, b) => (Math.abs(b.area) > Math.abs(a.area) ? b : a));
    return [outline, ...rings.filter((ring) => ring !== outline)].map((ring) => ({
      start: ring.start,
      end: ring.end,
      isReversed: ring === outline ? ring.area < 0 : ring.area > 0,
    }));
  });
}

/** The vertices of a ring in the order in which they are written, and the first once more. */
export function* closedRing({ start, end, isReversed }: WrittenRing): Generator<number> {
  for (let k = 0; k < end - start; k++) yield isReversed ? (k === 0 ? start : end - k) : start + k;
  yield start;
}
