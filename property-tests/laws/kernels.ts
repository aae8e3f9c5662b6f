import fc from 'fast-check';
import type { Column } from '../../primitives/columns/column.ts';
import { alive, destination, fuse, programOf } from '../../primitives/columns/program.ts';
import type { Context } from '../../primitives/context/context.ts';
import type { CountRef, Extent, Store } from '../../primitives/contract/backend.ts';
import { f32, u32 } from '../../primitives/functors/functor.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { bitsOfF32 } from '../../primitives/ir/semantics.ts';
import { monoidProgram, plus, product } from '../../primitives/monoid.ts';
import { fewRows, rowsOf } from '../arbitraries/columns.ts';
import { word } from '../arbitraries/integers.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';

const BLANK = 0xabababab;

/** A stored column, filled with a fixed word. Any other word in the column was written by a kernel. */
function canvas(context: Context, length: number): Column<'u32'> {
  return context.column(new Uint32Array(length).fill(BLANK));
}

const blank = (length: number): Uint32Array => new Uint32Array(length).fill(BLANK);

/**
 * Parameters of an extent, which is the number of rows that a kernel processes. This number may be stored on the
 * device.
 */
interface ExtentSample {
  readonly count: number;
  readonly minus: number;
  readonly limit: number;
  readonly onDevice: boolean;
}

const extentSample: fc.Arbitrary<ExtentSample> = fc.record({
  count: fc.oneof(fewRows, word),
  minus: fc.oneof(fc.constant(0), fc.nat({ max: 70 }), word),
  limit: fewRows,
  onDevice: fc.boolean(),
});

const lengthOf = ({ count, minus, limit, onDevice }: ExtentSample): number =>
  onDevice ? Math.min(limit, Math.max(0, count - minus)) : limit;

function extentIn(context: Context, { count, minus, limit, onDevice }: ExtentSample): Extent {
  if (!onDevice) return limit;
  const cell = destination(context.column(Uint32Array.of(99, count)));
  return { buffer: cell.buffer, word: 1, minus, limit } satisfies CountRef;
}

const cellOf = (column: Column, word: number): { buffer: Store['buffer']; word: number } => ({
  buffer: destination(column).buffer,
  word,
});

/**
 * A program with five results: the index, 3 · index, whether the index is odd (used as a guard), the index from the end
 * (used as a target index), and the index as f32.
 */
const fiveResults = (length: number): ReturnType<typeof programOf> =>
  programOf(
    fuse('fiveResults', [], ['u32', 'u32', 'bool', 'u32', 'f32'], (index, _, loader) => [
      index,
      index.mul(3),
      index.and(1).eq(1),
      loader.uniform('u32', length).sub(index).sub(1),
      f32(index),
    ]),
  );

const sumAndCount = product({ sum: plus(u32), count: plus(u32) });

