import type { Window } from '../../algorithms/geometry/raster.ts';
import { ArgumentError } from '../../primitives/errors.ts';

/**
 * Throws unless a window lies inside a raster.
 *
 * @throws ArgumentError `argument/window-outside`.
 */
export function checkWindow(
  { column, row, columns, rows }: Window,
  { width, height }: { readonly width: number; readonly height: number },
  file: string,
): void {
  const whole = [column, row, columns, rows].every((value) => Number.isInteger(value) && value >= 0);
  if (whole && column + columns <= width && row + rows <= height) return;
  throw new ArgumentError('argument/window-outside', 'The window does not lie inside the raster.', {
    expected: `a window within ${width} × ${height} cells`,
    got: `${columns} × ${rows} cells from (${column}, ${row})`,
    remedy: 'Cut the window to the raster.',
    place: { file },
  });
}
