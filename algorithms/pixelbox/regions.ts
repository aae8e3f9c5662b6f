import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance, aRecord, type FieldKinds, type Kind, optional } from '../../primitives/checks/kinds.ts';
import type { Column } from '../../primitives/index.ts';
import { type GridPolygons, gridColumns, someGridPolygons } from './grid-polygons.ts';

/**
 * Regions of whole pixels: the pixels whose centres are inside polygons on the pixel grid, by the even-odd rule.
 * Half-open: a centre on a left edge is inside, a centre on a right edge is outside. For a rectilinear polygon, the
 * region is the polygon itself.
 */
export interface Regions extends GridPolygons {
  /**
   * Bounding boxes of the vertices, half-open: columns left … right − 1, rows top … bottom − 1. For a region without
   * vertices, all four numbers are 0.
   */
  readonly left: Int32Array;
  readonly top: Int32Array;
  readonly right: Int32Array;
  readonly bottom: Int32Array;
  /** `x` and `y` in memory of a device, if `regionsOn` made the regions. */
  readonly vertices?: DeviceVertices;
}

/** Coordinates of vertices in memory of a device. */
export interface DeviceVertices {
  readonly x: Column<'i32'>;
  readonly y: Column<'i32'>;
}

/** Validators of the boxes of regions. */
export const boxColumns: FieldKinds<Pick<Regions, 'left' | 'top' | 'right' | 'bottom'>> = {
  left: anInstance(Int32Array),
  top: anInstance(Int32Array),
  right: anInstance(Int32Array),
  bottom: anInstance(Int32Array),
};

export const someRegions: Kind = aRecord<Regions>({
  ...gridColumns,
  ...boxColumns,
  vertices: optional(aRecord<DeviceVertices>({ x: aColumn('i32'), y: aColumn('i32') })),
});

/**
 * Makes regions from polygons on the pixel grid, and computes their bounding boxes. O(vertices).
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [3, 0], [3, 1], [1, 1], [1, 2], [0, 2]]] }');
 * const { right, bottom } = regionsOf(gridPolygons(zones.polygons));
 * [right, bottom]; // [Int32Array [3], Int32Array [2]]
 */
export function regionsOf(polygons: GridPolygons): Regions {
  requireArguments('regionsOf', { polygons }, { polygons: someGridPolygons });
  const { polygonRings, ringVertices, x, y } = polygons;
  const count = polygonRings.length - 1;
  const column = (): Int32Array => new Int32Array(count);
  const regions = {
    polygonRings,
    ringVertices,
    x,
    y,
    left: column(),
    top: column(),
    right: column(),
    bottom: column(),
  };
  for (let region = 0; region < count; region++) {
    const start = ringVertices[polygonRings[region]!]!;
    const end = ringVertices[polygonRings[region + 1]!]!;
    if (start < end && !measure(regions, region, start, end)) measureFar(regions, region, start, end);
  }
  return regions;
}

const LIMIT = 2 ** 30;

/**
 * Computes the bounding box of a region's vertices. Returns false if a coordinate is too large: for example, the
 * distance from −2³⁰ to 2³⁰ is 2³¹, which overflows an i32. Takes two vertices per step without branches, because the
 * turns of outlines are unpredictable.
 */
function measure(regions: Regions, region: number, start: number, end: number): boolean {
  const { x, y } = regions;
  let left = x[start]!;
  let top = y[start]!;
  let right = left;
  let bottom = top;
  // For a coordinate of 2³⁰, the sum with `LIMIT` overflows to a negative number.
  let far = (left + LIMIT) | (top + LIMIT);
  for (let i = start + ((end - start) & 1); i < end; i += 2) {
    const x0 = x[i]!;
    const x1 = x[i + 1]!;
    const y0 = y[i]!;
    const y1 = y[i + 1]!;
    far |= (x0 + LIMIT) | (x1 + LIMIT) | (y0 + LIMIT) | (y1 + LIMIT);
    const back = belowZero((x1 - x0) | 0);
    const up = belowZero((y1 - y0) | 0);
    left = (left + belowZero((x0 + back - left) | 0)) | 0;
    right = (right - belowZero((right - x1 + back) | 0)) | 0;
    top = (top + belowZero((y0 + up - top) | 0)) | 0;
    bottom = (bottom - belowZero((bottom - y1 + up) | 0)) | 0;
  }
  if (far < 0) return false;
  setBox(regions, region, left, top, right, bottom);
  return true;
}

/** The smaller of a number and 0, without a branch. */
function belowZero(number: number): number {
  return number & (number >> 31);
}

function measureFar(regions: Regions, region: number, start: number, end: number): void {
  const { x, y } = regions;
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

/** Number of vertices of a region. */
export function vertexCount({ polygonRings, ringVertices }: Regions, region: number): number {
  return ringVertices[polygonRings[region + 1]!]! - ringVertices[polygonRings[region]!]!;
}
