import type { DetectedCells } from '../algorithms/cell-tracking/detect-cells.ts';
import type { CellTracker } from '../algorithms/cell-tracking/track-cells-options.ts';
import type { TrackedFrame } from '../algorithms/cell-tracking/tracks.ts';
import type { VideoFrame } from '../formats/video/video.ts';
import { type GraphObserver, type GraphRun, graph } from '../graph/index.ts';

/** A video to track. */
export interface TrackJob {
  frames(signal: AbortSignal): AsyncIterable<VideoFrame>;
  readonly frameCount: number | undefined;
  /** Maximum number of frames in the queue of each node. */
  readonly waiting: number;
  readonly isOnGpu: boolean;
  /** Called with the frames and their cells, in order. */
  write(frame: VideoFrame, cells: TrackedFrame): Promise<void>;
  readonly signal: AbortSignal;
  readonly observer: GraphObserver | undefined;
  /** Minimum time between two progress reports, in milliseconds. */
  readonly progressEvery: number;
}

interface DetectedFrame {
  readonly frame: VideoFrame;
  readonly detected: DetectedCells | undefined;
}

interface FollowedFrame {
  readonly frame: VideoFrame;
  readonly cells: TrackedFrame;
}

/** Number of frames in which cells are detected at the same time. Meanwhile, earlier frames are tracked. */
const DETECTED_AT_ONCE = 2;
/**
 * Number of frames that are tracked at the same time. On the device, the work on each frame waits for the previous
 * frame. Several frames are submitted, so that the device is always busy.
 */
const FOLLOWED_AT_ONCE = 3;

/**
 * Maximum number of frames that are in memory at the same time. `waiting` is the maximum number of frames in each
 * queue.
 */
export function framesHeld(waiting: number): number {
  // There are three queues: for detecting, tracking and writing. The 2 counts one frame that is being read and one
  // frame that is being written.
  return 3 * waiting + DETECTED_AT_ONCE + FOLLOWED_AT_ONCE + 2;
}

/**
 * A graph with bounded queues that reads frames, detects cells in some of them, tracks the cells through all frames,
 * and writes rows.
 */
export function trackGraph(tracker: CellTracker, job: TrackJob): GraphRun<number> {
  const { waiting: capacity, isOnGpu } = job;
  const runsOn = isOnGpu ? 'gpu' : 'cpu';
  const detect = async (frame: VideoFrame): Promise<DetectedFrame> => ({
    frame,
    detected: await tracker.detect(frame, frame.index),
  });
  const follow = async ({ frame, detected }: DetectedFrame): Promise<FollowedFrame> => ({
    frame,
    cells: await tracker.track(frame, frame.index, detected),
  });
  return graph('track', (g) => {
    const read = g.source('read', ({ signal }: { signal: AbortSignal }) => job.frames(signal), {
      total: job.frameCount,
      describe: ({ index }) => `frame ${index}`,
    });
    const detected = g.stage('detect', read, detect, { lanes: DETECTED_AT_ONCE, ordered: true, capacity, runsOn });
    const followed = g.stage('track', detected, follow, { lanes: FOLLOWED_AT_ONCE, ordered: true, capacity, runsOn });
    return g.sink('write', followed, ({ frame, cells }) => job.write(frame, cells), { capacity, progress: () => 1 });
  }).run(undefined, {
    signal: job.signal,
    observer: job.observer,
    progressEvery: job.progressEvery,
    total: job.frameCount,
  });
}
