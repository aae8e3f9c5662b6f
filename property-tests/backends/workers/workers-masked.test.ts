import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/backend.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { explainVectorization } from '../../../backends/workers/wasm/explain-vectorization.ts';
import type { Backend, Store } from '../../../primitives/contract/backend.ts';
import { Break, Continue, For, If, Return, Var, While } from '../../../primitives/functors/control.ts';
import { array, bool, type FunctorDescription, fn, i32, u32, uniform } from '../../../primitives/functors/functor.ts';
import { LocalArray } from '../../../primitives/functors/local-arrays.ts';
import { bitsToI32, bitsToU32 } from '../../../primitives/functors/standard/bits.ts';
import { dotOfHalves } from '../../../primitives/functors/standard/halves.ts';
import type { ArrayValue, Bool, U32, Variable } from '../../../primitives/functors/value.ts';
import { caseCount } from '../../cases.ts';
import { bind, type Capture, randomWords, upload } from '../../support/workers-programs.ts';

/**
 * The backends on which these tests run. The tests are about functors with loops and branches, which workers run for
 * several vectors of indices together.
 */

const backends: { readonly name: string; readonly backend: Backend }[] = [];
let reference: Backend;

beforeAll(async () => {
  reference = createReferenceBackend();
  const inline = { workers: 1, inlineNanoseconds: Number.POSITIVE_INFINITY };
  backends.push({ name: 'one', backend: await createWorkersBackend(inline) });
  backends.push({ name: 'two', backend: await createWorkersBackend({ workers: 2, inlineNanoseconds: 0 }) });
});

afterAll(async () => {
  for (const { backend } of backends) await backend.close();
});

interface Launch {
  readonly length: number;
  readonly arrays: { readonly [name: string]: Capture };
  readonly uniforms: { readonly [name: string]: number };
  /** The results that the functor stores, with their guards. A result that is not stored in order also has an index. */
  readonly stores: readonly Pick<Store, 'value' | 'guard' | 'index'>[];
}

async function run(backend: Backend, { module }: FunctorDescription, launch: Launch): Promise<readonly Uint32Array[]> {
  const { length, arrays, uniforms } = launch;
  const program = bind(backend, module, arrays, uniforms);
  const outs = launch.stores.map(() => upload(backend, new Uint32Array(length).fill(7)));
  const stores = launch.stores.map((store, k) => ({ ...store, buffer: outs[k]!, offset: 0, capacity: length }));
  backend.run({ kind: 'forEach', extent: length, program, stores });
  const results = await Promise.all(outs.map((out) => backend.read(out, 0, length)));
  const copies = results.map((words) => words.slice());
  for (const buffer of [...outs, ...[...program.arrays.values()].map(({ buffer }) => buffer)]) backend.release(buffer);
  return copies;
}

async function expectSame(functor: FunctorDescription, launch: Launch): Promise<void> {
  expect(explainVectorization(functor.module)).toEqual({ vectorizes: true });
  const expected = await run(reference, functor, launch);
  for (const { name, backend } of backends) {
    const got = await run(backend, functor, launch);
    const differing = expected.map((words, k) => words.findIndex((word, i) => word !== got[k]![i]));
    expect({ name, differing }).toEqual({ name, differing: expected.map(() => -1) });
  }
}

/** A statement of a random body. Its numbers select among the available values and variables. */
type Sketch =
  | { readonly kind: 'set'; readonly target: number; readonly from: number; readonly how: number }
  | { readonly kind: 'declare'; readonly from: number }
  | { readonly kind: 'flag'; readonly from: number; readonly bit: number }
  | { readonly kind: 'read'; readonly target: number; readonly shift: number; readonly isTable: boolean }
  | {
      readonly kind: 'if';
      readonly of: number;
      readonly bit: number;
      readonly isEven: boolean;
      /** Whether the condition is a variable, which branches may set, and whether the first branch turns it. */
      readonly flag: 'none' | 'kept' | 'turned';
      readonly yes: readonly Sketch[];
      readonly no: readonly Sketch[];
    }
  /** A loop with as many rounds for all indices, or with rounds that depend on the index. */
  | { readonly kind: 'for'; readonly rounds: number; readonly of: number | undefined; readonly body: readonly Sketch[] }
  | { readonly kind: 'gather'; readonly target: number; readonly from: number; readonly isTable: boolean }
  | { readonly kind: 'divide'; readonly target: number; readonly from: number; readonly isQuotient: boolean }
  /** A dot product of halves, of which the variables in it may change before its products or its sum are computed. */
  | {
      readonly kind: 'dot';
      readonly target: number;
      readonly of: number;
      readonly other: number;
      readonly sets: number;
    }
  | {
      readonly kind: 'jump';
      readonly of: number;
      readonly value: number;
      readonly how: 'break' | 'continue' | 'return';
    };

