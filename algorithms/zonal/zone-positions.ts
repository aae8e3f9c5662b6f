import { type Box, remainderOf, turnedCopies } from '../geometry/boxes.ts';
import { collapsedPolygons } from '../geometry/collapsed.ts';
import type { SnappedPolygons } from '../geometry/grid.ts';
import type { Polygons } from '../geometry/polygons.ts';
import { rangeOf, verticesOf } from './vertex-ranges.ts';

/** Zones on a grid, and the extents of the rasters in steps of that grid. */
export interface ZoneCover {
  readonly polygons: SnappedPolygons;
  readonly extents: readonly Box[];
  /** Steps in 360° of longitude; undefined if longitudes do not wrap around. */
  readonly turn: number | undefined;
}

/** How a zone lies to the rasters. */
export const POSITIONS = {
  /** It has no geometry. */
  nowhere: 0,
  /** Outside all rasters. */
  outside: 1,
  /** On a raster, but without area on the grid. */
  collapsed: 2,
  /** On a raster, and beyond all of them. */
  partlyOutside: 3,
  within: 4,
} as const;

/**
 * For each zone, one of {@link POSITIONS}.
 *
 * @param polygons - The zones before they were snapped.
 */
export function zonePositions(polygons: Polygons, cover: ZoneCover): Uint8Array {
  const { column, row, polygonRings } = cover.polygons;
  const positions = new Uint8Array(polygonRings.length - 1);
  for (let zone = 0; zone < positions.length; zone++) {
    if (polygonRings[zone]! === polygonRings[zone + 1]!) continue;
    const box = boxOf(cover.polygons, ...verticesOf(cover.polygons, zone));
    const isWithin = cover.extents.some((extent) => isInside(box, extent));
    positions[zone] = isWithin ? POSITIONS.within : positionOf(cover, zone, box);
  }
  for (const zone of collapsedPolygons(polygons, column, row))
    if (positions[zone]! > POSITIONS.collapsed) positions[zone] = POSITIONS.collapsed;
  return positions;
}

/** Whether a box with width and height is part of an extent. */
function isInside({ left, right, top, bottom }: Box, extent: Box): boolean {
  return (
    left < right &&
    top < bottom &&
    left >= extent.left &&
    right <= extent.right &&
    top >= extent.top &&
    bottom <= extent.bottom
  );
}

function positionOf(cover: ZoneCover, zone: number, box: Box): number {
  if (!meets(cover, box)) return POSITIONS.outside;
  return reachesBeyond(cover, zone, box) ? POSITIONS.partlyOutside : POSITIONS.within;
}

/** Whether the box of a zone overlaps a raster after some shift by whole turns of longitude. A shared edge is no overlap. */
function meets({ extents, turn }: ZoneCover, box: Box): boolean {
  return extents.some((extent) =>
    turnedCopies(extent, box.left, box.right, turn).some(
      ({ left, top, right, bottom }) =>
        box.top < bottom && box.bottom > top && (right === Infinity || (box.left < right && box.right > left)),
    ),
  );
}

/** The extents on which a zone may lie, in part or wholly. */
function nearExtents({ extents, turn }: ZoneCover, box: Box): readonly Box[] {
  return extents.filter((extent) =>
    turnedCopies(extent, box.left, box.right, turn).some(
      ({ left, top, right, bottom }) =>
        box.top <= bottom && box.bottom >= top && box.left <= right && box.right >= left,
    ),
  );
}

/** Whether some ring of the zone extends beyond the rasters, by however many turns of longitude (360°) it is shifted. */
function reachesBeyond(cover: ZoneCover, zone: number, zoneBox: Box): boolean {
  const { polygons, turn } = cover;
  const { polygonRings, ringVertices } = polygons;
  const near = nearExtents(cover, zoneBox);
  for (let ring = polygonRings[zone]!; ring < polygonRings[zone + 1]!; ring++) {
    const box = boxOf(polygons, ringVertices[ring]!, ringVertices[ring + 1]!);
    const copies = near.flatMap((extent) => turnedCopies(extent, box.left, box.right, turn));
    if (remainderOf(box, copies).length > 0) return true;
  }
  return false;
}

function boxOf({ column, row }: SnappedPolygons, from: number, to: number): Box {
  const [left, right] = rangeOf(column, from, to);
  const [top, bottom] = rangeOf(row, from, to);
  return { left, top, right, bottom };
}
