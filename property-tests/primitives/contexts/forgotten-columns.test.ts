import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import type { QuadrilleWarning } from '../../../primitives/checks/warnings.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { backendsThatLaunchOnce, plainBackends, type TestBackend } from '../../backends.ts';
import { THOROUGH } from '../../cases.ts';
import { collectUntil, setCollecting } from '../../support/collecting.ts';

const { array, bool, fn, input, u32 } = q;

beforeAll(() => setCollecting(true));
afterAll(() => setCollecting(false));

const ROWS = 1000;
const twice = fn({ x: u32 }, u32, ({ x }) => x.mul(2));
const isEven = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(0));
const looked = fn({ i: u32, among: array(u32) }, u32, ({ i, among }) => among.at(i));
const plus = fn({ x: u32, by: u32 }, u32, ({ x, by }) => x.add(by));
const plusRank = fn({ x: u32, rank: u32 }, u32, ({ x, rank }) => x.add(rank));
const evens = (data: Uint32Array): Uint32Array => data.filter((x) => x % 2 === 0);

type Check = () => Promise<readonly [got: unknown, expected: unknown]>;
/** What may keep a column: each makes one of the data, keeps it in one way alone, and later reads what it holds. */
const keepers: readonly (readonly [string, (context: Context, data: Uint32Array) => Check | Promise<Check>])[] = [
  [
    'a table',
    (context, data) => {
      const table = { a: { x: context.column(data) } };
      return async () => [(await context.read(table)).a.x, data];
    },
  ],
  [
    'an upload',
    async (context, data) => {
      const column = await context.upload(data);
      return async () => [await context.read(column), data];
    },
  ],
  [
    'a view of a view',
    (context, data) => {
      const view = q.map(twice, { x: q.reverse(q.map(twice, { x: context.column(data) })) });
      return async () => [await context.read(view), data.map((x) => 4 * x).reverse()];
    },
  ],
  [
    'a slice',
    (context, data) => {
      const slice = q.slice(context.column(data), 3, 10);
      return async () => [await context.read(slice), data.slice(3, 10)];
    },
  ],
  [
    'a functor that captures it',
    (context, data) => {
      const view = q.map(looked, { i: q.sequence(ROWS), among: context.column(data) });
      return async () => [await context.read(view), data];
    },
  ],
  [
    'the result of a scope',
    (context, data) => {
      const sums = context.scope(() => q.inclusiveScan(context.column(data), q.plus(u32)));
      let sum = 0;
      return async () => [await context.read(sums), data.map((x) => (sum += x))];
    },
  ],
  [
    'a length',
    (context, data) => {
      const { length } = context.scope(() => q.copyIf(context.column(data), isEven));
      const places = q.sequence(length);
      return async () => [await context.count(places), evens(data).length];
    },
  ],
  [
    'a column with a length',
    (context, data) => {
      const even = context.scope(() => q.copyIf(context.column(data), isEven));
      return async () => [await context.read(even), evens(data)];
    },
  ],
  [
    'a reduction',
    (context, data) => {
      const sum = q.reduce(context.column(data), q.plus(u32));
      return async () => [await context.read(sum), Uint32Array.of(data.reduce((a, b) => a + b, 0))];
    },
  ],
  [
    'a pending read',
    (context, data) => {
      const read = context.read(q.map(twice, { x: context.column(data) }));
      return async () => [await read, data.map((x) => 2 * x)];
    },
  ],
  [
    'a pending read of an unknown length',
    (context, data) => {
      const longer = Uint32Array.from({ length: 80_000 }, (_, i) => data[i % ROWS]!);
      const read = context.read(q.copyIf(context.column(longer), isEven));
      return async () => [await read, evens(longer)];
    },
  ],
  [
    'a pending count',
    (context, data) => {
      const count = context.count(q.copyIf(context.column(data), isEven));
      return async () => [await count, evens(data).length];
    },
  ],
  [
    'a lent array alone',
    async (context, data) => {
      const { array: elements } = await context.lendArray(context.column(data));
      return async () => [Uint32Array.from(elements), data];
    },
  ],
  [
    'a prepared pipeline',
    (context, data) => {
      const constant = context.column(data);
      const prepared = context.prepare({ i: input(u32, 10) }, ({ i }) => context.materialize(q.gather(constant, i)));
      return async () => {
        const places = context.column(Uint32Array.of(5, 2, 900));
        const got = await context.read(prepared({ i: places }));
        prepared.dispose();
        return [got, Uint32Array.of(data[5]!, data[2]!, data[900]!)];
      };
    },
  ],
  [
    'a result of a prepared pipeline',
    (context, data) => {
      const prepared = context.prepare({ x: input(u32, ROWS) }, ({ x }) => q.copyIf(x, isEven));
      const x = context.column(data);
      const first = prepared({ x });
      for (let i = 0; i < 4; i++) prepared({ x: q.map(twice, { x }) });
      return async () => {
        for (let i = 0; i < 4; i++) prepared({ x: q.map(twice, { x }) });
        return [await context.read(first), evens(data)];
      };
    },
  ],
  [
    'a loop',
    (context, data) => {
      const step = context.prepare({ x: input(u32, ROWS), by: input(u32, ROWS) }, ({ x, by }) => ({
        x: context.materialize(q.map(plus, { x, by: q.gather(by, q.sequence(x.length)) })),
      }));
      const done = context.iterate(
        step,
        { x: context.column(data), by: context.column(data) },
        { maxRounds: 200, batch: 20 },
      );
      return async () => [await context.read((await done).result.x), data.map((x) => 201 * x)];
    },
  ],
  [
    'a column that was stored by itself',
    (context, data) => {
      const view = q.map(twice, { x: context.column(data) });
      const kept = context.materializeOnce(view);
      const again = context.materializeOnce(view);
      return async () => [
        [await context.read(kept), await context.read(again)],
        [data.map((x) => 2 * x), data.map((x) => 2 * x)],
      ];
    },
  ],
  [
    'a check of a capacity',
    (context, data) => {
      const lost = q.expand({ x: context.column(data) }, q.constant(u32, 2, ROWS), plusRank, { capacity: 5 });
      const view = q.map(twice, { x: lost });
      return async () => [await context.read(view).catch(({ code }) => code), 'capacity/outgrown'];
    },
  ],
];

