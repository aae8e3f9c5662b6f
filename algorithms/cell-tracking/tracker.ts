import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aWhole } from '../../primitives/checks/kinds.ts';
import { ArgumentError, type Column, type Context } from '../../primitives/index.ts';
import { type CellState, type CellStep, prepareCellStep, type StartingCell } from './cell-state.ts';
import type { DetectedCells } from './detect-cells.ts';
import { DEFAULT_RADII, marginOf } from './detection-options.ts';
import { aHostFrame, type HostFrame, requireHostFrame, requireSameDepth, requireSameSize } from './frame.ts';
import { type FrameSource, frameSource } from './frame-source.ts';
import { type FrameUploads, frameUploads, type HeldFrame } from './frame-uploads.ts';
import { linkingSettings } from './linking-options.ts';
import { detectPeaks } from './peaks.ts';
import type { CellTracker, TrackCellsOptions } from './track-cells-options.ts';
import { MAX_RADIUS } from './tracking-options.ts';
import { createTracks, type SeenCells, type TrackedFrame } from './tracks.ts';

/** Creates a tracker from options that have been checked. It prepares its pipelines when it gets the first frame. */
export function createTracker(context: Context, options: TrackCellsOptions): CellTracker {
  const { detectEvery = 10, background, signal } = options;
  const still = background && context.column(Float32Array.from(background.grey));
  let parts: Parts | undefined;
  let isClosed = false;
  const underWay = new Set<Promise<unknown>>();

  /**
   * Returns the pipelines of the tracker. The first call creates them for the size and depth of its frame, which all
   * later frames must match.
   */
  function partsFor(call: string, frame: HostFrame): Parts {
    signal?.throwIfAborted();
    if (isClosed) {
      throw new ArgumentError('tracks/closed', `${call} was called on a tracker that is closed.`, {
        remedy: 'Open another one: cellTracker(context, options).',
      });
    }
    requireHostFrame(call, frame);
    if (background !== undefined) requireSameSize(call, frame, background);
    if (parts !== undefined) {
      requireSameSize(call, frame, parts.frame);
      requireSameDepth(call, frame, parts.frame);
    }
    parts ??= createParts(context, frame, still, options);
    return parts;
  }

  /** Registers a promise until it settles, so that `close` can wait for it. */
  function noted<T>(promise: Promise<T>): Promise<T> {
    underWay.add(promise);
    const over = () => void underWay.delete(promise);
    promise.then(over, over);
    return promise;
  }

  return {
    detect: async (frame, index) => {
      requireArguments('detect', { frame, index }, CALL);
      const { detector } = partsFor('detect', frame);
      return index % detectEvery === 0 ? noted(detector.detect(frame, index)) : undefined;
    },
    track: async (frame, index, detected) => {
      // If a check below throws, nobody awaits `detected`. An empty handler avoids an unhandled rejection.
      Promise.resolve(detected).catch(() => {});
      requireArguments('track', { frame, index }, CALL);
      return noted(partsFor('track', frame).follower.follow(frame, index, detected));
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(underWay);
      parts?.detector.dispose();
      parts?.follower.dispose();
      parts?.uploads.dispose();
      parts = undefined;
      if (still !== undefined) context.dispose(still);
    },
  };
}

const CALL = { frame: aHostFrame, index: aWhole(0, 2 ** 32 - 1, 'tracks/order') };

interface Parts {
  /** The first frame, without its pixels. Later frames must have its size and depth. */
  readonly frame: HostFrame;
  readonly uploads: FrameUploads;
  readonly detector: Detector;
  readonly follower: Follower;
}

function createParts(context: Context, frame: HostFrame, still: Column | undefined, options: TrackCellsOptions): Parts {
  const source = frameSource(context, frame, still);
  const uploads = frameUploads(context, source);
  return {
    frame: { ...frame, grey: frame.grey.slice(0, 0) },
    uploads,
    detector: createDetector(context, source, uploads, options),
    follower: createFollower(context, source, uploads, frame, options),
  };
}

interface Detector {
  detect(frame: HostFrame, index: number): Promise<DetectedCells>;
  dispose(): void;
}

function createDetector(
  context: Context,
  source: FrameSource,
  uploads: FrameUploads,
  { detection }: TrackCellsOptions,
): Detector {
  const peaks = context.prepare({ grey: source.input }, ({ grey }) => detectPeaks(source.frameOf(grey), detection));
  return {
    detect: async (frame, index) => {
      // Keeps the frame on the device, because `track` needs it next.
      const held = uploads.keep(frame, index);
      try {
        const found = peaks({ grey: held.grey() });
        return await context.read(found).finally(() => context.dispose(found));
      } finally {
        held.release();
      }
    },
    dispose: () => peaks.dispose(),
  };
}

interface Follower {
  follow(frame: HostFrame, index: number, detected: Parameters<CellTracker['track']>[2]): Promise<TrackedFrame>;
  dispose(): void;
}

