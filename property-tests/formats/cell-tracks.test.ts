import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decode } from 'fast-png';
import { fromArrayBuffer } from 'geotiff';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { TrackedFrame } from '../../algorithms/cell-tracking/tracks.ts';
import { encodePng } from '../../formats/charts/png-writer.ts';
import { contourImage } from '../../formats/results/cell-tracks/contour-image.ts';
import { CONTOUR_POINTS, paintCells } from '../../formats/results/cell-tracks/contours.ts';
import { ctcLabels } from '../../formats/results/cell-tracks/ctc-labels.ts';
import { displayRange, shownGrey, shrunkGrey } from '../../formats/results/cell-tracks/display.ts';
import { encodeLabelTiff } from '../../formats/results/cell-tracks/label-tiff.ts';
import { inBins, speedHistogram } from '../../formats/results/cell-tracks/speed-histogram.ts';
import { trackTally } from '../../formats/results/cell-tracks/tally.ts';
import { trackColor } from '../../formats/results/cell-tracks/track-color.ts';
import { trackPaths } from '../../formats/results/cell-tracks/track-paths.ts';
import { trackPlot } from '../../formats/results/cell-tracks/track-plot.ts';
import { trackWriter } from '../../formats/results/cell-tracks/track-rows.ts';
import { trackSummary } from '../../formats/results/cell-tracks/track-summary.ts';
import { openCsvRows } from '../../formats/text/csv-rows.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { type CellRow, trackedFrame } from '../support/cell-tracks-support.ts';
import { assertWellFormed } from '../support/well-formed.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-tracks-'));
});
afterAll(() => rm(folder, { recursive: true }));

const [WIDTH, HEIGHT] = [40, 30];

const f32 = (min: number, max: number) => fc.float({ min, max, noNaN: true });
const cell: fc.Arbitrary<CellRow> = fc.record({
  track: fc.integer({ min: 1, max: 9 }),
  x: f32(-4, WIDTH + 3),
  y: f32(-4, HEIGHT + 3),
  radius: f32(0.25, 12),
  score: f32(-9, 9),
  speed: fc.oneof(fc.constant(Number.NaN), f32(0, 5)),
  radii: fc.array(f32(0.25, 12), { minLength: CONTOUR_POINTS, maxLength: CONTOUR_POINTS }),
});
/** Frames of a video in which tracks appear, vanish and reappear. */
const frames: fc.Arbitrary<TrackedFrame[]> = fc
  .array(fc.uniqueArray(cell, { maxLength: 6, selector: ({ track }) => track }), { minLength: 1, maxLength: 8 })
  .map((all) => all.map((cells, index) => trackedFrame(index, cells)));

interface ReadRow {
  readonly [name: string]: number;
}

/** The rows of a CSV as records; empty numbers are left out. */
function rowsOf(csv: string): ReadRow[] {
  const [header, ...lines] = csv
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
  return lines.map((fields) =>
    Object.fromEntries(fields.flatMap((field, i) => (field === '' ? [] : [[header![i]!, Number(field)]]))),
  );
}

const written = (all: readonly TrackedFrame[], scale = {}): string => {
  const writer = trackWriter(scale);
  return writer.begin() + all.map(writer.add).join('');
};

describe('trackWriter', () => {
  test.prop([frames])('writes rows that read back as the same f32, blank for no speed', (all) => {
    const rows = rowsOf(written(all));
    let at = 0;
    for (const { index, track, x, y, radius, score, speed } of all) {
      for (const [i, id] of track.entries()) {
        const row = rows[at++]!;
        expect([row.track, row.frame, row.time_frames]).toEqual([id, index, index]);
        const read = [row.x_px, row.y_px, row.radius_px, row.score].map((value) => Math.fround(value!) + 0);
        expect(read).toEqual([x[i]! + 0, y[i]! + 0, radius[i]! + 0, score[i]! + 0]);
        expect(row.speed_px_per_frame === undefined).toBe(Number.isNaN(speed[i]));
        if (!Number.isNaN(speed[i])) expect(Math.fround(row.speed_px_per_frame!)).toBe(speed[i]);
      }
    }
    expect(rows).toHaveLength(at);
  });

  test.prop([frames, f32(1, 1000), f32(Math.fround(0.01), 10)])(
    'writes times in seconds and speeds in micrometres per second when both scales are known',
    (all, frameRate, pixelSize) => {
      const plain = rowsOf(written(all));
      for (const [i, row] of rowsOf(written(all, { frameRate, pixelSize })).entries()) {
        expect(row.time_s).toBeCloseTo(row.frame! / frameRate, 6);
        const speed = plain[i]!.speed_px_per_frame;
        if (speed === undefined) expect(row.speed_um_per_s).toBeUndefined();
        else expect(Math.fround(row.speed_um_per_s!)).toBe(Math.fround(Math.fround(speed) * (frameRate * pixelSize)));
      }
    },
  );

  test.prop([frames], { numRuns: caseCount(20) })('writes files that the CSV reader accepts', async (all) => {
    const path = join(folder, 'tracks.csv');
    await writeFile(path, written(all));
    const file = await openCsvRows(path, { numbers: [['x_px'], ['y_px']], id: 'track', batchRows: () => 100 });
    const names: string[] = [];
    for await (const { names: own, numbers } of file.batches()) {
      names.push(...own!);
      expect(numbers[0]!.length).toBe(own!.length);
    }
    expect(names).toEqual(all.flatMap(({ track }) => [...track].map(String)));
  });
});

