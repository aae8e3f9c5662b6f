import { createHash } from 'node:crypto';
import { describe, expect } from 'vitest';
import { matchDetections, matchVideo, trackAccuracy } from '../../../bench/leukocyte/cell-accuracy.ts';
import {
  type CellVideoFrame,
  type CellVideoOptions,
  cellVideo,
  type TrueCell,
} from '../../../bench/leukocyte/cell-video.ts';
import { caseCount, costlyCaseCount, someOf, THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';

const small = { seed: 1, cells: 6, amplitude: 10, frames: 4, width: 200, height: 150 } as const;

const options: fc.Arbitrary<CellVideoOptions> = fc.record({
  seed: fc.nat(),
  cells: fc.integer({ min: 1, max: 8 }),
  amplitude: fc.constantFrom(0, 10, 30),
  frames: fc.integer({ min: 1, max: 30 }),
  width: fc.integer({ min: 180, max: 240 }),
  height: fc.integer({ min: 180, max: 240 }),
  direction: fc.constantFrom<[number, number]>([1, 0], [0, 1], [-1, 0], [3, 4], [1, -1]),
  halos: fc.constantFrom(0, 0.4),
  entries: fc.boolean(),
});

const distance = (a: TrueCell, b: TrueCell): number => Math.hypot(a.x - b.x, a.y - b.y);

describe('cellVideo', () => {
  test('gives these bytes on every machine', () => {
    const hash = createHash('sha256');
    for (const { frame } of cellVideo({ ...small, halos: 0.4 })) hash.update(frame.grey);
    expect(hash.digest('hex')).toBe('d3c42f8a8bf135e0830c2c68152bd733fa51b6419d6d2e6bf73442f75085e91b');
  });

  test.prop([options], { numRuns: caseCount(25) })(
    'gives the same frames for the same seed, and others for another seed',
    (options) => {
      const bytes = (seed: number): string => {
        const frames = [...cellVideo({ ...options, frames: 2, seed })];
        return Buffer.concat(frames.map(({ frame }) => frame.grey)).toString('base64');
      };
      expect(bytes(options.seed)).toBe(bytes(options.seed));
      expect(bytes(options.seed)).not.toBe(bytes(options.seed + 1));
    },
  );

  test.prop([options], { numRuns: costlyCaseCount(25) })(
    'keeps cells apart, and in the frame unless they enter and leave',
    (options) => {
      const { width = 0, height = 0, entries } = options;
      let frames = 0;
      for (const { truth } of cellVideo(options)) {
        frames++;
        expect(truth.length).toBeLessThanOrEqual(options.cells);
        if (!entries) expect(truth.map(({ id }) => id)).toEqual(Array.from({ length: options.cells }, (_, id) => id));
        for (const [i, cell] of truth.entries()) {
          for (const other of truth.slice(i + 1)) expect(distance(cell, other)).toBeGreaterThan(24);
          if (entries) continue;
          expect(cell.visible).toBe(true);
          expect(cell.x).toBeGreaterThan(24);
          expect(cell.y).toBeGreaterThan(24);
          expect(cell.x).toBeLessThan(width - 25);
          expect(cell.y).toBeLessThan(height - 25);
        }
      }
      expect(frames).toBe(options.frames);
    },
  );

  test.prop([options], { numRuns: costlyCaseCount(25) })(
    'moves cells along the vessel, at most three pixels a frame',
    (options) => {
      const [dx, dy] = options.direction!;
      const length = Math.hypot(dx, dy);
      const last = new Map<number, TrueCell>();
      for (const { truth } of cellVideo(options)) {
        for (const cell of truth) {
          const before = last.get(cell.id);
          last.set(cell.id, cell);
          if (before === undefined) continue;
          const [x, y] = [cell.x - before.x, cell.y - before.y];
          expect((x * dx + y * dy) / length).toBeGreaterThanOrEqual(-1e-9);
          expect((x * dx + y * dy) / length).toBeLessThanOrEqual(3 + 1e-9);
          expect(Math.abs(x * dy - y * dx) / length).toBeLessThan(1e-9);
        }
      }
    },
  );

  test.each(someOf([36, 84], 1))('moves %i cells at 0.3 to 3 pixels a frame for many frames', (cells) => {
    const count = THOROUGH ? 100 : 25;
    const frames = [...cellVideo({ seed: 5, cells, amplitude: 10, frames: count, noise: 0 })];
    const [first, last] = [frames[0]!.truth, frames.at(-1)!.truth];
    const speeds = first.map((cell, i) => (last[i]!.x - cell.x) / (count - 1));
    expect(Math.min(...speeds)).toBeGreaterThanOrEqual(0.3 - 1e-9);
    expect(Math.max(...speeds)).toBeLessThanOrEqual(3 + 1e-9);
    expect(Math.max(...speeds) - Math.min(...speeds)).toBeGreaterThan(1);
  });

  test('draws each cell with its intensity-weighted centre at the true centre', () => {
    const options = { ...small, amplitude: 0, noise: 0 };
    for (const { frame, truth } of cellVideo(options)) {
      for (const cell of truth) {
        let [weight, x, y] = [0, 0, 0];
        for (let row = Math.ceil(cell.y) - 14; row <= cell.y + 14; row++) {
          for (let column = Math.ceil(cell.x) - 14; column <= cell.x + 14; column++) {
            if (Math.hypot(column - cell.x, row - cell.y) > 13) continue;
            const light = frame.grey[row * frame.width + column]! - 120;
            weight += light;
            x += light * column;
            y += light * row;
          }
        }
        expect(x / weight).toBeCloseTo(cell.x, 1);
        expect(y / weight).toBeCloseTo(cell.y, 1);
        const area = Math.PI * cell.rx * cell.ry;
        expect(weight / area).toBeGreaterThan(34);
        expect(weight / area).toBeLessThan(71);
      }
    }
  });

  test('has noise and texture of the requested strength', () => {
    const deviation = (options: Partial<CellVideoOptions>): number => {
      const [{ frame }] = [...cellVideo({ ...small, cells: 0, frames: 1, width: 300, height: 300, ...options })] as [
        CellVideoFrame,
      ];
      const mean = frame.grey.reduce((sum, value) => sum + value, 0) / frame.grey.length;
      return Math.sqrt(frame.grey.reduce((sum, value) => sum + (value - mean) ** 2, 0) / frame.grey.length);
    };
    expect(deviation({ amplitude: 0 })).toBeCloseTo(Math.sqrt(9 + 1 / 12), 1);
    // 30 rounds of five-point means reduce noise of variance 1 to a variance of about 1 / (4 π · 12).
    const expected = 6 * 30 * Math.sqrt(1 / (48 * Math.PI));
    expect(Math.abs(deviation({ amplitude: 30, noise: 0 }) / expected - 1)).toBeLessThan(0.15);
  });

  test('keeps the texture fixed while noise changes', () => {
    const frames = (noise: number) => [...cellVideo({ ...small, cells: 0, noise })].map(({ frame }) => frame.grey);
    const [still, noisy] = [frames(0), frames(3)];
    expect(still[1]).toEqual(still[0]);
    expect(noisy[1]).not.toEqual(noisy[0]);
  });

  test('lets cells enter and leave at equal numbers, with each id in one run of frames', () => {
    const options = { ...small, ...(THOROUGH ? { frames: 400 } : { frames: 200, width: 100 }), entries: true };
    const seen = new Map<number, number>();
    let frame = 0;
    for (const { truth } of cellVideo(options)) {
      expect(truth.length).toBeGreaterThanOrEqual(options.cells - 2);
      for (const { id } of truth) {
        if (seen.has(id)) expect(seen.get(id)).toBe(frame - 1);
        seen.set(id, frame);
      }
      frame++;
    }
    expect(seen.size).toBeGreaterThan(2 * options.cells);
  });

  test('marks cells that are covered by others as hidden, and shows them again', () => {
    const options = { ...small, seed: 3, cells: 12, frames: 120, occlusion: true };
    let [hidden, seen] = [0, 0];
    for (const { truth } of cellVideo(options)) {
      hidden += truth.filter(({ visible }) => !visible).length;
      seen += truth.filter(({ visible }) => visible).length;
    }
    expect(hidden).toBeGreaterThan(20);
    expect(seen).toBeGreaterThan(4 * hidden);
  });

  test('draws halos with the opposite sign of the cells', () => {
    const [plain] = [...cellVideo({ ...small, amplitude: 0, noise: 0 })];
    const [haloed] = [...cellVideo({ ...small, amplitude: 0, noise: 0, halos: 0.4 })];
    expect(Math.min(...plain!.frame.grey)).toBe(120);
    expect(Math.min(...haloed!.frame.grey)).toBeLessThan(110);
    expect(Math.max(...haloed!.frame.grey)).toBe(Math.max(...plain!.frame.grey));
  });

  test('refuses more cells than fit the frame, and a direction of length 0', () => {
    expect(() => [...cellVideo({ ...small, cells: 500 })]).toThrow(RangeError);
    expect(() => [...cellVideo({ ...small, direction: [0, 0] })]).toThrow(RangeError);
  });
});

const size = { width: 300, height: 300 };
const cell = (id: number, x: number, y: number, visible = true): TrueCell => ({ id, x, y, rx: 10, ry: 10, visible });
const places = (...list: readonly (readonly [number, number])[]) => ({
  x: list.map(([x]) => x),
  y: list.map(([, y]) => y),
});

describe('matchDetections', () => {
  test('counts matches, misses and spurious detections', () => {
    const truth = [cell(0, 50, 50), cell(1, 100, 100), cell(2, 150, 150)];
    const result = matchDetections(truth, places([53, 50], [100, 105], [200, 200], [150, 150]), size);
    expect(result).toMatchObject({ matched: 2, missed: 1, spurious: 2, precision: 0.5, recall: 2 / 3, f1: 4 / 7 });
    expect([...result.centreErrors]).toEqual([0, 3]);
  });

  test('matches one to one: two detections of one cell are one match', () => {
    const result = matchDetections([cell(0, 50, 50)], places([50, 51], [50, 49]), size);
    expect(result).toMatchObject({ matched: 1, missed: 0, spurious: 1 });
  });

  test('matches as many cells as possible', () => {
    const result = matchDetections([cell(0, 50, 50), cell(1, 53, 50)], places([51, 50], [48, 50]), size);
    expect(result).toMatchObject({ matched: 2, missed: 0, spurious: 0 });
  });

  test('ignores cells near the border, hidden cells, and detections of them', () => {
    const truth = [cell(0, 21.9, 100), cell(1, 100, 277.1), cell(2, 150, 150, false), cell(3, 22.1, 50)];
    const found = places([22.5, 100], [100, 276], [151, 150], [21, 50], [5, 5]);
    expect(matchDetections(truth, found, size)).toMatchObject({ matched: 1, missed: 0, spurious: 0, f1: 1 });
  });

  test('is perfect for no cells and no detections', () => {
    expect(matchDetections([], places(), size)).toMatchObject({ precision: 1, recall: 1, f1: 1 });
    expect(matchDetections([cell(0, 50, 50)], places(), size)).toMatchObject({ recall: 0, f1: 0 });
  });

  test.prop([options], { numRuns: 10 })('finds no errors in the truth itself, in any order', (options) => {
    const { width = 0, height = 0 } = options;
    const frames = [...cellVideo({ ...options, frames: 3 })].map(({ truth }) => ({
      truth,
      found: {
        ...places(...truth.toReversed().map(({ x, y }) => [x, y] as const)),
        track: truth.map(({ id }) => -id).reverse(),
      },
    }));
    const result = matchVideo(frames, { width, height });
    expect(result).toMatchObject({ f1: 1, missed: 0, spurious: 0 });
    expect(result.centreErrors.every((error) => error === 0)).toBe(true);
    expect(trackAccuracy(frames, { width, height })).toMatchObject({ withoutSwitch: 1, switches: 0, recall: 1 });
  });
});

describe('trackAccuracy', () => {
  const at = (...tracks: readonly (number | undefined)[]) => {
    const found = tracks.flatMap((track, i) => (track === undefined ? [] : [{ track, x: 50 + 50 * i, y: 100 }]));
    return {
      truth: tracks.map((_, id) => cell(id, 50 + 50 * id, 100)),
      found: { track: found.map(({ track }) => track), x: found.map(({ x }) => x), y: found.map(({ y }) => y) },
    };
  };

  test('counts switches, across gaps too, and fragments', () => {
    const frames = [at(7, 8, 9), at(7, undefined, 9), at(7, 6, 9), at(7, 6, undefined), at(7, 6, 9)];
    expect(trackAccuracy(frames, size)).toEqual({
      tracks: 3,
      withoutSwitch: 2 / 3,
      switches: 1,
      fragments: 5,
      mixed: 0,
      recall: 13 / 15,
    });
  });

  test('reports tracks that change from one cell to another', () => {
    expect(trackAccuracy([at(1, 2), at(2, 1)], size)).toMatchObject({ withoutSwitch: 0, switches: 2, mixed: 2 });
  });

  test('counts a cell that was never found as not tracked well', () => {
    expect(trackAccuracy([at(1, undefined), at(1, undefined)], size)).toMatchObject({
      withoutSwitch: 0.5,
      recall: 0.5,
    });
  });
});
