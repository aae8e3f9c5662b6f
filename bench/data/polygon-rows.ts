import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../../algorithms/geometry/raster.ts';

/** For each row of a raster, the columns at which it enters and leaves polygons, ascending. */
export function polygonRows({ x, y, ringVertices }: Polygons, grid: RasterGrid): Int32Array[] {
  const { width, height, originX, originY, stepX, stepY } = grid;
  const rows = Array.from({ length: height }, (): number[] => []);
  const across = (degrees: number): number => (degrees - originX) / stepX - 0.5;
  const down = (degrees: number): number => (degrees - originY) / stepY - 0.5;
  for (let ring = 0; ring + 1 < ringVertices.length; ring++) {
    const [first, end] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    for (let vertex = first, before = end - 1; vertex < end; before = vertex++) {
      const [row0, row1] = [down(y[before]!), down(y[vertex]!)];
      const [column0, column1] = [across(x[before]!), across(x[vertex]!)];
      const top = Math.max(0, Math.ceil(Math.min(row0, row1)));
      const bottom = Math.min(height, Math.ceil(Math.max(row0, row1)));
      for (let row = top; row < bottom; row++) {
        const column = Math.ceil(column0 + ((row - row0) / (row1 - row0)) * (column1 - column0));
        rows[row]!.push(Math.min(width, Math.max(0, column)));
      }
    }
  }
  return rows.map((columns) => Int32Array.from(columns).sort());
}
