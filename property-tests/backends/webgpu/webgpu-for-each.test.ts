import { expect } from 'vitest';
import type { ArrayBinding, Program, Storage } from '../../../primitives/contract/backend.ts';
import type { ScalarType, Statement } from '../../../primitives/ir/ir.ts';
import { costlyCaseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  bind,
  bindingOf,
  describeConfigurations,
  edgeSizes,
  expectAgreement,
  give,
  literal,
  local,
  moduleOf,
  randomWords,
  readAt,
  slow,
  upload,
  withBackend,
} from '../../support/webgpu-support.ts';

const storages: readonly Storage[] = ['u32', 'i32', 'u8', 'i8', 'u16', 'i16'];
const typeOf = (storage: Storage): ScalarType => (storage.startsWith('i') ? 'i32' : 'u32');
const perWord = (storage: Storage): number => 32 / Number(storage.slice(1));

/**
 * A program that reads every array at the index, at the mirrored index (`mirror` − index), and at the constant index 2.
 * The program returns the sum of these three elements for every array, the mirrored index, and whether the index is
 * even.
 */
function mixingProgram(arrays: ReadonlyMap<string, ArrayBinding>, mirror: number): Program {
  const index = local('u32', 0);
  const [mirrored, rest, even] = [local('u32', 1), local('u32', 2), local('bool', 3)];
  let next = 4;
  const body: Statement[] = [
    bind(mirrored, 'sub', { kind: 'uniform', type: 'u32', name: 'mirror' }, index),
    bind(rest, 'and', index, literal('u32', 1)),
    bind(even, 'eq', rest, literal('u32', 0)),
  ];
  const sums = [...arrays].map(([name, { storage }]) => {
    const type = typeOf(storage);
    const [here, there, first, sum, result] = [0, 1, 2, 3, 4].map(() => local(type, next++));
    body.push(readAt(here!, name, index), readAt(there!, name, mirrored), readAt(first!, name, literal('u32', 2)));
    body.push(bind(sum!, 'add', here!, there!), bind(result!, 'add', sum!, first!));
    return result!;
  });
  const types = Object.fromEntries([...arrays].map(([name, { storage }]) => [name, typeOf(storage)]));
  const results = sums.map(({ type }) => type);
  const module = moduleOf([index], [...results, 'u32', 'bool'], [...body, give(...sums, mirrored, even)], types, {
    mirror: 'u32',
  });
  return { module, arrays, uniforms: new Map([['mirror', mirror]]) };
}

/**
 * Whether a case fits in the device's bindings. Arrays are read from both ends, so all of their parts (4 KiB each) and
 * an output buffer must be bound at the same time.
 */
function isWithinBindings(
  n: number,
  columns: readonly { readonly storage: Storage; readonly offset: number }[],
): boolean {
  const parts = columns.map(({ storage, offset }) => Math.ceil(Math.ceil((n + offset) / perWord(storage)) / 1024));
  return parts.reduce((sum, count) => sum + count, 0) < 8;
}

