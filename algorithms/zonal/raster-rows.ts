import type { RasterSource, Window } from '../geometry/raster.ts';

/**
 * The rows `first` to `end` − 1 of a raster, as a raster. It can be read by blocks only if it consists of whole blocks.
 */
export function rowsOf(raster: RasterSource, first: number, end: number): RasterSource {
  const { prefetch, readBlocks, readEncoded, readMask, ...others } = raster;
  const { height, blockRows, originY, stepY } = raster;
  if (first === 0 && end === height) return raster;
  const isOfBlocks = first % blockRows === 0 && (end % blockRows === 0 || end === height);
  const moved = (window: Window, rows = first): Window => ({ ...window, row: window.row + rows });
  const wanted = (isWanted?: Wanted): Wanted | undefined => isWanted && ((part) => isWanted(moved(part, -first)));
  return {
    ...others,
    height: end - first,
    originY: originY + first * stepY,
    ...(prefetch && { prefetch: (window, isWanted) => prefetch(moved(window), wanted(isWanted)) }),
    read: (window, signal, isWanted) => raster.read(moved(window), signal, wanted(isWanted)),
    ...(isOfBlocks &&
      readBlocks && {
        readBlocks: (window, signal, isWanted) => readBlocks(moved(window), signal, wanted(isWanted)),
      }),
    ...(isOfBlocks &&
      readEncoded && {
        readEncoded: (window, signal, isWanted, isAlike, context) =>
          readEncoded(moved(window), signal, wanted(isWanted), isAlike, context),
      }),
    ...(readMask && {
      readMask: (window, signal, isWanted) => readMask(moved(window), signal, wanted(isWanted)),
    }),
  };
}

type Wanted = (part: Window) => boolean;
