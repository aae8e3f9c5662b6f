import { basename } from 'node:path';
import type { ReportSection, ReportTable } from '../../../graph/reports/report-page.ts';
import type { TrackFigures } from './tally.ts';
import { trackPlot } from './track-plot.ts';
import { speedFigures, type TrackRun } from './track-summary.ts';

/**
 * The sections of a report that describe the tracks: statistics, a picture of the tracks, and notes. In a report, these
 * sections precede the sections about the execution of the dataflow graph.
 */
export async function trackSections(figures: TrackFigures, run: TrackRun): Promise<ReportSection[]> {
  const { notes, video, scale } = run;
  return [
    { title: 'Result', text: verdict(figures, run), table: figureTable(figures, run) },
    {
      title: 'Tracks',
      text: 'A dot is where a track ends.',
      svg: await trackPlot({ figures, scale, title: basename(video) }),
    },
    ...(notes.length === 0
      ? []
      : [{ title: 'Notes', table: { columns: ['Note'], rows: notes.map(({ message }) => [message]) } }]),
  ];
}

function verdict({ frames }: TrackFigures, { video, backend, partial, frameCount }: TrackRun): string {
  const part = partial
    ? ` The run ended before the video did: these are its first ${frames} frames${of(frameCount)}.`
    : '';
  return `${video}, on ${backend}.${part}`;
}

function of(frameCount: number | undefined): string {
  return frameCount === undefined ? '' : ` of ${frameCount}`;
}

function figureTable(figures: TrackFigures, { scale }: TrackRun): ReportTable {
  const { unit, mean, lowerQuartile, median, upperQuartile, max } = speedFigures(figures, scale);
  const speed = (name: string, value: number | null): (string | number)[][] =>
    value === null ? [] : [[name, `${Number(value.toPrecision(4))} ${unit}`]];
  return {
    columns: ['Figure', 'Value'],
    rows: [
      ['frames', figures.frames],
      ['size', `${figures.width} × ${figures.height} px`],
      ...(scale.frameRate === undefined ? [] : [['frames a second', scale.frameRate]]),
      ...(scale.pixelSize === undefined ? [] : [['side of a pixel', `${scale.pixelSize} µm`]]),
      ['tracks', figures.tracks],
      ['cells over all frames', figures.cells],
      ...speed('median speed', median),
      ...speed('lower quartile', lowerQuartile),
      ...speed('upper quartile', upperQuartile),
      ...speed('mean speed', mean),
      ...speed('highest speed', max),
    ],
  };
}
