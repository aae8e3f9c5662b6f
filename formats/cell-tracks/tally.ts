import type { HostFrame } from '../../algorithms/cell-tracking/frame.ts';
import type { TrackedFrame } from '../../algorithms/cell-tracking/tracks.ts';
import { type DisplayRange, displayRange, shrunkGrey } from './display.ts';
import { type SpeedDistribution, speedHistogram } from './speed-histogram.ts';
import { type TrackPath, trackPaths } from './track-paths.ts';

/** Figures of all tracks of a video. */
export interface TrackFigures {
  readonly width: number;
  readonly height: number;
  /** Number of frames tracked. */
  readonly frames: number;
  readonly tracks: number;
  /** Number of rows: cells over all frames. */
  readonly cells: number;
  /** In px/frame. */
  readonly speeds: SpeedDistribution;
  readonly paths: readonly TrackPath[];
  /** The paths contain every n-th frame. */
  readonly pathsEvery: number;
  /** The first frame in bytes, its sides divided by `scale`; undefined if there is no frame. */
  readonly picture: Picture | undefined;
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
  readonly scale: number;
}

/** Gathers the figures of a video, in memory that does not grow with it. */
export interface TrackTally {
  add(frame: HostFrame, cells: TrackedFrame): void;
  /** The grey values shown as black and as white, from the first frame. */
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
      // Tracks are numbered from 1 as they begin, and rows ascend.
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
