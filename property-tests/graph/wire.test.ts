import { isDeepStrictEqual } from 'node:util';
import { describe, expect } from 'vitest';
import { decodeItems, encodeItems } from '../../graph/remote/wire.ts';
import { recordOf, thrownOf } from '../../graph/remote/wire-errors.ts';
import { WIRE_VERSION } from '../../graph/remote/wire-form.ts';
import { ArgumentError, GraphError, QuadrilleError } from '../../primitives/checks/errors.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { openReference } from '../support/reference-context.ts';

const arrays = [Uint8Array, Int16Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, Uint8ClampedArray].map(
  (type) => fc.uint8Array({ maxLength: 32 }).map((bytes) => new type(bytes.slice(0, bytes.length & ~7).buffer)),
);
const leaf = fc.oneof(
  fc.constantFrom(undefined, null, true, false, '', '\ufeff', '\ud800', 'a\udc00b'),
  fc.oneof(fc.double(), fc.constantFrom(-0, Number.NaN, Number.MIN_VALUE, 2 ** 53)),
  fc.bigInt(),
  fc.string({ unit: 'binary' }),
  ...arrays,
  fc.uint8Array({ maxLength: 9 }).map(({ buffer }) => buffer as ArrayBuffer),
);
const { plain } = fc.letrec((tie) => ({
  plain: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('plain'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '0')), tie('plain'), {
      maxKeys: 4,
      noNullPrototype: false,
    }),
    fc.array(fc.tuple(leaf, tie('plain')), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(tie('plain'), { maxLength: 3 }).map((each) => new Set(each)),
  ),
}));

const refusal = async (item: unknown): Promise<{ code: unknown; message: string }> => {
  const error = await encodeItems([item]).then(
    () => undefined,
    (cause: GraphError) => cause,
  );
  return { code: error?.code, message: error?.message ?? '' };
};

