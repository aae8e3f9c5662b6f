import { stat } from 'node:fs/promises';
import { marginOf } from '../algorithms/cell-tracking/detection-options.ts';
import type { HostFrame } from '../algorithms/cell-tracking/frame.ts';
import type { CellTracker, TrackCellsOptions } from '../algorithms/cell-tracking/track-cells-options.ts';
import type { Note } from '../algorithms/notes.ts';
import { overMemory } from '../formats/memory.ts';
import type { TrackScale } from '../formats/results/cell-tracks/track-scale.ts';
import type { TrackRun } from '../formats/results/cell-tracks/track-summary.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { Video, VideoChannel, VideoFrame } from '../formats/video/video.ts';
import type { GraphRun } from '../graph/index.ts';
import { CapacityError, FormatError } from '../primitives/checks/errors.ts';
import type { BackendOptions } from './arguments.ts';
import { counted } from './grouped.ts';
import type { Log } from './log.ts';
import { noteTaker } from './note-taker.ts';
import {
  causeOf,
  closing,
  inScope,
  type OutputWriter,
  openContext,
  type RunContext,
  type Surroundings,
  watchRun,
} from './run-support.ts';
import type { TrackOptions } from './track-arguments.ts';
import { framesHeld, trackGraph } from './track-graph.ts';
import { openTrackOutputs, type TrackFolders, type TrackOutputs } from './track-outputs.ts';

/** A failover: the backend `from` was lost, and the backend `to` continues its work. */
export interface TakenOver {
  readonly from: string;
  readonly to: string;
  readonly reason: Error;
}

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface TrackParts<C extends RunContext> {
  /** Opens a video; `-` is stdin. */
  openVideo(source: string, options: { readonly channel: VideoChannel; readonly signal: AbortSignal }): Promise<Video>;
  openContext(options: BackendOptions, onFailover: (taken: TakenOver) => void): Promise<C>;
  loadTracking(): Promise<Tracking<C>>;
}

/** The functions that track cells on a device. */
export interface Tracking<C> {
  cellTracker(context: C, options: TrackCellsOptions): CellTracker;
  stillBackground(context: C, frames: readonly HostFrame[]): Promise<HostFrame>;
}

/** The result of tracking a video, either to its end or until an interruption. */
export interface TrackedVideo {
  readonly outputs: TrackOutputs;
  readonly run: TrackRun;
  readonly running: GraphRun<number>;
}

/**
 * Tracks a video, and writes the outputs frame by frame. If the run is interrupted after the first frame, the results
 * of the completed frames are kept.
 *
 * @throws Errors of `parts`; the reason of {@link Surroundings.signal} if it is aborted before the first frame is done.
 */
export async function trackVideo<C extends RunContext>(
  options: TrackOptions,
  parts: TrackParts<C>,
  { log, signal }: Surroundings,
  folders: TrackFolders,
  writer: OutputWriter,
): Promise<TrackedVideo> {
  const notes = noteTaker(log);
  if (options.background === 'still') await requireKept(options.video);
  const open = () => parts.openVideo(options.video, { channel: options.channel, signal });
  await using video = closing(await open());
  notes.take(video.value.notes);
  const waiting = framesWaiting(video.value, options);
  const onFailover = (taken: TakenOver): void => void notes.take([failoverNote(taken)]);
  await using opened = inScope(await openContext(options, (backend) => parts.openContext(backend, onFailover)), signal);
  const context = opened.value;
  signal.throwIfAborted();
  const tracking = await parts.loadTracking();
  const background =
    options.background === 'still' ? await backgroundOf(open, tracking, context, options, signal) : undefined;
  const scale = scaleOf(video.value, options);
  const outputs = await openTrackOutputs(options, scale, video.value, folders, writer.write);
  await using tracker = closing(tracking.cellTracker(context, trackerOptions(options, background)));
  const source = framesOf(video.value, options.onError, () => writer.isRead() || writesFiles(options));
  const { frameCount, format, name } = video.value;
  const running = trackGraph(tracker.value, {
    frames: source.frames,
    frameCount,
    waiting,
    isOnGpu: context.backend.name.startsWith('webgpu'),
    write: outputs.add,
    signal,
    observer: outputs.recorder,
    progressEvery: log.progressEvery,
  });
  await watchRun(running, log, 'frames').catch((error: unknown) => {
    const { frames } = outputs.figures();
    if (!signal.aborted || frames === 0) throw explained(causeOf(error), source.count() > 0, options, log);
  });
  const { frames, cells } = outputs.figures();
  const fault = source.fault();
  if (fault !== undefined && frames === 0) throw fault;
  // Log the notes that were added while frames were being read.
  notes.take(video.value.notes);
  if (fault !== undefined) notes.take([endedEarly(fault, frames)]);
  if (cells === 0 && !signal.aborted) notes.take([noCellsNote(options)]);
  const run: TrackRun = {
    video: options.video === '-' ? name : options.video,
    format,
    frameCount,
    scale,
    backend: context.backend.name,
    partial: fault !== undefined || (signal.aborted && frames !== frameCount),
    notes: notes.all,
  };
  return { outputs, run, running };
}

function failoverNote({ from, to, reason }: TakenOver): Note {
  const message = `${from} was lost, and ${to} continues the same tracks: ${reason.message}`;
  return { code: 'track/failover', message };
}

