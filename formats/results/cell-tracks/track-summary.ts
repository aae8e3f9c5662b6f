import type { Note } from '../../../algorithms/notes.ts';
import { inBins, SHOWN_BINS } from './speed-histogram.ts';
import type { TrackFigures } from './tally.ts';
import { type TrackScale, unitsOf } from './track-scale.ts';

/** Description of a run of the tracker, without the statistics of the tracks. */
export interface TrackRun {
  /** The path of the video as given by the user. */
  readonly video: string;
  readonly format: string;
  /**
   * Number of frames in the video. Undefined if the format reveals the number only at the end of the video, and the run
   * did not reach the end.
   */
  readonly frameCount: number | undefined;
  readonly scale: TrackScale;
  /** The backend, such as `workers` or `webgpu (NVIDIA H200)`. */
  readonly backend: string;
  /** Whether the run ended before the end of the video. */
  readonly partial: boolean;
  readonly notes: readonly Note[];
}

/** Statistics of speeds. The speeds are in the unit `unit`. All of them are null if `count` is 0. */
export interface SpeedFigures {
  readonly unit: string;
  readonly count: number;
  readonly mean: number | null;
  readonly lowerQuartile: number | null;
  readonly median: number | null;
  readonly upperQuartile: number | null;
  readonly max: number | null;
}

export function speedFigures({ speeds }: TrackFigures, scale: TrackScale): SpeedFigures {
  const { speed: unit, speedFactor } = unitsOf(scale);
  const scaled = (speed: number): number | null =>
    speeds.count === 0 ? null : Number((speed * speedFactor).toPrecision(6));
  return {
    unit,
    count: speeds.count,
    mean: scaled(speeds.mean),
    lowerQuartile: scaled(speeds.quantile(0.25)),
    median: scaled(speeds.quantile(0.5)),
    upperQuartile: scaled(speeds.quantile(0.75)),
    max: scaled(speeds.max),
  };
}

/**
 * Writes the statistics of a run as one JSON object:
 *
 * ```json
 * {
 *   "video": "vessel.avi", "format": "avi", "width": 640, "height": 480,
 *   "frames": 300, "frameCount": 300, "partial": false,
 *   "frameRate": 30, "pixelSize": 0.5,
 *   "backend": "workers",
 *   "tracks": 36, "cells": 10800,
 *   "speeds": { "unit": "µm/s", "count": 10764, "mean": 25.1, "lowerQuartile": 14.2, "median": 24.8, "upperQuartile": 36, "max": 46.1,
 *     "histogram": { "width": 0.5, "counts": [0, 12, 31] } },
 *   "notes": []
 * }
 * ```
 *
 * `frameRate` and `pixelSize` are null if neither the file nor the command line gives them. The histogram has at most
 * 40 bins of equal width. The first bin begins at 0.
 */
export function trackSummary(figures: TrackFigures, run: TrackRun): string {
  const { width, height, frames, tracks, cells, speeds } = figures;
  const { speedFactor } = unitsOf(run.scale);
  const bins = inBins(speeds, SHOWN_BINS);
  const summary = {
    video: run.video,
    format: run.format,
    width,
    height,
    frames,
    frameCount: run.frameCount ?? null,
    partial: run.partial,
    frameRate: run.scale.frameRate ?? null,
    pixelSize: run.scale.pixelSize ?? null,
    backend: run.backend,
    tracks,
    cells,
    speeds: {
      ...speedFigures(figures, run.scale),
      histogram: { width: bins.width * speedFactor, counts: [...bins.counts] },
    },
    notes: run.notes,
  };
  const lines = Object.entries(summary).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}
