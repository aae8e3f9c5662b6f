import { anInstance, aRecord, type FieldKinds, type Kind } from '../../primitives/checks/kinds.ts';

/** Maximum magnitude of coordinates, in pixels, so that their differences are 32-bit integers. */
export const GRID_LIMIT: number = 2 ** 30;

/**
 * Polygons whose vertices are corners of pixels, as columns. Polygons, rings and vertices are nested in CSR form.
 *
 * The inside of a polygon follows the even-odd rule over all its rings, so neither the direction nor the nesting of
 * rings matters, and rings may touch themselves and each other. A ring's closing vertex is not stored twice.
 */
export interface GridPolygons {
  /** Rings of polygon `p` are `polygonRings[p] … polygonRings[p + 1] − 1`; length is polygons + 1. */
  readonly polygonRings: Uint32Array;
  /** Vertices of ring `r` are `ringVertices[r] … ringVertices[r + 1] − 1`; length is rings + 1. */
  readonly ringVertices: Uint32Array;
  readonly x: Int32Array;
  readonly y: Int32Array;
}

/** Validators of the columns of polygons on a grid. */
export const gridColumns: FieldKinds<GridPolygons> = {
  polygonRings: anInstance(Uint32Array),
  ringVertices: anInstance(Uint32Array),
  x: anInstance(Int32Array),
  y: anInstance(Int32Array),
};
export const someGridPolygons: Kind = aRecord<GridPolygons>(gridColumns);
