import { EventEmitter } from 'node:events';
import { describe, expect } from 'vitest';
import type { PoolThread } from '../../../formats/bytes/thread-pool.ts';
import { createParsePool, type ParsePool, startParser } from '../../../formats/result-sets/parse-pool.ts';
import { parseTile } from '../../../formats/result-sets/parse-tile.ts';
import type { TileParameters } from '../../../formats/result-sets/result-set.ts';
import { DeviceLostError, FormatError, GeometryError } from '../../../primitives/checks/errors.ts';
import { fc, test } from '../../law-test.ts';

const boundaries = (place: string): TileParameters => ({ format: 'boundaries', place });
const encode = (text: string) => new TextEncoder().encode(text);
const tileText = (index: number) => `p${index} 0,0 ${index + 1},0 0,1\n`;
/** A text of some megabytes, which keeps a thread busy for a while. */
const longText = (): Uint8Array => encode(tileText(1).repeat(200_000));

async function withPool<T>(threads: number, use: (pool: ParsePool, started: PoolThread[]) => Promise<T>): Promise<T> {
  const started: PoolThread[] = [];
  const start = () => {
    const worker = startParser();
    started.push(worker);
    return worker;
  };
  const pool = createParsePool({ threads, start });
  try {
    return await use(pool, started);
  } finally {
    await pool.close();
  }
}

describe.each([1, 3])('a pool of %i parsers', (threads) => {
  test('returns the same as parseTile, and transfers the bytes', async () => {
    await withPool(threads, async (pool, started) => {
      const one = encode(tileText(0));
      const part = encode(`##${tileText(0)}`).subarray(2);
      const parsed = await Promise.all([pool.parse(one, boundaries('one')), pool.parse(part, boundaries('part'))]);
      const expected = parseTile(encode(tileText(0)), boundaries('one'));
      expect(parsed).toEqual([expected, expected]);
      expect([one.length, part.length]).toEqual([0, tileText(0).length]);
      expect(started.length).toBeLessThanOrEqual(threads);
    });
  });

  test.prop([fc.array(fc.constantFrom('good', 'bad', 'odd', 'aborted'), { maxLength: 40 })], { numRuns: 5 })(
    'returns for every tile its own result',
    async (kinds) => {
      await withPool(threads, async (pool) => {
        const reason = new Error('enough');
        const answers = kinds.map(async (kind, index) => {
          const controller = new AbortController();
          const texts = { good: tileText(index), bad: 'a 0,0 1;', odd: 'a 0,0 1,1e999', aborted: tileText(index) };
          const answer = pool.parse(encode(texts[kind]), boundaries(String(index)), controller.signal);
          if (kind === 'aborted') controller.abort(reason);
          return answer.catch((error: unknown) => error);
        });
        for (const [index, answer] of (await Promise.all(answers)).entries()) {
          const kind = kinds[index];
          if (kind === 'good') expect(answer).toEqual(parseTile(encode(tileText(index)), boundaries('')));
          if (kind === 'aborted') expect(answer).toBe(reason);
          if (kind === 'bad') expect(answer).toBeInstanceOf(FormatError);
          if (kind === 'odd') {
            expect(answer).toBeInstanceOf(GeometryError);
            const local = await Promise.resolve()
              .then(() => parseTile(encode('a 0,0 1,1e999'), boundaries(String(index))))
              .catch((error: unknown) => error);
            const { message, code, place, expected, got, remedy, name } = local as GeometryError;
            expect(answer).toMatchObject({ message, code, place, expected, got, remedy, name });
          }
        }
      });
    },
  );

  test('loses one tile with a killed thread, and works on', async () => {
    await withPool(threads, async (pool, started) => {
      const victim = pool.parse(longText(), boundaries('victim.txt'));
      const others = Array.from({ length: 8 }, (_, index) => pool.parse(encode(tileText(index)), boundaries('other')));
      await Promise.all([started[0]!.terminate(), expect(victim).rejects.toThrow(DeviceLostError)]);
      await expect(victim).rejects.toMatchObject({ code: 'device/parser', place: { file: 'victim.txt' } });
      const expected = others.map((_, index) => parseTile(encode(tileText(index)), boundaries('other')));
      expect(await Promise.all(others)).toEqual(expected);
      expect(started.length).toBeLessThanOrEqual(threads + 1);
    });
  });

  test('rejects pending tiles when it is closed, and refuses new ones', async () => {
    await withPool(threads, async (pool) => {
      const under = Array.from({ length: 6 }, () => pool.parse(longText(), boundaries('t')).catch((error) => error));
      await pool.close();
      for (const error of await Promise.all(under)) {
        expect(error).toBeInstanceOf(DeviceLostError);
        expect(error.code).toBe('device/closed');
      }
      await expect(pool.parse(encode(''), boundaries('t'))).rejects.toMatchObject({ code: 'device/closed' });
    });
  });
});

