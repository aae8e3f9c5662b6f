import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { detectCells, detectPeaks, gicov, gradients } from '../../../algorithms/cell-tracking/index.ts';
import { asGrid, type Column, type Context, input, u32 } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { expectRefusal, openReference } from '../../support/reference-context.ts';
import { doubledSlopes, exactGicov, type PlainFrame, plainGicov } from './gicov-by-hand.ts';

type Grey = Uint8Array | Uint16Array | Float32Array;

interface HostFrame extends PlainFrame {
  readonly grey: Grey;
}

const upload = (context: Context, { width, height, grey }: HostFrame) => ({
  ...{ width, height },
  grey: context.column(grey as Float32Array),
});

/** Draws a frame of discs with soft edges over noise. */
function drawn(width: number, height: number, discs: readonly Disc[], seed: number, noise = 6): HostFrame {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const grey = Uint8Array.from({ length: width * height }, (_, i) => {
    const [x, y] = [i % width, Math.floor(i / width)];
    const light = discs.reduce(
      (sum, disc) => sum + disc.contrast / (1 + Math.exp(Math.hypot(x - disc.x, y - disc.y) - disc.radius)),
      0,
    );
    return Math.min(255, Math.max(0, Math.round(120 + light + noise * (random() + random() - 1))));
  });
  return { width, height, grey };
}

interface Disc {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  readonly contrast: number;
}

const disc = fc.record({
  x: fc.integer({ min: 0, max: 60 }),
  y: fc.integer({ min: 0, max: 50 }),
  radius: fc.integer({ min: 4, max: 8 }),
  contrast: fc.constantFrom(-70, -40, 40, 70),
});
const drawing = fc
  .record({
    width: fc.integer({ min: 1, max: 60 }),
    height: fc.integer({ min: 1, max: 50 }),
    discs: fc.array(disc, { maxLength: 4 }),
    seed: fc.nat(),
  })
  .map(({ width, height, discs, seed }) => drawn(width, height, discs, seed));

/**
 * Frames of different kinds of grey values: 8 bits, 16 bits with an offset, fractions, and the same value everywhere.
 */
const frame: fc.Arbitrary<HostFrame> = fc.oneof(
  drawing,
  drawing.map((each) => ({ ...each, grey: Uint16Array.from(each.grey, (value) => 40_000 + 97 * value) })),
  drawing.map((each) => ({ ...each, grey: Float32Array.from(each.grey, (value) => value / 3 - 20) })),
  drawing.map((each) => ({ ...each, grey: each.grey.map(() => 7) })),
);
const circles = fc.record({
  radii: fc.uniqueArray(fc.constantFrom(3, 4, 5.5, 6, 8), { minLength: 1, maxLength: 3 }),
  points: fc.constantFrom(8, 30, 62),
  margin: fc.integer({ min: 8, max: 12 }),
});

const asFloats = ({ score, radius }: { readonly score: ArrayLike<number>; readonly radius: ArrayLike<number> }) => ({
  score: Float32Array.from(score),
  radius: Float32Array.from(radius),
});

