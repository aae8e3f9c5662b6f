import type { DetectedCells } from '../algorithms/cell-tracking/detect-cells.ts';
import type { CellTracker } from '../algorithms/cell-tracking/track-cells-options.ts';
import type { TrackedFrame } from '../algorithms/cell-tracking/tracks.ts';
import type { VideoFrame } from '../formats/video/video.ts';
import { type GraphObserver, type GraphRun, graph } from '../graph/index.ts';

/** A video to track. */
export interface TrackJob {
  frames(signal: AbortSignal): AsyncIterable<VideoFrame>;
  readonly frameCount: number | undefined;
  /** Frames that may wait before a node. */
  readonly waiting: number;
  readonly isOnGpu: boolean;
  /** Receives the frames in order. */
  write(frame: VideoFrame, cells: TrackedFrame): Promise<void>;
  readonly signal: AbortSignal;
  readonly observer: GraphObserver | undefined;
  /** Min time between two progress reports, in milliseconds. */
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

/** Frames in which cells are detected concurrently, while earlier frames are followed. */
const DETECTED_AT_ONCE = 2;
/** Frames that are followed concurrently. Each waits for the previous one on the device, so the device never idles. */
const FOLLOWED_AT_ONCE = 3;

/** Max number of frames that a run holds. */
export function framesHeld(waiting: number): number {
  // One is read, and one is written.
  return 3 * waiting + DETECTED_AT_ONCE + FOLLOWED_AT_ONCE + 2;
}

/** A graph with bounded edges that reads frames, detects cells in some, follows them through all, and writes rows. */
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
