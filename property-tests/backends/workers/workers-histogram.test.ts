import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import type { Backend, HistogramCommand } from '../../../primitives/contract/backend.ts';
import { For, Var } from '../../../primitives/functors/control.ts';
import { array, bool, fn, u32, uniform } from '../../../primitives/functors/functor.ts';
import { bind, randomWords, upload } from '../../support/workers-programs.ts';

const binOf = fn({ i: u32, xs: array(u32), shift: uniform(u32) }, u32, ({ i, xs, shift }) => xs.at(i).shr(shift));
const slowBinOf = fn({ i: u32, xs: array(u32), shift: uniform(u32) }, u32, ({ i, xs, shift }) => {
  const bin = Var(xs.at(i));
  For(0, shift, () => bin.set(bin.shr(1)));
  return u32(bin);
});
const many = fn({ i: u32, xs: array(u32) }, { bin: u32, histogram: u32 }, ({ i, xs }) => ({
  bin: xs.at(i).shr(27),
  histogram: i.shr(7),
}));
const row = fn({ i: u32, xs: array(u32) }, { active: bool, start: u32 }, ({ i, xs }) => ({
  active: xs.at(i).and(3).ne(0),
  start: xs.at(i).and(1023),
}));
const rank = fn({ i: u32, rank: u32, start: u32, xs: array(u32) }, { bin: u32, histogram: u32 }, (cell) => ({
  bin: cell.xs.at(cell.start.add(cell.rank)).shr(27),
  histogram: cell.i.and(15),
}));

describe.each([
  { name: 'calling thread', workers: 2, inlineNanoseconds: Number.POSITIVE_INFINITY },
  { name: 'one worker', workers: 1, inlineNanoseconds: 0 },
  { name: 'three workers', workers: 3, inlineNanoseconds: 0 },
])('histograms on the $name', ({ name: _, ...options }) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createWorkersBackend(options);
  });
  afterAll(async () => {
    await backend.close();
  });

  const count = async (words: number, command: Omit<HistogramCommand, 'kind' | 'into'>): Promise<number[]> => {
    const into = upload(backend, randomWords(words + 2));
    backend.run({ kind: 'histogram', ...command, into: { buffer: into, word: 1 } });
    const got = await backend.read(into, 0, words + 2);
    const guards = randomWords(words + 2);
    expect([got[0], got.at(-1)]).toEqual([guards[0], guards.at(-1)]);
    return Array.from(got.subarray(1, -1));
  };

  test.each([0, 1, 5, 1023, 1025, 65537, 200003])(
    'counts %i elements, and ignores elements without a bin',
    async (n) => {
      const words = randomWords(n);
      for (const [functor, bins, shift] of [
        [binOf, 200, 24],
        [slowBinOf, 200, 24],
        [binOf, 60000, 16],
        [slowBinOf, 60000, 16],
      ] as const) {
        const program = bind(backend, functor.module, { xs: { words, length: n } }, { shift });
        const expected = new Array<number>(bins).fill(0);
        for (const word of words) if (word >>> shift < bins) expected[word >>> shift]!++;
        expect(await count(bins, { extent: n, program, bins })).toEqual(expected);
      }
    },
  );

  test.each([5, 50021])('counts runs of up to %i elements of the same bin', async (longest) => {
    const n = 50021;
    const words = new Uint32Array(n);
    for (let [i, k, random] = [0, 0, randomWords(n)]; i < n; k++) {
      const end = i + 1 + ((random[k]! >>> 8) % longest);
      words.fill(random[k]!, i, end);
      i = end;
    }
    const bins = 50000;
    const expected = new Array<number>(bins).fill(0);
    for (const word of words) if (word >>> 16 < bins) expected[word >>> 16]!++;
    for (const functor of [binOf, slowBinOf]) {
      const program = bind(backend, functor.module, { xs: { words, length: n } }, { shift: 16 });
      expect(await count(bins, { extent: n, program, bins })).toEqual(expected);
    }
    const selected = new Array<number>(30 * 3000).fill(0);
    words.forEach((word, i) => {
      if (word >>> 27 < 30 && i >>> 7 < 3000) selected[(i >>> 7) * 30 + (word >>> 27)]!++;
    });
    const program = bind(backend, many.module, { xs: { words, length: n } });
    expect(await count(90000, { extent: n, program, bins: 30, histograms: 3000 })).toEqual(selected);
  });

  test('counts as many elements as a device count gives', async () => {
    const words = randomWords(70000);
    const program = bind(backend, binOf.module, { xs: { words, length: words.length } }, { shift: 28 });
    const counts = upload(backend, Uint32Array.of(65000));
    const expected = new Array<number>(16).fill(0);
    for (const word of words.subarray(0, 64998)) expected[word >>> 28]!++;
    const extent = { buffer: counts, word: 0, minus: 2, limit: 70000 };
    expect(await count(16, { extent, program, bins: 16 })).toEqual(expected);
  });

  test.each([1, 3, 100, 4096, 100000])('gives each segment of %i elements a histogram', async (segment) => {
    const n = segment === 1 ? 3000 : 50001;
    const words = randomWords(n);
    const bins = 12;
    const runs = Math.ceil(n / segment);
    for (const functor of [binOf, slowBinOf]) {
      const program = bind(backend, functor.module, { xs: { words, length: n } }, { shift: 28 });
      const counts = upload(backend, Uint32Array.of(n - 7));
      const expected = new Array<number>(bins * runs).fill(0);
      words.subarray(0, n - 7).forEach((word, i) => {
        if (word >>> 28 < bins) expected[Math.floor(i / segment) * bins + (word >>> 28)]!++;
      });
      const extent = { buffer: counts, word: 0, minus: 0, limit: n };
      expect(await count(bins * runs, { extent, program, bins, segment })).toEqual(expected);
    }
  });

  test.each([10, 500, 3000])('counts into %i histograms that the program selects', async (histograms) => {
    const n = 100000;
    const words = randomWords(n);
    const bins = 30;
    const program = bind(backend, many.module, { xs: { words, length: n } });
    const expected = new Array<number>(bins * histograms).fill(0);
    words.forEach((word, i) => {
      if (word >>> 27 < bins && i >>> 7 < histograms) expected[(i >>> 7) * bins + (word >>> 27)]!++;
    });
    expect(await count(bins * histograms, { extent: n, program, bins, histograms })).toEqual(expected);
  });

  test.each([1, 7, 300])('counts %i ranks of every active row', async (ranks) => {
    const n = 2000;
    const words = randomWords(n);
    const xs = { words, length: n };
    const expected = new Array<number>(32 * 16).fill(0);
    words.forEach((word, i) => {
      if ((word & 3) === 0) return;
      for (let k = 0; k < ranks; k++) expected[(i & 15) * 32 + (words[(word & 1023) + k]! >>> 27)]!++;
    });
    const program = bind(backend, rank.module, { xs });
    const inner = { row: bind(backend, row.module, { xs }), ranks };
    expect(await count(512, { extent: n, program, bins: 32, histograms: 16, inner })).toEqual(expected);
  });
});
