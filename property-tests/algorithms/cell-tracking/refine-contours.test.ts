import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { detectPeaks, refineContours } from '../../../algorithms/cell-tracking/index.ts';
import { type Context, input, u32 } from '../../../primitives/index.ts';
import { dealToBackends, dealtBackends, onEveryBackend, plainBackends, testLaws } from '../../backends.ts';
import { someOf } from '../../cases.ts';
import { assertSame } from '../../laws/compare.ts';
import { law } from '../../laws/law.ts';
import { expectRefusal, openReference } from '../../support/reference-context.ts';
import { contourByHand, type PlainCircle } from './refine-contours-by-hand.ts';

type Grey = Uint8Array | Uint16Array | Float32Array;

const [WIDTH, HEIGHT] = [44, 36];
const f = Math.fround;

interface Disc extends PlainCircle {
  readonly contrast: number;
}

/** Discs with soft edges on an even background, with noise. */
function drawn(discs: readonly Disc[], noise: number, seed: number): number[] {
  let state = seed >>> 0;
  return Array.from({ length: WIDTH * HEIGHT }, (_, i) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const [x, y] = [i % WIDTH, Math.floor(i / WIDTH)];
    const light = discs.map(
      (disc) => disc.contrast / (1 + Math.exp(2 * (Math.hypot(x - disc.x, y - disc.y) - disc.radius))),
    );
    return Math.round(light.reduce((a, b) => a + b, 120) + noise * (state / 2 ** 32 - 0.5));
  });
}

function circlesOf(context: Context, circles: readonly PlainCircle[]) {
  const column = (of: (circle: PlainCircle) => number) => context.column(Float32Array.from(circles, of));
  return { x: column(({ x }) => x), y: column(({ y }) => y), radius: column(({ radius }) => radius) };
}

const frameOf = (context: Context, grey: Grey) => ({
  width: WIDTH,
  height: HEIGHT,
  grey: context.column(grey as Uint8Array),
});

const depth = fc.constantFrom('u8', 'u16', 'f32');
function greyOf(values: readonly number[], as: string): Grey {
  if (as === 'f32') return Float32Array.from(values);
  return as === 'u8' ? Uint8Array.from(values) : Uint16Array.from(values);
}

const eighths = (min: number, max: number) => fc.integer({ min: 8 * min, max: 8 * max }).map((value) => value / 8);
const disc = fc.record({
  x: eighths(12, 31),
  y: eighths(12, 23),
  radius: eighths(4, 6),
  contrast: fc.constantFrom(-90, 60, 90),
});
/** How far a given circle is from its disc in x, y and radius: at most one pixel each. */
const off = fc.record({ x: eighths(-1, 1), y: eighths(-1, 1), radius: eighths(-1, 1) });
/**
 * Invalid circles: at the border, outside of the frame, with a radius of at most 0, or with a position that is not
 * finite.
 */
const stray = fc.record({
  x: fc.constantFrom(0, 5, 8, WIDTH - 8, WIDTH, -3, 1e6, Number.NaN, Number.NEGATIVE_INFINITY),
  y: fc.constantFrom(0, 18, HEIGHT - 8, 1e9, Number.NaN),
  radius: fc.constantFrom(0, 3, -1, 40, Number.NaN, Number.POSITIVE_INFINITY),
});
const nearby = (given: Disc, by: PlainCircle): PlainCircle => ({
  x: f(given.x + by.x),
  y: f(given.y + by.y),
  radius: f(given.radius + by.radius),
});
const finite = (value: number) => (Number.isFinite(value) ? f(value) : 0);