const number = fc.nat({ max: 1000 });
const { body } = fc.letrec<{ body: readonly Sketch[]; statement: Sketch }>((tie) => ({
  body: fc.array(tie('statement'), { minLength: 1, maxLength: 5, depthIdentifier: 'body' }),
  statement: fc.oneof(
    { depthIdentifier: 'body', maxDepth: 4 },
    fc.record({ kind: fc.constant('set' as const), target: number, from: number, how: number }),
    fc.record({ kind: fc.constant('declare' as const), from: number }),
    fc.record({ kind: fc.constant('flag' as const), from: number, bit: fc.nat({ max: 3 }) }),
    fc.record({
      kind: fc.constant('read' as const),
      target: number,
      shift: fc.integer({ min: -20, max: 20 }),
      isTable: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant('jump' as const),
      of: number,
      value: fc.nat({ max: 3 }),
      how: fc.constantFrom('break' as const, 'continue' as const, 'return' as const),
    }),
    fc.record({ kind: fc.constant('gather' as const), target: number, from: number, isTable: fc.boolean() }),
    fc.record({ kind: fc.constant('divide' as const), target: number, from: number, isQuotient: fc.boolean() }),
    fc.record({
      kind: fc.constant('dot' as const),
      target: number,
      of: number,
      other: number,
      sets: fc.nat({ max: 7 }),
    }),
    fc.record({
      kind: fc.constant('if' as const),
      of: number,
      bit: fc.nat({ max: 3 }),
      isEven: fc.boolean(),
      flag: fc.constantFrom('none' as const, 'kept' as const, 'turned' as const),
      yes: tie('body'),
      no: tie('body'),
    }),
    fc.record({
      kind: fc.constant('for' as const),
      rounds: fc.nat({ max: 4 }),
      of: fc.option(number, { nil: undefined }),
      body: tie('body'),
    }),
  ),
}));

interface Scope {
  readonly values: readonly U32[];
  readonly variables: readonly Variable<'u32'>[];
  readonly flag: Variable<'bool'>;
  readonly index: U32;
  readonly xs: ArrayValue<'u32'>;
  readonly table: ArrayValue<'u32'>;
  readonly k: U32;
  readonly inLoop: boolean;
}

