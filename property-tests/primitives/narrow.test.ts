import { expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';
import { input, narrow, plus, reduce, u32 } from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { narrowLaws } from '../laws/narrow.ts';

testLaws(narrowLaws);

test('a packed column takes a word for two or four integers, and is read into an array of its own type', async () => {
  const backend = createReferenceBackend();
  const context = new Context(backend);
  const values = context.column(Uint32Array.from({ length: 9 }, (_, i) => i));
  const before = backend.counters.liveBytes;
  const [, bytes] = [narrow(values, 'u16'), narrow(values, 'u8')];
  expect(backend.counters.liveBytes - before).toBe(4 * (5 + 3));
  expect(await context.read(bytes, { into: new Uint8Array(9) })).toEqual(Uint8Array.from({ length: 9 }, (_, i) => i));
  await context.close();
});

test('prepared pipelines return packed columns', async () => {
  const context = new Context(createReferenceBackend());
  const prepared = context.prepare({ x: input(u32, 9) }, ({ x }) => {
    const packed = narrow(x, 'u8');
    return { packed, sum: reduce(packed, plus(u32)) };
  });
  for (const numbers of [[256, 257, 3], [], [7, 8, 9, 10, 511]]) {
    const { packed, sum } = prepared({ x: context.column(Uint32Array.from(numbers)) });
    const kept = Uint8Array.from(numbers);
    expect(await context.read(packed, { into: new Uint8Array(9) })).toEqual(kept);
    expect(await context.read(sum)).toEqual(Uint32Array.of(kept.reduce((a, b) => a + b, 0)));
  }
  await context.close();
});

test('formats of the other sign are refused', async () => {
  const context = new Context(createReferenceBackend());
  const values = context.column(Uint32Array.of(1));
  expect(() => narrow(values, 'i8' as never)).toThrow(expect.objectContaining({ code: 'column/type' }));
  expect(() => narrow(values, 'u4' as never)).toThrow(expect.objectContaining({ code: 'argument/type' }));
  await context.close();
});