describe('paintCells', () => {
  test.prop([fc.array(cell, { maxLength: 5 })])(
    'gives a pixel only to cells whose contour contains its centre',
    (cells) => {
      const frame = trackedFrame(0, cells);
      const owner = paintCells(WIDTH, HEIGHT, frame);
      for (const [at, own] of owner.entries()) {
        if (own === 0) continue;
        const [column, row] = [at % WIDTH, Math.floor(at / WIDTH)];
        const distance = Math.hypot(column - frame.x[own - 1]!, row - frame.y[own - 1]!);
        const reach = Math.max(...frame.radii.subarray(CONTOUR_POINTS * (own - 1), CONTOUR_POINTS * own));
        expect(distance).toBeLessThanOrEqual(Math.max(reach, Math.SQRT1_2) + 1e-5);
      }
    },
  );

  test.prop([f32(8, 30), f32(8, 20), f32(2, 7)])(
    'fills a circle to the polygon of its twenty contour points',
    (x, y, radius) => {
      const owner = paintCells(WIDTH, HEIGHT, trackedFrame(0, [{ track: 1, x, y, radius }]));
      const inner = radius * Math.cos(Math.PI / CONTOUR_POINTS) - 1e-4;
      for (const [at, own] of owner.entries()) {
        const distance = Math.hypot((at % WIDTH) - x, Math.floor(at / WIDTH) - y);
        if (distance < inner) expect(own).toBe(1);
        if (distance > Math.max(radius + 1e-4, 1)) expect(own).toBe(0);
      }
    },
  );
});

describe('ctcLabels', () => {
  /** Parses the file `res_track.txt`. Returns the tracks that it describes, by label. */
  const pieces = (text: string): Map<number, { begin: number; end: number; parent: number }> =>
    new Map(
      text
        .trimEnd()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const [label, begin, end, parent] = line.split(' ').map(Number);
          return [label!, { begin: begin!, end: end!, parent: parent! }];
        }),
    );

  test.prop([frames])('has each label in every frame from its first to its last, and in no other', (all) => {
    const labels = ctcLabels(WIDTH, HEIGHT);
    const seen = all.map((frame) => new Set(labels.add(frame)));
    const list = pieces(labels.tracks());
    for (const [label, { begin, end, parent }] of list) {
      expect(begin).toBeLessThanOrEqual(end);
      for (const [index, inFrame] of seen.entries()) expect(inFrame.has(label)).toBe(index >= begin && index <= end);
      if (parent !== 0) expect(list.get(parent)!.end).toBeLessThan(begin);
    }
    for (const inFrame of seen) for (const label of inFrame) expect(label === 0 || list.has(label)).toBe(true);
  });

  test.prop([frames])('labels the pixels of a cell with its track, or with a continuation of it', (all) => {
    const labels = ctcLabels(WIDTH, HEIGHT);
    const painted = all.map((frame) => [...labels.add(frame)]);
    const list = pieces(labels.tracks());
    const rootOf = (label: number): number => (list.get(label)!.parent === 0 ? label : rootOf(list.get(label)!.parent));
    for (const [index, frame] of all.entries()) {
      const owner = paintCells(WIDTH, HEIGHT, frame);
      const roots = painted[index]!.map((label) => (label === 0 ? 0 : rootOf(label)));
      expect(roots).toEqual([...owner].map((own) => (own === 0 ? 0 : frame.track[own - 1]!)));
    }
  });

  test('refuses more tracks than 16-bit labels', () => {
    const labels = ctcLabels(4, 4);
    const one = (index: number, track: number) => trackedFrame(index, [{ track, x: 1, y: 1 }]);
    labels.add(one(0, 1));
    labels.add(one(2, 1));
    expect(labels.tracks()).toBe('1 0 0 0\n65535 2 2 1\n');
    expect(() => labels.add(one(3, 65_535))).toThrowError(expect.objectContaining({ code: 'tracks/labels' }));
  });

  test.prop([fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 50 }), fc.nat()])(
    'writes images that read back as 16 bits',
    async (width, height, seed) => {
      const labels = Uint16Array.from({ length: width * height }, (_, i) => (i * 2654435761 + seed) >>> 7);
      const file = await encodeLabelTiff(width, height, labels.slice());
      const image = await (await fromArrayBuffer(file.slice().buffer)).getImage();
      expect([image.getWidth(), image.getHeight(), image.getBitsPerSample()]).toEqual([width, height, 16]);
      expect((await image.readRasters())[0]).toEqual(labels);
    },
  );
});

