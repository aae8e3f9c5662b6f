import type { GridPolygons } from './grid-polygons.ts';

/**
 * Regions of whole pixels: the pixels whose centres are inside polygons on the pixel grid, by the even-odd rule, half-open, so
 * that a centre on a left edge is in and on a right edge out. Of rectilinear polygons that is the polygon itself.
 */
export interface Regions extends GridPolygons {
  /** Boxes of the vertices, half-open: columns left … right − 1, rows top … bottom − 1. Without vertices all are 0. */
  readonly left: Int32Array;
  readonly top: Int32Array;
  readonly right: Int32Array;
  readonly bottom: Int32Array;
  /** 1 where level and upright edges take turns around every ring, as around pixels they do. */
  readonly alternating: Uint8Array;
}

/**
 * The regions of polygons on the pixel grid. O(vertices).
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [3, 0], [3, 1], [1, 1], [1, 2], [0, 2]]] }');
 * const { right, bottom } = regionsOf(gridPolygons(zones.polygons));
 * [right, bottom]; // [Int32Array [3], Int32Array [2]]
 */
export function regionsOf(polygons: GridPolygons): Regions {
  const count = polygons.polygonRings.length - 1;
  const column = (): Int32Array => new Int32Array(count);
  const boxes = { left: column(), top: column(), right: column(), bottom: column() };
  const { polygonRings, ringVertices, x, y } = polygons;
  const regions = { polygonRings, ringVertices, x, y, ...boxes, alternating: new Uint8Array(count) };
  for (let region = 0; region < count; region++) {
    if (measureAlternating(regions, region)) regions.alternating[region] = 1;
    else measureAny(regions, region);
  }
  return regions;
}

/**
 * The box of a region whose edges take turns; false, and no box, of another. Every second vertex has been at all columns
 * and rows. Without branches, as outlines turn where no processor can foresee it.
 */
function measureAlternating(regions: Regions, region: number): boolean {
  const { polygonRings, ringVertices, x, y } = regions;
  if (vertexCount(regions, region) === 0) return false;
  const first = ringVertices[polygonRings[region]!]!;
  let left = x[first]!;
  let top = y[first]!;
  let right = left;
  let bottom = top;
  let differences = 0;
  let far = 0;
  for (let ring = polygonRings[region]!; ring < polygonRings[region + 1]!; ring++) {
    const start = ringVertices[ring]!;
    const end = ringVertices[ring + 1]!;
    if (((end - start) & 1) === 1 || start === end) return false;
    const [along, across] = y[start] === y[start + 1] ? [x, y] : [y, x];
    let turn = along[end - 1]!;
    for (let i = start; i < end; i += 2) {
      differences |= (along[i]! ^ turn) | (across[i]! ^ across[i + 1]!);
      turn = along[i + 1]!;
      far |= (x[i]! ^ (x[i]! << 1)) | (y[i]! ^ (y[i]! << 1));
      const toLeft = (x[i]! - left) | 0;
      const toRight = (right - x[i]!) | 0;
      const toTop = (y[i]! - top) | 0;
      const toBottom = (bottom - y[i]!) | 0;
      left = (left + (toLeft & (toLeft >> 31))) | 0;
      right = (right - (toRight & (toRight >> 31))) | 0;
      top = (top + (toTop & (toTop >> 31))) | 0;
      bottom = (bottom - (toBottom & (toBottom >> 31))) | 0;
    }
  }
  // The two highest bits differ at 2³⁰ alone, from where it is 2³¹ to −2³⁰: too far for a difference.
  if (differences !== 0 || far < 0) return false;
  setBox(regions, region, left, top, right, bottom);
  return true;
}

function measureAny(regions: Regions, region: number): void {
  const { polygonRings, ringVertices, x, y } = regions;
  const start = ringVertices[polygonRings[region]!]!;
  const end = ringVertices[polygonRings[region + 1]!]!;
  if (start === end) return;
  let left = x[start]!;
  let top = y[start]!;
  let right = left;
  let bottom = top;
  for (let i = start + 1; i < end; i++) {
    left = Math.min(left, x[i]!);
    right = Math.max(right, x[i]!);
    top = Math.min(top, y[i]!);
    bottom = Math.max(bottom, y[i]!);
  }
  setBox(regions, region, left, top, right, bottom);
}

function setBox(regions: Regions, region: number, left: number, top: number, right: number, bottom: number): void {
  regions.left[region] = left;
  regions.top[region] = top;
  regions.right[region] = right;
  regions.bottom[region] = bottom;
}

/** Vertices of a region. */
export function vertexCount({ polygonRings, ringVertices }: Regions, region: number): number {
  return ringVertices[polygonRings[region + 1]!]! - ringVertices[polygonRings[region]!]!;
}
