import { expect } from 'vitest';
import { array, bool, fn, u32 } from '../../../primitives/functors/functor.ts';
import { costlyCaseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  bindingOf,
  columnsProgram,
  describeConfigurations,
  edgeSizes,
  expectAgreement,
  randomWords,
  slow,
  upload,
} from '../../support/webgpu-support.ts';

describeConfigurations((backend) => {
  test(
    'counts per run and bin equal the reference',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...edgeSizes),
          fc.constantFrom(0, 1, 7, 256, 5000),
          fc.option(fc.constantFrom(1, 3, 64, 100, 1024, 4096, 5000)),
          fc.option(fc.nat(5)),
          async (n, bins, segment, less) => {
            const runs = segment === null ? 1 : Math.ceil(n / segment);
            fc.pre(bins * runs < 20000);
            await expectAgreement(backend(), async (one, keep) => {
              const data = randomWords(n, n).map((word) => word % (bins + 3));
              const column = keep(upload(one, data));
              const count = keep(upload(one, Uint32Array.of(n)));
              const into = keep(upload(one, randomWords(bins * runs + 3)));
              one.run({
                kind: 'histogram',
                extent: less === null ? n : { buffer: count, word: 0, minus: less, limit: n },
                program: columnsProgram([{ type: 'u32', binding: bindingOf(column, n) }]),
                bins,
                segment: segment ?? undefined,
                into: { buffer: into, word: 2 },
              });
              return [await one.read(into, 0, bins * runs + 3)];
            });
          },
        ),
        { numRuns: costlyCaseCount(12) },
      );
    },
    slow,
  );

  test(
    'counts of keyed elements equal the reference, for any order of the keys',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...edgeSizes),
          fc.constantFrom(1, 7, 300, 5000),
          fc.constantFrom(1, 3, 90),
          fc.constantFrom(...keyOrders),
          async (n, bins, histograms, order) => {
            fc.pre(bins * histograms < 30_000);
            await expectAgreement(backend(), async (one, keep) => {
              const data = randomWords(n, n).map((word) => word % (bins + 3));
              const keys = keysInOrder(order, n, histograms + 2);
              const columns = [data, keys].map((column) => keep(upload(one, column)));
              const into = keep(upload(one, randomWords(bins * histograms + 3)));
              one.run({
                kind: 'histogram',
                extent: n,
                program: columnsProgram(
                  columns.map((column) => ({ type: 'u32' as const, binding: bindingOf(column, n) })),
                ),
                bins,
                histograms,
                into: { buffer: into, word: 2 },
              });
              return [await one.read(into, 0, bins * histograms + 3)];
            });
          },
        ),
        { numRuns: costlyCaseCount(8) },
      );
    },
    slow,
  );

  test(
    'counts of the elements of rows equal the reference',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...edgeSizes.slice(0, 13)),
          fc.constantFrom(1, 2, 19, 32, 64, 257, 700),
          fc.constantFrom(1, 7, 300, 5000),
          fc.constantFrom(undefined, 1, 3, 90),
          fc.constantFrom(...keyOrders),
          fc.option(fc.nat(5)),
          async (n, ranks, bins, histograms, order, less) => {
            fc.pre(bins * (histograms ?? 1) < 30_000 && n * ranks < 300_000);
            await expectAgreement(backend(), async (one, keep) => {
              const cells = randomWords(1000, n).map((word) => word % (bins + 3));
              const start = randomWords(n, ranks);
              const key = keysInOrder(order, n, (histograms ?? 1) + 1);
              const [cellsAt, startAt, keyAt, count] = [cells, start, key, Uint32Array.of(n)].map((words) =>
                keep(upload(one, words)),
              );
              const counted = bins * (histograms ?? 1);
              const into = keep(upload(one, randomWords(counted + 3)));
              const arrays = new Map([
                ['start', bindingOf(startAt!, n)],
                ['key', bindingOf(keyAt!, n)],
              ]);
              one.run({
                kind: 'histogram',
                extent: less === null ? n : { buffer: count!, word: 0, minus: less, limit: n },
                program: {
                  module: (histograms === undefined ? binOfElement : keyedElement).module,
                  arrays: new Map([['cells', bindingOf(cellsAt!, cells.length)]]),
                  uniforms: new Map(),
                },
                bins,
                histograms,
                inner: { ranks, row: { module: rowOfElements.module, arrays, uniforms: new Map() } },
                into: { buffer: into, word: 2 },
              });
              return [await one.read(into, 0, counted + 3)];
            });
          },
        ),
        { numRuns: costlyCaseCount(10) },
      );
    },
    slow,
  );

  test(
    'keyed counts can be written to the buffer that holds the elements',
    async () => {
      const words = randomWords(600, 3).map((word) => word % 5);
      const buffer = upload(backend(), words);
      const column = { type: 'u32' as const, binding: bindingOf(buffer, 600) };
      backend().run({
        kind: 'histogram',
        extent: 600,
        program: columnsProgram([column, column]),
        bins: 5,
        histograms: 4,
        into: { buffer, word: 100 },
      });
      const counts = Uint32Array.from({ length: 20 }, (_, i) =>
        i % 5 === Math.floor(i / 5) ? words.filter((word) => word === i % 5).length : 0,
      );
      const expected = words.slice();
      expected.set(counts, 100);
      expect(await backend().read(buffer, 0, 600)).toEqual(expected);
      backend().release(buffer);
    },
    slow,
  );
});

const keyOrders = ['sorted', 'alternating', 'mixed', 'equal'] as const;

function keysInOrder(order: (typeof keyOrders)[number], n: number, keys: number): Uint32Array {
  const words = randomWords(n, keys);
  const place = { sorted: (i: number) => Math.floor((i * keys) / n), alternating: (i: number) => i % keys };
  if (order === 'mixed') return words.map((word) => word % keys);
  return words.map((_, i) => (order === 'equal' ? 0 : place[order](i)));
}

const rowOfElements = fn(
  { index: u32, start: array(u32), key: array(u32) },
  { active: bool, from: u32, histogram: u32, even: bool },
  ({ index, start, key }) => {
    const from = start.at(index).rem(1000);
    return { active: from.rem(3).ne(0), from, histogram: key.at(index), even: from.and(1).eq(0) };
  },
);

const element = { index: u32, rank: u32, from: u32, histogram: u32, even: bool, cells: array(u32) };
const binOfElement = fn(element, u32, ({ rank, from, even, cells }) =>
  cells.at(from.add(rank).add(u32(even)).rem(1000)),
);

/** A functor of one element of a row. If the row is `even`, the element of rank 1 is counted in the next histogram. */
const keyedElement = fn(element, { bin: u32, histogram: u32 }, ({ rank, from, histogram, even, cells }) => ({
  bin: cells.at(from.add(rank).rem(1000)),
  histogram: histogram.add(u32(even.and(rank.eq(1)))),
}));
