import { describe, expect } from 'vitest';
import { inStretches, type Stretches } from '../../../algorithms/stretches.ts';
import { truthOf } from '../../../algorithms/tables/conditions.ts';
import * as t from '../../../algorithms/tables/index.ts';
import { orderOfStrings } from '../../../algorithms/tables/string-order.ts';
import { costlyCaseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';

/** An array that counts how often its elements are read. */
function counted<T>(array: readonly T[]): { readonly array: readonly T[]; readonly reads: () => number } {
  let reads = 0;
  const get = (target: readonly T[], key: string | symbol): unknown => {
    if (typeof key === 'string' && /^\d+$/.test(key)) reads++;
    return Reflect.get(target, key);
  };
  return { array: new Proxy(array, { get }), reads: () => reads };
}

const namesOf = (length: number): string[] =>
  Array.from({ length }, (_, i) => `name ${(Math.imul(i, 2654435761) >>> 0).toString(36)}`);

/** The largest amount of work between two pauses, and the number of pauses. */
function pausesOf(work: Stretches<unknown>, done: () => number): { readonly most: number; readonly pauses: number } {
  for (let [most, pauses] = [0, 0]; ; pauses++) {
    const before = done();
    const step = work.next();
    most = Math.max(most, done() - before);
    if (step.done === true) return { most, pauses };
  }
}

describe('work in stretches', () => {
  test('lets timers run where it takes long, and is done at once where it does not', async () => {
    let isOver = false;
    setTimeout(() => {
      isOver = true;
    });
    function* work(): Stretches<string> {
      while (!isOver) yield;
      return 'done';
    }
    expect(await inStretches(work())).toBe('done');
    expect(inStretches(work())).toBe('done');
  });
});

describe('a large dictionary', () => {
  test.each([true, false])('is sorted as it was, while strings are appended; ascending: %s', (isAscending) => {
    const count = 20_000;
    const names = Array.from({ length: count }, (_, i) => `${isAscending ? 1e6 + i : (i * 7919) % count}`);
    const expected = [...names.keys()].sort((a, b) => (names[a]! < names[b]! ? -1 : 1));
    const work = orderOfStrings(names);
    let step = work.next();
    for (; step.done !== true; step = work.next()) names.push('a', 'b');
    expect(names.length).toBeGreaterThan(count);
    expect(step.value).toEqual({ order: Uint32Array.from(expected), areDistinct: true });
  });

  const ROWS = 200;
  // The first questions that may sort a dictionary.
  const questions: readonly ((table: t.DeviceTable, names: readonly string[]) => Promise<unknown>)[] = [
    async (table, [least]) => expect(await t.aggregate(table, { a: { kind: 'min', of: s } })).toEqual({ a: least }),
    async (table, names) => {
      const [low, high] = [names[20]!, names[90]!];
      const where = t.between(s, low, high);
      const expected = names.filter((name) => low <= name && name <= high).length;
      expect(await t.countSelected(t.selectRows(table, where))).toBe(expected);
      const ask = t.prepareAggregate(table, { n: { kind: 'count' } });
      expect(await ask(where)).toEqual({ n: expected });
      ask.dispose();
    },
    async (table, names) => {
      const groups = await t.groupBy(table, ['s'], { n: { kind: 'count' } });
      expect(textsOf(groups.s!)).toEqual([...new Set(names)]);
    },
    async (table, names) => {
      const ids = await t.topRows(table, { by: 's', k: 3, ascending: true });
      expect(textsOf((await t.readRows(table, ids)).s!)).toEqual(names.slice(0, 3));
      table.context.dispose(ids);
    },
    async (table, names) => {
      const pairs = await t.joinRows(table, table, { left: 's', right: 's' });
      const found = await table.context.read({ left: pairs.left, right: pairs.right });
      const expected = names.reduce((sum, name) => sum + names.filter((other) => other === name).length, 0);
      expect(found.left.length).toBe(expected);
      table.context.dispose(pairs);
    },
    async (table) => {
      const { words, dictionary } = table.columns.s!;
      const sorted = dictionary.toSorted((a, b) => (a < b ? -1 : 1));
      expect(dictionary).toEqual(sorted);
      expect((await table.context.read(words[0]!)).length).toBe(ROWS);
    },
  ];
  const s = t.column('s');
  const textsOf = (column: t.HostColumn): string[] => {
    const { codes, dictionary } = column as t.HostColumn & { readonly type: 'string' };
    return Array.from(codes, (code) => dictionary[code]!);
  };

  test.prop(
    [
      fc.shuffledSubarray([...questions], { minLength: 1 }),
      fc.boolean(),
      fc.array(fc.nat(4999), { minLength: ROWS, maxLength: ROWS }),
    ],
    { numRuns: costlyCaseCount(40) },
  )('gives the same answers whichever question sorts it', async (asked, areTogether, codes) => {
    const context = openReference();
    const { liveBuffers } = context.backend.counters;
    const dictionary = namesOf(5000);
    const table = t.createTable(context, { s: { type: 'string', codes: Uint32Array.from(codes), dictionary } });
    const names = codes.map((code) => dictionary[code]!).sort();
    // Readers may add strings, which no row has.
    dictionary.push('added later');
    if (areTogether) await Promise.all(asked.map((each) => each(table, names)));
    else for (const each of asked) await each(table, names);
    t.disposeTable(table);
    t.disposeTable(t.createTable(context, { s: { type: 'string', codes: Uint32Array.from(codes), dictionary } }));
    context.sync();
    expect(context.backend.counters.liveBuffers - liveBuffers).toBeLessThanOrEqual(1);
  });

  test('with a string twice is refused by every question', async () => {
    const dictionary = [...namesOf(5000), 'name 0'];
    const table = t.createTable(openReference(), { s: { type: 'string', codes: Uint32Array.of(0), dictionary } });
    const refusal = expect.objectContaining({ code: 'tables/dictionary' });
    const a = { kind: 'max' as const, of: s };
    await expect(t.aggregate(table, { a })).rejects.toEqual(refusal);
    await expect(t.aggregate(table, { a })).rejects.toEqual(refusal);
    expect(() => t.selectRows(table, t.equalTo(s, 'b'))).toThrow(refusal);
    t.disposeTable(table);
  });

  test('is sorted once, by the first awaited question, in linear work with pauses', async () => {
    for (const length of [5000, 20_000]) {
      const { array, reads } = counted(namesOf(length));
      const codes = Uint32Array.from({ length }, (_, i) => i);
      const table = t.createTable(openReference(), { s: { type: 'string', codes, dictionary: array } });
      expect(reads()).toBe(length);
      await t.aggregate(table, { a: { kind: 'max', of: s } });
      expect(reads()).toBeLessThan(8 * length);
      const before = reads();
      await t.aggregate(table, { a: { kind: 'min', of: s } });
      expect(reads()).toBe(before);
    }
    const { array, reads } = counted(namesOf(150_000));
    const { most, pauses } = pausesOf(orderOfStrings(array), reads);
    expect(most).toBeLessThanOrEqual(2 ** 15);
    expect(pauses).toBeGreaterThan(20);
  });
});

describe('a long condition', () => {
  const x = t.column('x');
  const table = t.createTable(openReference(), {
    x: { type: 'i32', values: Int32Array.from({ length: 64 }, (_, i) => i) },
  });
  const { counters } = table.context.backend;
  const operators = [t.lessThan, t.atMost, t.unequalTo];

  /** Commands that evaluate a part of a condition and store its bits. */
  const COMMANDS_OF_PART = 2;

  /** Conditions that count how often their kind is read. */
  function comparisons(length: number): { readonly all: readonly t.Condition[]; readonly reads: () => number } {
    let reads = 0;
    const all = Array.from({ length }, (_, i) => {
      const { kind, ...rest } = operators[i % 3]!(x, 1000 + i);
      const get = (): typeof kind => {
        reads++;
        return kind;
      };
      return Object.defineProperty(rest, 'kind', { get, enumerable: true }) as t.Condition;
    });
    return { all, reads: () => reads };
  }

  test('of twice the comparisons takes twice the work, with a pause after each command', () => {
    const workOf = (length: number): { readonly pauses: number; readonly reads: number } => {
      const { all, reads } = comparisons(length);
      const { most, pauses } = pausesOf(truthOf(table, t.and(...all)), () => counters.dispatches);
      expect(most).toBeLessThanOrEqual(COMMANDS_OF_PART);
      expect(pauses).toBeGreaterThan(length);
      return { pauses, reads: reads() };
    };
    const [once, twice] = [workOf(500), workOf(1000)];
    expect(twice.pauses / once.pauses).toBeLessThan(2.1);
    expect(twice.reads / once.reads).toBeLessThan(2.1);
  });

  test.prop([fc.integer({ min: 5000, max: 20_000 }), fc.boolean()], { numRuns: costlyCaseCount(20) })(
    'with a list reads each value a few times, with pauses',
    async (length, isFraction) => {
      const { array, reads } = counted(Array.from({ length }, (_, i) => 3 * i + (isFraction && i % 2 === 1 ? 0.5 : 0)));
      const condition: t.Condition = { kind: 'in', of: x, values: array };
      const { pauses } = pausesOf(truthOf(table, condition), () => 0);
      expect(pauses).toBeGreaterThan(length / 1025 - 1);
      expect(reads()).toBeLessThanOrEqual(5 * length);
      const expected = array.filter((value) => Number.isInteger(value) && value < 64).length;
      expect(await t.aggregate(table, { n: { kind: 'count' } }, { where: condition })).toEqual({ n: expected });
    },
  );
});
