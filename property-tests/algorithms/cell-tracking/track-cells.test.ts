import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cellTracker,
  type HostFrame,
  stillBackground,
  type TrackCellsOptions,
  type TrackedFrame,
  trackCells,
} from '../../../algorithms/cell-tracking/index.ts';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { matchVideo, trackAccuracy } from '../../../bench/leukocyte/cell-accuracy.ts';
import { type CellVideoOptions, cellVideo } from '../../../bench/leukocyte/cell-video.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import { onEveryBackend, testBackends } from '../../backends.ts';
import { costlyCaseCount, someOf, THOROUGH } from '../../cases.ts';
import { lostBefore } from '../../support/faulty-backend.ts';
import { expectRefusal } from '../../support/reference-context.ts';
import { slow } from '../../support/webgpu-support.ts';

/** Draws discs of radius 4, which are brighter by 80 than the background of 100. */
function drawDiscs(width: number, height: number, discs: readonly (readonly [x: number, y: number])[]): HostFrame {
  const grey = Uint8Array.from({ length: width * height }, (_, i) => {
    const [x, y] = [i % width, Math.floor(i / width)];
    return discs.reduce((sum, [cx, cy]) => sum + 80 / (1 + Math.exp(2 * (Math.hypot(x - cx, y - cy) - 4))), 100);
  });
  return { width, height, grey };
}

/** Options for small cells. To save time, detection tries few radii, and tracking runs few rounds. */
const SMALL: TrackCellsOptions = {
  detection: { radii: [3, 4, 5], points: 24, dilation: 4 },
  tracking: { maxRadius: 4, maxRounds: 12 },
  detectEvery: 3,
};

async function collect(
  context: Context,
  frames: readonly HostFrame[],
  options: TrackCellsOptions = SMALL,
): Promise<TrackedFrame[]> {
  const all: TrackedFrame[] = [];
  for await (const frame of trackCells(context, frames, options)) all.push(frame);
  return all;
}

async function openWorkers(): Promise<Context> {
  return new Context(await createWorkersBackend({ workers: 2 }));
}

async function onWorkers(frames: readonly HostFrame[], options?: TrackCellsOptions): Promise<TrackedFrame[]> {
  const context = await openWorkers();
  const found = await collect(context, frames, options);
  await context.close();
  return found;
}

/** Three cells: one leaves the frame, one enters it, and the last is hidden in frames 4 to 9. */
const crossing = Array.from({ length: 15 }, (_, t) =>
  drawDiscs(56, 40, [
    [44 + 1.5 * t, 10],
    [8 + 1.5 * t - (t < 6 ? 100 : 0), 30],
    ...(t >= 4 && t < 10 ? [] : [[12 + 2 * t, 19] as const]),
  ]),
);

onEveryBackend(
  (opened) => {
    test(
      'tracks have the same bytes as on workers',
      async () => {
        const frames = crossing.slice(2, THOROUGH ? 7 : 5);
        const options = { ...SMALL, detectEvery: THOROUGH ? 3 : 2 };
        expect(await collect(opened().context, frames, options)).toEqual(await onWorkers(frames, options));
      },
      slow,
    );
  },
  someOf(testBackends, 1),
);

/** The tracks of all frames of `crossing`. */
let ofCrossing: Promise<TrackedFrame[]> | undefined;
const tracksOfCrossing = (): Promise<TrackedFrame[]> => (ofCrossing ??= onWorkers(crossing));

