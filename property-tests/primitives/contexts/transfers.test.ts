import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFailoverBackend } from '../../../backends/failover/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { DeviceLostError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import * as q from '../../../primitives/index.ts';
import { hostColumn, recipe, rowCount } from '../../arbitraries/columns.ts';
import { caseCount, costlyCaseCount } from '../../cases.ts';
import { openTestBackend, slow } from '../../support/webgpu-support.ts';

const { u32 } = q;

/** Options with staging buffers that are so small that every transfer needs many of them. */
const staging = { buffers: 2, bytes: 256 };
const standby = async (): Promise<Backend> => createReferenceBackend();
const limits = { memoryBytes: 8192 };

const backends: readonly { readonly name: string; readonly runs: number; open(): Promise<Backend> }[] = [
  { name: 'reference', runs: caseCount(60), open: standby },
  { name: 'workers', runs: caseCount(60), open: () => createWorkersBackend({ workers: 2, inlineNanoseconds: 0 }) },
  { name: 'webgpu', runs: costlyCaseCount(25), open: () => openTestBackend({ staging }) },
  {
    name: 'webgpu in short bindings',
    runs: costlyCaseCount(10),
    open: () => openTestBackend({ staging, limits: { bindingBytes: 4096 } }),
  },
  {
    name: 'spilling',
    runs: caseCount(60),
    open: async () => createSpillingBackend(createReferenceBackend({ limits })),
  },
  {
    name: 'spilling on webgpu',
    runs: costlyCaseCount(10),
    open: async () => createSpillingBackend(await openTestBackend({ staging, limits })),
  },
  { name: 'failover', runs: caseCount(60), open: async () => createFailoverBackend(await standby(), { standby }) },
  {
    name: 'a backend without reads in pieces and without uploads',
    runs: caseCount(30),
    open: async () => {
      const { upload: _, lendWords: __, read, ...rest } = await createWorkersBackend({ workers: 1 });
      return { ...rest, read: (buffer, word, words) => read(buffer, word, words) };
    },
  },
];

type Packed = Exclude<q.HostArray, readonly boolean[]>;
const storage = fc.constantFrom('u32', 'i32', 'f32', 'u8', 'i8', 'u16', 'i16');
/** Elements in packed storage, and the kind of source from which they are uploaded. */
const elements = fc
  .tuple(storage, rowCount, recipe)
  .map(([type, rows, of]) => ({ type, data: hostColumn(type, rows, of) as Packed }));
const manner = fc.constantFrom('column', 'array', 'reader', 'late', 'filler');
const part = fc.record({ from: fc.nat({ max: 90 }), share: fc.double({ min: 0, max: 1, noNaN: true }) });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Waits until pending reads have freed their memory. */
async function allFree({ backend: { counters } }: Context): Promise<void> {
  for (let turns = 0; counters.liveBuffers > 0 && turns < 1000; turns++) await turn();
  expect(counters.liveBuffers).toBe(0);
}
const bytesOf = ({ buffer, byteOffset, byteLength }: Packed): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A reader that supplies the bytes of an array. */
function readerOf<E extends q.Storage>(type: E, data: Packed): q.ElementReader<E> {
  const bytes = bytesOf(data);
  return { type, length: data.length, read: (into, at) => into.set(bytes.subarray(at, at + into.length)) };
}

async function bring(context: Context, how: string, type: q.Storage, data: Packed): Promise<q.Column> {
  const reader = readerOf(type, data);
  if (how === 'column') return context.column(data);
  if (how === 'array') return context.upload(data);
  if (how === 'reader') return context.upload(reader);
  if (how === 'late') {
    return context.upload({
      ...reader,
      async read(into, at, signal) {
        for (let left = (at >> 4) % 3; left > 0; left--) await turn();
        await reader.read(into, at, signal);
      },
    });
  }
  const fill = (into: Packed, first: number): void => into.set(data.subarray(first, first + into.length));
  return context.upload({ type, length: data.length, fill });
}