function write(sketches: readonly Sketch[], outer: Scope): void {
  let scope = outer;
  const pick = <T>(from: readonly T[], which: number): T => from[which % from.length]!;
  const declare = (value: U32): void => {
    const variable = Var(value);
    scope = { ...scope, values: [...scope.values, variable], variables: [...scope.variables, variable] };
  };
  for (const sketch of sketches) {
    switch (sketch.kind) {
      case 'declare':
        declare(pick(scope.values, sketch.from).add(1));
        break;
      case 'flag':
        scope.flag.set(pick(scope.values, sketch.from).shr(sketch.bit).and(1).eq(0));
        break;
      case 'set': {
        const target = pick(scope.variables, sketch.target);
        const from = pick(scope.values, sketch.from);
        target.set(pick([target.add(from), from, target.xor(from.mul(3)), from.min(target)], sketch.how));
        break;
      }
      case 'read': {
        const shift = sketch.isTable ? scope.table.at(scope.k.add(sketch.shift)) : u32(sketch.shift >>> 0);
        const target = pick(scope.variables, sketch.target);
        target.set(target.add(scope.xs.at(scope.index.add(shift))));
        break;
      }
      case 'if': {
        const tested: U32 = sketch.isEven ? scope.k : pick(scope.values, sketch.of);
        const holds: Bool = sketch.flag === 'none' ? tested.shr(sketch.bit).and(1).eq(0) : scope.flag;
        If(holds, () => {
          if (sketch.flag === 'turned') scope.flag.set(scope.flag.not());
          write(sketch.yes, scope);
        }).Else(() => write(sketch.no, scope));
        break;
      }
      case 'for': {
        const rounds = sketch.of === undefined ? sketch.rounds : pick(scope.values, sketch.of).and(sketch.rounds);
        For(0, rounds, (round) => {
          const before = scope;
          write(sketch.body, { ...scope, values: [...scope.values, round], inLoop: true });
          scope = before;
        });
        break;
      }
      case 'gather': {
        const target = pick(scope.variables, sketch.target);
        const from = pick(scope.values, sketch.from);
        target.set(target.add(sketch.isTable ? scope.table.at(from.and(15)) : scope.xs.at(from)));
        break;
      }
      case 'divide': {
        const target = pick(scope.variables, sketch.target);
        const from = pick(scope.values, sketch.from);
        target.set(sketch.isQuotient ? target.div(from) : target.rem(from));
        break;
      }
      case 'dot': {
        const [a, b] = [pick(scope.values, sketch.of), pick(scope.values, sketch.other)];
        const change = (bit: number): void => {
          if ((sketch.sets >> bit) % 2 === 1) for (const each of scope.variables) each.set(each.mul(5).add(bit));
        };
        const lows = bitsToI32(a.shl(16))
          .shr(16)
          .mul(bitsToI32(b.shl(16)).shr(16));
        change(0);
        const highs = bitsToI32(a).shr(16).mul(bitsToI32(b).shr(16));
        change(1);
        const sum = lows.add(highs);
        change(2);
        pick(scope.variables, sketch.target).set(bitsToU32(sum));
        break;
      }
      case 'jump': {
        if (sketch.how !== 'return' && !scope.inLoop) break;
        const value = pick(scope.values, sketch.of);
        If(value.and(3).eq(sketch.value), () => {
          if (sketch.how === 'return') Return({ sum: value, other: u32(5), odd: bool(true) });
          else if (sketch.how === 'break') Break();
          else Continue();
        });
      }
    }
  }
}

function functorOf(sketches: readonly Sketch[]): FunctorDescription {
  const parameters = { i: u32, xs: array(u32), table: array(u32), k: uniform(u32) };
  return fn('sketched', parameters, { sum: u32, other: u32, odd: bool }, ({ i, xs, table, k }) => {
    const variables = [Var(i.mul(7)), Var(xs.at(i)), Var(k)];
    const flag = Var(xs.at(i).and(1).eq(1));
    // Because of this loop, the functor is more than straight-line code, and so runs masked.
    For(0, 2, (round) => {
      write(sketches, { values: [i, k, ...variables, round], variables, flag, index: i, xs, table, k, inLoop: true });
    });
    const [a, b, c] = variables as [Variable<'u32'>, Variable<'u32'>, Variable<'u32'>];
    return { sum: a.add(b.mul(3)), other: b.xor(c), odd: c.and(1).eq(1) };
  });
}

