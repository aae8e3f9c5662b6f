import { isOfWholeBlocks, type RasterSource, type Window } from '../../../algorithms/geometry/raster.ts';
import { ArgumentError } from '../../../primitives/checks/errors.ts';

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

/**
 * Throws unless a window of whole blocks lies inside a raster.
 *
 * @throws ArgumentError `argument/window-outside`; `argument/window-blocks`.
 */
export function checkBlocks(
  window: Window,
  grid: Pick<RasterSource, 'width' | 'height' | 'blockColumns' | 'blockRows'>,
  file: string,
): void {
  checkWindow(window, grid, file);
  if (isOfWholeBlocks(window, grid)) return;
  const { column, row, columns, rows } = window;
  throw new ArgumentError('argument/window-blocks', 'The window cuts blocks of the raster.', {
    expected: `whole blocks of ${grid.blockColumns} × ${grid.blockRows} cells, up to the edge of the raster`,
    got: `${columns} × ${rows} cells from (${column}, ${row})`,
    remedy: 'Widen the window to whole blocks, or use read().',
    place: { file },
  });
}