const numbers = (data: ArrayLike<number | boolean>): number[] => Array.from(data as ArrayLike<number>, Number);
const widened = (type: string, length: number): Packed => {
  if (type === 'f32') return new Float32Array(length);
  return type.startsWith('i') ? new Int32Array(length) : new Uint32Array(length);
};

describe.each(backends)('on $name', ({ name, runs, open }) => {
  let context: Context;
  beforeAll(async () => {
    context = new Context(await open());
  });
  afterAll(() => context.close());

  test(
    'elements of every kind are transferred unchanged, in every way, several at once',
    async () => {
      const many = fc.array(fc.record({ elements, manner, part }), { minLength: 1, maxLength: 5 });
      const property = fc.asyncProperty(many, async (all) => {
        const columns = await Promise.all(
          all.map(({ manner, elements: { type, data } }) => bring(context, manner, type as q.Storage, data)),
        );
        const reads = all.map(async ({ part: { from, share }, elements: { type, data } }, i) => {
          const column = columns[i]!;
          const first = Math.min(from, data.length);
          const rows = Math.floor((data.length - first) * share);
          const slice = q.slice(column, first, first + rows);
          const expected = numbers(data.subarray(first, first + rows));
          const [wide, packed] = [widened(type, rows + 3).fill(7), data.slice(0, rows)];
          const [whole, piece, intoWide, intoPacked] = await Promise.all([
            context.read(column),
            context.read(slice),
            context.read(slice, { into: wide as never }),
            context.read(slice, { into: packed as never }),
          ]);
          expect(numbers(whole)).toEqual(numbers(data));
          expect(numbers(piece)).toEqual(expected);
          expect(numbers(intoWide)).toEqual(expected);
          expect((intoWide as Packed).buffer).toBe(wide.buffer);
          expect(numbers(wide.subarray(rows))).toEqual([7, 7, 7]);
          expect(numbers(intoPacked)).toEqual(expected);
          using lent = await context.lendArray(slice);
          expect(numbers(lent.array)).toEqual(expected);
        });
        await Promise.all(reads);
        context.dispose(columns);
        expect(context.backend.counters.liveBuffers).toBe(0);
      });
      await fc.assert(property, { numRuns: runs });
    },
    slow,
  );

  test('reads return the contents at their call, even after later writes and releases', async () => {
    const length = 1500;
    const data = Uint32Array.from({ length }, (_, i) => Math.imul(i, 2654435761));
    const onto = await context.upload(data);
    const before = context.read(onto, { into: new Uint32Array(length) });
    q.scatterReduce(q.constant(u32, 1, length), q.sequence(length), 'add', onto);
    const between = context.read(onto);
    q.scatterReduce(q.constant(u32, 1, length), q.sequence(length), 'add', onto);
    const after = context.read(onto);
    context.dispose(onto);
    const others = [context.column(new Uint32Array(length)), context.column(new Uint32Array(length))];
    expect(await Promise.all([before, between, after])).toEqual([data, data.map((x) => x + 1), data.map((x) => x + 2)]);
    context.dispose(others);
    expect(context.backend.counters.liveBuffers).toBe(0);
  });

  test('sync waits for pending reads, and for the memory of columns released during them', async () => {
    const { counters } = context.backend;
    const before = [counters.liveBuffers, counters.liveBytes];
    // Workers copy this many words in several slices. On WebGPU, fewer words suffice, because the staging buffers of
    // 256 bytes need many rounds in any case.
    const data = new Uint32Array(name.includes('webgpu') ? 2 ** 16 + 1 : 3 * 2 ** 20 + 1).fill(7);
    for (const length of [4, data.length]) {
      const column = await context.upload(data.subarray(0, length));
      const reading = context.read(column);
      context.dispose(column);
      await context.sync();
      expect([counters.liveBuffers, counters.liveBytes]).toEqual(before);
      expect((await reading).every((x) => x === 7)).toBe(true);
    }
  });

  test('an error of a reader is passed on, and nothing leaks', async () => {
    const failure = new DeviceLostError('device/elsewhere', 'Of another device.');
    for (const at of [0, 256, 3000]) {
      const reader = readerOf('u32', new Uint32Array(1000));
      const read: q.ElementReader['read'] = async (into, byte) => {
        if (byte <= at && at < byte + into.length) throw failure;
        await turn();
      };
      await expect(context.upload({ ...reader, read })).rejects.toBe(failure);
      await allFree(context);
    }
    const column = await context.upload(Uint32Array.of(4, 5));
    expect(await context.read(column)).toEqual(Uint32Array.of(4, 5));
    context.dispose(column);
  });

  test('an abort ends an upload at once, and memory is freed once its reads have settled', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.nat(3), async (at, after) => {
        const data = Uint32Array.from({ length: 700 }, (_, i) => i);
        const abort = new AbortController();
        const reader = readerOf('u32', data);
        const held: (() => void)[] = [];
        let reads = 0;
        const read: q.ElementReader['read'] = async (into, byte, signal) => {
          if (++reads >= at) {
            const settled = new Promise<void>((resolve) => held.push(resolve));
            for (let left = after; left > 0; left--) await turn();
            abort.abort('enough');
            expect(signal.aborted).toBe(true);
            await settled;
          }
          // The library keeps this memory valid until the read has settled.
          expect(into.length).toBeGreaterThan(0);
          await reader.read(into, byte, signal);
        };
        const others = context.upload(data);
        const aborted = context.upload({ ...reader, read }, { signal: abort.signal });
        // If fewer than `at` reads supply all data, nothing aborts the upload, and the upload succeeds.
        const outcome = await aborted.then(
          (column) => context.dispose(column),
          (reason: unknown) => reason,
        );
        expect(outcome).toBe(reads >= at ? 'enough' : undefined);
        const before = reads;
        for (const settle of held) settle();
        const column = await others;
        expect(await context.read(column)).toEqual(data);
        context.dispose(column);
        await allFree(context);
        expect(reads).toBe(before);
        abort.abort('enough');
        await expect(context.upload(data, { signal: abort.signal })).rejects.toBe('enough');
      }),
      { numRuns: costlyCaseCount(10) },
    );
  });

  test('progress is reported to the end, and an error of the callback ends the upload', async () => {
    const fractions: number[] = [];
    const reader = readerOf('u16', new Uint16Array(801));
    const column = await context.upload(reader, { onProgress: (done, total) => void fractions.push(done / total) });
    expect(fractions.at(-1)).toBe(1);
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
    context.dispose(column);
    const failure = new Error('no');
    const onProgress = (): never => {
      throw failure;
    };
    await expect(context.upload(reader, { onProgress })).rejects.toBe(failure);
    await allFree(context);
  });

  test('columns with device counts are read into arrays large enough for their rows', async () => {
    for (const rows of [3000, 70_000]) {
      const kept = context.scope(() =>
        q.copyIf(
          q.sequence(rows),
          q.fn({ x: u32 }, q.bool, ({ x }) => x.rem(7).eq(3)),
        ),
      );
      const expected = Array.from({ length: rows }, (_, i) => i).filter((i) => i % 7 === 3);
      const into = new Uint32Array(expected.length);
      expect(numbers(await context.read(kept, { into }))).toEqual(expected);
      const short = new Uint32Array(expected.length - 1);
      await expect(context.read(kept, { into: short })).rejects.toMatchObject({ code: 'read/into-length' });
      expect(short.every((word) => word === 0)).toBe(true);
      using lent = await context.lendArray(kept);
      expect(numbers(lent.array)).toEqual(expected);
      context.dispose(kept);
    }
  });

  test('lent memory cannot be written, and is freed by its release', async () => {
    const column = await context.upload(Uint32Array.of(1, 2, 3));
    const [first, second] = await Promise.all([context.lendArray(column), context.lendArray(column)]);
    const add = (): unknown => q.scatterReduce(q.constant(u32, 1, 3), q.sequence(3), 'add', column);
    expect(add).toThrow(expect.objectContaining({ code: 'array/lent' }));
    first.release();
    first.release();
    expect(() => first.array).toThrow(expect.objectContaining({ code: 'array/released' }));
    expect(add).toThrow(expect.objectContaining({ code: 'array/lent' }));
    expect([...second.array]).toEqual([1, 2, 3]);
    second.release();
    add();
    expect([...(await context.read(column))]).toEqual([2, 3, 4]);
    const last = await context.lendArray(column);
    context.dispose(column);
    const others = [context.column(Uint32Array.of(9, 9, 9)), context.column(Uint32Array.of(9, 9, 9))];
    expect([...last.array]).toEqual([2, 3, 4]);
    last.release();
    context.dispose(others);
    const view = await context.lendArray(
      q.map(
        q.fn({ x: u32 }, u32, ({ x }) => x.mul(3)),
        { x: q.sequence(3) },
      ),
    );
    expect([...view.array]).toEqual([0, 3, 6]);
    view.release();
    expect(context.backend.counters.liveBuffers).toBe(0);
  });
});

