import type { GridPolygons } from '../../algorithms/pixelbox/grid-polygons.ts';

/** The vertices of a ring. An edge from the last vertex to the first closes the ring. */
export type Ring = readonly (readonly [x: number, y: number])[];

/**
 * Converts polygons from rings to columns of integer coordinates in CSR form (with the starts of rings and vertices).
 */
export function columnsOfRings(polygons: readonly (readonly Ring[])[]): GridPolygons {
  const rings = polygons.flat();
  const before = <T>(lists: readonly (readonly T[])[]): Uint32Array => {
    let sum = 0;
    return Uint32Array.from([0, ...lists.map((list) => (sum += list.length))]);
  };
  return {
    polygonRings: before(polygons),
    ringVertices: before(rings),
    x: Int32Array.from(rings.flat(), ([x]) => x),
    y: Int32Array.from(rings.flat(), ([, y]) => y),
  };
}