describe('tracks', () => {
  const known = (frames: readonly TrackedFrame[]) => frames.map(({ track }) => [...track]);

  test('begin where cells enter, end where cells leave, and continue after a gap', async () => {
    const frames = await tracksOfCrossing();
    expect(frames.map(({ index }) => index)).toEqual(crossing.map((_, t) => t));
    expect(frames.map(({ detected }) => detected)).toEqual(crossing.map((_, t) => t % 3 === 0));
    const ids = known(frames);
    expect(ids[0]).toEqual([1, 2]);
    expect(ids[3]).toContain(2);
    expect(ids[9], 'a hidden cell is not seen').not.toContain(2);
    expect(ids[14], 'found again under its number').toContain(2);
    expect(ids[14], 'left').not.toContain(1);
    expect(Math.max(...ids.flat()), 'one that came in').toBe(3);
    const { x, track } = frames[14]!;
    expect(Math.abs(x[track.indexOf(2)]! - 40)).toBeLessThan(0.5);
  });

  test('are numbered from 1, ascending in every frame, with the speeds of the cell centres', async () => {
    const frames = await tracksOfCrossing();
    const last = new Map<number, { x: number; y: number; index: number }>();
    for (const { index, track, x, y, speed, radii, radius } of frames) {
      expect([...track]).toEqual([...new Set(track)].sort((a, b) => a - b));
      expect(radii.length).toBe(20 * track.length);
      for (const [i, id] of track.entries()) {
        const before = last.get(id);
        const [dx, dy] = [x[i]! - (before?.x ?? Number.NaN), y[i]! - (before?.y ?? Number.NaN)];
        const expected = Math.sqrt(dx * dx + dy * dy) / (index - (before?.index ?? 0));
        expect(speed[i]).toEqual(Math.fround(expected));
        const mean = radii.subarray(20 * i, 20 * i + 20).reduce((a, b) => a + b) / 20;
        expect(radius[i]).toBeCloseTo(mean, 3);
        last.set(id, { x: x[i]!, y: y[i]!, index });
      }
    }
  });

  test('are empty for no frames, and hold the cells of that frame for one frame', async () => {
    const empty = drawDiscs(48, 40, []);
    expect(known(await onWorkers([empty, empty]))).toEqual([[], []]);
    expect(await onWorkers([])).toEqual([]);
    expect(known(await onWorkers([drawDiscs(48, 40, [[20, 20]])]))).toEqual([[1]]);
  });

  test('can be as many as the cells in a frame', async () => {
    const places = Array.from({ length: 90 }, (_, i) => [14 + 14 * (i % 10), 14 + 14 * Math.floor(i / 10)] as const);
    const few = drawDiscs(170, 150, places.slice(0, 3));
    const many = drawDiscs(170, 150, places);
    const frames = await onWorkers([few, few, few, many, many, many, few], SMALL);
    expect(frames.map(({ track }) => track.length).slice(0, 6)).toEqual([3, 3, 3, 90, 90, 90]);
    expect([...frames[5]!.track.subarray(0, 3)]).toEqual([1, 2, 3]);
  });

  test('continue with the older of two snakes on one cell', async () => {
    // The second disc merges into the first and disappears.
    const frames = Array.from({ length: 9 }, (_, t) =>
      drawDiscs(
        60,
        40,
        t < 5
          ? [
              [30, 20],
              [42 - 2 * t, 20],
            ]
          : [[30, 20]],
      ),
    );
    const ids = known(await onWorkers(frames));
    expect(ids[0]).toEqual([1, 2]);
    expect(ids[8]).toHaveLength(1);
  });

  test('are the same whether frames arrive at once or one by one, and when frames are skipped', async () => {
    const context = await openWorkers();
    const tracker = cellTracker(context, SMALL);
    const frames: TrackedFrame[] = [];
    for (const [i, frame] of crossing.entries()) {
      frames.push(await tracker.track(frame, i, await tracker.detect(frame, i)));
    }
    expect(frames).toEqual(await tracksOfCrossing());
    await tracker.close();
    expect(context.backend.counters.liveBuffers).toBe(0);
    await context.close();
  });
});

