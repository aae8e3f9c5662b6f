import { fuse } from '../../../primitives/columns/program.ts';
import type { MonoidProgram } from '../../../primitives/contract/backend.ts';
import { Var, While } from '../../../primitives/functors/control.ts';
import type { U32 } from '../../../primitives/functors/value.ts';
import type { Module, ScalarType } from '../../../primitives/ir/ir.ts';
import { costlyCaseCount, someOf } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  bind,
  bindingOf,
  columnsProgram,
  configurations,
  describeConfigurations,
  edgeSizes,
  expectAgreement,
  give,
  literal,
  local,
  matrixMonoid,
  moduleOf,
  randomFloats,
  randomWords,
  readAt,
  simpleMonoid,
  slow,
  storageOf,
  upload,
} from '../../support/webgpu-support.ts';

const monoids: readonly (readonly [name: string, monoid: MonoidProgram])[] = [
  ['sums', simpleMonoid('u32', 'add', 0)],
  ['sums of f32', simpleMonoid('f32', 'add', 0)],
  ['products of matrices', matrixMonoid()],
];

/**
 * A module that returns the exclusive and the inclusive prefix, a flag that is true for every third element, and a
 * target index.
 */
function emitEverything(types: readonly ScalarType[]): Module {
  const leaves = [...types, ...types];
  const index = local('u32', 0);
  const prefixes = leaves.map((type, i) => local(type, i + 1));
  const [third, rest, chosen] = [1, 2, 3].map((i) => local('u32', leaves.length + i));
  const keep = local('bool', leaves.length + 4);
  const moved = local('u32', leaves.length + 5);
  return moduleOf(
    [index, ...prefixes],
    [...leaves, 'bool', 'u32'],
    [
      bind(third!, 'div', index, literal('u32', 3)),
      bind(rest!, 'rem', index, literal('u32', 3)),
      bind(keep, 'eq', rest!, literal('u32', 1)),
      readAt(chosen!, 'shift', literal('u32', 0)),
      bind(moved, 'add', third!, chosen!),
      give(...prefixes, keep, moved),
    ],
    { shift: 'u32' },
  );
}

/** A functor that counts in a loop from its exclusive prefix plus 1 up to its inclusive prefix. */
const { module: walkToNext } = fuse('walkToNext', ['u32', 'u32'], ['u32'], (_, prefixes) => {
  const [before, after] = prefixes as [U32, U32];
  const at = Var(before.add(1));
  While(
    () => at.ne(after).and(at.sub(before).lt(2 ** 30)),
    () => at.set(at.add(1)),
  );
  return [at];
});

/** By default, four random configurations, because a software GPU takes seconds to compile the kernels of all. */
const tried = someOf(configurations, 4);

describeConfigurations((backend) => {
  // By default, a random monoid per configuration.
  test.each(someOf(monoids, 1))(
    'prefixes in %s equal the reference',
    async (_, monoid) => {
      const { types } = monoid;
      const emit = emitEverything(types);
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...edgeSizes), fc.nat(5), fc.boolean(), async (n, less, known) => {
          await expectAgreement(backend(), async (one, keep) => {
            const leaves = types.length;
            const length = known ? n : Math.max(0, n - less);
            const data = types[0] === 'f32' ? randomFloats(n * leaves, n) : randomWords(n * leaves, n);
            const column = keep(upload(one, data));
            const count = keep(upload(one, Uint32Array.of(n)));
            const shift = keep(upload(one, Uint32Array.of(2)));
            const out = keep(upload(one, new Uint32Array(2 * leaves * n)));
            const chosen = keep(upload(one, new Uint32Array(n + 4)));
            const total = keep(one.allocate(leaves + 1));
            const both = Array.from({ length: 2 * leaves }, (_, value) => value);
            one.run({
              kind: 'scan',
              extent: known ? n : { buffer: count, word: 0, minus: less, limit: n },
              program: columnsProgram(
                types.map((type, leaf) => ({ type, binding: bindingOf(column, n, storageOf(type), leaf * n) })),
              ),
              monoid,
              emit: { module: emit, arrays: new Map([['shift', bindingOf(shift, 1)]]), uniforms: new Map() },
              stores: [
                ...both.map((value) => ({ buffer: out, offset: value * n, capacity: n, value })),
                { buffer: chosen, offset: 1, capacity: n, value: 0, guard: 2 * leaves, index: 2 * leaves + 1 },
              ],
              total: { buffer: total, word: 1 },
            });
            const columns = await Promise.all(both.map((value) => one.read(out, value * n, length)));
            return [...columns, await one.read(total, 1, leaves), await one.read(chosen, 0, n + 4)];
          });
        }),
        { numRuns: costlyCaseCount(5) },
      );
    },
    slow,
  );

  test('a scan can write to the buffer that it reads', async () => {
    await expectAgreement(backend(), async (one, keep) => {
      const n = 2500;
      const column = keep(upload(one, randomWords(n)));
      const [index, exclusive, inclusive] = [0, 1, 2].map((id) => local('u32', id));
      one.run({
        kind: 'scan',
        extent: n,
        program: columnsProgram([{ type: 'u32', binding: bindingOf(column, n) }]),
        monoid: simpleMonoid('u32', 'add', 0),
        emit: {
          module: moduleOf([index!, exclusive!, inclusive!], ['u32'], [give(inclusive!)]),
          arrays: new Map(),
          uniforms: new Map(),
        },
        stores: [{ buffer: column, offset: 0, capacity: n, value: 0 }],
      });
      return [await one.read(column, 0, n)];
    });
  });

  // Beyond the extent, the exclusive and the inclusive prefix are equal. There, the loop of `walkToNext`, which counts
  // from the exclusive prefix plus 1 up to the inclusive prefix, would take very long.
  test('the consumer of prefixes is evaluated only for indices within the extent', async () => {
    const n = 1025;
    await expectAgreement(backend(), async (one, keep) => {
      const ones = keep(upload(one, new Uint32Array(n).fill(1)));
      const out = keep(upload(one, new Uint32Array(n)));
      one.run({
        kind: 'scan',
        extent: n,
        program: columnsProgram([{ type: 'u32', binding: bindingOf(ones, n) }]),
        monoid: simpleMonoid('u32', 'add', 0),
        emit: { module: walkToNext, arrays: new Map(), uniforms: new Map() },
        stores: [{ buffer: out, offset: 0, capacity: n, value: 0 }],
      });
      return [await one.read(out, 0, n)];
    });
  });
}, tried);