onEveryBackend((opened, { runs }) => {
  const holds = <T>(given: fc.Arbitrary<T>, law: (context: Context, given: T) => Promise<void>): Promise<void> =>
    fc.assert(
      fc.asyncProperty(given, (each) => law(opened().context, each)),
      { numRuns: runs },
    );
  const scoresOf = async (context: Context, host: HostFrame, options: Parameters<typeof gicov>[1]) => {
    const device = upload(context, host);
    const made = gicov(device, options);
    const { score, radius } = await context.read({ score: made.score, radius: made.radius });
    context.dispose(made, device.grey);
    return { score, radius };
  };

  test('slopes are central differences, one-sided at the edges', async () => {
    await holds(frame, async (context, host) => {
      const device = upload(context, host);
      const { x, y } = await context.read(gradients(device));
      const [expectedX, expectedY] = doubledSlopes(host).map((slopes) => Float32Array.from(slopes, (each) => each / 2));
      expect([x, y]).toEqual([expectedX, expectedY]);
      context.dispose(device.grey);
    });
  });

  test('scores equal the plain integer loops, bit for bit', async () => {
    await holds(fc.tuple(frame, circles), async (context, [host, options]) => {
      expect(await scoresOf(context, host, options)).toEqual(asFloats(exactGicov(host, options)));
    });
  });

  test('a threshold keeps the scores above it and zeroes all others', async () => {
    const thresholds = fc.constantFrom(0.3, 0.9, 1.2, 1.8);
    await holds(fc.tuple(frame, circles, thresholds), async (context, [host, options, threshold]) => {
      const all = exactGicov(host, options);
      const { score, radius } = await scoresOf(context, host, { ...options, threshold });
      const isAbove = (i: number): boolean => Math.abs(all.score[i]!) > threshold;
      expect({ score, radius }).toEqual(
        asFloats({
          score: all.score.map((each, i) => (isAbove(i) ? each : 0)),
          radius: all.radius.map((each, i) => (isAbove(i) ? each : 0)),
        }),
      );
    });
  });

  test('peaks are the scores that no score within the dilation exceeds', async () => {
    const dilation = fc.integer({ min: 0, max: 14 });
    await holds(fc.tuple(drawing, circles, dilation), async (context, [host, options, dilation]) => {
      const device = upload(context, host);
      const threshold = 0.5;
      const peaks = detectPeaks(device, { ...options, dilation, threshold });
      expect(await context.read(peaks)).toEqual(peaksByHand(host, exactGicov(host, options), dilation, threshold));
      context.dispose(peaks, device.grey);
    });
  });

  test('a prepared detection returns the same cells as a plain one', async () => {
    const { context } = opened();
    const [width, height] = [60, 50];
    const options = { radii: [5, 6], points: 30, threshold: 1, maxCells: 50 };
    const prepared = context.prepare({ grey: input(u32, width * height, { storage: 'u8' }) }, ({ grey }) =>
      detectPeaks({ width, height, grey: grey as never }, options),
    );
    for (const seed of [1, 2, 3]) {
      const device = upload(context, drawn(width, height, [{ x: 20 + seed, y: 25, radius: 5, contrast: 60 }], seed));
      const [played, called] = [prepared({ grey: device.grey as never }), detectPeaks(device, options)];
      expect(await context.read(played)).toEqual(await context.read(called));
      expect((await context.read(called)).x.length).toBeGreaterThan(0);
      context.dispose(played, called, device.grey);
    }
    prepared.dispose();
  });
});

function peaksByHand(
  { width, height }: PlainFrame,
  all: { score: Float64Array; radius: Float64Array },
  reach: number,
  threshold: number,
) {
  const size = all.score.map((each) => (Math.abs(each) > threshold ? Math.abs(each) : 0));
  const cells = [...size.keys()].filter((i) => {
    const [x, y] = [i % width, Math.floor(i / width)];
    let max = 0;
    for (let v = Math.max(0, y - reach); v <= Math.min(height - 1, y + reach); v++) {
      for (let u = Math.max(0, x - reach); u <= Math.min(width - 1, x + reach); u++) {
        if ((u - x) ** 2 + (v - y) ** 2 <= reach ** 2) max = Math.max(max, size[v * width + u]!);
      }
    }
    return size[i]! > 0 && size[i] === max;
  });
  return {
    x: Float32Array.from(cells, (i) => i % width),
    y: Float32Array.from(cells, (i) => Math.floor(i / width)),
    score: Float32Array.from(cells, (i) => all.score[i]!),
    radius: Float32Array.from(cells, (i) => all.radius[i]!),
  };
}