describe('loops and branches', () => {
  test('equal the reference when indices diverge', async () => {
    const lengths = fc.oneof(fc.nat({ max: 200 }), fc.constantFrom(1000, 4097));
    const property = fc.asyncProperty(
      body,
      lengths,
      fc.nat({ max: 15 }),
      fc.boolean(),
      async (sketch, length, k, guards) => {
        const words = randomWords(length + 3, 5).map((word) => word & 1023);
        const table = randomWords(8, 3).map((word) => (word % 41) - 20);
        await expectSame(functorOf(sketch), {
          length,
          arrays: { xs: { words, length: words.length }, table: { words: table, length: table.length } },
          uniforms: { k },
          stores: guards ? [{ value: 0, guard: 2 }, { value: 1 }] : [{ value: 0 }, { value: 1 }, { value: 2 }],
        });
      },
    );
    const set: Sketch = { kind: 'set', target: 0, from: 0, how: 0 };
    const turned: Sketch = { kind: 'if', of: 0, bit: 0, isEven: false, flag: 'turned', yes: [set], no: [set] };
    const dots = [1, 2].map((sets): Sketch => ({ kind: 'dot', target: 0, of: 3, other: 2, sets }));
    const examples = [turned, ...dots].map((each): [Sketch[], number, number, boolean] => [[each], 64, 0, false]);
    await fc.assert(property, { numRuns: caseCount(300), examples });
  });

  const jumps = { Break, Continue, Return };
  const names = Object.keys(jumps) as (keyof typeof jumps)[];
  test.each(names.flatMap((common) => names.map((own) => [common, own] as const)))(
    'equal the reference when all lanes %s, in a loop in which some %s',
    async (common, own) => {
      for (const isInner of [false, true]) {
        const functor = fn('jumps', { i: u32, k: uniform(u32) }, { sum: u32, rounds: u32 }, ({ i, k }) => {
          const [sum, rounds] = [Var(i), Var(u32(0))];
          const body = (round: U32): void => {
            rounds.set(rounds.add(1));
            If(round.ge(k), () => jumps[common]({ sum, rounds }));
            sum.set(sum.mul(3).add(round));
            If(round.add(i).and(3).eq(1), () => jumps[own]({ sum: rounds, rounds }));
            sum.set(sum.add(7));
          };
          For(0, 4, isInner ? (round) => For(round, 4, body) : body);
          return { sum, rounds };
        });
        for (const k of [0, 1, 3, 9]) {
          await expectSame(functor, { length: 37, arrays: {}, uniforms: { k }, stores: [{ value: 0 }, { value: 1 }] });
        }
      }
    },
  );

  test.each(names)(
    'equal the reference when a function is called for all lanes alike and for each, and some %s',
    async (own) => {
      const rounds = fn('rounds', { value: u32, until: u32 }, u32, ({ value, until }) => {
        const sum = Var(u32(0));
        For(0, 8, (round) => {
          If(round.eq(until.and(7)), () => Break());
          If(round.add(value).and(3).eq(1), () =>
            own === 'Return' ? Return(sum) : own === 'Break' ? Break() : Continue(),
          );
          sum.set(sum.mul(3).add(round));
        });
        return sum;
      });
      const functor = fn('calls', { i: u32, k: uniform(u32) }, { each: u32, alike: u32, both: u32 }, ({ i, k }) => ({
        each: rounds({ value: i, until: i }),
        alike: rounds({ value: k, until: k }),
        both: rounds({ value: k, until: i.shr(1) })
          .mul(31)
          .add(rounds({ value: i, until: k })),
      }));
      const stores = [{ value: 0 }, { value: 1 }, { value: 2 }];
      for (const k of [0, 2, 3, 7]) await expectSame(functor, { length: 37, arrays: {}, uniforms: { k }, stores });
    },
  );

  test('write local arrays in the lanes that take part, and in no others', async () => {
    const functor = fn('writes', { i: u32, xs: array(u32) }, { own: u32, common: u32 }, ({ i, xs }) => {
      const [own, common] = [LocalArray(3, i), LocalArray(3, i)];
      For(0, xs.at(i), (k) => {
        If(xs.at(k).eq(i.and(3)), () => {
          own.set(xs.at(k), k.add(100));
          common.set(k, k.add(100));
        });
      });
      return { own: own.at(i.rem(4)), common: common.at(i.rem(4)) };
    });
    const xs = { words: Uint32Array.from({ length: 40 }, (_, i) => i % 7), length: 40 };
    await expectSame(functor, { length: 40, arrays: { xs }, uniforms: {}, stores: [{ value: 0 }, { value: 1 }] });
  });

  test('store at computed places', async () => {
    const reversed = fn('reversed', { i: u32, n: uniform(u32) }, { place: u32, sum: u32 }, ({ i, n }) => {
      const sum = Var(u32(0));
      For(0, 5, (k) => sum.set(sum.mul(3).add(i).add(k)));
      return { place: n.sub(1).sub(i), sum };
    });
    await expectSame(reversed, {
      ...{ length: 1003, arrays: {}, uniforms: { n: 1003 } },
      stores: [{ value: 1, index: 0 }],
    });
  });
});

