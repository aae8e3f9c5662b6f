import { WINDOW_WORDS } from '../../algorithms/cell-tracking/index.ts';
import { WORD } from '../../algorithms/cell-tracking/windows.ts';
import type { Column, Context } from '../../primitives/index.ts';
import type { PeerWindow } from '../peers/leukocyte.ts';
import { type CellVideoFrame, type CellVideoOptions, cellVideo } from './cell-video.ts';

type DrawnFrame = CellVideoFrame['frame'];

/** A frame of a generated video, the previous frame, and the cells' positions in the previous frame. */
export interface GivenCells {
  readonly frame: DrawnFrame;
  readonly frameBefore: DrawnFrame;
  readonly x: Float32Array;
  readonly y: Float32Array;
}

/** The expected radius of cells, in pixels. */
const RADIUS = 10;

/** The second frame of a generated video, with the true centres of the cells in the first frame. */
export function givenCells(options: Omit<CellVideoOptions, 'frames'>): GivenCells {
  const [before, after] = [...cellVideo({ ...options, frames: 2 })];
  const cells = before!.truth.filter(({ visible }) => visible);
  return {
    frame: after!.frame,
    frameBefore: before!.frame,
    x: Float32Array.from(cells, ({ x }) => x),
    y: Float32Array.from(cells, ({ y }) => y),
  };
}

export function columnsOfCells(context: Context, { x, y }: GivenCells): Record<'x' | 'y' | 'path', Column<'f32'>> {
  return { x: context.column(x), y: context.column(y), path: context.column(y) };
}

/**
 * A window (a rectangle of pixels) around a cell. `left` and `top` are the position of its upper left pixel in the
 * frame.
 */
export type CellWindow = PeerWindow & { readonly left: number; readonly top: number };

/**
 * Converts the windows (rectangles around cells) that `trackFrame` computed to the form that Rodinia's program expects.
 */
export function windowsOf({ frame, x, y }: GivenCells, words: Uint32Array): CellWindow[] {
  return Array.from(x, (_, c) => {
    const word = (name: keyof typeof WORD): number => words[c * WINDOW_WORDS + WORD[name]]!;
    const [left, top, width, height] = [word('left'), word('top'), word('width'), word('height')];
    const grey = Float64Array.from({ length: width * height }, (_, i) => {
      return frame.grey[(top + Math.floor(i / width)) * frame.width + left + (i % width)]! / 255;
    });
    return { left, top, width, height, x: x[c]! - left, y: y[c]! - top, row: y[c]! - top, radius: RADIUS, grey };
  });
}
