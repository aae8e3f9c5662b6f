import { aSignal, aWhole, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import type { DetectedCells } from './detect-cells.ts';
import { DETECTION_OPTIONS, type DetectionOptions } from './detection-options.ts';
import { aHostFrame, type HostFrame } from './frame.ts';
import { LINKING_OPTIONS, type LinkingOptions } from './linking-options.ts';
import { TRACKING_OPTIONS, type TrackingOptions } from './tracking-options.ts';
import type { TrackedFrame } from './tracks.ts';

export interface TrackCellsOptions {
  readonly detection?: DetectionOptions | undefined;
  /** Options of {@link trackFrame}. If `maxRadius` is missing, it starts at 10 and grows with the cells found. */
  readonly tracking?: Omit<TrackingOptions, 'previous'> | undefined;
  readonly linking?: LinkingOptions | undefined;
  /** Cells are detected in every n-th frame. Default 10. */
  readonly detectEvery?: number | undefined;
  /** The still background of the video, as from {@link stillBackground}. It is subtracted from every frame. */
  readonly background?: HostFrame | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Follows the cells of a video, frame by frame. */
export interface CellTracker {
  /**
   * Detects the cells of a frame. The result is undefined for frames that `detectEvery` leaves out. Frames may come in
   * any order, several in parallel. A later call of `track` with the same `index` and the same array of grey values
   * reuses the uploaded frame.
   */
  detect(frame: HostFrame, index: number): Promise<DetectedCells | undefined>;
  /**
   * Tracks the cells of a frame. Frames must come in order: each call has a higher `index` than the preceding call. A
   * call may be made before the preceding call has settled, so that the device always has work. If there are no cells
   * to follow, `track` does not upload the frame.
   */
  track(
    frame: HostFrame,
    index: number,
    detected: DetectedCells | undefined | Promise<DetectedCells | undefined>,
  ): Promise<TrackedFrame>;
  /** Waits for the calls in progress, then frees all device memory. */
  close(): Promise<void>;
}

export const TRACK_CELLS_OPTIONS: Kind = someOptions<TrackCellsOptions>({
  detection: optional(someOptions<DetectionOptions>(DETECTION_OPTIONS)),
  tracking: optional(someOptions<TrackingOptions>({ ...TRACKING_OPTIONS })),
  linking: optional(someOptions<LinkingOptions>(LINKING_OPTIONS)),
  detectEvery: optional(aWhole(1, 2 ** 31, 'tracks/every')),
  background: optional(aHostFrame),
  signal: optional(aSignal),
});