describe.each(backends)('close during a transfer, on $name', ({ open }) => {
  test.each([0, 1, 2, 3])('rejects at once, and keeps memory for pending reads: turn %i', async (turns) => {
    const context = new Context(await open());
    const column = await context.upload(new Uint32Array(3000));
    let settle: (() => void) | undefined;
    const late = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const memories: Uint8Array[] = [];
    const read: q.ElementReader['read'] = async (into) => {
      memories.push(into);
      await late;
      into.fill(9);
    };
    const upload = context.upload({ type: 'u32', length: 2000, read });
    const down = context.read(column, { into: new Uint32Array(3000) });
    const outcomes = Promise.allSettled([upload, down]);
    for (let left = turns; left > 0; left--) await turn();
    let isClosed = false;
    const closing = context.close().then(() => {
      isClosed = true;
    });
    const [brought, got] = await outcomes;
    expect(brought).toMatchObject({ status: 'rejected', reason: { code: 'device/closed' } });
    if (got.status === 'rejected') expect(got.reason).toMatchObject({ code: 'device/closed' });
    for (let left = 5; left > 0; left--) await turn();
    // While a reader may still use the memory that it received, this memory must not be detached.
    expect(memories.every(({ length }) => length > 0)).toBe(true);
    if (memories.length > 0 && context.backend.name === 'webgpu') expect(isClosed).toBe(false);
    settle!();
    await closing;
    await expect(context.upload(Uint32Array.of(1))).rejects.toThrow();
  });
});

