import type { TrackedFrame } from '../../algorithms/cell-tracking/tracks.ts';

/** Paths of tracks, in memory that does not grow with the video. */
export interface TrackPaths {
  add(frame: TrackedFrame): void;
  /** The points of each track, ordered by track and then by frame. */
  list(): TrackPath[];
  /** The paths contain every n-th frame. */
  every(): number;
}

export interface TrackPath {
  readonly track: number;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Keeps at most `max` points. When there are more, drops every second of the frames kept. */
export function trackPaths(max: number): TrackPaths {
  let kept: { readonly frame: number; readonly track: number; readonly x: number; readonly y: number }[] = [];
  let every = 1;

  function thin(): void {
    while (kept.length > max) {
      every *= 2;
      kept = kept.filter(({ frame }) => frame % every === 0);
      // If all points are in the first frame, the rest is dropped.
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