describe('cells', () => {
  /** Four frames of one disc, which moves to the right by three pixels per frame. */
  const discOf = (radius: number) =>
    Array.from({ length: 4 }, (_, t) => ({
      ...{ width: 240, height: 160 },
      grey: Uint8Array.from({ length: 240 * 160 }, (_, i) => {
        const distance = Math.hypot((i % 240) - 80 - 3 * t, Math.floor(i / 240) - 80);
        return 60 + 120 / (1 + Math.exp(2 * (distance - radius)));
      }),
    }));

  test.each(someOf([8, 10, 12, 14, 16, 20], 2))(
    'of radius %i are found at their place with the default options',
    async (radius) => {
      const [last] = (await onWorkers(discOf(radius), {})).slice(-1);
      expect(last!.track).toEqual(Uint32Array.of(1));
      expect(Math.hypot(last!.x[0]! - 89, last!.y[0]! - 80)).toBeLessThan(0.6);
      expect(Math.abs(last!.radius[0]! - radius)).toBeLessThan(0.6);
    },
  );

  test('do not depend on cells that have already left', async () => {
    const empty = drawDiscs(56, 40, []);
    const [left, later] = [drawDiscs(56, 40, [[50, 20]]), drawDiscs(56, 40, [[45, 21]])];
    const options = { ...SMALL, linking: { maxGap: 0, edge: 4 } };
    const gone = drawDiscs(56, 40, [[53, 20]]);
    const after = await onWorkers([left, gone, empty, empty, empty, empty, later, later], options);
    const alone = await onWorkers([empty, empty, empty, empty, empty, empty, later, later], options);
    for (const i of [6, 7]) {
      expect(after[i]!.x).toEqual(alone[i]!.x);
      expect(after[i]!.radii).toEqual(alone[i]!.radii);
      expect(after[i]!.x.length).toBe(1);
    }
  });

  test('are right although the caller refills the frame array for the next frame', async () => {
    const context = await openWorkers();
    function* camera(): Generator<HostFrame> {
      const grey = new Uint8Array(56 * 40);
      for (const frame of crossing) {
        grey.set(frame.grey);
        yield { width: 56, height: 40, grey };
      }
    }
    const frames: TrackedFrame[] = [];
    for await (const frame of trackCells(context, camera(), SMALL)) frames.push(frame);
    expect(frames).toEqual(await tracksOfCrossing());
    await context.close();
  });
});

describe('frames', () => {
  /** Opens a context that counts uploads of frames. Every write of the length of a frame counts as an upload. */
  async function openCounting({ width, height }: { readonly width: number; readonly height: number }) {
    const backend = await createWorkersBackend({ workers: 1 });
    let uploads = 0;
    const write: Backend['write'] = (buffer, word, data) => {
      if (data.length === Math.ceil((width * height) / 4)) uploads++;
      backend.write(buffer, word, data);
    };
    return { context: new Context({ ...backend, write } as Backend), uploads: () => uploads };
  }

  const empty = drawDiscs(56, 40, []);

  test.each(someOf([1, 3, 4, 50], 2))(
    'are uploaded once each, with detection in every %i-th frame',
    async (detectEvery) => {
      const { context, uploads } = await openCounting(empty);
      const staying = Array.from({ length: 7 }, (_, t) => drawDiscs(56, 40, [[20 + t, 20]]));
      const frames = await collect(context, staying, { ...SMALL, detectEvery });
      expect(frames.map(({ track }) => track.length)).toEqual(staying.map(() => 1));
      expect(uploads()).toBe(staying.length);
      await context.close();
    },
  );

  test('are not uploaded when there is nothing to detect or track in them', async () => {
    const { context, uploads } = await openCounting(empty);
    const frames = await collect(
      context,
      Array.from({ length: 14 }, () => empty),
    );
    expect([frames.length, uploads()]).toEqual([14, 5]);
    // The cell appears in the sixth frame; detection finds it in the seventh.
    await collect(context, [...Array.from({ length: 5 }, () => empty), ...crossing.slice(0, 4)]);
    expect(uploads() - 5).toBe(2 + 3);
    expect(context.backend.counters.liveBuffers).toBe(0);
    await context.close();
  });

  test('are uploaded once when detection runs ahead, as in the stages of a graph', async () => {
    const { context, uploads } = await openCounting(empty);
    const tracker = cellTracker(context, { ...SMALL, detectEvery: 1 });
    const found: TrackedFrame[] = [];
    const frames = crossing.slice(0, 8);
    for (let start = 0; start < frames.length; start += 4) {
      const ahead = frames.slice(start, start + 4).map((frame, i) => tracker.detect(frame, start + i));
      const detected = await Promise.all(ahead);
      for (const [i, cells] of detected.entries())
        found.push(await tracker.track(frames[start + i]!, start + i, cells));
    }
    expect(uploads()).toBe(frames.length);
    await tracker.close();
    expect(found).toEqual(await onWorkers(frames, { ...SMALL, detectEvery: 1 }));
    await context.close();
  });

  test('passed to track are used, even when detect got a different one', async () => {
    const context = await openWorkers();
    const [one, alone] = [cellTracker(context, SMALL), cellTracker(context, SMALL)];
    const noisy = { ...crossing[0]!, grey: crossing[0]!.grey.map((grey, i) => grey + (i % 3)) };
    const detected = await one.detect(noisy, 0);
    expect(await one.track(crossing[0]!, 0, detected)).toEqual(await alone.track(crossing[0]!, 0, detected));
    await one.close();
    await alone.close();
    expect(context.backend.counters.liveBuffers).toBe(0);
    await context.close();
  });

  test('that are detected in but never tracked do not pile up in memory', async () => {
    const context = await openWorkers();
    const tracker = cellTracker(context, { ...SMALL, detectEvery: 1 });
    const bytes: number[] = [];
    for (let index = 0; index < 30; index++) {
      await tracker.detect(crossing[index % 15]!, index);
      bytes.push(context.backend.counters.liveBytes);
    }
    expect(Math.max(...bytes)).toBe(bytes[12]);
    // The frame that was skipped is freed when a later frame is tracked.
    await tracker.track(crossing[0]!, 29, undefined);
    expect(context.backend.counters.liveBytes).toBeLessThan(bytes[0]! + 8 * 56 * 40);
    await tracker.close();
    expect(context.backend.counters.liveBuffers).toBe(0);
    await context.close();
  });
});