/** Overwrites memory that was given back. */
async function overwrite(context: Context): Promise<void> {
  const others = [1, 5, ROWS, ROWS, ROWS, ROWS, 80_000].map((rows) => q.fill(context, u32, 2 ** 31 + 1, rows));
  await context.sync();
  context.dispose(others);
}

/** Ways to make columns that nobody keeps. */
const makers: readonly ((context: Context, rows: number) => unknown)[] = [
  (context, rows) => context.column(new Float32Array(rows)),
  (context, rows) => context.column(new Uint8Array(rows)),
  (context, rows) => context.upload(new Uint32Array(rows)),
  (context, rows) => q.fill(context, { a: u32, b: { c: bool } }, { a: 1, b: { c: true } }, rows),
  (context, rows) => q.sort(context.column(new Uint32Array(rows).fill(3))),
  (context, rows) => context.scope(() => q.copyIf(context.column(new Uint32Array(rows)), isEven)),
  (context, rows) => q.map(twice, { x: context.scope(() => q.copyIf(context.column(new Uint32Array(rows)), isEven)) }),
  (context, rows) => context.scope(() => q.map(twice, { x: context.column(new Uint32Array(rows)) })),
  (context, rows) => context.materializeOnce(q.map(twice, { x: context.column(new Uint32Array(rows)) })),
  (context, rows) => context.read(q.reduce(context.column(new Uint32Array(rows)), q.plus(u32))),
  (context, rows) => q.expand({ x: context.column(new Uint32Array(rows)) }, 2, plusRank, { capacity: rows }),
  (context, rows) =>
    context
      .read(q.expand({ x: context.column(new Uint32Array(rows)) }, 2, plusRank, { capacity: rows }))
      .catch(() => {}),
  (context, rows) => context.dispose(q.map(twice, { x: context.column(new Uint32Array(rows)) })),
];