/**
 * Radius in pixels for which windows are made unless cells are larger. On a GPU such a window fits in workgroup memory.
 */
const USUAL_RADIUS = 10;
/**
 * A window is made for a radius, and reaches ±4 by ±2 times this radius. A cell whose radius is larger by up to this
 * factor still fits.
 */
const TOLERANCE = 1.3;

function radiusOfWindows(cells: readonly StartingCell[], before: number): number {
  const max = cells.reduce((max, { radius }) => Math.max(max, radius), 0);
  let radius = before;
  while (max > TOLERANCE * radius && radius < MAX_RADIUS) radius = Math.min(MAX_RADIUS, 2 * radius);
  return radius;
}

/** Initial number of rows for cells. */
const MIN_ROWS = 64;

function createFollower(
  context: Context,
  source: FrameSource,
  uploads: FrameUploads,
  size: HostFrame,
  { detection = {}, tracking = {}, linking = {} }: TrackCellsOptions,
): Follower {
  const { radii = DEFAULT_RADII, margin = marginOf(radii) } = detection;
  const { maxRadius = USUAL_RADIUS } = tracking;
  const { width, height } = size;
  const tracks = createTracks({ ...linkingSettings(linking, maxRadius), width, height, margin });
  let step: CellStep | undefined;
  let state: CellState | undefined;
  let windowRadius = maxRadius;
  /** Whether `state` is older than the latest frame, because no cells were followed in the latest frame. */
  let isStale = false;
  let next = 0;
  /**
   * The last promises of two chains. `issued` makes the device work start in the order of the frames; `seen` makes the
   * host take the results in the order of the frames.
   */
  let [issued, seen]: [Promise<unknown>, Promise<unknown>] = [Promise.resolve(), Promise.resolve()];

  function follow(...[frame, index, detected]: Parameters<Follower['follow']>): Promise<TrackedFrame> {
    requireNext(index, next);
    next = index + 1;
    const held = uploads.take(frame, index) ?? (tracks.isEmpty ? uploads.ifWanted(frame) : uploads.now(frame));
    const issuing = issued.then(async () => issue(held, index, await detected)).finally(held.release);
    issued = issuing;
    // If `issuing` rejects, this call and all later calls reject. The handler avoids an unhandled rejection.
    issuing.catch(() => {});
    return issuing.then(({ result }) => result);
  }

  /**
   * Issues the device work of a frame without waiting for the work to end. Waits for earlier frames only if detections
   * must be linked.
   */
  async function issue(
    frame: HeldFrame,
    index: number,
    detected: DetectedCells | undefined,
  ): Promise<{ readonly result: Promise<TrackedFrame> }> {
    if (detected !== undefined) {
      await seen;
      restart(tracks.link(index, detected));
    }
    isStale = state === undefined || tracks.isEmpty;
    const read = isStale ? Promise.resolve(NO_CELLS) : advance(frame.grey(), state!);
    const result = Promise.all([read, seen]).then(([cells]) => tracks.see(index, cells, detected !== undefined));
    seen = result;
    result.catch(() => {});
    return { result };
  }

  /** Restarts from the cells that the host knows, with more rows or larger windows if needed. */
  function restart(cells: readonly StartingCell[]): void {
    const rows = Math.max(MIN_ROWS, 2 ** Math.ceil(Math.log2(Math.max(1, tracks.rows))));
    const radius = tracking.maxRadius ?? radiusOfWindows(cells, windowRadius);
    if (step !== undefined && (step.rows < rows || radius > windowRadius)) disposeStep();
    // In a stale state, a row may still hold a cell that left long ago. A new cell must not start from its flow field.
    else if (isStale) disposeState();
    windowRadius = radius;
    if (cells.length === 0 && state === undefined) return;
    step ??= prepareCellStep(context, source, rows, { ...tracking, maxRadius: radius });
    state = step.start(cells, state);
  }

  function advance(grey: Column, before: CellState): Promise<SeenCells> {
    const after = step!.next(grey, before);
    state = after.state;
    const read = context.read(after.seen);
    context.dispose(before, after.seen.radius, after.seen.lost);
    return read;
  }

  function disposeState(): void {
    context.dispose(...(state === undefined ? [] : [state]));
    state = undefined;
  }

  function disposeStep(): void {
    disposeState();
    step?.dispose();
    step = undefined;
  }

  return { follow, dispose: disposeStep };
}

const NO_CELLS: SeenCells = {
  ...{ x: new Float32Array(), y: new Float32Array(), radius: new Float32Array() },
  ...{ lost: new Uint8Array(), radii: new Float32Array() },
};

function requireNext(index: number, next: number): void {
  if (index >= next) return;
  throw new ArgumentError('tracks/order', 'track was given a frame that comes before one that it was given already.', {
    expected: `the frame ${next} or a later one`,
    got: index,
    remedy: 'Give each frame once, in order; begin another video with another tracker.',
  });
}