describe('GICOV scores', () => {
  test('are close to those computed in real numbers', () => {
    const [sizes, options] = [fc.tuple(fc.nat(), fc.array(disc, { minLength: 1, maxLength: 3 })), { points: 150 }];
    fc.assert(
      fc.property(sizes, ([seed, discs]) => {
        const host = drawn(60, 50, discs, seed);
        for (const radius of [4, 5, 6, 7, 8]) {
          const circle = { ...options, radii: [radius], margin: 10 };
          const [exact, real] = [exactGicov(host, circle), plainGicov(host, circle)];
          const off = exact.score.findIndex((each, i) => {
            const score = real.score[i]!;
            return !(Math.abs(each - score) <= 1e-3 * Math.abs(score) + 1e-3);
          });
          expect({ off, exact: exact.score[off], real: real.score[off] }).toEqual({ off: -1 });
        }
      }),
      { numRuns: caseCount(20) },
    );
  });

  test('do not change when grey values are scaled or offset', () => {
    const options = { radii: [4, 6, 8], points: 30, margin: 10 };
    fc.assert(
      fc.property(drawing, fc.integer({ min: -90, max: 70 }), fc.nat({ max: 2 ** 12 }), (host, exponent, offset) => {
        const scaled = Float32Array.from(host.grey, (value) => value * 2 ** exponent);
        const moved = Uint16Array.from(host.grey, (value) => value + offset);
        const expected = exactGicov(host, options);
        expect(exactGicov({ ...host, grey: scaled }, options)).toEqual(expected);
        expect(exactGicov({ ...host, grey: moved }, options)).toEqual(expected);
      }),
      { numRuns: caseCount(20) },
    );
  });

  test('are negative around bright cells and positive around dark cells', async () => {
    await using context = openReference();
    const [bright, dark] = [70, -70].map((contrast) => drawn(40, 40, [{ x: 20, y: 20, radius: 6, contrast }], 1));
    const found = async (host: HostFrame | undefined, sign: 'bright' | 'dark' | 'both') => {
      const { x, y, score } = await detectCells(context, upload(context, host!), { radii: [5, 6, 7], sign });
      return Array.from(x, (each, i) => [each, y[i], Math.sign(score[i]!)]);
    };
    expect(await found(bright, 'both')).toEqual([[20, 20, -1]]);
    expect(await found(bright, 'bright')).toEqual([[20, 20, -1]]);
    expect(await found(bright, 'dark')).toEqual([]);
    expect(await found(dark, 'both')).toEqual([[20, 20, 1]]);
    expect(await found(dark, 'dark')).toEqual([[20, 20, 1]]);
    expect(await found(dark, 'bright')).toEqual([]);
  });

  test('are 0 in flat frames and in frames that are all margin', async () => {
    await using context = openReference();
    const flat = { width: 60, height: 50, grey: new Uint16Array(3000).fill(40_000) };
    const small = drawn(44, 44, [{ x: 22, y: 22, radius: 10, contrast: 70 }], 1);
    for (const host of [flat, small]) {
      const { score } = await context.read({ ...gicov(upload(context, host)) });
      expect(score.every((each) => each === 0)).toBe(true);
      expect((await detectCells(context, upload(context, host))).x).toEqual(new Float32Array(0));
    }
  });

  test('treat pixels that are not finite as flat', async () => {
    await using context = openReference();
    const host = drawn(60, 50, [{ x: 30, y: 25, radius: 6, contrast: 70 }], 3);
    const grey = Float32Array.from(host.grey);
    for (const [i, value] of [Number.NaN, Number.POSITIVE_INFINITY, -Number.MAX_VALUE].entries()) grey[65 + i] = value;
    const { x, y } = await detectCells(context, upload(context, { ...host, grey }), { radii: [5, 6, 7] });
    expect([x, y]).toEqual([Float32Array.of(30), Float32Array.of(25)]);
  });
});

describe('wrong input', () => {
  test('is refused', async () => {
    await using context = openReference();
    const host = drawn(60, 50, [], 1);
    const frame = upload(context, host);
    expectRefusal(context, 'frame/size', () => gicov({ ...frame, width: 61 }));
    const turned = asGrid(frame.grey as Column, { rows: 60, columns: 50 });
    expectRefusal(context, 'frame/size', () => gicov({ ...frame, grey: turned as Column<'f32'> }));
    expectRefusal(context, 'cells/radii', () => gicov(frame, { radii: [] }));
    expectRefusal(context, 'cells/radii', () => gicov(frame, { radii: [0.5] }));
    expectRefusal(context, 'cells/points', () => gicov(frame, { points: 149 }));
    expectRefusal(context, 'cells/threshold', () => gicov(frame, { threshold: -1 }));
    expectRefusal(context, 'cells/dilation', () => detectPeaks(frame, { dilation: 1.5 }));
  });

  test('with more cells than maxCells is an error', async () => {
    await using context = openReference();
    const host = drawn(60, 50, [], 1, 40);
    const frame = upload(context, host);
    const options = { radii: [4], points: 8, threshold: 0.01, dilation: 2 };
    const { x } = await detectCells(context, frame, options);
    expect(x.length).toBeGreaterThan(3);
    await expect(detectCells(context, frame, { ...options, maxCells: 3 })).rejects.toMatchObject({
      code: 'capacity/outgrown',
    });
    expect((await detectCells(context, frame, { ...options, maxCells: x.length })).x).toEqual(x);
  });
});
