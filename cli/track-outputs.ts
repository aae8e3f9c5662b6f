import { basename } from 'node:path';
import type { TrackedFrame } from '../algorithms/cell-tracking/tracks.ts';
import type { StagedFolder } from '../formats/bytes/staged-folder.ts';
import { type CtcLabels, ctcLabels } from '../formats/results/cell-tracks/ctc-labels.ts';
import { type TrackFigures, trackTally } from '../formats/results/cell-tracks/tally.ts';
import { trackWriter } from '../formats/results/cell-tracks/track-rows.ts';
import { type TrackRun, trackSummary } from '../formats/results/cell-tracks/track-summary.ts';
import type { VideoFrame } from '../formats/video/video.ts';
import type { GraphRun, ReportSection } from '../graph/index.ts';
import type { TraceRecorder } from '../graph/reports/trace.ts';
import { recorderFor, reported, traced } from './run-records.ts';
import { headedWrite, type WriteOutput } from './run-support.ts';
import type { TrackOptions } from './track-arguments.ts';

/** Receives the frames of a video in order, and writes the outputs that the command line requests. */
export interface TrackOutputs {
  /** Records the run for a trace or a report; undefined if neither is requested. */
  readonly recorder: TraceRecorder | undefined;
  add(frame: VideoFrame, cells: TrackedFrame): Promise<void>;
  /** Statistics of the tracks so far. */
  figures(): TrackFigures;
  /** Writes the files that require all frames. */
  end(run: TrackRun, running: GraphRun<unknown>): Promise<void>;
  /** Writes the output on stdout that requires all frames, if there is one. */
  print(run: TrackRun, running: GraphRun<unknown>): Promise<void>;
}

/** The output folders. They are undefined if the command line does not request them. */
export interface TrackFolders {
  readonly overlay: StagedFolder | undefined;
  readonly ctc: StagedFolder | undefined;
}

/** Size of the frames, and their number if it is known before the run. */
export interface FrameShape {
  readonly width: number;
  readonly height: number;
  readonly frameCount: number | undefined;
}

/** Opens all outputs that the command line requests. */
export async function openTrackOutputs(
  options: TrackOptions,
  scale: TrackRun['scale'],
  shape: FrameShape,
  folders: TrackFolders,
  write: WriteOutput,
): Promise<TrackOutputs> {
  const { out } = options;
  const rows = trackWriter(scale);
  const tally = trackTally(shape);
  const overlay = folders.overlay && (await openOverlay(folders.overlay, shape));
  const ctc = folders.ctc && (await openCtc(folders.ctc, shape));
  const recorder = await recorderFor([options.trace, options.report]);
  const append = out === undefined ? undefined : await headedWrite(write, out, () => rows.begin());
  return {
    recorder,
    async add(frame, cells) {
      // The first frame that is added to `tally` determines the display range. All frames are drawn with this range.
      tally.add(frame, cells);
      await Promise.all([overlay?.add(frame, cells, tally.range()), ctc?.add(cells)]);
      await append?.(rows.add(cells));
    },
    figures: tally.figures,
    async end(run, running) {
      await ctc?.end();
      await append?.('');
      for (const [path, content] of lastOnes(options, tally.figures, run, running, recorder)) {
        if (path !== '-') await write(path, await content());
      }
    },
    async print(run, running) {
      for (const [path, content] of lastOnes(options, tally.figures, run, running, recorder)) {
        if (path === '-') await write(path, await content());
      }
    },
  };
}

/**
 * Returns the outputs that require all frames. Importing the code for charts takes a quarter of a second, so the code
 * is imported only when needed.
 */
function lastOnes(
  { plot, report, trace, json }: TrackOptions,
  figuresOf: () => TrackFigures,
  run: TrackRun,
  running: GraphRun<unknown>,
  recorder: TraceRecorder | undefined,
): [path: string, content: () => Promise<string>][] {
  const outputs: [string | undefined, () => Promise<string>][] = [
    [json ? '-' : undefined, async () => trackSummary(figuresOf(), run)],
    [plot, () => drawn(figuresOf(), run)],
    [trace, () => traced(recorder!, running)],
    [report, async () => reported(recorder!, running, basename(run.video), await sectionsOf(figuresOf(), run))],
  ];
  return outputs.filter((output): output is [string, () => Promise<string>] => output[0] !== undefined);
}

async function openOverlay(folder: StagedFolder, { frameCount }: FrameShape) {
  const { contourImage } = await import('../formats/results/cell-tracks/contour-image.ts');
  return {
    add: async (frame: VideoFrame, cells: TrackedFrame, range: Parameters<typeof contourImage>[2]) =>
      folder.write(`frame${numberOf(cells.index, frameCount)}.png`, await contourImage(frame, cells, range)),
  };
}

async function openCtc(folder: StagedFolder, { width, height, frameCount }: FrameShape) {
  const { encodeLabelTiff } = await import('../formats/results/cell-tracks/label-tiff.ts');
  const labels: CtcLabels = ctcLabels(width, height);
  return {
    add: async (cells: TrackedFrame) =>
      folder.write(
        `mask${numberOf(cells.index, frameCount)}.tif`,
        await encodeLabelTiff(width, height, labels.add(cells)),
      ),
    end: () => folder.write('res_track.txt', labels.tracks()),
  };
}

/**
 * The number of a frame as text. It is padded with zeros to at least three digits, and to as many digits as the number
 * of the last frame has.
 */
function numberOf(index: number, frameCount = 0): string {
  return String(index).padStart(Math.max(3, String(frameCount - 1).length), '0');
}

async function drawn(figures: TrackFigures, { video, scale }: TrackRun): Promise<string> {
  const { trackPlot } = await import('../formats/results/cell-tracks/track-plot.ts');
  return trackPlot({ figures, scale, title: basename(video) });
}

async function sectionsOf(figures: TrackFigures, run: TrackRun): Promise<ReportSection[]> {
  const { trackSections } = await import('../formats/results/cell-tracks/track-report.ts');
  return trackSections(figures, run);
}
