import type { TrackFigures } from '../formats/results/cell-tracks/tally.ts';
import { type SpeedFigures, speedFigures, type TrackRun } from '../formats/results/cell-tracks/track-summary.ts';
import { counted } from './grouped.ts';
import type { RunEnd, RunSummary } from './log.ts';

/** The summary that `quadrille track` prints at its end. */
export function trackSummaryLines(figures: TrackFigures, run: TrackRun, { seconds, outputs }: RunEnd): RunSummary {
  const { frames, tracks, cells } = figures;
  const { partial, frameCount, scale, backend, video } = run;
  const speeds = speedFigures(figures, scale);
  const rate = frames / seconds;
  return {
    lines: [
      `${counted(tracks, 'track')} in ${counted(frames, 'frame')} of ${video}, ${mean(cells, frames)} cells per frame.`,
      ...(speeds.median === null ? [] : [speedLine(speeds, scale)]),
      `${seconds.toFixed(1)} s on ${backend}, ${rate.toPrecision(3)} frames per second.`,
      ...(partial ? [partialLine(frames, frameCount)] : []),
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: {
      video,
      backend,
      frames,
      frameCount: frameCount ?? null,
      partial,
      tracks,
      cells,
      speeds,
      seconds,
      framesPerSecond: rate,
      outputs,
    },
  };
}

function mean(cells: number, frames: number): string {
  return frames === 0 ? 'no' : String(Number((cells / frames).toPrecision(3)));
}

function speedLine(
  { unit, median, lowerQuartile, upperQuartile, max }: SpeedFigures,
  scale: TrackRun['scale'],
): string {
  const [middle, lower, upper, top] = [median, lowerQuartile, upperQuartile, max].map((speed) =>
    Number(speed!.toPrecision(3)),
  );
  const missing = [
    ...(scale.pixelSize === undefined ? ['--pixel-size'] : []),
    ...(scale.frameRate === undefined ? ['--frame-rate'] : []),
  ];
  const remedy = missing.length === 0 ? '' : ` (in µm/s with ${missing.join(' and ')})`;
  return `Speeds: median ${middle} ${unit}, half of them from ${lower} to ${upper}, ${top} at most${remedy}.`;
}

function partialLine(frames: number, frameCount: number | undefined): string {
  const of = frameCount === undefined ? '' : ` of ${counted(frameCount, 'frame')}`;
  return `Partial: the run ended after ${frames}${of === '' ? ` ${frames === 1 ? 'frame' : 'frames'}` : of}.`;
}