describe('the wire form', () => {
  test.prop({ items: fc.array(plain, { maxLength: 4 }) }, { numRuns: caseCount(1000) })(
    'gives back every plain value',
    async ({ items }) => {
      const again = decodeItems(await encodeItems(items));
      expect(isDeepStrictEqual(again, items)).toBe(true);
      expect(await encodeItems(again)).toEqual(await encodeItems(items));
    },
  );

  test('keeps the order of keys, what an object shares with itself, and the bits of NaN in arrays', async () => {
    const part = { z: 1, a: 2 };
    const bits = Uint32Array.of(0x7fc12345, 0xffabcdef);
    const [shared, floats] = decodeItems(
      await encodeItems([{ first: part, again: [part] }, new Float32Array(bits.buffer)]),
    ) as [{ first: object; again: object[] }, Float32Array];
    expect(Object.keys(shared.first)).toEqual(['z', 'a']);
    expect(shared.again[0]).toBe(shared.first);
    expect(new Uint32Array(floats.buffer)).toEqual(bits);
  });

  test('a value that shares much takes few bytes', async () => {
    let value: unknown = 1;
    for (let i = 0; i < 60; i++) value = [value, value];
    expect((await encodeItems([value])).length).toBeLessThan(500);
  });

  test('takes of an array only its own part of the buffer', async () => {
    const all = Uint16Array.of(1, 2, 3, 4);
    const [part] = decodeItems(await encodeItems([all.subarray(1, 3)])) as [Uint16Array];
    expect([...part, part.buffer.byteLength]).toEqual([2, 3, 4]);
  });

  test('columns are read, and land on the other context', async () => {
    const [here, there] = [openReference(), openReference()];
    const items = [
      { x: here.column(Float32Array.of(1, -0)), flags: here.column([true, false]) },
      here.column(new Uint8Array(3), { rows: 3, columns: 1 }),
    ];
    const payload = await encodeItems(items);
    const [{ x, flags }, bytes] = decodeItems(payload, () => there) as never as [
      (typeof items)[0] & { x: never; flags: never },
      never,
    ];
    expect(await there.read(x)).toEqual(Float32Array.of(1, -0));
    expect(await there.read(flags)).toEqual(Uint8Array.of(1, 0));
    expect(await there.read(bytes)).toEqual(new Uint32Array(3));
    expect([x, bytes].map(({ grid }: { grid?: unknown }) => grid)).toEqual([undefined, { rows: 3, columns: 1 }]);
    expect(() => decodeItems(payload)).toThrow(expect.objectContaining({ code: 'graph/no-context' }));
    const live = there.backend.counters.liveBuffers;
    expect(() => decodeItems(payload.slice(0, -1), () => there)).toThrow(
      expect.objectContaining({ code: 'graph/remote-bytes' }),
    );
    expect(there.backend.counters.liveBuffers).toBe(live);
  });

  const circle: { self?: unknown } = {};
  circle.self = [circle];
  const moved = new Uint8Array(4);
  structuredClone(moved, { transfer: [moved.buffer] });
  let deep: unknown = 0;
  for (let i = 0; i < 501; i++) deep = [deep];
  class Tile {
    readonly cells = 3;
  }
  const holes = [1, 2, 3];
  delete holes[1];
  test.each(
    [
      [{ parts: [0, { 'f g': () => 1 }] }, 'items[0].parts[1]["f g"]', 'function'],
      [{ at: Symbol('s') }, 'items[0].at', 'Symbol'],
      [{ [Symbol('s')]: 1 }, 'items[0]', 'symbols'],
      [{ tile: new Tile() }, 'items[0].tile', 'a Tile'],
      [[new Date(0)], 'items[0][0]', 'a Date'],
      [/x/, 'items[0]', 'a RegExp'],
      [new Error('x'), 'items[0]', 'an Error'],
      [Promise.resolve(1), 'items[0]', 'a Promise'],
      [Buffer.from('x'), 'items[0]', 'a Buffer'],
      [new (class extends Array {})(), 'items[0]', ''],
      [new DataView(new ArrayBuffer(2)), 'items[0]', 'a DataView'],
      [holes, 'items[0]', 'holes'],
      ['ab'.match(/(?<b>b)/), 'items[0]', 'not elements'],
      [circle, 'items[0].self[0]', 'itself'],
      [new Map([[1, moved]]), 'items[0].values[0]', 'transferred'],
      [deep, 'items[0][0]', '500'],
      [{ ctx: openReference() }, 'items[0].ctx', 'a Context'],
      [1n << 5_000_000n, 'items[0]', 'digits'],
    ].map(([item, path, got]) => [path as string, got as string, item] as const),
  )('refuses at %s what has %s', async (path, got, item) => {
    const { code, message } = await refusal(item);
    expect(code).toBe('graph/remote-value');
    expect(message).toContain(path);
    expect(message).toContain(got);
  });

  const valueOrCode = (bytes: Uint8Array): void => {
    try {
      decodeItems(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(GraphError);
      expect((error as GraphError).code).toMatch(/^graph\/(remote-bytes|remote-version|no-context)$/);
    }
  };

  test.prop({ bytes: fc.uint8Array({ maxLength: 60 }), headed: fc.boolean() }, { numRuns: caseCount(6000) })(
    'any bytes give a value or a coded error',
    ({ bytes, headed }) =>
      valueOrCode(headed ? Uint8Array.of(0x51, 0x57, WIRE_VERSION, 1, bytes.length, ...bytes) : bytes),
  );

  test.prop(
    {
      items: fc.array(plain, { maxLength: 3 }),
      at: fc.nat(),
      byte: fc.integer({ min: 0, max: 255 }),
      cut: fc.boolean(),
    },
    { numRuns: caseCount(6000) },
  )('changed and cut bytes give a value or a coded error', async ({ items, at, byte, cut }) => {
    const bytes = await encodeItems(items);
    if (cut) return valueOrCode(bytes.slice(0, at % bytes.length));
    bytes[at % bytes.length] = byte;
    valueOrCode(bytes);
  });

  test('a number of parts beyond the bytes is refused before memory is taken', () => {
    for (const tag of [6, 7, 8, 9, 10, 11, 12, 13])
      expect(() =>
        decodeItems(Uint8Array.of(0x51, 0x57, WIRE_VERSION, 1, 9, tag, 255, 255, 255, 255, 255, 255, 255, 15)),
      ).toThrow(expect.objectContaining({ code: 'graph/remote-bytes' }));
  });

  test('another version is refused by name', async () => {
    const bytes = await encodeItems([]);
    bytes[2] = 9;
    expect(() => decodeItems(bytes)).toThrow(expect.objectContaining({ code: 'graph/remote-version' }));
  });
});

describe('errors between processes', () => {
  const sent = async (thrown: unknown): Promise<unknown> => {
    const [record] = decodeItems(await encodeItems([await recordOf(thrown)]));
    return thrownOf(record as never);
  };

  test('have the same class, fields, message and causes', async () => {
    const place = { file: 'a.tif', record: 3 };
    const cause = new TypeError('no tile', {
      cause: new ArgumentError('a/b', 'Bad.', { got: undefined, expected: 1 }),
    });
    const error = new GraphError('graph/test', 'It failed.', {
      expected: 1n,
      got: [-0],
      remedy: 'Mend it.',
      place,
      cause,
    });
    const again = (await sent(error)) as GraphError;
    expect(again).toBeInstanceOf(GraphError);
    expect(again.cause).toBeInstanceOf(TypeError);
    const inner = (again.cause as Error).cause as ArgumentError;
    expect(inner).toBeInstanceOf(ArgumentError);
    expect('got' in inner && inner.got).toBe(undefined);
    for (const field of ['name', 'message', 'stack', 'code', 'expected', 'got', 'remedy', 'place'] as const)
      expect(again[field]).toStrictEqual(error[field]);
  });

  test('of other classes keep their name, and what cannot leave is told as text', async () => {
    class TileError extends Error {
      override name = 'TileError';
      code = 'ENOENT';
    }
    const other = (await sent(new TileError('gone'))) as TileError;
    expect([other.name, other.message, other.code]).toEqual(['TileError', 'gone', 'ENOENT']);
    const odd = (await sent(new QuadrilleError('a/b', 'Odd.', { got: () => 1, expected: 2 }))) as QuadrilleError;
    expect(odd.got).toContain('=> 1');
    expect(await sent('text')).toBe('text');
    expect(await sent(undefined)).toBe(undefined);
    const aborted = (await sent(new DOMException('Stop.', 'AbortError'))) as DOMException;
    expect([aborted.name, aborted.message]).toEqual(['AbortError', 'Stop.']);
  });

  test('with endless causes end', async () => {
    const error = new Error('round');
    error.cause = error;
    expect(await sent(error)).toBeInstanceOf(Error);
  });
});