const laws = [
  law(
    'refined contours are close to those of a plain loop in real numbers',
    [disc, off, fc.nat(), fc.integer({ min: 0, max: 6 }), fc.constantFrom(1, 1.5, 3), depth],
    async (run, given, by, seed, iterations, delta, as) => {
      const values = drawn([given], 12, seed);
      const circle = nearby(given, by);
      const found = await run((context) => {
        const frame = frameOf(context, greyOf(values, as));
        return refineContours(frame, circlesOf(context, [circle]), { iterations, delta, border: 0 });
      });
      const picture = { width: WIDTH, height: HEIGHT, grey: values };
      const points = contourByHand(picture, circle, { iterations, delta, step: 0.1 });
      for (const [i, [x, y]] of points.entries()) {
        expect(Math.hypot(found.points.x[i]! - x, found.points.y[i]! - y)).toBeLessThan(0.01);
      }
    },
  ),
  law(
    'a contour does not depend on neighbouring cells, and cells without a contour stay unchanged',
    [disc, off, fc.array(stray, { maxLength: 4 }), fc.nat()],
    async (run, given, by, strays, seed) => {
      const [grey, circle] = [Uint8Array.from(drawn([given], 12, seed)), nearby(given, by)];
      const refined = (circles: readonly PlainCircle[]) =>
        run((context) => {
          const { x, y, radius, lost } = refineContours(frameOf(context, grey), circlesOf(context, circles));
          return { x, y, radius, lost };
        });
      const alone = await refined([circle]);
      const together = await refined([...strays, circle]);
      const lost = strays.map(({ x, y, radius }) => {
        const isInside = (centre: number, size: number) => centre - radius > 5 && centre + radius < size - 5;
        return !(radius > 0 && isInside(x, WIDTH) && isInside(y, HEIGHT));
      });
      for (const [i, { x, y, radius }] of strays.entries()) {
        if (!lost[i]) continue;
        expect([together.x[i], together.y[i], together.radius[i]]).toEqual([x, y, radius].map(finite));
        expect(together.lost[i]).toBe(1);
      }
      const last = strays.length;
      assertSame(
        {
          ...{ x: together.x.slice(last), y: together.y.slice(last) },
          ...{ radius: together.radius.slice(last), lost: together.lost.slice(last) },
        },
        alone,
      );
    },
  ),
  law(
    'grey values scaled by a power of two, or negated, give the same bytes',
    [disc, off, fc.nat(), fc.constantFrom(-1, 0.25, -64)],
    async (run, given, by, seed, factor) => {
      const values = drawn([given], 12, seed);
      const circle = nearby(given, by);
      const refined = (grey: Float32Array) =>
        run((context) => refineContours(frameOf(context, grey), circlesOf(context, [circle])));
      const scaled = await refined(Float32Array.from(values, (value) => value * factor));
      assertSame(scaled, await refined(Float32Array.from(values)));
    },
  ),
  law(
    'all results are finite for any frame, NaN and infinities included',
    [
      fc.array(fc.constantFrom(0, 1, -1, 3e38, -3e38, 1e-38, Number.NaN, Number.POSITIVE_INFINITY, -0), {
        ...{ minLength: 1, maxLength: 30 },
      }),
      fc.array(fc.oneof(stray, fc.record({ x: eighths(8, 35), y: eighths(8, 27), radius: eighths(1, 6) })), {
        maxLength: 3,
      }),
      fc.constantFrom(0, 0.1, 4),
    ],
    async (run, pattern, circles, step) => {
      const grey = Float32Array.from({ length: WIDTH * HEIGHT }, (_, i) => pattern[i % pattern.length]!);
      const found = await run((context) =>
        refineContours(frameOf(context, grey), circlesOf(context, circles), { step, iterations: 4 }),
      );
      for (const column of [found.x, found.y, found.radius, found.points.x, found.points.y]) {
        expect(column.every(Number.isFinite)).toBe(true);
      }
    },
  ),
];
const lawsOn = dealToBackends(laws);
for (const backend of dealtBackends()) testLaws(lawsOn(backend), [backend]);

onEveryBackend(
  (opened) => {
    test('each contour is relaxed once when the peaks have spare capacity', async () => {
      const { context } = opened();
      const disc = { x: 20.25, y: 17.5, radius: 7, contrast: 80 };
      const frame = frameOf(context, Uint8Array.from(drawn([disc], 0, 0)));
      const peaks = detectPeaks(frame, { radii: [6, 8], maxCells: 64 });
      const { x, y, radius } = await context.read(peaks);
      const given = { x: context.column(x), y: context.column(y), radius: context.column(radius) };
      const centres = async (cells: typeof given) => {
        const { x, y, radius } = refineContours(frame, cells, { iterations: 2 });
        return context.read({ x, y, radius });
      };
      assertSame(await centres(peaks), await centres(given));
    });
  },
  someOf(plainBackends, 1),
);