describe('reads and divisions without loops', () => {
  /** Mixes a value by many operations. */
  const mixed = (value: U32, times: number): U32 => {
    let mix = value;
    for (let step = 0; step < times; step++)
      mix = mix
        .xor(mix.shl(13))
        .mul(2 * step + 3)
        .xor(mix.shr(7))
        .add(step);
    return mix;
  };

  test('equal the reference beside many operations, beyond the ends of arrays too', async () => {
    const far = fn('far', { i: u32, xs: array(u32), k: uniform(u32) }, { sum: u32, rest: u32 }, ({ i, xs, k }) => {
      const place = Var(xs.at(i.mul(k)).rem(97));
      If(mixed(i, 2).and(4).eq(0), () => place.set(xs.at(mixed(i, 1).and(63))));
      return { sum: mixed(xs.at(place).add(xs.at(i)), 30), rest: mixed(place, 12).div(i.add(1)) };
    });
    const stores = [{ value: 0 }, { value: 1 }];
    for (const length of [0, 1, 3, 4, 5, 37, 1000, 4099]) {
      const words = randomWords(1 + (length >> 1), length);
      const xs = { words, length: words.length };
      for (const k of [0, 1, 7, 2 ** 30]) await expectSame(far, { length, arrays: { xs }, uniforms: { k }, stores });
    }
  });
});

describe('a loop over a table of offsets in the rows of a grid', () => {
  type Storage = 'u8' | 'i16' | 'u32';
  const sumAround = (type: typeof u32 | typeof i32) =>
    fn(
      'sumAround',
      { i: u32, xs: array(type as typeof u32), table: array(u32), width: uniform(u32), margin: uniform(u32) },
      { sum: u32, last: u32 },
      ({ i, xs, table, width, margin }) => {
        const [sum, last] = [Var(u32(0)), Var(u32(3))];
        const [row, column] = [i.div(width), i.rem(width)];
        If(column.ge(margin).and(column.add(margin).lt(width)), () => {
          For(0, table.length(), (k) => {
            const value = u32(xs.at(i.add(table.at(k))));
            sum.set(sum.mul(5).add(value).add(row));
            If(value.and(3).eq(0), () => last.set(k));
          });
        });
        return { sum, last };
      },
    );

  test('equals the reference for any width, and reads nothing past the ends', async () => {
    const property = fc.asyncProperty(
      fc.constantFrom(1, 3, 63, 64, 65, 100, 131, 640),
      fc.constantFrom(0, 50, 800, 5000, 70_001),
      fc.constantFrom<Storage[]>('u8', 'i16', 'u32'),
      fc.array(fc.integer({ min: -700, max: 700 }), { maxLength: 6 }),
      fc.constantFrom(0, 1, 20, 40),
      async (width, length, storage, offsets, margin) => {
        const words = randomWords(length + 3, width);
        const elements = { u8: 4, i16: 2, u32: 1 }[storage] * words.length;
        await expectSame(sumAround(storage === 'i16' ? i32 : u32), {
          length,
          arrays: {
            xs: { words, storage, length: Math.min(length, elements) },
            table: { words: Uint32Array.from(offsets, (each) => each >>> 0), length: offsets.length },
          },
          uniforms: { width, margin },
          stores: [{ value: 0 }, { value: 1 }],
        });
      },
    );
    await fc.assert(property, { numRuns: caseCount(60) });
  });
});

