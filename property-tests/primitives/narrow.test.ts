import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context } from '../../primitives/context/context.ts';
import { bool, copyIf, f32, f32BitsOfF16, fn, input, map, narrow, plus, reduce, u32 } from '../../primitives/index.ts';
import { onEveryBackend, testLaws } from '../backends.ts';
import { narrowLaws } from '../laws/narrow.ts';
import { bitsOfHalf, HALVES } from '../support/half-floats.ts';

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

onEveryBackend((opened) => {
  test('tables of more columns than a launch can bind are packed', async () => {
    const { context } = opened();
    const table = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`n${i}`, context.column(Uint32Array.of(i, 256 + i, 3))]),
    );
    const packed = narrow(table, Object.fromEntries(Object.keys(table).map((name) => [name, 'u8' as const])));
    const read = await context.read(packed);
    for (const [i, name] of Object.keys(table).entries()) expect(read[name]).toEqual(Uint32Array.of(i, i, 3));
    context.dispose(table, packed);
  });

  test('every f16 is an f32, which is packed as the same f16', async () => {
    const { context } = opened();
    const half = context.column(Uint16Array.from({ length: 0x10000 }, (_, i) => i));
    const words = await context.read(map(f32BitsOfF16, { half }));
    const [numbers, expected] = [new Float32Array(words.buffer), words.slice()];
    // A signalling NaN becomes quiet.
    for (const [i, bits] of words.entries()) if ((i & 0x7fff) > 0x7c00) expected[i] = bits | 0x400000;
    const packed = await context.read(narrow(context.column(numbers), 'f16'));
    expect(new Uint32Array(packed.buffer)).toEqual(expected);
    expect(words).toEqual(Uint32Array.from(words, (_, i) => bitsOfHalf(i)));
  });

  test('numbers in the middle of two f16, and beside it, are packed as the even one, and as the nearest', async () => {
    const { context } = opened();
    const [given, expected] = [new Float32Array(6 * 0x7c00), new Uint32Array(6 * 0x7c00)];
    const bits = new Uint32Array(given.buffer);
    for (let half = 0; half < 0x7c00; half++) {
      const above = half === 0x7bff ? 65536 : HALVES[half + 1]!;
      const nearest = [half, half + (half & 1), half + 1];
      for (const [i, sign] of [0, 0x8000].entries()) {
        for (const [k, to] of nearest.entries()) {
          const at = 6 * half + 3 * i + k;
          given[at] = (HALVES[half]! + above) / 2;
          bits[at] = (bits[at]! + k - 1 + sign * 0x10000) >>> 0;
          expected[at] = bitsOfHalf(to | sign);
        }
      }
    }
    const packed = await context.read(narrow(context.column(given), 'f16'));
    expect(new Uint32Array(packed.buffer)).toEqual(expected);
  });
});

test('f16 take half of the memory, and are read by functors', async () => {
  const backend = createReferenceBackend();
  const context = new Context(backend);
  const values = context.column(Float32Array.of(0.1, 1 / 3, 70000));
  const before = backend.counters.liveBytes;
  const packed = narrow(values, 'f16');
  expect(backend.counters.liveBytes - before).toBe(4 * 2);
  const twice = fn({ x: f32 }, f32, ({ x }) => x.mul(2));
  expect(await context.read(map(twice, { x: packed }))).toEqual(
    Float32Array.of(0.199951171875, 0.66650390625, Infinity),
  );
  context.dispose(packed);
  expect(backend.counters.liveBytes).toBe(before);
  await context.close();
});

test('flags take a bit each, and a table is packed in the columns that are named', async () => {
  const backend = createReferenceBackend();
  const context = new Context(backend);
  const rows = { a: { n: context.column(Uint32Array.of(257, 3)), x: context.column(Float32Array.of(1, 2)) } };
  const flags = context.column(Array.from({ length: 65 }, (_, i) => i % 3 === 0));
  const before = backend.counters.liveBytes;
  const bits = narrow(flags, 'bits');
  expect(backend.counters.liveBytes - before).toBe(4 * 3);
  const table = narrow({ flags, rows }, { rows: { a: { n: 'u8' } } });
  expect(backend.counters.liveBytes - before).toBe(4 * (3 + 1));
  expect([table.flags, table.rows.a.x]).toEqual([flags, rows.a.x]);
  expect(await context.read({ bits, n: table.rows.a.n })).toEqual({
    bits: Uint8Array.from({ length: 65 }, (_, i) => Number(i % 3 === 0)),
    n: Uint32Array.of(1, 3),
  });
  context.dispose(bits, table.rows.a.n);
  expect(backend.counters.liveBytes).toBe(before);
  await context.close();
});

