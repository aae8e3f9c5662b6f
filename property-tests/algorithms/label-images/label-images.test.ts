import { describe, expect } from 'vitest';
import { countMeetings } from '../../../algorithms/cross-compare/box-meetings.ts';
import { crossCompare } from '../../../algorithms/cross-compare/cross-compare.ts';
import { type Boxes, filterPairs, indexBoxes } from '../../../algorithms/cross-compare/filter.ts';
import type { TileComparison, TileSide } from '../../../algorithms/cross-compare/tile-comparison.ts';
import { tileSide } from '../../../algorithms/cross-compare/tile-side.ts';
import { type LabelRegions, NO_REGIONS, sharedPixels } from '../../../algorithms/label-images/index.ts';
import { parseLabels } from '../../../formats/result-sets/label-image.ts';
import { parseTile } from '../../../formats/result-sets/parse-tile.ts';
import type { TileParameters } from '../../../formats/result-sets/result-set.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { countLabels, type LabelGrid } from '../../support/label-counts.ts';
import { openReference } from '../../support/reference-context.ts';

const reference = openReference();

type RegionKind = 'components' | 'labels';

const kind = fc.constantFrom<RegionKind>('components', 'labels');

/** Images with few labels, so that regions are scattered and often touch. */
const grid = (max = 12): fc.Arbitrary<LabelGrid> =>
  fc
    .record({ width: fc.integer({ min: 1, max }), height: fc.integer({ min: 1, max }) })
    .chain((size) =>
      fc
        .array(fc.nat({ max: 4 }), { minLength: size.width * size.height, maxLength: size.width * size.height })
        .map((labels) => ({ ...size, labels })),
    );

const pair = fc.integer({ min: 1, max: 12 }).chain((width) =>
  fc.integer({ min: 1, max: 9 }).chain((height) => {
    const labels = fc.array(fc.nat({ max: 4 }), { minLength: width * height, maxLength: width * height });
    return fc.tuple(labels, labels).map(([p, q]) => [
      { width, height, labels: p },
      { width, height, labels: q },
    ]) as fc.Arbitrary<[LabelGrid, LabelGrid]>;
  }),
);

function parametersOf({ width, height }: LabelGrid, regions: RegionKind): TileParameters {
  return { format: 'nifti', place: 'a', labels: { width, height, type: 'u8' }, regions };
}

function regionsOf(image: LabelGrid, regions: RegionKind): LabelRegions {
  return parseLabels(Uint8Array.from(image.labels), parametersOf(image, regions)).labels;
}

/** The upper left part of an image. It has `height` rows, and at most as many columns as the other image. */
function clipped({ width, labels }: LabelGrid, other: LabelGrid, height: number): LabelGrid {
  const size = { width: Math.min(width, other.width), height };
  return {
    ...size,
    labels: Array.from(
      { length: size.width * height },
      (_, at) => labels[Math.floor(at / size.width) * width + (at % size.width)]!,
    ),
  };
}

onEveryBackend((opened, backend) => {
  const bands = fc.constantFrom(1, 7, 2 ** 20);
  test('sharedPixels equals counting pixel by pixel, for several images and bands of any size', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.tuple(pair, kind), { maxLength: 4 }),
      bands,
      async (images, bandRuns) => {
        const jobs = images.map(([[p, q], regions]) => ({ p: regionsOf(p, regions), q: regionsOf(q, regions) }));
        const found = await sharedPixels(opened().context, jobs, { bandRuns });
        for (const [job, [[p, q], regions]] of images.entries()) {
          const { first, second, pairs } = countLabels(p, q, regions);
          expect([...jobs[job]!.p.area].map(Number)).toEqual(first.map(({ pixels }) => pixels));
          expect([...jobs[job]!.q.area].map(Number)).toEqual(second.map(({ pixels }) => pixels));
          const { p: ofP, q: ofQ, pixels } = found[job]!;
          const rows = [...ofP].map((region, row) => ({
            first: region,
            second: ofQ[row]!,
            pixels: Number(pixels[row]),
          }));
          expect(rows).toEqual(pairs);
        }
        expect(opened().context.backend.counters.liveBuffers).toBe(0);
      },
    );
    await fc.assert(property, { numRuns: backend.runs });
  });
});

test.prop([grid(), grid()], { numRuns: caseCount(30) })(
  'images of different sizes are aligned at the upper left corner',
  async (p, q) => {
    const height = Math.min(p.height, q.height);
    const total = ({ pixels }: { readonly pixels: BigUint64Array }) => pixels.reduce((sum, each) => sum + each, 0n);
    const shared = async (a: LabelGrid, b: LabelGrid) =>
      total((await sharedPixels(reference, [{ p: regionsOf(a, 'labels'), q: regionsOf(b, 'labels') }]))[0]!);
    expect(await shared(p, q)).toBe(await shared(clipped(p, q, height), clipped(q, p, height)));
  },
);