describe('a standby', () => {
  const loss = new DeviceLostError('device/test', 'Lost.');
  const data = Uint32Array.from({ length: 3000 }, (_, i) => i * i);

  test('reads the source of a column in use again, and keeps none of its bytes', async () => {
    const primary = createReferenceBackend();
    const backend = createFailoverBackend(primary, { standby });
    const context = new Context(backend);
    const reader = readerOf('u32', data);
    let reads = 0;
    const read: q.ElementReader['read'] = (into, at, signal) => {
      reads++;
      return reader.read(into, at, signal);
    };
    const abort = new AbortController();
    const column = await context.upload({ ...reader, read }, { signal: abort.signal });
    const copied = await context.upload(data);
    // The upload has ended, so its signal must have no effect.
    abort.abort();
    expect([backend.kept.bytes, reads]).toEqual([data.byteLength, 1]);
    primary.abort(loss);
    const doubled = q.map(
      q.fn({ x: u32 }, u32, ({ x }) => x.mul(2)),
      { x: column },
    );
    expect(await context.read({ column, copied, doubled })).toEqual({
      ...{ column: data, copied: data },
      doubled: data.map((x) => 2 * x),
    });
    expect([backend.failovers.length, reads]).toEqual([1, 2]);
    await context.close();
  });

  test('continues an upload that was in progress', async () => {
    const primary = createReferenceBackend();
    const context = new Context(createFailoverBackend(primary, { standby }));
    const reader = readerOf('u32', data);
    const read: q.ElementReader['read'] = async (into, at, signal) => {
      await turn();
      primary.abort(loss);
      await reader.read(into, at, signal);
    };
    const [column, other] = await Promise.all([context.upload({ ...reader, read }), context.upload(data)]);
    expect(await context.read({ column, other })).toEqual({ column: data, other: data });
    await context.close();
  });

  test('reports columns whose source cannot be read again; the rest works on', async () => {
    const primary = createReferenceBackend();
    const context = new Context(createFailoverBackend(primary, { standby }));
    const reader = readerOf('u32', data);
    let isGone = false;
    const read: q.ElementReader['read'] = (into, at, signal) => {
      if (isGone) throw new Error('gone');
      return reader.read(into, at, signal);
    };
    const [column, other] = await Promise.all([context.upload({ ...reader, read }), context.upload(data)]);
    const derived = context.materialize(
      q.map(
        q.fn({ x: u32 }, u32, ({ x }) => x.add(1)),
        { x: column },
      ),
    );
    isGone = true;
    primary.abort(loss);
    expect(await context.read(other)).toEqual(data);
    for (const lost of [column, derived]) {
      await expect(context.read(lost)).rejects.toMatchObject({
        code: 'upload/source-lost',
        cause: { message: 'gone' },
      });
    }
    await context.close();
  });
});