const MAX_WAITING = 4;
/** Bytes of memory per byte of a frame: the byte itself, and an f32 on the device. */
const COPIES = 1 + 4;

/**
 * The number of frames that may wait in each queue. It is chosen so that all frames that are in memory at the same time
 * fit in `memoryBytes`.
 */
function framesWaiting({ name, width, height, bits }: Video, { memoryBytes }: TrackOptions): number {
  const bytes = width * height * (bits / 8) * COPIES;
  for (let waiting = MAX_WAITING; waiting >= 1; waiting--) {
    if (framesHeld(waiting) * bytes <= memoryBytes) return waiting;
  }
  throw overMemory('The frames of the video are too large.', {
    needed: framesHeld(1) * bytes,
    what: `${framesHeld(1)} frames of ${width} × ${height} pixels of ${bits} bits`,
    allowed: memoryBytes,
    instead: 'crop the video',
    place: { file: name },
  });
}

const MAX_SAMPLES = 64;

/**
 * Throws if the video is a pipe, because the video must be read twice. A missing file is reported later, when the file
 * is opened.
 */
async function requireKept(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.isFile() || found.isDirectory()) return;
  throw new UsageError(
    'usage/contradiction',
    `--background still reads the video twice, and ${path} can be read only once.`,
    {
      remedy: 'Write the video to a file first, or leave --background out.',
    },
  );
}

/** Computes the still background of a video from at most 64 evenly spaced frames. */
async function backgroundOf<C>(
  open: () => Promise<Video>,
  { stillBackground }: Tracking<C>,
  context: C,
  { memoryBytes, onError }: TrackOptions,
  signal: AbortSignal,
): Promise<HostFrame | undefined> {
  await using video = closing(await open());
  const { width, height, bits } = video.value;
  const max = Math.max(1, Math.min(MAX_SAMPLES, Math.floor(memoryBytes / 2 / (width * height * (bits / 8)))));
  let [samples, every]: [VideoFrame[], number] = [[], 1];
  // If a frame cannot be read, this loop ends silently, because tracking will report the error.
  for await (const frame of framesOf(video.value, onError).frames(signal)) {
    if (frame.index % every !== 0) continue;
    samples.push(frame);
    while (samples.length > max) {
      every *= 2;
      samples = samples.filter(({ index }) => index % every === 0);
    }
  }
  return samples.length === 0 ? undefined : stillBackground(context, samples);
}

function scaleOf(video: Video, { frameRate, pixelSize }: TrackOptions): TrackScale {
  return { frameRate: frameRate ?? video.frameRate, pixelSize: pixelSize ?? video.pixelSize };
}

function trackerOptions(
  { radii, threshold, sign, maxCells, direction, detectEvery }: TrackOptions,
  background: HostFrame | undefined,
): TrackCellsOptions {
  return {
    detection: { radii, threshold, sign, maxCells },
    tracking: { direction },
    detectEvery,
    background,
  };
}

/** Whether any output is a file. If so, the run continues even if the reader of stdout closes the pipe. */
function writesFiles({ out, plot, overlay, ctc, report, trace }: TrackOptions): boolean {
  return [out, plot, overlay, ctc, report, trace].some((output) => output !== undefined && output !== '-');
}

/**
 * Creates an iterator over the frames of a video. The iterator stops when no more frames are wanted or, with
 * `--on-error keep`, at a frame that cannot be read. In the second case, `fault` returns the error.
 */
function framesOf(video: Video, onError: TrackOptions['onError'], areWanted: () => boolean = () => true) {
  let fault: FormatError | undefined;
  let count = 0;
  return {
    fault: () => fault,
    /** Number of frames read so far. */
    count: () => count,
    async *frames(signal: AbortSignal): AsyncGenerator<VideoFrame> {
      try {
        for await (const frame of video.frames({ signal })) {
          if (!areWanted()) return;
          count++;
          yield frame;
        }
      } catch (error) {
        if (onError !== 'keep' || !(error instanceof FormatError)) throw error;
        fault = error;
      }
    },
  };
}

/**
 * Converts an error about too many cells to one that names the options of the command line. Returns other errors
 * unchanged. If a frame after the first cannot be read, logs a hint to use `--on-error keep`.
 */
function explained(error: unknown, hasFrames: boolean, { maxCells }: TrackOptions, log: Log): unknown {
  if (error instanceof FormatError && hasFrames) log.note(KEEP_NOTE);
  if (!(error instanceof CapacityError) || error.code === 'tracks/labels') return error;
  return new CapacityError('track/too-many-cells', 'A frame has too many cells.', {
    expected: `at most ${maxCells}`,
    got: error.got,
    remedy: 'Raise --max-cells, or find fewer cells with a higher --threshold.',
    cause: error,
  });
}

const KEEP_NOTE: Note = {
  code: 'track/keep',
  message: '--on-error keep writes the results of the frames before the unreadable one.',
};

function endedEarly(fault: FormatError, frames: number): Note {
  return { code: 'track/ended-early', message: `Only ${counted(frames, 'frame')} could be read: ${fault.message}` };
}

function noCellsNote({ radii }: TrackOptions): Note {
  const message =
    'No cell was found in any frame. A lower --threshold finds more. --radius gives the radii of cells in pixels; ' +
    `no circle is tried nearer to an edge of the frame than ${marginOf(radii)} pixels, the largest radius plus 2.`;
  return { code: 'track/no-cells', message };
}