test('sharedPixels counts images and regions of more than 2³² pixels', async () => {
  const [width, height] = [2 ** 20, 2 ** 13];
  const whole: LabelRegions = {
    ...NO_REGIONS,
    width,
    height,
    rowRuns: Uint32Array.from({ length: height + 1 }, (_, row) => row),
    start: new Uint32Array(height),
    end: new Uint32Array(height).fill(width),
    region: new Uint32Array(height),
    area: BigUint64Array.of(BigInt(width * height)),
  };
  const [shared] = await sharedPixels(reference, [{ p: whole, q: whole }]);
  expect(shared).toEqual({ p: Uint32Array.of(0), q: Uint32Array.of(0), pixels: whole.area });
});

test('sharedPixels counts pairs of regions whose numbers do not fit one word', async () => {
  const count = 2 ** 16 + 1;
  const alone: LabelRegions = {
    ...NO_REGIONS,
    width: count,
    height: 1,
    rowRuns: Uint32Array.of(0, count),
    start: Uint32Array.from({ length: count }, (_, at) => at),
    end: Uint32Array.from({ length: count }, (_, at) => at + 1),
    region: Uint32Array.from({ length: count }, (_, at) => at),
    area: new BigUint64Array(count).fill(1n),
  };
  const reversed = { ...alone, region: alone.region.toReversed() };
  const [shared] = await sharedPixels(reference, [{ p: alone, q: reversed }]);
  expect(shared).toEqual({ p: alone.region, q: reversed.region, pixels: alone.area });
});

const boxes = fc
  .array(fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 9 }), fc.nat({ max: 4 }), fc.nat({ max: 4 })), { maxLength: 20 })
  .map(
    (all): Boxes => ({
      left: Int32Array.from(all, ([left]) => left),
      top: Int32Array.from(all, ([, top]) => top),
      right: Int32Array.from(all, ([left, , width]) => left + width),
      bottom: Int32Array.from(all, ([, top, , height]) => top + height),
    }),
  );

test.prop([boxes, boxes])('countMeetings counts the pairs that filterPairs finds', (p, q) => {
  const { p: candidates, meeting } = filterPairs(p, indexBoxes(q));
  expect(countMeetings(p, q)).toEqual({ candidates: candidates.length, meeting });
});

describe('a comparison of label images', () => {
  test.prop(
    [
      fc.array(fc.tuple(pair, fc.constantFrom('both', 'p', 'q')), { minLength: 1, maxLength: 5 }),
      kind,
      fc.constantFrom<'greedy' | 'optimal'>('greedy', 'optimal'),
    ],
    { numRuns: caseCount(25) },
  )('by pixels gives the same result as by outlines', async (images, regions, method) => {
    const compared = async (read: (image: LabelGrid, parameters: TileParameters) => TileSide) => {
      const side = (member: 0 | 1, other: 'p' | 'q') =>
        images.flatMap(([both, sides], tile) => (sides === other ? [] : [{ name: String(tile), image: both[member] }]));
      const tiles: TileComparison[] = [];
      const run = crossCompare(reference, {
        p: { path: 'p', tiles: side(0, 'q') },
        q: { path: 'q', tiles: side(1, 'p') },
        parse: async ({ image }) => read(image, parametersOf(image, regions)),
        matching: { minIou: 0.3, method },
        onTile: (tile) => void tiles.push(tile),
      });
      return { result: await run.result, tiles };
    };
    // Two sets with several tiles each must have at least one tile name in common.
    fc.pre(images.some(([, sides]) => sides === 'both'));
    const byPixels = await compared((image, parameters) => parseLabels(Uint8Array.from(image.labels), parameters));
    const byOutlines = await compared((image, parameters) =>
      tileSide(parseTile(Uint8Array.from(image.labels), parameters), { place: 'a' }),
    );
    expect(byPixels).toEqual(byOutlines);
  });

  test('is refused when one side is by pixels and the other by outlines', async () => {
    const image = { width: 1, height: 1, labels: [1] };
    const parameters = parametersOf(image, 'labels');
    const sides: Record<string, TileSide> = {
      p: parseLabels(Uint8Array.of(1), parameters),
      q: tileSide(parseTile(Uint8Array.of(1), parameters), { place: 'a' }),
    };
    const set = (side: string) => ({ path: side, tiles: [{ name: '1', side }] });
    const run = crossCompare(reference, { p: set('p'), q: set('q'), parse: async ({ side }) => sides[side]! });
    await expect(run.result).rejects.toMatchObject({ cause: { code: 'compare/mixed-sides' } });
  });

  test('whose boxes all meet takes time by pixels, not by pairs', async () => {
    // 4096 labels, each with two stripes across all columns. So 16.7 million pairs of boxes intersect, but only 8192
    // pairs share pixels.
    const [width, height] = [64, 8192];
    const image = (shift: number) =>
      Uint16Array.from({ length: width * height }, (_, at) => 1 + ((Math.floor(at / width) + shift) % 4096));
    const parameters = {
      format: 'nifti',
      place: 'a',
      labels: { width, height, type: 'u16' },
      regions: 'labels',
    } as const;
    const side = (shift: number) => parseLabels(new Uint8Array(image(shift).buffer), parameters);
    const set = (shift: number) => ({ path: 'p', tiles: [{ name: '1', shift }] });
    const started = performance.now();
    const { result } = crossCompare(reference, { p: set(0), q: set(1), parse: async ({ shift }) => side(shift) });
    expect(await result).toMatchObject({ pairs: 4096, candidates: 2 ** 24, similarity: 1 });
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