describe('encodePng', () => {
  test.prop([
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 1, max: 40 }),
    fc.constantFrom(1 as const, 3 as const),
  ])('writes pixels that read back unchanged', async (width, height, channels) => {
    const data = Uint8Array.from({ length: width * height * channels }, (_, i) => (i * i * 37) >>> 3);
    const image = decode(await encodePng({ width, height, channels, data }));
    expect([image.width, image.height, image.channels, image.depth]).toEqual([width, height, channels, 8]);
    expect([...image.data]).toEqual([...data]);
  });
});

describe('contourImage', () => {
  test('draws contours in the colours of their tracks over the frame', async () => {
    const grey = Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) => (i * 7) & 255);
    const cells = trackedFrame(0, [{ track: 3, x: 15, y: 14, radius: 6 }]);
    const image = decode(await contourImage({ width: WIDTH, height: HEIGHT, grey }, cells, { black: 0, white: 255 }));
    expect([image.width, image.height, image.channels]).toEqual([WIDTH, HEIGHT, 3]);
    const pixel = (x: number, y: number): number[] =>
      [...image.data.subarray(3 * (y * WIDTH + x), 3 * (y * WIDTH + x) + 3)] as number[];
    for (let y = 0; y < HEIGHT; y++) {
      for (let x = 0; x < WIDTH; x++) {
        const off = Math.abs(Math.hypot(x - 15, y - 14) - 6);
        if (off > 2) expect(pixel(x, y)).toEqual(Array(3).fill(grey[y * WIDTH + x]));
      }
    }
    const color = trackColor(3);
    for (const [x, y] of [
      [21, 14],
      [9, 14],
      [15, 20],
      [15, 8],
    ] as const) {
      for (const part of [0, 1, 2]) expect(Math.abs(pixel(x, y)[part]! - color[part]!)).toBeLessThan(80);
    }
  });

  test.prop([frames])('accepts cells at any position and of any contour', async ([frame]) => {
    const grey = new Uint8Array(WIDTH * HEIGHT);
    const file = await contourImage({ width: WIDTH, height: HEIGHT, grey }, frame!, { black: 0, white: 255 });
    expect(decode(file).data).toHaveLength(3 * WIDTH * HEIGHT);
  });
});

describe('the displayed grey image of a frame', () => {
  test.prop([fc.integer({ min: 0, max: 60_000 }), fc.integer({ min: 1, max: 5000 })])(
    'spans the range of grey values, at any offset',
    (offset, range) => {
      const grey = Uint16Array.of(offset, offset + range, offset + Math.floor(range / 2));
      const frame = { width: 3, height: 1, grey };
      const shown = shownGrey(frame, displayRange(frame));
      expect([shown[0], shown[1]]).toEqual([0, 255]);
      expect(Math.abs(shown[2]! - (255 * Math.floor(range / 2)) / range)).toBeLessThanOrEqual(0.5);
    },
  );

  test('is middle grey for a frame of one grey value', () => {
    const frame = { width: 2, height: 1, grey: Uint16Array.of(7, 7) };
    expect([...shownGrey(frame, displayRange(frame))]).toEqual([128, 128]);
  });

  test.prop([fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 30 })])(
    'is at most as long as requested, and keeps uniform frames uniform',
    (width, height, longest) => {
      const frame = { width, height, grey: new Uint8Array(width * height).fill(77) };
      const shrunk = shrunkGrey(frame, displayRange(frame), longest);
      expect(Math.max(shrunk.width, shrunk.height)).toBeLessThanOrEqual(longest);
      expect(shrunk.width * shrunk.scale).toBeGreaterThanOrEqual(width);
      expect([...shrunk.data]).toEqual(Array(shrunk.width * shrunk.height).fill(128));
    },
  );
});

