import type { TrackedFrame } from '../../algorithms/cell-tracking/tracks.ts';
import { CONTOUR_POINTS } from '../../formats/results/cell-tracks/contours.ts';

/** A cell in a frame; by default, its contour is a circle. */
export interface CellRow {
  readonly track: number;
  readonly x: number;
  readonly y: number;
  readonly radius?: number;
  readonly score?: number;
  readonly speed?: number;
  readonly radii?: readonly number[];
}

/** Makes the result of a tracker for one frame, with the given cells. */
export function trackedFrame(index: number, cells: readonly CellRow[]): TrackedFrame {
  const rows = [...cells].sort((a, b) => a.track - b.track);
  const column = (of: (cell: CellRow) => number): Float32Array => Float32Array.from(rows, of);
  return {
    index,
    track: Uint32Array.from(rows, ({ track }) => track),
    x: column(({ x }) => x),
    y: column(({ y }) => y),
    radius: column(({ radius = 5 }) => radius),
    score: column(({ score = -2 }) => score),
    speed: column(({ speed = Number.NaN }) => speed),
    radii: Float32Array.from(rows.flatMap(({ radius = 5, radii = Array(CONTOUR_POINTS).fill(radius) }) => radii)),
    detected: true,
  };
}