describe('memory of the workers', () => {
  test('is filled and read as a whole, without a copy', async () => {
    const context = new Context(await createWorkersBackend({ workers: 2 }));
    const arrays: Float32Array[] = [];
    const column = await context.upload({
      type: 'f32',
      length: 5_000_000,
      fill(into, first) {
        arrays.push(into);
        into.forEach((_, i) => {
          into[i] = first + i;
        });
      },
    });
    using lent = await context.lendArray(column);
    expect([arrays.length, lent.copied, lent.array.length]).toEqual([1, false, 5_000_000]);
    expect([lent.array.byteOffset, lent.array[4_999_999]]).toEqual([arrays[0]!.byteOffset, 4_999_999]);
    await context.close();
    expect(() => lent.array).toThrow(expect.objectContaining({ code: 'device/closed' }));
  });
});

describe('WebGPU', () => {
  test('small reads issued in one turn share one submission', async () => {
    const backend = await openTestBackend();
    const context = new Context(backend);
    const columns = Array.from({ length: 100 }, (_, i) => context.column(Uint32Array.of(i, i + 1)));
    await context.sync();
    const { submissions } = backend.counters;
    const read = await Promise.all(columns.map((column) => context.read(column)));
    expect(read.map(([first]) => first)).toEqual(columns.map((_, i) => i));
    expect(backend.counters.submissions).toBe(submissions + 1);
    await context.close();
  });

  test('transfers of any length allocate nothing once staging buffers exist', async () => {
    const backend = await openTestBackend({ staging: { buffers: 3, bytes: 4096 } });
    const context = new Context(backend);
    const data = Uint32Array.from({ length: 20_000 }, (_, i) => i);
    const into = new Uint32Array(20_000);
    const round = async (): Promise<void> => {
      const column = context.column(data);
      const other = await context.upload(readerOf('u32', data));
      await Promise.all([context.read(column), context.read(other, { into })]);
      expect(into).toEqual(data);
      into.fill(0);
      context.dispose(column, other);
    };
    for (let warm = 0; warm < 3; warm++) await round();
    const { allocations } = backend.counters;
    for (let more = 0; more < 20; more++) await round();
    expect(backend.counters.allocations).toBe(allocations);
    await context.close();
  });
});
