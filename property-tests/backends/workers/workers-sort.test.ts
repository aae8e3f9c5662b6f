import { afterAll, beforeAll, describe, expect } from 'vitest';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import type { Backend, CountRef } from '../../../primitives/contract/backend.ts';
import { For, Var } from '../../../primitives/functors/control.ts';
import { array, fn, u32 } from '../../../primitives/functors/functor.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { bind, randomWords, upload } from '../../support/workers-programs.ts';

const rows = fn({ i: u32, xs: array(u32) }, { key: u32, payload: u32 }, ({ i, xs }) => ({
  key: xs.at(i),
  payload: i.mul(3),
}));
const keysOnly = fn({ i: u32, xs: array(u32) }, u32, ({ i, xs }) => xs.at(i));
const slowRows = fn({ i: u32, xs: array(u32) }, { key: u32, payload: u32 }, ({ i, xs }) => {
  const payload = Var(i);
  For(0, 2, () => payload.set(payload.add(i)));
  return { key: xs.at(i), payload: u32(payload) };
});

/** The expected order: row numbers, stably sorted by the chosen bits of their keys. */
function order(keys: Uint32Array, beginBit: number, endBit: number): number[] {
  const mask = 2 ** (endBit - beginBit) - 1;
  const digits = Array.from(keys, (key) => (endBit === beginBit ? 0 : ((key >>> beginBit) & mask) >>> 0));
  return digits.map((_, i) => i).sort((a, b) => digits[a]! - digits[b]! || a - b);
}

describe.each([
  { name: 'on the calling thread', workers: 2, inlineNanoseconds: Number.POSITIVE_INFINITY },
  { name: 'on one worker', workers: 1, inlineNanoseconds: 0 },
  { name: 'on three workers', workers: 3, inlineNanoseconds: 0 },
])('$name', ({ name: _, ...options }) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createWorkersBackend(options);
  });
  afterAll(async () => {
    await backend.close();
    expect(backend.counters.liveBytes).toBe(0);
  });

  const sort = async (
    keys: Uint32Array,
    beginBit: number,
    endBit: number,
    count = keys.length,
    program = rows,
  ): Promise<{ keys: number[]; payload: number[] }> => {
    const n = keys.length;
    const out = backend.allocate(2 * n + 1);
    const counts = upload(backend, Uint32Array.of(count));
    const extent: CountRef = { buffer: counts, word: 0, minus: 0, limit: n };
    const bound = bind(backend, program.module, { xs: { words: keys, length: n } });
    backend.run({
      kind: 'sort',
      extent: count === n ? n : extent,
      program: bound,
      beginBit,
      endBit,
      keys: { buffer: out, word: 1 },
      payload: { buffer: out, word: 1 + n },
    });
    const words = await backend.read(out, 1, 2 * n);
    for (const buffer of [out, counts, bound.arrays.get('xs')!.buffer]) backend.release(buffer);
    return { keys: Array.from(words.subarray(0, count)), payload: Array.from(words.subarray(n, n + count)) };
  };

  test.each([0, 1, 2, 255, 256, 257, 1023, 1025, 65535, 65537, 150001])('sorts %i rows stably', async (n) => {
    const keys = randomWords(n).map((word, i) => (i % 3 === 0 ? word & 0xff0000ff : word));
    const sorted = order(keys, 0, 32);
    expect(await sort(keys, 0, 32)).toEqual({ keys: sorted.map((i) => keys[i]), payload: sorted.map((i) => 3 * i) });
  });

  test('sorts rows that a loop computes', async () => {
    const keys = randomWords(3001);
    const sorted = order(keys, 0, 32);
    const got = await sort(keys, 0, 32, keys.length, slowRows);
    expect(got).toEqual({ keys: sorted.map((i) => keys[i]), payload: sorted.map((i) => 3 * i) });
  });

  test('skips the digits that all keys share', async () => {
    const digits = randomWords(2000);
    for (const mask of [0, 0xff, 0xff00, 0xff00ff, 0xff0000, 0xff000000, 0xffffff00, 0xffff0000, 0x00ffff00]) {
      const keys = digits.map((word) => ((word & mask) | (0x5a5a5a5a & ~mask)) >>> 0);
      const sorted = order(keys, 0, 32);
      expect(await sort(keys, 0, 32)).toEqual({ keys: sorted.map((i) => keys[i]), payload: sorted.map((i) => 3 * i) });
    }
  });

  test('sorts as many rows as a device count gives', async () => {
    const keys = randomWords(5000);
    for (const count of [0, 1, 17, 4999]) {
      const sorted = order(keys.slice(0, count), 0, 32);
      const got = await sort(keys, 0, 32, count);
      expect(got).toEqual({ keys: sorted.map((i) => keys[i]), payload: sorted.map((i) => 3 * i) });
    }
  });

  test.prop([fc.uint32Array({ maxLength: 600 }), fc.integer({ min: 0, max: 32 }), fc.integer({ min: 0, max: 32 })], {
    numRuns: caseCount(60),
  })('sorts only by the chosen bits', async (keys, a, b) => {
    const [beginBit, endBit] = [Math.min(a, b), Math.max(a, b)];
    const sorted = order(keys, beginBit, endBit);
    const got = await sort(keys, beginBit, endBit);
    expect(got).toEqual({ keys: sorted.map((i) => keys[i]), payload: sorted.map((i) => 3 * i) });
  });

  test('works without keys or without payload', async () => {
    const keys = randomWords(4000);
    const sorted = order(keys, 0, 32);
    const xs = { xs: { words: keys, length: keys.length } };
    const out = backend.allocate(4000);
    const command = { extent: 4000, beginBit: 0, endBit: 32 };
    backend.run({
      kind: 'sort',
      ...command,
      program: bind(backend, rows.module, xs),
      payload: { buffer: out, word: 0 },
    });
    expect(Array.from(await backend.read(out, 0, 4000))).toEqual(sorted.map((i) => 3 * i));
    backend.run({
      kind: 'sort',
      ...command,
      program: bind(backend, keysOnly.module, xs),
      keys: { buffer: out, word: 0 },
    });
    expect(Array.from(await backend.read(out, 0, 4000))).toEqual(sorted.map((i) => keys[i]));
  });
});
