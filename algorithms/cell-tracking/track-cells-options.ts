import { aSignal, aWhole, type Kind, optional, someOptions } from '../../primitives/kinds.ts';
import type { DetectedCells } from './detect-cells.ts';
import { DETECTION_OPTIONS, type DetectionOptions } from './detection-options.ts';
import { aHostFrame, type HostFrame } from './frame.ts';
import { LINKING_OPTIONS, type LinkingOptions } from './linking-options.ts';
import { TRACKING_OPTIONS, type TrackingOptions } from './tracking-options.ts';
import type { TrackedFrame } from './tracks.ts';

export interface TrackCellsOptions {
  readonly detection?: DetectionOptions | undefined;
  /** `maxRadius` grows with the cells that are found, from 10 on, unless it is given. */
  readonly tracking?: Omit<TrackingOptions, 'previous'> | undefined;
  readonly linking?: LinkingOptions | undefined;
  /** Cells are looked for in the first of every so many frames; 10 unless given. */
  readonly detectEvery?: number | undefined;
  /** What stands still in the video, as {@link stillBackground} finds it. It is taken away from every frame first. */
  readonly background?: HostFrame | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Follows the cells of a video that comes frame by frame. */
export interface CellTracker {
  /**
   * The cells of a frame if they are looked for in it, else undefined. Frames may come in any order, several at once. A call of
   * `track` with the same index and array is about this frame too, which is uploaded once for both.
   */
  detect(frame: HostFrame, index: number): Promise<DetectedCells | undefined>;
  /**
   * The cells of the next frame by their tracks. Frames come in order, from 0; a call may come before the one before has settled,
   * so that the device always has work. A frame without a cell to follow is not uploaded.
   */
  track(
    frame: HostFrame,
    index: number,
    detected: DetectedCells | undefined | Promise<DetectedCells | undefined>,
  ): Promise<TrackedFrame>;
  /** Frees what is kept on the device, after the calls that are under way. */
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
