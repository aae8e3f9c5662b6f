import type { TrackedFrame } from '../../../algorithms/cell-tracking/tracks.ts';

/**
 * Gathers the paths of tracks. Memory does not grow with the length of the video, because only every n-th frame of a
 * long video is kept.
 */
export interface TrackPaths {
  add(frame: TrackedFrame): void;
  /** The path of each track, in the order of the track numbers. Points are in the order of the frames. */
  list(): TrackPath[];
  /** The number n if the paths have points of every n-th frame only; 1 if the paths have points of all frames. */
  every(): number;
}

export interface TrackPath {
  readonly track: number;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/**
 * Creates a {@link TrackPaths} without points, which keeps at most `max` points. When `max` is exceeded, the points of
 * every second kept frame are dropped.
 */
export function trackPaths(max: number): TrackPaths {
  let kept: { readonly frame: number; readonly track: number; readonly x: number; readonly y: number }[] = [];
  let every = 1;

  function thin(): void {
    while (kept.length > max) {
      every *= 2;
      kept = kept.filter(({ frame }) => frame % every === 0);
      // If only the first frame is left, dropping frames has no effect, so surplus points are dropped.
      if (kept.every(({ frame }) => frame === 0)) kept.length = Math.min(kept.length, max);
    }
  }

  return {
    add({ index, track, x, y }) {
      if (index % every !== 0) return;
      for (const [i, id] of track.entries()) kept.push({ frame: index, track: id, x: x[i]!, y: y[i]! });
      thin();
    },
    list() {
      const paths = new Map<number, [number, number][]>();
      for (const { track, x, y } of kept) {
        const points = paths.get(track);
        if (points === undefined) paths.set(track, [[x, y]]);
        else points.push([x, y]);
      }
      return [...paths].map(([track, points]) => ({ track, points })).sort((a, b) => a.track - b.track);
    },
    every: () => every,
  };
}
