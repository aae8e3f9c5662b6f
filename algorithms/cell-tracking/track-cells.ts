import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { where } from '../../primitives/checks/kinds.ts';
import type { Context } from '../../primitives/index.ts';
import { type HostFrame, requireHostFrame } from './frame.ts';
import { type CellTracker, TRACK_CELLS_OPTIONS, type TrackCellsOptions } from './track-cells-options.ts';
import { createTracker } from './tracker.ts';
import type { TrackedFrame } from './tracks.ts';

/**
 * Creates a tracker of the cells of a video. The tracker detects cells in some frames with {@link detectPeaks} and
 * follows them through all frames with {@link trackFrame}. Both run as prepared pipelines. For a whole video, call
 * {@link trackCells}, which uses a tracker; use a tracker directly in the stages of a graph.
 *
 * - **Links.** In a frame with detection, detected cells are paired one to one with the expected positions of followed
 *   cells, at the minimum sum of squared distances. Other detected cells within `minDistance` of such a position are
 *   ignored. Each remaining cell continues a track that the detection missed, or that ended at most `maxGap` frames
 *   earlier, if the extrapolated track is near the cell. Otherwise, the cell begins a new track.
 * - **Ends.** A track ends if `maxMisses` detections in a row have missed it, if its snake is lost, if it leaves the
 *   frame, or if it merges with another track.
 * - **Positions** are those of the snake, also in frames with detection.
 * - Memory does not grow with the length of the video. The device holds the frames in progress and one window per cell.
 * - Deterministic, with the same results on all backends: the device computes positions in f32, the host links in f64.
 *
 * @throws `ArgumentError` with the codes of `detectPeaks` and `trackFrame` for options. The methods of the tracker
 * reject with `frame/size` or `frame/depth` for a frame unlike the first, `tracks/order` for a frame out of order, and
 * `CapacityError` for more cells than `detection.maxCells`.
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
 * Tracks the cells of a whole video and yields one result per frame. Runs a {@link cellTracker} over all frames, with
 * several frames in progress.
 *
 * @throws The errors of `cellTracker`, and those of the iterator `frames`.
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

/** Number of frames in progress besides the frame that is awaited. */
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
      // If an earlier frame fails, nobody awaits this promise. An empty handler avoids an unhandled rejection.
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
