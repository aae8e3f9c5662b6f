import { aContext } from '../../primitives/argument-kinds.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import type { Context } from '../../primitives/index.ts';
import { where } from '../../primitives/kinds.ts';
import { type HostFrame, requireHostFrame } from './frame.ts';
import { type CellTracker, TRACK_CELLS_OPTIONS, type TrackCellsOptions } from './track-cells-options.ts';
import { createTracker } from './tracker.ts';
import type { TrackedFrame } from './tracks.ts';

/**
 * A tracker of the cells of a video: they are looked for in some frames by {@link detectPeaks} and followed through all by
 * {@link trackFrame}, both prepared. {@link trackCells} calls it for a whole video; it stands apart for stages of a graph.
 *
 * - **Links.** In a frame in which cells are looked for, those found are paired with the followed ones where these are expected,
 *   one to one at the least sum of squared distances. A track ends that several detections in a row have missed, whose snake is
 *   lost, that leaves the frame, or that comes to lie on another. Cells that are left over go on with a lost track, if its speed
 *   brings it near within `maxGap` frames, or begin one of their own.
 * - **Positions** are those of the snake, in frames with detections too.
 * - Memory does not grow with the video: it is that of the frames under way and of as many windows as there are cells.
 * - Deterministic, the same on all backends: positions are f32 of the device, links f64 of the host.
 *
 * @throws `ArgumentError` `frame/size` for frames of other sizes, `tracks/order` for frames out of order, and for options as
 * `detectPeaks` and `trackFrame` do; `CapacityError` where there are more cells than `detection.maxCells`.
 * @example
 * const disc = (x: number, y: number) => 100 / (1 + Math.exp(2 * Math.hypot(x, y) - 8));
 * const frameAt = (t: number) => ({
 *   ...{ width: 48, height: 24 },
 *   grey: Uint8Array.from({ length: 48 * 24 }, (_, i) => disc((i % 48) - 12 - 2 * t, Math.floor(i / 48) - 12)),
 * });
 * const tracker = cellTracker(ctx, { detection: { radii: [4, 5] }, tracking: { maxRadius: 4 } });
 * const speeds: number[] = [];
 * for (let t = 0; t < 3; t++) {
 *   const frame = frameAt(t);
 *   const { speed } = await tracker.track(frame, t, await tracker.detect(frame, t));
 *   speeds.push(Math.round(speed[0]!));
 * }
 * await tracker.close();
 * speeds; // [NaN, 2, 2]
 */
export function cellTracker(context: Context, options: TrackCellsOptions = {}): CellTracker {
  requireArguments('cellTracker', { context, options }, { context: aContext, options: TRACK_CELLS_OPTIONS });
  if (options.background !== undefined) requireHostFrame('cellTracker', options.background);
  return createTracker(context, options);
}

/**
 * The cells of a video, frame by frame, by their tracks: a {@link cellTracker} over all frames, of which some are under way at
 * once.
 *
 * @throws as `cellTracker` does, and what the frames throw.
 * @example
 * const disc = (x: number, y: number) => 100 / (1 + Math.exp(2 * Math.hypot(x, y) - 8));
 * const frames = Array.from({ length: 3 }, (_, t) => ({
 *   ...{ width: 48, height: 24 },
 *   grey: Uint8Array.from({ length: 48 * 24 }, (_, i) => disc((i % 48) - 12 - 2 * t, Math.floor(i / 48) - 12)),
 * }));
 * const rows: string[] = [];
 * for await (const { index, track, x } of trackCells(ctx, frames, { detection: { radii: [4, 5] }, tracking: { maxRadius: 4 } })) {
 *   track.forEach((id, i) => rows.push(`${index}: cell ${id} at ${Math.round(x[i]!)}`));
 * }
 * rows; // ['0: cell 1 at 12', '1: cell 1 at 14', '2: cell 1 at 16']
 */
export function trackCells(
  context: Context,
  frames: Iterable<HostFrame> | AsyncIterable<HostFrame>,
  options: TrackCellsOptions = {},
): AsyncGenerator<TrackedFrame, void, undefined> {
  const kinds = { context: aContext, frames: someFrames, options: TRACK_CELLS_OPTIONS };
  requireArguments('trackCells', { context, frames, options }, kinds);
  return followAll(cellTracker(context, options), frames);
}

const someFrames = where('an iterable of frames, or an async one', (given) => {
  if (typeof given !== 'object' || given === null) return false;
  return Symbol.asyncIterator in given || Symbol.iterator in given;
});

/** Frames under way at once, beside the one that is waited for. */
const AHEAD = 2;

async function* followAll(
  tracker: CellTracker,
  frames: Iterable<HostFrame> | AsyncIterable<HostFrame>,
): AsyncGenerator<TrackedFrame, void, undefined> {
  const underWay: Promise<TrackedFrame>[] = [];
  let index = 0;
  try {
    for await (const frame of frames) {
      const tracked = tracker.track(frame, index, tracker.detect(frame, index));
      // Those that nobody comes to wait for may fail as well.
      tracked.catch(() => {});
      underWay.push(tracked);
      index++;
      if (underWay.length > AHEAD) yield await underWay.shift()!;
    }
    while (underWay.length > 0) yield await underWay.shift()!;
  } finally {
    await Promise.allSettled(underWay);
    await tracker.close();
  }
}