describe('device memory', () => {
  test('is freed at the end, after a failure, and when the caller stops early', async () => {
    const context = await openWorkers();
    await collect(context, crossing);
    expect(context.backend.counters.liveBuffers).toBe(0);
    for await (const { index } of trackCells(context, crossing, SMALL)) if (index === 4) break;
    expect(context.backend.counters.liveBuffers).toBe(0);
    function* failing(): Generator<HostFrame> {
      yield* crossing.slice(0, 5);
      throw new Error('no more');
    }
    await expect(collect(context, failing() as never)).rejects.toThrow('no more');
    expect(context.backend.counters.liveBuffers).toBe(0);
    const other = { ...crossing[0]!, grey: Uint16Array.from(crossing[0]!.grey) };
    await expect(collect(context, [...crossing.slice(0, 5), other])).rejects.toMatchObject({ code: 'frame/depth' });
    expect(context.backend.counters.liveBuffers).toBe(0);
    await context.close();
  });

  test('does not grow with the length of the video', async () => {
    const context = await openWorkers();
    const frames = Array.from({ length: 60 }, (_, t) => crossing[t % 2]!);
    const bytes: number[] = [];
    for await (const _ of trackCells(context, frames, SMALL)) bytes.push(context.backend.counters.liveBytes);
    expect(Math.max(...bytes.slice(30))).toBeLessThanOrEqual(Math.max(...bytes.slice(5, 30)));
    await context.close();
  });
});

test(
  'tracks are the same when the device is lost at any point',
  async () => {
    const frames = crossing.slice(0, 5);
    const expected = await onWorkers(frames);
    let lost = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 400 }), async (at) => {
        const standby = () => createWorkersBackend({ workers: 1 });
        const backend = createFailoverBackend(lostBefore(await createWorkersBackend({ workers: 1 }), at), { standby });
        const context = new Context(backend);
        expect(await collect(context, frames)).toEqual(expected);
        lost += backend.failovers.length;
        expect(backend.counters).toMatchObject({ liveBuffers: 0 });
        await context.close();
      }),
      { numRuns: costlyCaseCount(25, 1), examples: [[1]] },
    );
    expect(lost).toBeGreaterThan(0);
  },
  slow,
);

