import { afterAll, beforeAll, describe, expect } from 'vitest';
import { crossCompare } from '../../../algorithms/cross-compare/cross-compare.ts';
import type { CrossComparison } from '../../../algorithms/cross-compare/cross-comparison.ts';
import type { CompareScheme, CrossCompareJob } from '../../../algorithms/cross-compare/job.ts';
import type { TileComparison, TileSide } from '../../../algorithms/cross-compare/tile-comparison.ts';
import { ItemError } from '../../../graph/index.ts';
import { open } from '../../../index.ts';
import { ArgumentError, FormatError } from '../../../primitives/checks/errors.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { dealtWorkers, onEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { countLabels, type LabelImage, type LabelPair, labelPair, sideOf } from '../../support/random-label-images.ts';

let [reference, workers]: Context[] = [];
beforeAll(async () => {
  [reference, workers] = await Promise.all([open({ backend: 'reference' }), open({ backend: 'workers', workers: 2 })]);
});
afterAll(() => Promise.all([reference!.close(), workers!.close()]));

/** A tile of a test: a label image with a name, or a name for which no file can be read. */
interface TestTile {
  readonly name: string;
  readonly image: LabelImage | undefined;
}
type TestJob = CrossCompareJob<TestTile>;

const parse = async ({ name, image }: TestTile): Promise<TileSide> => {
  // Delays the tiles differently, so that they become ready in another order than requested.
  await new Promise((resolve) => setTimeout(resolve, name.length % 3));
  if (image === undefined) throw new FormatError('format/syntax', 'This is no tile.', { place: { file: name } });
  return sideOf(image);
};

const nameAt = (index: number): string => `tile-${'x'.repeat(index % 4)}${index}`;
const jobOf = (images: readonly LabelPair[], changes: Partial<TestJob> = {}): TestJob => ({
  p: { path: 'a', tiles: images.map(({ p }, index) => ({ name: nameAt(index), image: p })) },
  q: { path: 'b', tiles: images.map(({ q }, index) => ({ name: nameAt(index), image: q })) },
  parse,
  ...changes,
});

async function compared(
  job: TestJob,
  context = reference!,
): Promise<CrossComparison & { readonly rows: TileComparison[] }> {
  const rows: TileComparison[] = [];
  const result = await crossCompare(context, { ...job, onTile: (tile) => void rows.push(tile) }).result;
  return { ...result, rows };
}

const tiles = fc.array(labelPair, { minLength: 2, maxLength: 9 });
const EMPTY: LabelImage = { width: 0, height: 0, labels: [], polygons: 0 };