describe('speedHistogram', () => {
  const speeds = fc.array(fc.double({ min: 0, max: 1e5, noNaN: true }), { minLength: 1, maxLength: 60 });

  test.prop([speeds])('counts every speed once, in any order', (all) => {
    const gathered = (values: readonly number[]) => {
      const histogram = speedHistogram();
      for (const value of values) histogram.add(value);
      return histogram.distribution();
    };
    const [there, back] = [gathered(all), gathered([...all].reverse())];
    expect(there.counts).toEqual(back.counts);
    expect(there.counts.reduce((sum, count) => sum + count, 0)).toBe(all.length);
    expect([there.count, there.max]).toEqual([all.length, Math.max(...all)]);
  });

  test.prop([speeds, fc.double({ min: 0, max: 1, noNaN: true })])(
    'has quantiles accurate to the width of a bin',
    (all, share) => {
      const histogram = speedHistogram();
      for (const value of all) histogram.add(value);
      const { quantile, width } = histogram.distribution();
      const sorted = [...all].sort((a, b) => a - b);
      const exact = sorted[Math.max(0, Math.ceil(share * all.length) - 1)]!;
      expect(Math.abs(quantile(share) - exact)).toBeLessThanOrEqual(width);
    },
  );

  test.prop([speeds, fc.integer({ min: 1, max: 50 })])('is shown in at most the given number of bins', (all, max) => {
    const histogram = speedHistogram();
    for (const value of all) histogram.add(value);
    const { width, counts } = inBins(histogram.distribution(), max);
    expect(counts.length).toBeLessThanOrEqual(max);
    for (const [bin, count] of counts.entries())
      expect(count).toBe(all.filter((speed) => Math.floor(speed / width) === bin).length);
  });

  test('is NaN for no speeds', () => {
    const histogram = speedHistogram();
    histogram.add(Number.NaN);
    const { count, mean, max, quantile } = histogram.distribution();
    expect([count, mean, max, quantile(0.5)]).toEqual([0, Number.NaN, Number.NaN, Number.NaN]);
  });
});

describe('trackPaths', () => {
  test.prop([frames, fc.integer({ min: 1, max: 30 })])(
    'keeps at most the given number of points, from equally spaced frames',
    (all, max) => {
      const paths = trackPaths(max);
      for (const frame of all) paths.add(frame);
      const kept = paths.list();
      expect(kept.reduce((sum, { points }) => sum + points.length, 0)).toBeLessThanOrEqual(max);
      const total = all.reduce((sum, { track }) => sum + track.length, 0);
      if (total <= max) expect(paths.every()).toBe(1);
      for (const { track, points } of kept) {
        const rows = all
          .filter(({ index }) => index % paths.every() === 0)
          .flatMap(({ track: ids, x, y }) => [...ids.keys()].filter((i) => ids[i] === track).map((i) => [x[i], y[i]]));
        expect(rows.slice(0, points.length)).toEqual(points);
      }
    },
  );
});

const tallied = (all: readonly TrackedFrame[]) => {
  const tally = trackTally({ width: WIDTH, height: HEIGHT });
  for (const frame of all) {
    tally.add({ width: WIDTH, height: HEIGHT, grey: new Uint8Array(WIDTH * HEIGHT).fill(90) }, frame);
  }
  return tally.figures();
};

describe('trackPlot and trackSummary', () => {
  test.prop([frames, fc.string(), fc.boolean()], { numRuns: caseCount(25) })(
    'are well-formed for any tracks',
    async (all, title, isScaled) => {
      const figures = tallied(all);
      const scale = isScaled ? { frameRate: 30, pixelSize: 0.5 } : {};
      const svg = await trackPlot({ figures, scale, title });
      assertWellFormed(svg);
      expect(svg).not.toMatch(/="[^"]*NaN[^"]*"/);
      expect(svg.match(/<circle /g) ?? []).toHaveLength(figures.paths.length);
      const hasSpeeds = figures.speeds.count > 0;
      const bars = svg.match(/<rect [^>]*fill="#4878a8"/g)?.length ?? 0;
      expect([svg.includes('Speeds, '), bars > 0 && bars <= 40, svg.includes('>median ')]).toEqual(
        Array(3).fill(hasSpeeds),
      );
      const run = {
        video: title,
        format: 'avi',
        frameCount: undefined,
        scale,
        backend: 'reference',
        partial: false,
        notes: [],
      };
      const read = JSON.parse(trackSummary(figures, run));
      expect(read).toMatchObject({ video: title, frames: all.length, frameCount: null, cells: figures.cells });
      expect(read.speeds.unit).toBe(isScaled ? 'µm/s' : 'px/frame');
      expect(read.speeds.histogram.counts.length).toBeLessThanOrEqual(40);
      expect(read.speeds.histogram.counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(
        read.speeds.count,
      );
    },
  );
});