describeConfigurations((backend) => {
  test(
    'maps read columns of every storage and write to the given places',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...edgeSizes),
          fc.array(fc.record({ storage: fc.constantFrom(...storages), offset: fc.nat(9), short: fc.nat(3) }), {
            minLength: 1,
            maxLength: 3,
          }),
          fc.option(fc.nat(5)),
          async (n, columns, less) => {
            fc.pre(isWithinBindings(n, columns));
            await expectAgreement(backend(), async (one, keep) => {
              const arrays = new Map(
                columns.map(({ storage, offset, short }, i): [string, ArrayBinding] => {
                  const words = Math.ceil((n + offset) / perWord(storage));
                  const buffer = keep(upload(one, randomWords(words, i + 1)));
                  return [`a${i}`, bindingOf(buffer, Math.max(0, n - short), storage, offset)];
                }),
              );
              const count = keep(upload(one, Uint32Array.of(n)));
              const direct = keep(upload(one, new Uint32Array(columns.length * (n + 3))));
              const mirrored = keep(upload(one, new Uint32Array(n + 5)));
              const guard = columns.length + 1;
              one.run({
                kind: 'forEach',
                extent: less === null ? n : { buffer: count, word: 0, minus: less, limit: n },
                program: mixingProgram(arrays, n - 1),
                stores: [
                  ...columns.map((_, value) => ({ buffer: direct, offset: value * (n + 3) + 1, capacity: n, value })),
                  { buffer: mirrored, offset: 2, capacity: Math.max(0, n - 1), value: 0, index: columns.length, guard },
                ],
              });
              return [await one.read(direct, 0, columns.length * (n + 3)), await one.read(mirrored, 0, n + 5)];
            });
          },
        ),
        { numRuns: costlyCaseCount(12) },
      );
    },
    slow,
  );

  test('a map that writes the buffer it reads sees the old contents', async () => {
    const n = 2100;
    const data = randomWords(n);
    const buffer = upload(backend(), data);
    const [index, mirrored, value] = [0, 1, 2].map((id) => local('u32', id));
    const module = moduleOf(
      [index!],
      ['u32'],
      [bind(mirrored!, 'sub', literal('u32', n - 1), index!), readAt(value!, 'a', mirrored!), give(value!)],
      { a: 'u32' },
    );
    const program = { module, arrays: new Map([['a', bindingOf(buffer, n)]]), uniforms: new Map() };
    backend().run({ kind: 'forEach', extent: n, program, stores: [{ buffer, offset: 0, capacity: n, value: 0 }] });
    expect(await backend().read(buffer, 0, n)).toEqual(data.toReversed());
    backend().release(buffer);
  });

  test('a functor can read more columns than the device binds at once', async () => {
    await expectAgreement(backend(), async (one, keep) => {
      const n = 1700;
      const names = Array.from({ length: 10 }, (_, i) => `a${i}`);
      const index = local('u32', 0);
      const values = names.map((_, i) => local('u32', i + 1));
      const sums = names.map((_, i) => local('u32', i + 20));
      const module = moduleOf(
        [index],
        ['u32'],
        [
          ...names.map((name, i) => readAt(values[i]!, name, index)),
          ...names.map((_, i) => bind(sums[i]!, 'sub', values[i]!, i === 0 ? literal('u32', 5) : sums[i - 1]!)),
          give(sums.at(-1)!),
        ],
        Object.fromEntries(names.map((name) => [name, 'u32'])),
      );
      const arrays = new Map(
        names.map((name, i) => [name, bindingOf(keep(upload(one, randomWords(n + i, i + 1))), n, 'u32', i)]),
      );
      const out = keep(one.allocate(n));
      one.run({
        kind: 'forEach',
        extent: n,
        program: { module, arrays, uniforms: new Map() },
        stores: [{ buffer: out, offset: 0, capacity: n, value: 0 }],
      });
      return [await one.read(out, 0, n)];
    });
  });

  test('a map can have more results than the device binds at once', async () => {
    await expectAgreement(backend(), async (one, keep) => {
      const n = 1100;
      const index = local('u32', 0);
      const results = Array.from({ length: 13 }, (_, i) => local('u32', i + 1));
      const body = results.map((result, i) => bind(result, 'mul', index, literal('u32', i + 3)));
      const module = moduleOf(
        [index],
        results.map(() => 'u32'),
        [...body, give(...results)],
      );
      const buffers = results.map(() => keep(one.allocate(n)));
      const stores = buffers.map((buffer, value) => ({ buffer, offset: 0, capacity: n, value }));
      one.run({ kind: 'forEach', extent: n, program: { module, arrays: new Map(), uniforms: new Map() }, stores });
      return Promise.all(buffers.map((buffer) => one.read(buffer, 0, n)));
    });
  });
});

test.each([
  ['2', { tuning: { forEach: { threads: 64, items: 2, groups: 2 } } }],
  [
    '5, of a grid of at most 2 along each axis,',
    { tuning: { forEach: { threads: 64, items: 1, groups: 5 } }, limits: { workgroups: 2 } },
  ],
] as const)(
  '%s workgroups take each row once, range by range, if only the device knows how many there are',
  async (_, options) => {
    const index = local('u32', 0);
    const counted = moduleOf([index], ['u32', 'u32'], [give(index, literal('u32', 1))]);
    await withBackend(options, async (backend) => {
      for (const n of edgeSizes) {
        await expectAgreement(backend, async (one, keep) => {
          const [count, times] = [keep(upload(one, Uint32Array.of(n))), keep(upload(one, new Uint32Array(3200)))];
          one.run({
            kind: 'forEach',
            extent: { buffer: count, word: 0, minus: 0, limit: 3200 },
            program: { module: counted, arrays: new Map(), uniforms: new Map() },
            stores: [{ buffer: times, offset: 0, capacity: 3200, value: 1, index: 0, combine: 'add' }],
          });
          return [await one.read(times, 0, 3200)];
        });
      }
    });
  },
  slow,
);