describe('dot products of 16-bit halves', () => {
  const EXTREMES = [0, 1, 0x7fff, 0x8000, 0xffff, 0x80008000, 0x7fff7fff, 0xffffffff, 0x80007fff, 0x12345678];

  test('are exact, also for equal operands and sums that overflow', async () => {
    const dots = fn('dots', { i: u32, xs: array(u32), table: array(u32) }, { sum: i32, own: i32 }, (given) => {
      const { i, xs, table } = given;
      const [sum, own] = [Var(i32(0)), Var(i32(0))];
      For(0, table.length(), (k) => {
        sum.set(sum.mul(3).add(dotOfHalves(xs.at(i), table.at(k))));
        own.set(own.xor(dotOfHalves(xs.at(i.add(k)), xs.at(i))));
      });
      return { sum, own };
    });
    const words = Uint32Array.from({ length: 100 }, (_, i) => EXTREMES[i % 10]! ^ (i < 50 ? 0 : i));
    const table = Uint32Array.from(EXTREMES);
    await expectSame(dots, {
      ...{ length: 100, uniforms: {}, stores: [{ value: 0 }, { value: 1 }] },
      arrays: { xs: { words, length: 100 }, table: { words: table, length: table.length } },
    });
  });

  test('are not used for expressions that only resemble them', async () => {
    const low = (word: U32) => bitsToI32(word.shl(16)).shr(16);
    const high = (word: U32) => bitsToI32(word).shr(16);
    const near = fn(
      'near',
      { i: u32, xs: array(u32), k: uniform(u32) },
      { a: i32, b: i32, c: i32, d: i32 },
      (given) => {
        const { i, xs, k } = given;
        const sums = [0, 0, 0, 0].map((zero) => Var(i32(zero)));
        For(0, 3, (n) => {
          const [x, y] = [xs.at(i), xs.at(i.add(n))];
          const words = [
            low(x)
              .mul(high(y))
              .add(high(x).mul(low(y))),
            low(x)
              .mul(low(y))
              .add(low(x).mul(low(y))),
            low(x)
              .mul(low(y))
              .add(high(x).mul(high(k))),
            bitsToI32(x.shl(15))
              .shr(16)
              .mul(low(y))
              .add(high(x).mul(high(y))),
          ];
          for (const [s, sum] of sums.entries()) sum.set(sum.mul(3).add(words[s]!));
        });
        return { a: sums[0]!, b: sums[1]!, c: sums[2]!, d: sums[3]! };
      },
    );
    const words = randomWords(100, 9);
    await expectSame(near, {
      ...{ length: 97, uniforms: { k: 0x9abc_def0 }, stores: [0, 1, 2, 3].map((value) => ({ value })) },
      arrays: { xs: { words, length: 100 } },
    });
  });
});

describe('loops whose rounds differ from index to index', () => {
  const walk = fn('walk', { i: u32, rounds: array(u32), next: array(u32) }, { sum: u32, at: u32 }, (given) => {
    const { i, rounds, next } = given;
    const [at, sum, left] = [Var(i), Var(u32(0)), Var(rounds.at(i))];
    While(
      () => left.ne(0),
      () => {
        left.set(left.sub(1));
        sum.set(sum.mul(3).add(at));
        at.set(next.at(at));
      },
    );
    return { sum, at };
  });

  test('equal the reference where most lanes are idle, for long or for short', async () => {
    const lengths = fc.record({
      length: fc.integer({ min: 1, max: 400 }),
      every: fc.constantFrom(1, 2, 3, 8, 16, 100),
      long: fc.constantFrom(0, 3, 255, 256, 300, 1025),
      short: fc.nat({ max: 3 }),
      /** Pointers beyond the end of the table lead to element 0. */
      beyond: fc.boolean(),
    });
    const property = fc.asyncProperty(lengths, async ({ length, every, long, short, beyond }) => {
      const next = Uint32Array.from({ length: 50 }, (_, i) => (i * 37 + 11) % (beyond ? 60 : 50));
      const rounds = Uint32Array.from({ length }, (_, i) => (i % every === every >> 1 ? long : short));
      await expectSame(walk, {
        ...{ length, uniforms: {}, stores: [{ value: 0 }, { value: 1 }] },
        arrays: { rounds: { words: rounds, length }, next: { words: next, length: next.length } },
      });
    });
    await fc.assert(property, { numRuns: caseCount(100) });
  });

  test('read narrow and empty arrays', async () => {
    for (const storage of ['u8', 'i8', 'u16', 'i16'] as const) {
      const words = randomWords(20, 5);
      await expectSame(walk, {
        ...{ length: 64, uniforms: {}, stores: [{ value: 0 }, { value: 1 }] },
        arrays: {
          rounds: { words: randomWords(64, 3).map((word) => word & 7), length: 64 },
          next: { words, storage, length: 33 },
        },
      });
    }
    await expectSame(walk, {
      ...{ length: 64, uniforms: {}, stores: [{ value: 0 }, { value: 1 }] },
      arrays: {
        rounds: { words: new Uint32Array(64).fill(5), length: 64 },
        next: { words: new Uint32Array(1), length: 0 },
      },
    });
  });
});