/** The laws of the six kernels besides `strips`, and of the order of commands. */
export const kernelLaws: readonly Law[] = [
  law(
    'forEach stores by index, at computed places, under a guard, and within its capacity',
    [extentSample, fc.nat({ max: 9 }), fewRows],
    async (run, sample, offset, capacity) => {
      const length = lengthOf(sample);
      const room = offset + Math.max(capacity, sample.limit) + 5;
      const result = await run((context) => {
        const [plain, placed, guarded, floats] = Array.from({ length: 4 }, () => canvas(context, room)) as [
          Column,
          Column,
          Column,
          Column,
        ];
        const store = (column: Column, rest: Omit<Store, 'buffer' | 'offset' | 'capacity'>): Store => ({
          buffer: destination(column).buffer,
          offset,
          capacity,
          ...rest,
        });
        context.backend.run({
          kind: 'forEach',
          extent: extentIn(context, sample),
          program: fiveResults(length),
          stores: [
            store(plain, { value: 0 }),
            store(placed, { value: 1, index: 3 }),
            store(guarded, { value: 2, index: 3, guard: 2 }),
            store(floats, { value: 4, guard: 2 }),
          ],
        });
        return { plain, placed, guarded, floats };
      });
      const expected = { plain: blank(room), placed: blank(room), guarded: blank(room), floats: blank(room) };
      for (let i = 0; i < length; i++) {
        const place = length - 1 - i;
        if (i < capacity) expected.plain[offset + i] = i;
        if (place < capacity) expected.placed[offset + place] = 3 * i;
        if (place < capacity && i % 2 === 1) expected.guarded[offset + place] = 1;
        if (i < capacity && i % 2 === 1) expected.floats[offset + i] = bitsOfF32(i);
      }
      assertSame(result, expected);
    },
  ),
  law(
    'forEach writes to two places of one buffer, and reads captured columns by their offset and length',
    [rowsOf({ a: 'u32', bytes: 'i8' }, fewRows), fc.nat({ max: 9 })],
    async (run, { a, bytes }, skipped) => {
      const length = a.length;
      const result = await run((context) => {
        const [words, packed] = [context.column(a), context.column(bytes)];
        const both = canvas(context, 2 * length + 1);
        const captured = fuse('captured', [], ['u32', 'i32'], (index, _, loader) => {
          const at = index.add(loader.uniform('u32', skipped));
          return [...loader.load([words], at), ...loader.load([packed], at)];
        });
        const { buffer } = destination(both);
        context.backend.run({
          kind: 'forEach',
          extent: length,
          program: programOf(captured),
          stores: [
            { buffer, offset: 0, capacity: length, value: 0 },
            { buffer, offset: length + 1, capacity: length, value: 1 },
          ],
        });
        return both;
      });
      const expected = blank(2 * length + 1);
      for (let i = 0; i < length; i++) {
        expected[i] = a[i + skipped] ?? 0;
        expected[length + 1 + i] = bytes[i + skipped] ?? 0;
      }
      assertSame(result, expected);
    },
  ),
  law(
    'walk stores after every step while there are more, and nothing for walks without a step',
    [extentSample, fc.nat({ max: 9 }), fewRows],
    async (run, sample, offset, capacity) => {
      const length = lengthOf(sample);
      const room = offset + 3 * Math.max(capacity, sample.limit) + 5;
      const result = await run((context) => {
        const [last, guarded, placed, sums] = Array.from({ length: 4 }, () => canvas(context, room)) as [
          Column,
          Column,
          Column,
          Column,
        ];
        const store = (column: Column, rest: Omit<Store, 'buffer' | 'offset' | 'capacity'>): Store => ({
          buffer: destination(column).buffer,
          offset,
          capacity,
          ...rest,
        });
        const start = fuse('start', [], ['bool', 'u32', 'u32'], (index) => {
          const steps = index.rem(4);
          return [steps.gt(0), steps, index.mul(7)];
        });
        const step = fuse('step', ['u32', 'u32'], ['bool', 'u32', 'u32', 'u32'], (index, values) => {
          const [left, sevenfold] = values as [U32, U32];
          const rest = left.sub(1);
          return [rest.gt(0), rest, index.mul(3).add(rest), sevenfold];
        });
        context.backend.run({
          kind: 'walk',
          extent: extentIn(context, sample),
          start: programOf(start),
          step: programOf(step),
          changing: 1,
          stores: [
            store(last, { value: 1 }),
            store(guarded, { value: 3, guard: 0 }),
            store(placed, { value: 3, index: 2 }),
            store(sums, { value: 3, index: 1, combine: 'add' }),
          ],
        });
        return { last, guarded, placed, sums };
      });
      const expected = { last: blank(room), guarded: blank(room), placed: blank(room), sums: blank(room) };
      for (let i = 0; i < length; i++) {
        for (let rest = (i % 4) - 1; rest >= 0; rest--) {
          if (i < capacity) expected.last[offset + i] = rest;
          if (i < capacity && rest > 0) expected.guarded[offset + i] = 7 * i;
          if (3 * i + rest < capacity) expected.placed[offset + 3 * i + rest] = 7 * i;
          if (rest < capacity) expected.sums[offset + rest]! += 7 * i;
        }
      }
      assertSame(result, expected);
    },
  ),
  law(
    'reduce writes its leaves at the given place, and nothing else',
    [extentSample, fc.nat({ max: 5 })],
    async (run, sample, at) => {
      const result = await run((context) => {
        const into = canvas(context, 10);
        const pairs = fuse('pairs', [], ['u32', 'u32'], (index) => [index.add(1), u32(1)]);
        const monoid = monoidProgram(sumAndCount);
        context.backend.run({
          kind: 'reduce',
          extent: extentIn(context, sample),
          program: programOf(pairs),
          monoid,
          into: cellOf(into, at),
        });
        return into;
      });
      const length = lengthOf(sample);
      const expected = blank(10);
      expected[at] = (length * (length + 1)) / 2;
      expected[at + 1] = length;
      assertSame(result, expected);
    },
  ),
  law(
    'scan passes both prefixes to its emit program, and writes the total on request',
    [extentSample, fc.nat({ max: 5 }), fc.boolean()],
    async (run, sample, at, wantsTotal) => {
      const { limit } = sample;
      const result = await run((context) => {
        const [before, compacted, total] = [canvas(context, limit), canvas(context, limit), canvas(context, 10)];
        const odd = fuse('odd', [], ['u32', 'u32'], (index) => [index, index.and(1)]);
        const emit = fuse(
          'emit',
          ['u32', 'u32', 'u32', 'u32'],
          ['u32', 'bool', 'u32', 'u32'],
          (index, [sumBefore, countBefore, sum, count]) => [
            sumBefore!,
            (count as U32).ne(countBefore as U32),
            countBefore!,
            (sum as U32)
              .sub(sumBefore as U32)
              .xor(index)
              .add(index),
          ],
        );
        context.backend.run({
          kind: 'scan',
          extent: extentIn(context, sample),
          program: programOf(odd),
          monoid: monoidProgram(sumAndCount),
          emit: programOf(emit),
          stores: [
            { ...destination(before), value: 0 },
            { ...destination(compacted), guard: 1, index: 2, value: 3 },
          ],
          total: wantsTotal ? cellOf(total, at) : undefined,
        });
        return { before, compacted, total };
      });
      const length = lengthOf(sample);
      const expected = { before: blank(limit), compacted: blank(limit), total: blank(10) };
      for (let i = 0, odds = 0; i < length; i++) {
        expected.before[i] = (i * (i - 1)) / 2;
        if (i % 2 === 1) expected.compacted[odds++] = i;
      }
      if (wantsTotal) expected.total.set([(length * (length - 1)) / 2, Math.floor(length / 2)], at);
      assertSame(result, expected);
    },
  ),
  law(
    'sort writes keys and payload at the given places, sorted by the given bits',
    [extentSample, word, fc.nat({ max: 32 }), fc.nat({ max: 32 }), fc.constantFrom('keys', 'payload', 'both')],
    async (run, sample, seed, a, b, wanted) => {
      const { limit } = sample;
      const [beginBit, endBit] = [Math.min(a, b), Math.max(a, b)];
      const result = await run((context) => {
        const [keys, payload] = [canvas(context, limit + 7), canvas(context, limit + 7)];
        const program = fuse('hashed', [], ['u32', 'u32'], (index, _, loader) => [
          index.mul(0x9e3779b1).xor(loader.uniform('u32', seed)),
          index,
        ]);
        context.backend.run({
          kind: 'sort',
          extent: extentIn(context, sample),
          program: programOf(program),
          beginBit,
          endBit,
          keys: wanted === 'payload' ? undefined : cellOf(keys, 3),
          payload: wanted === 'keys' ? undefined : cellOf(payload, 5),
        });
        return { keys, payload };
      });
      const key = (i: number): number => (Math.imul(i, 0x9e3779b1) ^ seed) >>> 0;
      const digit = (i: number): number => Math.floor((key(i) % 2 ** endBit) / 2 ** beginBit);
      const order = Array.from({ length: lengthOf(sample) }, (_, i) => i).sort((i, j) => digit(i) - digit(j) || i - j);
      const expected = { keys: blank(limit + 7), payload: blank(limit + 7) };
      if (wanted !== 'payload') expected.keys.set(order.map(key), 3);
      if (wanted !== 'keys') expected.payload.set(order, 5);
      assertSame(result, expected);
    },
  ),
  law(
    'histogram writes all of its bins and nothing else',
    [extentSample, fc.constantFrom(1, 3, 300), fc.constantFrom(undefined, 1, 64, 1000)],
    async (run, sample, bins, segment) => {
      const runs = segment === undefined ? 1 : Math.ceil((sample.onDevice ? sample.limit : lengthOf(sample)) / segment);
      const result = await run((context) => {
        const into = canvas(context, runs * bins + 5);
        const program = programOf(fuse('fifths', [], ['u32'], (index) => [index.rem(5)]));
        context.backend.run({
          kind: 'histogram',
          extent: extentIn(context, sample),
          program,
          bins,
          segment,
          into: cellOf(into, 2),
        });
        return into;
      });
      const expected = blank(runs * bins + 5).fill(0, 2, 2 + runs * bins);
      for (let i = 0; i < lengthOf(sample); i++) {
        const run = segment === undefined ? 0 : Math.floor(i / segment);
        if (i % 5 < bins) expected[2 + run * bins + (i % 5)]!++;
      }
      assertSame(result, expected);
    },
  ),
  law(
    'commands take effect in the order of their calls, and read the contents of that moment',
    [rowsOf({ first: 'u32', second: 'u32' }, fewRows)],
    async (run, { first, second }) => {
      const length = first.length;
      const result = await run((context) => {
        const data = first.slice();
        const source = context.column(data);
        data.fill(1);
        const copy = fuse('copy', [], ['u32'], (index, _, loader) => loader.load([source], index));
        const [before, after] = [canvas(context, length), canvas(context, length)];
        context.backend.run({
          kind: 'forEach',
          extent: length,
          program: programOf(copy),
          stores: [{ ...destination(before), value: 0 }],
        });
        if (length > 0) context.backend.write(destination(source).buffer, 0, second);
        context.backend.run({
          kind: 'forEach',
          extent: length,
          program: programOf(copy),
          stores: [{ ...destination(after), value: 0 }],
        });
        context.dispose(source);
        const taken = alive(context.allocate(length)).buffer;
        if (length > 0) context.backend.write(taken, 0, first);
        return { before, after };
      });
      assertSame(result, { before: first, after: second });
    },
  ),
];
