import type { HostFrame } from '../../../algorithms/cell-tracking/frame.ts';
import type { TrackedFrame } from '../../../algorithms/cell-tracking/tracks.ts';
import { type DisplayRange, displayRange, shrunkGrey } from './display.ts';
import { type SpeedDistribution, speedHistogram } from './speed-histogram.ts';
import { type TrackPath, trackPaths } from './track-paths.ts';

/** Statistics of all tracks of a video. */
export interface TrackFigures {
  readonly width: number;
  readonly height: number;
  /** Number of frames that were tracked. */
  readonly frames: number;
  readonly tracks: number;
  /** Total number of rows in the table of tracks: the numbers of cells in each frame, added up. */
  readonly cells: number;
  /** Distribution of the speeds, in pixels per frame. */
  readonly speeds: SpeedDistribution;
  readonly paths: readonly TrackPath[];
  /** The number n if the paths have points of every n-th frame only; 1 if the paths have points of all frames. */
  readonly pathsEvery: number;
  /**
   * The first frame of the video as bytes, with width and height divided by `scale`; undefined if the video has no
   * frame.
   */
  readonly picture: Picture | undefined;
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
  readonly scale: number;
}

/** Gathers the statistics of a video. Memory does not grow with the length of the video. */
export interface TrackTally {
  add(frame: HostFrame, cells: TrackedFrame): void;
  /** The display range of the first frame, to use for all frames. */
  range(): DisplayRange;
  figures(): TrackFigures;
}

const MAX_POINTS = 100_000;
const LONGEST_SIDE = 1600;

export function trackTally({ width, height }: Pick<HostFrame, 'width' | 'height'>): TrackTally {
  const paths = trackPaths(MAX_POINTS);
  const speeds = speedHistogram();
  let [frames, tracks, rows] = [0, 0, 0];
  let range: DisplayRange = { black: 0, white: 255 };
  let picture: Picture | undefined;
  return {
    add(frame, cells) {
      if (picture === undefined) {
        range = displayRange(frame);
        picture = shrunkGrey(frame, range, LONGEST_SIDE);
      }
      frames++;
      rows += cells.track.length;
      // Track numbers begin at 1, and the rows of a frame are in ascending order of track numbers. So the last row has
      // the highest track number.
      tracks = Math.max(tracks, cells.track.at(-1) ?? 0);
      for (const speed of cells.speed) speeds.add(speed);
      paths.add(cells);
    },
    range: () => range,
    figures: () => ({
      width,
      height,
      frames,
      tracks,
      cells: rows,
      speeds: speeds.distribution(),
      paths: paths.list(),
      pathsEvery: paths.every(),
      picture,
    }),
  };
}