describe('crossCompare', () => {
  test.prop([tiles], { numRuns: caseCount(40) })('finds the same as counting labels, tile by tile', async (images) => {
    const { rows, similarity, pairs, missing } = await compared(jobOf(images));
    const inOrder = images.map((_, index) => nameAt(index)).sort();
    expect(rows.map(({ tile }) => tile)).toEqual(inOrder);
    const counted = inOrder.map((name) => countLabels(images[images.findIndex((_, index) => nameAt(index) === name)]!));
    for (const [index, tile] of rows.entries()) {
      const expected = counted[index]!;
      expect([...tile.pairs.p]).toEqual(expected.pairs.map(({ p }) => p));
      expect([...tile.pairs.q]).toEqual(expected.pairs.map(({ q }) => q));
      expect([...tile.pairs.ratio]).toEqual(expected.pairs.map(({ intersection, union }) => intersection / union));
      expect([...tile.p.missing]).toEqual(expected.missing.p);
      expect([...tile.q.missing]).toEqual(expected.missing.q);
    }
    const ratios = counted.flatMap((tile) => tile.pairs.map(({ intersection, union }) => intersection / union));
    expect(pairs).toBe(ratios.length);
    expect(missing.p).toBe(counted.reduce((sum, tile) => sum + tile.missing.p.length, 0));
    if (pairs === 0) expect(similarity).toBeNaN();
    else expect(similarity).toBeCloseTo(ratios.reduce((sum, ratio) => sum + ratio, 0) / pairs, 13);
  });

  test.prop(
    [
      tiles,
      fc.constantFrom<CompareScheme>('no-pipe-single', 'no-pipe-multiple', 'pipelined'),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 4 }),
    ],
    { numRuns: caseCount(40) },
  )(
    'gives the same result for any scheme, batch size and number of parse lanes',
    async (images, scheme, batchPairs, parseLanes) => {
      const plain = await compared(jobOf(images));
      expect(await compared(jobOf(images, { scheme, batchPairs, parseLanes }))).toEqual(plain);
    },
  );

  onEveryBackend(
    (opened) =>
      test.prop([tiles], { numRuns: caseCount(20) })(
        'gives the same result, and when tasks migrate',
        async (images) => {
          const { context } = opened();
          const plain = await compared(jobOf(images));
          expect(await compared(jobOf(images), context)).toEqual(plain);
          const migrating = jobOf(images, { batchPairs: 4, migrate: { cpu: workers!, parseOnGpu: parse } });
          expect(await compared(migrating)).toEqual(plain);
          expect(await compared(migrating, context)).toEqual(plain);
        },
      ),
    dealtWorkers(),
  );

  test.prop([tiles, fc.nat()], { numRuns: caseCount(20) })(
    'skips and names a tile that cannot be read',
    async (images, seed) => {
      const broken = seed % images.length;
      const spoil = (job: TestJob): TestJob => ({
        ...job,
        q: {
          path: 'b',
          tiles: job.q.tiles.map((tile, index) => (index === broken ? { ...tile, image: undefined } : tile)),
        },
      });
      const good = images.flatMap((pair, index) => (index === broken ? [] : [{ name: nameAt(index), pair }]));
      const without = await compared({
        ...jobOf([]),
        // If both sets had a single tile, these two tiles would be paired regardless of their names. So each set gets
        // an additional tile.
        p: {
          path: 'a',
          tiles: [...good.map(({ name, pair }) => ({ name, image: pair.p })), { name: 'zz', image: EMPTY }],
        },
        q: {
          path: 'b',
          tiles: [...good.map(({ name, pair }) => ({ name, image: pair.q })), { name: 'zz', image: EMPTY }],
        },
      });
      for (const migrate of [undefined, { cpu: workers!, parseOnGpu: parse }]) {
        const { skipped, rows, tiles, ...figures } = await compared(spoil(jobOf(images, { onError: 'skip', migrate })));
        const message = `${nameAt(broken)}: This is no tile.`;
        expect(skipped).toEqual([{ tile: nameAt(broken), code: 'format/syntax', message }]);
        expect(rows).toEqual(without.rows.slice(0, -1));
        expect(tiles).toBe(images.length - 1);
        expect(figures).toMatchObject({
          similarity: without.similarity,
          missing: without.missing,
          histogram: without.histogram,
        });
      }
    },
  );

  const schemes: readonly CompareScheme[] = ['pipelined', 'no-pipe-single', 'no-pipe-multiple'];
  const DOT: LabelImage = { width: 1, height: 1, labels: [1], polygons: 1 };
  const dots = (path: string, count: number) => ({
    path,
    tiles: Array.from({ length: count }, (_, index) => ({ name: nameAt(index), image: DOT })),
  });

  test.each(schemes)('a failing device ends the run even with onError skip: %s', async (scheme) => {
    const closed = await open({ backend: 'reference' });
    await closed.close();
    const job: TestJob = { p: dots('a', 5), q: dots('b', 5), parse, scheme, onError: 'skip' };
    const error = await crossCompare(closed, job).result.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ cause: { code: 'device/closed' } });
  });

  test.each(schemes)('notes come in the order of the tiles, without those of skipped tiles: %s', async (scheme) => {
    const slowFirst = async (tile: TestTile): Promise<TileSide> => {
      const index = Number(/\d+$/.exec(tile.name));
      await new Promise((resolve) => setTimeout(resolve, 8 - 2 * index));
      if (tile.image === undefined) return parse(tile);
      return { ...sideOf(tile.image), notes: [{ code: 'test/odd', message: `${index} is odd.`, count: 1 }] };
    };
    const [p, q] = [dots('a', 4), dots('b', 4)];
    const broken = { ...q, tiles: q.tiles.map((tile, index) => (index === 0 ? { ...tile, image: undefined } : tile)) };
    const { notes } = await compared({ p, q: broken, parse: slowFirst, parseLanes: 4, scheme, onError: 'skip' });
    const message = '1 is odd. (5 more files or tiles have such.)';
    expect(notes).toEqual([{ code: 'test/odd', message, count: 6 }]);
  });

  test.each(schemes)(
    'parsers that listen for the abort on many lanes cause no listener warning: %s',
    async (scheme) => {
      const warnings: Error[] = [];
      const hear = (warning: Error): void => void warnings.push(warning);
      process.on('warning', hear);
      const listening = async (tile: TestTile, signal: AbortSignal): Promise<TileSide> => {
        const stop = (): void => undefined;
        signal.addEventListener('abort', stop);
        await new Promise((resolve) => setTimeout(resolve, 2));
        signal.removeEventListener('abort', stop);
        return sideOf(tile.image!);
      };
      const migrate = { cpu: workers!, parseOnGpu: listening };
      await compared({ p: dots('a', 40), q: dots('b', 40), parse: listening, parseLanes: 14, scheme, migrate });
      await new Promise((resolve) => setTimeout(resolve));
      process.off('warning', hear);
      expect(warnings).toEqual([]);
    },
  );

  test('an abort reaches the parsers, with its reason', async () => {
    const heard: unknown[] = [];
    const waiting = (_: TestTile, signal: AbortSignal): Promise<TileSide> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          heard.push(signal.reason);
          reject(signal.reason);
        });
      });
    const stop = new AbortController();
    const job = { p: dots('a', 4), q: dots('b', 4), parse: waiting, parseLanes: 3, signal: stop.signal };
    const run = crossCompare(reference!, job).result.catch((reason: unknown) => reason);
    setTimeout(() => stop.abort(new Error('enough')), 5);
    expect(await run).toEqual(new Error('enough'));
    expect(heard.length).toBe(6);
  });

  test.each([false, true])(
    'a tile that cannot be read ends the run and is named; tasks migrate: %s',
    async (migrates) => {
      const image: LabelImage = { width: 1, height: 1, labels: [1], polygons: 1 };
      const run = crossCompare(reference!, {
        migrate: migrates ? { cpu: workers!, parseOnGpu: parse } : undefined,
        p: {
          path: 'a',
          tiles: [
            { name: '1', image },
            { name: '2', image },
          ],
        },
        q: {
          path: 'b',
          tiles: [
            { name: '1', image },
            { name: '2', image: undefined },
          ],
        },
        parse,
      });
      const error = await run.result.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ItemError);
      expect(error).toMatchObject({ item: '2', cause: { code: 'format/syntax' } });
    },
  );

  test('polygons of a tile that one set lacks are missing, with a note', async () => {
    const image: LabelImage = { width: 2, height: 1, labels: [1, 2], polygons: 2 };
    const result = await compared({
      p: { path: 'human/', tiles: ['1', '2', '3'].map((name) => ({ name, image })) },
      q: { path: 'model/', tiles: ['2', '4'].map((name) => ({ name, image })) },
      parse,
    });
    expect(result).toMatchObject({ tiles: 4, alone: { p: 2, q: 1 }, missing: { p: 4, q: 2 }, pairs: 2, similarity: 1 });
    expect(result.notes.map(({ message }) => message)).toEqual([
      '2 tiles are in human/ alone, and missing from model/ with all polygons: "1", "3".',
      '1 tile is in model/ alone, and missing from human/ with all polygons: "4".',
    ]);
  });

  test('two single tiles are compared whatever their names', async () => {
    const image: LabelImage = { width: 1, height: 1, labels: [1], polygons: 1 };
    const one = (name: string) => ({ path: name, tiles: [{ name, image }] });
    expect((await compared({ p: one('human'), q: one('model'), parse })).similarity).toBe(1);
  });

  test('sets without a common tile are refused', () => {
    const set = (path: string, ...names: string[]) => ({ path, tiles: names.map((name) => ({ name, image: EMPTY })) });
    const run = () => crossCompare(reference!, { p: set('a', '1', '2'), q: set('b', '3', '4'), parse });
    expect(run).toThrow(ArgumentError);
  });

  test('a slow onTile callback holds back the parser', async () => {
    const image: LabelImage = { width: 1, height: 1, labels: [1], polygons: 1 };
    const many = { path: 'a', tiles: Array.from({ length: 100 }, (_, index) => ({ name: String(index), image })) };
    let [parsed, taken, furthestAhead] = [0, 0, 0];
    const run = crossCompare(reference!, {
      p: many,
      q: many,
      batchPairs: 1,
      parse: async (tile: TestTile) => {
        parsed++;
        return sideOf(tile.image!);
      },
      onTile: async () => {
        furthestAhead = Math.max(furthestAhead, parsed / 2 - taken);
        await new Promise((resolve) => setTimeout(resolve, 1));
        taken++;
      },
    });
    expect((await run.result).tiles).toBe(100);
    expect(furthestAhead).toBeLessThan(40);
  });

  test('rejects with the reason when it is aborted', async () => {
    const image: LabelImage = { width: 1, height: 1, labels: [1], polygons: 1 };
    const many = { path: 'a', tiles: Array.from({ length: 50 }, (_, index) => ({ name: String(index), image })) };
    const stop = new AbortController();
    let taken = 0;
    const run = crossCompare(reference!, {
      p: many,
      q: many,
      batchPairs: 1,
      parse,
      signal: stop.signal,
      onTile: () => {
        if (++taken === 3) stop.abort(new Error('enough'));
      },
    });
    await expect(run.result).rejects.toThrow('enough');
    expect(taken).toBe(3);
  });

  test.prop([tiles], { numRuns: 5 })('a lost device ends the run unless tasks migrate', async (images) => {
    const lost = await open({ backend: 'reference' });
    await lost.close();
    const candidates = (await compared(jobOf(images))).candidates;
    fc.pre(candidates > 0);
    await expect(compared(jobOf(images), lost)).rejects.toThrow();
    const migrating = jobOf(images, { batchPairs: 4, migrate: { cpu: workers! } });
    expect(await compared(migrating, lost)).toEqual(await compared(jobOf(images)));
  });

  test('an error of the onTile callback ends the run', async () => {
    const image: LabelImage = { width: 1, height: 1, labels: [1], polygons: 1 };
    const one = { path: 'a', tiles: [{ name: '1', image }] };
    const onTile = () => Promise.reject(new Error('disk full'));
    await expect(crossCompare(reference!, { p: one, q: one, parse, onTile }).result).rejects.toThrow('disk full');
  });
});