test('a thread that cannot start fails only its own tile', async () => {
  let starts = 0;
  const pool = createParsePool({
    threads: 1,
    start: () => {
      const worker = startParser();
      if (starts++ === 0) void worker.terminate();
      return worker;
    },
  });
  const [first, second] = await Promise.allSettled([
    pool.parse(encode(tileText(0)), boundaries('first')),
    pool.parse(encode(tileText(1)), boundaries('second')),
  ]);
  expect(first).toMatchObject({ status: 'rejected', reason: { code: 'device/parser', place: { file: 'first' } } });
  expect(second).toMatchObject({ status: 'fulfilled' });
  await pool.close();
});

test.each([1, 2])('when threads cannot be replaced, the waiting tiles fail, with %i threads', async (threads) => {
  const started: PoolThread[] = [];
  const refusal = new Error('no more threads');
  let refuse = false;
  const start = () => {
    if (refuse) throw refusal;
    const worker = startParser();
    started.push(worker);
    return worker;
  };
  const pool = createParsePool({ threads, start });
  const answers = Array.from({ length: threads + 3 }, (_, index) => pool.parse(longText(), boundaries(String(index))));
  const settled = Promise.allSettled(answers);
  refuse = true;
  await Promise.all(started.map((worker) => worker.terminate()));
  for (const [index, answer] of (await settled).entries()) {
    const place = { file: String(index) };
    expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'device/parser', place } });
    if (index >= threads) expect((answer as PromiseRejectedResult).reason.cause).toBe(refusal);
  }
  await expect(pool.parse(encode(''), boundaries('next'))).rejects.toMatchObject({ code: 'device/parser' });
  refuse = false;
  const tile = await pool.parse(encode(tileText(0)), boundaries('last'));
  expect(tile).toEqual(parseTile(encode(tileText(0)), boundaries('last')));
  await pool.close();
});

test('a thread that cannot be started leaves its tiles to the other threads', async () => {
  let starts = 0;
  const start = () => {
    if (starts++ > 0) throw new Error('no more threads');
    return startParser();
  };
  const pool = createParsePool({ threads: 3, start });
  const tiles = await Promise.all([0, 1, 2, 3].map((index) => pool.parse(encode(tileText(index)), boundaries('t'))));
  expect(tiles).toEqual([0, 1, 2, 3].map((index) => parseTile(encode(tileText(index)), boundaries('t'))));
  await pool.close();
});

test('bytes that were already transferred are an error, and the thread is reused', async () => {
  await withPool(1, async (pool, started) => {
    const bytes = encode(tileText(0));
    await pool.parse(bytes, boundaries('once'));
    await expect(pool.parse(bytes, boundaries('twice'))).rejects.toThrow();
    await pool.parse(encode(tileText(0)), boundaries('again'));
    expect(started).toHaveLength(1);
  });
});

test('an abort of a tile on a thread rejects at once, and the thread is reused', async () => {
  await withPool(1, async (pool, started) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const long = pool.parse(longText(), boundaries('long'), controller.signal);
    controller.abort(reason);
    await expect(long).rejects.toBe(reason);
    await pool.parse(encode(tileText(0)), boundaries('next'));
    expect(started).toHaveLength(1);
  });
});

test('close waits for a thread that answers while it is being terminated', async () => {
  const calls: string[] = [];
  const thread = Object.assign(new EventEmitter(), {
    ref: () => calls.push('ref'),
    unref: () => calls.push('unref'),
    postMessage: () => calls.push('post'),
    terminate: async () => {
      calls.push('terminate');
      await new Promise((resolve) => setImmediate(resolve));
      thread.emit('message', { tile: parseTile(encode(tileText(0)), boundaries('')) });
      thread.emit('exit', 1);
    },
  });
  const pool = createParsePool({ threads: 1, start: () => thread as unknown as PoolThread });
  const answer = pool.parse(encode(tileText(0)), boundaries('one'));
  const aborted = pool.close();
  await answer.catch(() => undefined);
  await aborted;
  // The pool must not call `unref`: otherwise a process that only waits for an answer would exit with code 13.
  expect(calls).toEqual(['ref', 'post', 'terminate']);
});