describe('a generated video', () => {
  const size = { width: 640, height: 480 };

  async function accuracyOf(drawing: Partial<CellVideoOptions>, isStill = false) {
    // A still background can be found only if the video is long enough that cells move away from their places.
    const frames = THOROUGH || isStill ? 40 : 20;
    const video = [...cellVideo({ seed: 6, cells: 36, amplitude: 10, frames, ...drawing })];
    const context = await openWorkers();
    const grey = video.map(({ frame }) => frame);
    const background = isStill ? await stillBackground(context, grey) : undefined;
    const found = await collect(context, grey, { background });
    await context.close();
    const pairs = video.map(({ truth }, i) => ({ truth, found: found[i]! }));
    const { f1, centreErrors } = matchVideo(pairs, size);
    return { f1, off: centreErrors[centreErrors.length >> 1]!, whole: trackAccuracy(pairs, size).withoutSwitch };
  }

  // For comparison, bench/results/2026-11-24-cell-tracking.md has the scores of five videos of 60 frames each.
  const videos = [
    ['over a faint texture', {}, false, { f1: 0.97, whole: 0.95 }],
    ['of 84 cells', { cells: 84 }, false, { f1: 0.97, whole: 0.95 }],
    ['over a texture, with its still background', { amplitude: 15 }, true, { f1: 0.95, whole: 0.9 }],
    ['over a strong texture, with its still background', { amplitude: 30 }, true, { f1: 0.85, whole: 0.9 }],
    ['of cells with halos', { halos: 0.5 }, false, { f1: 0.97, whole: 0.95 }],
    ['of cells that cover each other', { occlusion: true }, false, { f1: 0.96, whole: 0.88 }],
    ['of cells that enter and leave', { entries: true }, false, { f1: 0.97, whole: 0.95 }],
  ] as const;
  test.each(someOf(videos, 1))(
    '%s: cells are tracked to within half a pixel',
    async (_, drawing, isStill, bar) => {
      const { f1, off, whole } = await accuracyOf(drawing, isStill);
      expect(f1).toBeGreaterThanOrEqual(bar.f1);
      expect(off).toBeLessThanOrEqual(0.5);
      expect(whole).toBeGreaterThanOrEqual(bar.whole);
    },
    slow,
  );
});

describe('cellTracker', () => {
  test('refuses frames out of order, frames of other sizes, and wrong options', async () => {
    const context = await openWorkers();
    const tracker = cellTracker(context, SMALL);
    const [first, second] = crossing as [HostFrame, HostFrame];
    await tracker.track(first, 3, await tracker.detect(first, 3));
    await expect(tracker.track(second, 3, undefined)).rejects.toMatchObject({ code: 'tracks/order' });
    await expect(tracker.track({ ...second, width: 55 }, 4, undefined)).rejects.toMatchObject({ code: 'frame/size' });
    await expect(tracker.detect(drawDiscs(8, 8, []), 4)).rejects.toMatchObject({ code: 'frame/size' });
    await tracker.close();
    await tracker.close();
    await expect(tracker.detect(first, 4)).rejects.toMatchObject({ code: 'tracks/closed' });
    expectRefusal(context, 'tracks/every', () => cellTracker(context, { detectEvery: 0 }));
    expectRefusal(context, 'tracks/distance', () => cellTracker(context, { linking: { maxDistance: 300 } }));
    expectRefusal(context, 'options/unknown', () => cellTracker(context, { detectevery: 3 } as never));
    await context.close();
  });

  test('stops when its signal aborts', async () => {
    const context = await openWorkers();
    const controller = new AbortController();
    const frames: number[] = [];
    const run = async () => {
      for await (const { index } of trackCells(context, crossing, { ...SMALL, signal: controller.signal })) {
        frames.push(index);
        if (index === 2) controller.abort(new Error('enough'));
      }
    };
    await expect(run()).rejects.toThrow('enough');
    expect(context.backend.counters.liveBuffers).toBe(0);
    await context.close();
  });

  test('reports more cells than its capacity', async () => {
    const context = await openWorkers();
    const options = { ...SMALL, detection: { ...SMALL.detection, maxCells: 1 } };
    await expect(collect(context, crossing, options)).rejects.toMatchObject({ name: 'CapacityError' });
    expect(context.backend.counters.liveBuffers).toBe(0);
    await context.close();
  });
});