function testMemory({ name, open }: TestBackend): void {
  test(`what nobody refers to gives its memory back: ${name}`, async () => {
    const context = new Context(await open());
    const { counters } = context.backend;
    const live = (): readonly number[] => [counters.liveBuffers, counters.liveBytes];
    await context.sync();
    const before = live();
    const making = fc.array(fc.tuple(fc.constantFrom(...makers), fc.integer({ min: 0, max: 3000 })), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(making, async (made) => {
        for (const [make, rows] of [...made, ...makers.map((make) => [make, 7] as const)]) await make(context, rows);
        await context.sync();
        expect(counters.liveBuffers).toBeGreaterThan(before[0]! + 10);
        await collectUntil(() => live()[0] === before[0]);
        expect(live()).toEqual(before);
      }),
      { numRuns: THOROUGH ? 10 : 1 },
    );
    await context.close();
  }, 120_000);

  test(`what is referred to in any way stays: ${name}`, async () => {
    const context = new Context(await open());
    const checks: (readonly [string, Check])[] = [];
    for (const [at, [way, keep]] of keepers.entries()) {
      const data = Uint32Array.from({ length: ROWS }, (_, i) => (at + 3) * (i + 1));
      checks.push([way, await keep(context, data)]);
    }
    for (let i = 0; i < 2; i++) {
      await collectUntil(() => false, 1);
      await overwrite(context);
    }
    for (const [way, check] of checks) {
      const [got, expected] = await check();
      expect([way, got]).toEqual([way, expected]);
    }
    await context.close();
  }, 120_000);
}

(THOROUGH ? plainBackends : backendsThatLaunchOnce()).forEach(testMemory);

test('results of prepared pipelines that nobody refers to are used again', async () => {
  const context = new Context(createReferenceBackend());
  const prepared = context.prepare({ x: input(u32, 10) }, ({ x }) => q.copyIf(x, isEven));
  const x = context.column(Uint32Array.of(2, 3));
  const sizes: number[] = [];
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 10; i++) prepared({ x });
    sizes.push(prepared.bytes);
    // A result, the memory behind it and what holds that memory are collected one after another.
    await collectUntil(() => false, 3);
  }
  expect(sizes).toEqual(sizes.map(() => sizes[0]));
  await context.close();
});

describe('in development', () => {
  const mode = process.env.NODE_ENV;
  const told: QuadrilleWarning[] = [];
  const open = (as: string): Context => {
    process.env.NODE_ENV = as;
    return new Context(createReferenceBackend(), undefined, (warning) => told.push(warning));
  };
  const live = ({ backend }: Context): number => backend.counters.liveBuffers;
  afterEach(() => {
    process.env.NODE_ENV = mode;
    told.length = 0;
  });

  test('a column that was forgotten is told once, with the line that made it', async () => {
    const context = open('development');
    const forget = (): void => {
      for (let i = 0; i < 100; i++) context.column(Float32Array.of(i));
    };
    for (let round = 0; round < 3; round++) {
      forget();
      await collectUntil(() => live(context) === 0);
    }
    expect(told.map(({ code }) => code)).toEqual(['column/forgotten']);
    expect(told[0]!.place?.file).toMatch(/forgotten-columns\.test\.ts$/);
    expect(told[0]!.message).toContain('dispose');
    context.scope(() => context.scope(() => q.sort(context.column(Float32Array.of(2, 1)))));
    await collectUntil(() => live(context) === 0);
    const source = readFileSync(fileURLToPath(import.meta.url), 'utf8').split('\n');
    const lines = told.map(({ place }) => source[place!.line! - 1]!.trim());
    expect(lines).toEqual([expect.stringMatching(/^for .*context\.column/), expect.stringMatching(/^context\.scope/)]);
    await context.close();
  });

  test('a line is told although it begins to forget late', async () => {
    const context = open('development');
    for (let i = 0; i < 1000; i++) context.dispose(context.column(Float32Array.of(i)));
    for (let round = 0; round < 2; round++) {
      (() => context.column(Float32Array.of(round)))();
      await collectUntil(() => live(context) === 0);
    }
    expect(told).toHaveLength(1);
    await context.close();
  });

  test('nothing is told of columns that are disposed of, that a scope frees or that live until the end', async () => {
    const context = open('development');
    const kept = context.column(Float32Array.of(7));
    for (let i = 0; i < 10; i++) {
      context.dispose(context.column(Float32Array.of(i)));
      context.scope(() => void context.column(Float32Array.of(i)));
    }
    await collectUntil(() => false, 1);
    expect(await context.read(kept)).toEqual(Float32Array.of(7));
    await context.close();
    await collectUntil(() => false, 1);
    expect(told).toEqual([]);
  });

  test.each(['production', 'test'])('nothing is told if NODE_ENV is %s', async (as) => {
    const context = open(as);
    (() => context.column(Float32Array.of(1)))();
    await collectUntil(() => live(context) === 0);
    expect([live(context), told]).toEqual([0, []]);
    await context.close();
  });
});
