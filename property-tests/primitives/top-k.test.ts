import { expect, test } from 'vitest';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';
import { onEveryBackend, testLaws } from '../backends.ts';
import { topKLaws } from '../laws/top-k.ts';
import { openReference } from '../support/reference-context.ts';

testLaws(topKLaws);

/** Keys with many that are equal, of which the plain rows of a segment are sorted. */
function keysOf(rows: number): Uint32Array {
  return Uint32Array.from({ length: rows }, (_, i) => Math.imul(i, 2654435761) >>> 20);
}

function bestOf(keys: Uint32Array, from: number, to: number, k: number): number[] {
  const rows = Array.from({ length: to - from }, (_, i) => from + i);
  return rows.sort((a, b) => keys[b]! - keys[a]! || a - b).slice(0, k);
}

onEveryBackend((opened) => {
  test('of many rows, those with the last key that is taken are taken in order', async () => {
    const { run } = opened();
    const keys = keysOf(20_000);
    const result = await run((context) => {
      const column = context.column(keys);
      const wide = { lo: column, hi: context.materialize(q.constant(q.u32, 3, keys.length)) };
      return { few: q.topK(column, 3).rows, more: q.topK(column, 101).rows, wide: q.topK(wide, 101).rows };
    });
    const best = bestOf(keys, 0, keys.length, 101);
    expect([...result.few]).toEqual(best.slice(0, 3));
    expect([...result.more]).toEqual(best);
    expect([...result.wide]).toEqual(best);
  });

  test('of so many rows that each thread goes through a part, the first of equal keys are taken', async () => {
    const { run } = opened();
    const rows = 5 * 2 ** 18 + 77;
    const keys = new Float32Array(rows).fill(-1);
    const best = [rows - 1, 5, 69, 2 ** 18 + 1, 64 * 1000, rows - 77, 2 ** 20 - 1].sort((a, b) => a - b);
    for (const row of best) keys[row] = row === 69 ? Number.NaN : 7;
    const result = await run((context) => {
      const column = context.column(keys);
      return { few: q.topK(column, 3).rows, more: q.topK(column, 9).rows };
    });
    const order = [69, ...best.filter((row) => row !== 69), 0, 1];
    expect([[...result.few], [...result.more]]).toEqual([order.slice(0, 3), order.slice(0, 9)]);
  });

  test('long segments are searched in pieces, and the best of pieces again', async () => {
    const { run } = opened();
    const rows = 2 ** 19 + 9000;
    const keys = keysOf(rows);
    // So many segments that not each of them has lanes of its own.
    const cuts = [3, 9000, ...Array.from({ length: 600 }, () => rows - 5)];
    // The last row of a segment, and the last and the first row of pieces of 4096 rows.
    for (const row of [8999, 3 + 4095, 3 + 4096, 9000 + 4095, 9000 + 50 * 4096, rows - 6]) keys[row] = 5000 + row;
    const result = await run((context) =>
      q.segmentedTopK(context.column(keys), context.column(Uint32Array.from(cuts)), 16),
    );
    const best = [...bestOf(keys, 3, 9000, 16), ...bestOf(keys, 9000, rows - 5, 16)];
    expect([...result.rows]).toEqual([...best, ...Array.from({ length: 599 * 16 }, () => 2 ** 32 - 1)]);
  });

  test('of a single segment more rows are found than a thread keeps, by keys of one word and of two', async () => {
    const { run } = opened();
    const keys = keysOf(9000);
    const result = await run((context) => {
      const [column, offsets] = [context.column(keys), context.column(Uint32Array.of(77, 8990))];
      const wide = { lo: column, hi: context.materialize(q.constant(q.u32, 3, keys.length)) };
      const short = context.column(Uint32Array.of(8, 11));
      return {
        many: q.segmentedTopK(column, offsets, 40).rows,
        wide: q.segmentedTopK(wide, offsets, 3).rows,
        few: q.segmentedTopK(column, short, 17),
      };
    });
    expect([...result.many]).toEqual(bestOf(keys, 77, 8990, 40));
    expect([...result.wide]).toEqual(bestOf(keys, 77, 8990, 3));
    const few = [...bestOf(keys, 8, 11, 17), ...Array.from({ length: 14 }, () => 2 ** 32 - 1)];
    expect([...result.few.rows]).toEqual(few);
    expect([...result.few.counts]).toEqual([3]);
  });

  test('the worst of all keys fill what better keys leave, in order', async () => {
    const { run } = opened();
    const [low, nan] = [-(2 ** 31), Number.NaN];
    const result = await run((context) => {
      const offsets = context.column(Uint32Array.of(0, 5, 6));
      return {
        unsigned: q.segmentedTopK(context.column(Uint32Array.of(0, 0, 7, 0, 0, 0)), offsets, 3).rows,
        signed: q.segmentedTopK(context.column(Int32Array.of(low, low, 7, 5, 6, low)), offsets, 4).rows,
        smallest: q.segmentedTopK(context.column(Float32Array.of(nan, 9, nan, nan, 1, nan)), offsets, 3, {
          smallest: true,
        }).rows,
      };
    });
    const none = 2 ** 32 - 1;
    expect([...result.unsigned]).toEqual([2, 0, 1, 5, none, none]);
    expect([...result.signed]).toEqual([2, 4, 3, 0, 5, none, none, none]);
    expect([...result.smallest]).toEqual([4, 1, 0, 5, none, none]);
  });

  test('long segments that overlap more than pieces have room for are gone through as they are', async () => {
    const { run } = opened();
    const rows = 30_000;
    const keys = keysOf(rows);
    const first = Array.from({ length: 60 }, (_, s) => 31 * s);
    const result = await run((context) => {
      const segments = {
        first: context.column(Uint32Array.from(first)),
        end: context.column(Uint32Array.from(first, (from) => rows - from)),
      };
      return q.segmentedTopK(context.column(keys), segments, 2);
    });
    expect([...result.rows]).toEqual(first.flatMap((from) => bestOf(keys, from, rows - from, 2)));
  });
});