describe('refineContours', () => {
  test('finds the centre and the radius of a disc from a circle one pixel off', async () => {
    const context = openReference();
    const discs = [
      { x: 14.25, y: 14.5, radius: 6, contrast: 80 },
      { x: 30.5, y: 21.25, radius: 7, contrast: -80 },
    ];
    const frame = frameOf(context, Uint8Array.from(drawn(discs, 0, 0)));
    const given = discs.map(({ x, y, radius }) => ({ x: x + 0.7, y: y - 0.7, radius: radius + 0.5 }));
    const found = await context.read(refineContours(frame, circlesOf(context, given)));
    for (const [i, { x, y, radius }] of discs.entries()) {
      expect(Math.hypot(found.x[i]! - x, found.y[i]! - y)).toBeLessThan(0.1);
      expect(Math.abs(found.radius[i]! - radius)).toBeLessThan(0.2);
    }
  });

  test('takes peaks counted on the device in a prepared pipeline', async () => {
    const context = openReference();
    const disc = { x: 20.25, y: 17.5, radius: 7, contrast: 80 };
    const grey = Uint8Array.from(drawn([disc], 0, 0));
    const options = { radii: [6, 8], maxCells: 16 };
    const prepared = context.prepare({ grey: input(u32, WIDTH * HEIGHT, { storage: 'u8' }) }, ({ grey }) => {
      const frame = { width: WIDTH, height: HEIGHT, grey };
      const { x, y, radius, lost } = refineContours(frame, detectPeaks(frame, options));
      return { x, y, radius, lost };
    });
    const frame = frameOf(context, grey);
    const { points: _points, ...called } = refineContours(frame, detectPeaks(frame, options));
    const found = await context.read(prepared({ grey: frame.grey }));
    assertSame(found, await context.read(called));
    expect(found.lost).toEqual(Uint8Array.of(0));
    expect(Math.hypot(found.x[0]! - disc.x, found.y[0]! - disc.y)).toBeLessThan(0.1);
  });

  test('returns no cells for no circles, and no contour in flat or narrow frames', async () => {
    const context = openReference();
    const flat = frameOf(context, new Uint8Array(WIDTH * HEIGHT).fill(7));
    expect((await context.read(refineContours(flat, circlesOf(context, [])))).x.length).toBe(0);
    const circle = { x: 20, y: 18, radius: 5 };
    expect((await context.read(refineContours(flat, circlesOf(context, [circle])))).lost).toEqual(Uint8Array.of(1));
    const narrow = { width: 3, height: 3, grey: context.column(Uint8Array.of(0, 0, 0, 0, 9, 0, 0, 0, 0)) };
    const inside = circlesOf(context, [{ x: 1, y: 1, radius: 0.5 }]);
    expect((await context.read(refineContours(narrow, inside, { border: 0 }))).lost).toEqual(Uint8Array.of(1));
  });

  test('refuses arguments that do not match', () => {
    const context = openReference();
    const frame = { width: 4, height: 3, grey: context.column(new Uint8Array(12)) };
    const cells = circlesOf(context, [{ x: 1, y: 1, radius: 1 }]);
    const other = context.column(new Float32Array(2));
    expectRefusal(context, 'frame/size', () => refineContours({ ...frame, width: 5 }, cells));
    expectRefusal(context, 'contours/iterations', () => refineContours(frame, cells, { iterations: -1 }));
    expectRefusal(context, 'contours/delta', () => refineContours(frame, cells, { delta: Number.NaN }));
    expectRefusal(context, 'contours/step', () => refineContours(frame, cells, { step: 5 }));
    expectRefusal(context, 'contours/border', () => refineContours(frame, cells, { border: -1 }));
    expectRefusal(context, 'column/length', () => refineContours(frame, { ...cells, y: other }));
  });
});