test('what was packed is left when the rows that it was made of are disposed of, and then frees their number', async () => {
  const backend = createReferenceBackend();
  const context = new Context(backend);
  const numbers = context.column(Uint32Array.of(1, 300, 4, 7));
  const parity = map(
    fn({ x: u32 }, { x: u32, f: f32, b: bool }, ({ x }) => ({ x, f: f32(x), b: x.gt(3) })),
    { x: numbers },
  );
  const before = backend.counters.liveBytes;
  const rows = copyIf(parity, context.column([true, true, false, true]));
  const packed = narrow(rows, { x: 'u8', f: 'f16', b: 'bits' });
  context.dispose(rows);
  expect(await context.read(packed)).toEqual({
    x: Uint32Array.of(1, 44, 7),
    f: Float32Array.of(1, 300, 7),
    b: Uint8Array.of(0, 1, 1),
  });
  for (const column of Object.values(packed)) context.dispose(column);
  expect(backend.counters.liveBytes - before).toBe(4 * 4);
  await context.close();
});

test('packed rows that outgrew their capacity are not read', async () => {
  const context = new Context(createReferenceBackend());
  const flags = context.column([true, true, true]);
  const rows = copyIf({ n: context.column(Uint32Array.of(1, 2, 3)), flags }, flags, { capacity: 2 });
  const packed = narrow(rows, { n: 'u8', flags: 'bits' });
  for (const column of [
    packed.n,
    packed.flags,
    map(
      fn({ x: u32 }, u32, ({ x }) => x.add(1)),
      { x: packed.n },
    ),
  ]) {
    await expect(context.read(column)).rejects.toMatchObject({ code: 'capacity/outgrown' });
  }
  await context.close();
});

test('consoles print what a column is packed as', async () => {
  const context = new Context(createReferenceBackend());
  const values = context.column(Uint32Array.of(1));
  expect(inspect(narrow(values, 'u8'))).toBe('Column { u32, length 1, stored as u8 on reference }');
  expect(inspect(context.column(Int16Array.of(1)))).toBe('Column { i32, length 1, stored as i16 on reference }');
  expect(inspect(context.column([true]))).toBe('Column { bool, length 1, stored on reference }');
  await context.close();
});

test('prepared pipelines return packed columns', async () => {
  const context = new Context(createReferenceBackend());
  const prepared = context.prepare({ x: input(u32, 9) }, ({ x }) => {
    const rows = copyIf({ x, flag: map(isOdd, { x }), f: map(half, { x }) }, map(isOdd, { x }));
    const packed = narrow(x, 'u8');
    return { packed, sum: reduce(packed, plus(u32)), odd: narrow(rows, { x: 'u16', flag: 'bits', f: 'f16' }) };
  });
  for (const numbers of [[256, 257, 3], [], [7, 8, 9, 10, 511]]) {
    const { packed, sum, odd } = prepared({ x: context.column(Uint32Array.from(numbers)) });
    const kept = Uint8Array.from(numbers);
    expect(await context.read(packed, { into: new Uint8Array(9) })).toEqual(kept);
    expect(await context.read(sum)).toEqual(Uint32Array.of(kept.reduce((a, b) => a + b, 0)));
    const chosen = numbers.filter((x) => x % 2 === 1);
    expect(await context.read(odd)).toEqual({
      x: Uint32Array.from(chosen),
      flag: Uint8Array.from(chosen, () => 1),
      f: Float32Array.from(chosen, (x) => x / 2),
    });
  }
  await context.close();
});

const isOdd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
const half = fn({ x: u32 }, f32, ({ x }) => f32(x).div(2));

test('formats of another type, and of columns that are not there, are refused', async () => {
  const context = new Context(createReferenceBackend());
  const values = context.column(Uint32Array.of(1));
  const refused = (table: unknown, format: unknown, details: object): void =>
    expect(() => narrow(table as never, format as never)).toThrow(expect.objectContaining(details));
  // @ts-expect-error u32 in a format of i32
  expect(() => narrow(values, 'i8')).toThrow(expect.objectContaining({ code: 'column/type' }));
  // @ts-expect-error a format that the column of this name has not
  expect(() => narrow({ a: { values } }, { a: { values: 'f16' } })).toThrow(
    expect.objectContaining({ code: 'column/type' }),
  );
  // @ts-expect-error no column has this name
  expect(() => narrow({ values }, { value: 'u8' })).toThrow(expect.objectContaining({ code: 'options/unknown' }));
  refused(values, 'bits', { code: 'column/type' });
  refused(values, 'u4', { code: 'argument/type', message: expect.stringContaining('format') });
  refused(values, { values: 'u8' }, { code: 'argument/type' });
  refused({ a: { values } }, { a: { values: 'i8' } }, { message: expect.stringContaining('table.a.values') });
  refused({ a: { values } }, { a: { values: 'u4' } }, { message: expect.stringContaining('format.a.values') });
  refused({ values }, { value: 'u8' }, { remedy: expect.stringContaining('values') });
  refused({ values }, 'u8', { code: 'argument/type' });
  await context.close();
});
