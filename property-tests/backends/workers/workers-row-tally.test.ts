import { afterAll, beforeAll, describe, expect } from 'vitest';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import type { Backend, Storage } from '../../../primitives/contract/backend.ts';
import { array, bool, fn, u32 } from '../../../primitives/functors/functor.ts';
import { select } from '../../../primitives/functors/standard/choose.ts';
import { fc, test } from '../../law-test.ts';
import { bind, randomWords, upload } from '../../support/workers-programs.ts';

const ABSENT = 2 ** 32 - 1;
/** The mask of rows that are inactive, and so are not counted. */
const INACTIVE = 7;

/**
 * A functor that describes row `i` of consecutive cells: whether the row is active, the index of its first cell, its
 * mask, and its histogram (`group`). Each bit of the mask says whether a cell of the row counts.
 */
const row = fn(
  'row',
  { i: u32, start: array(u32), mask: array(u32), group: array(u32) },
  { active: bool, start: u32, mask: u32, group: u32 },
  ({ i, start, mask, group }) => ({
    active: mask.at(i).ne(INACTIVE),
    start: start.at(i),
    mask: mask.at(i),
    group: group.at(i),
  }),
);
const parameters = { i: u32, rank: u32, start: u32, mask: u32, group: u32, cells: array(u32), binOf: array(u32) };
const result = { bin: u32, histogram: u32 };
const FUNCTORS = {
  masked: fn('masked', parameters, result, ({ rank, start, mask, group, cells, binOf }) => ({
    bin: select(u32(ABSENT), binOf.at(cells.at(start.add(rank))), mask.shr(rank).and(1).eq(1)),
    histogram: group,
  })),
  maskedByNotZero: fn('maskedByNotZero', parameters, result, ({ rank, start, mask, group, cells, binOf }) => ({
    bin: select(u32(ABSENT), binOf.at(cells.at(start.add(rank))), u32(1).and(mask.shr(rank)).ne(0)),
    histogram: group,
  })),
  whole: fn('whole', parameters, result, ({ rank, start, group, cells, binOf }) => ({
    bin: binOf.at(cells.at(start.add(rank))),
    histogram: group,
  })),
};

interface Rows {
  readonly functor: keyof typeof FUNCTORS;
  readonly storage: Extract<Storage, 'u8' | 'u16' | 'u32'>;
  readonly ranks: number;
  readonly bins: number;
  readonly histograms: number;
  /** Number of entries in the table of bins. A read beyond the last entry gives 0. */
  readonly entries: number;
  /** Number of consecutive rows that share a histogram. */
  readonly together: number;
  readonly masks: readonly number[];
  /** How often the list of masks is repeated. */
  readonly repeat: number;
  readonly seed: number;
}

const shift = fc.integer({ min: 0, max: 31 });
const maskWord = fc.oneof(
  fc.constantFrom(0, INACTIVE, 1, 2 ** 31, ABSENT, 0xfffffffe, 0x7fffffff),
  fc.integer({ min: 0, max: ABSENT }),
  fc.tuple(shift, shift).map(([down, up]) => ((ABSENT >>> down) << up) >>> 0),
);
const rows: fc.Arbitrary<Rows> = fc.record({
  functor: fc.constantFrom('masked', 'maskedByNotZero', 'whole'),
  storage: fc.constantFrom('u8', 'u16', 'u32'),
  ranks: fc.constantFrom(1, 3, 31, 32, 33, 70),
  bins: fc.constantFrom(1, 5, 30, 259, 5003, 16385),
  histograms: fc.constantFrom(1, 7, 400),
  entries: fc.constantFrom(0, 100, 256, 65536, 70000),
  together: fc.constantFrom(1, 5, 300),
  masks: fc.array(maskWord, { minLength: 1, maxLength: 40 }),
  repeat: fc.constantFrom(1, 40),
  seed: fc.integer({ min: 1, max: 1000 }),
});

const CELLS = 500;

/** Generates cells, the table of bins, and rows. Most rows start within the range of the cells. */
function materialOf({ storage, bins, entries, together, masks, repeat, seed }: Rows) {
  const words = randomWords(CELLS, seed);
  const n = masks.length * repeat;
  return {
    n,
    cells: storage === 'u8' ? Uint8Array.from(words) : storage === 'u16' ? Uint16Array.from(words) : words,
    binOf: Uint32Array.from({ length: entries }, (_, value) => (value * 7 + seed) % (bins + 1)),
    mask: Uint32Array.from({ length: n }, (_, i) => masks[i % masks.length]!),
    group: Uint32Array.from({ length: n }, (_, i) => Math.floor(i / together)),
    start: randomWords(n, seed + 1).map((word, i) => {
      if (i % 17 === 3) return word;
      return i % 13 === 5 ? -(word % 9) : word % CELLS;
    }),
  };
}

function countPlainly(
  { functor, ranks, bins, histograms }: Rows,
  { n, cells, binOf, mask, group, start }: ReturnType<typeof materialOf>,
): Uint32Array {
  const counts = new Uint32Array(bins * histograms);
  for (let i = 0; i < n; i++) {
    if (mask[i] === INACTIVE) continue;
    for (let rank = 0; rank < ranks; rank++) {
      if (functor !== 'whole' && ((mask[i]! >>> (rank % 32)) & 1) === 0) continue;
      const value = cells[(start[i]! + rank) % 2 ** 32] ?? 0;
      const bin = binOf[value] ?? 0;
      if (bin < bins && group[i]! < histograms) counts[group[i]! * bins + bin]!++;
    }
  }
  return counts;
}

describe.each([
  { name: 'calling thread', workers: 2, inlineNanoseconds: Number.POSITIVE_INFINITY },
  { name: 'one worker', workers: 1, inlineNanoseconds: 0 },
  { name: 'three workers', workers: 3, inlineNanoseconds: 0 },
])('rows counted on the $name', ({ name: _, ...options }) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createWorkersBackend(options);
  });
  afterAll(async () => {
    await backend.close();
  });

  test.prop([rows])('equal the counts of a plain loop', async (given) => {
    const { functor, storage, ranks, bins, histograms } = given;
    const material = materialOf(given);
    const { n, cells, binOf, mask, group, start } = material;
    const capture = (words: Uint32Array) => ({ words, length: words.length });
    const packed = new Uint32Array(cells.buffer, 0, cells.byteLength / 4);
    const program = bind(backend, FUNCTORS[functor].module, {
      cells: { words: packed, storage, length: CELLS },
      binOf: capture(binOf),
    });
    const starts = { mask: capture(mask), group: capture(group), start: capture(start) };
    const inner = { row: bind(backend, row.module, starts), ranks };
    const guards = randomWords(bins * histograms + 2);
    const into = upload(backend, guards);
    backend.run({ kind: 'histogram', extent: n, program, bins, histograms, inner, into: { buffer: into, word: 1 } });
    const got = await backend.read(into, 0, guards.length);
    for (const { buffer } of [...program.arrays.values(), ...inner.row.arrays.values()]) backend.release(buffer);
    backend.release(into);
    expect([got[0], got.at(-1)]).toEqual([guards[0], guards.at(-1)]);
    expect(got.subarray(1, -1)).toEqual(countPlainly(given, material));
  });
});