test('of long segments that are not cut, some of whose pieces are searched all the same, no piece counts', async () => {
  const context = new Context(await createWorkersBackend({ workers: 1 }));
  const rows = 2 ** 21;
  const keys = new Uint32Array(rows).fill(1);
  keys[rows - 1] = 2;
  // There is room for as many pieces as all rows have, twice: not for the last 200 pieces of the last segment, whose
  // others are so many that their best rows would be cut into pieces again.
  const first = [rows - 200 * 4096, 0, 1];
  // So many more without rows that not each segment has lanes of its own.
  const empty = Array.from({ length: 40 }, () => rows);
  const segments = {
    first: context.column(Uint32Array.of(...first, ...empty)),
    end: context.column(new Uint32Array(43).fill(rows)),
  };
  const { rows: tops } = q.segmentedTopK(context.column(keys), segments, 16);
  const expected = first.flatMap((from) => [rows - 1, ...Array.from({ length: 15 }, (_, i) => from + i)]);
  expect([...(await context.read(tops)).slice(0, 48)]).toEqual(expected);
  await context.close();
});

test('segments that overlap need a capacity where their rows are sorted', async () => {
  const context = openReference();
  const keys = context.column(keysOf(100));
  const segments = { first: context.column(Uint32Array.of(0, 10)), end: context.column(Uint32Array.of(90, 100)) };
  const short = q.segmentedTopK(keys, segments, 20);
  await expect(context.read(short.rows)).rejects.toMatchObject({ code: 'capacity/outgrown', got: 180 });
  const best = q.segmentedTopK(keys, segments, 20, { capacity: 180 });
  const host = keysOf(100);
  expect([...(await context.read(best.rows))]).toEqual([...bestOf(host, 0, 90, 20), ...bestOf(host, 10, 100, 20)]);
});

test('all NaN are greater than all numbers and keep their bits, and the sign of zero counts', async () => {
  const context = openReference();
  const words = Uint32Array.of(0x7f800000, 0xffc00001, 0x80000000, 0x7fc00000, 0, 0xff800000);
  const keys = context.column(new Float32Array(words.buffer));
  const orders = { greatest: q.topK(keys, 6), smallest: q.topK(keys, 6, { smallest: true }) };
  const { greatest, smallest } = (await context.read(orders as never)) as Record<
    string,
    { keys: Float32Array; rows: Uint32Array }
  >;
  expect([...greatest!.rows]).toEqual([1, 3, 0, 4, 2, 5]);
  expect([...smallest!.rows]).toEqual([5, 2, 4, 0, 1, 3]);
  const bits = new Uint32Array(greatest!.keys.buffer, greatest!.keys.byteOffset, 6);
  expect([...bits]).toEqual(Array.from(greatest!.rows, (row) => words[row]));
});
