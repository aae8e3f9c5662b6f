import type { MonoidProgram, Program } from '../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../primitives/ir/ir.ts';
import { costlyCaseCount, someOf } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  bindingOf,
  columnsProgram,
  configurations,
  describeConfigurations,
  edgeSizes,
  expectAgreement,
  matrixMonoid,
  randomFloats,
  randomWords,
  simpleMonoid,
  slow,
  storageOf,
  upload,
} from '../../support/webgpu-support.ts';

const monoids: readonly (readonly [name: string, monoid: MonoidProgram])[] = [
  ['sums', simpleMonoid('u32', 'add', 0)],
  ['minima', simpleMonoid('i32', 'min', 2147483647)],
  ['sums of f32', simpleMonoid('f32', 'add', 0)],
  ['products of matrices', matrixMonoid()],
];

/** By default, four random configurations, because a software GPU takes seconds to compile the kernels of all. */
const tried = someOf(configurations, 4);

describeConfigurations((backend) => {
  // By default, two random monoids per configuration.
  test.each(someOf(monoids, 2))(
    '%s of any number of elements equal the reference',
    async (_, monoid) => {
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...edgeSizes), fc.nat(5), fc.boolean(), async (n, less, known) => {
          await expectAgreement(backend(), async (one, keep) => {
            const [type] = monoid.types as [ScalarType];
            const leaves = monoid.types.length;
            const data = type === 'f32' ? randomFloats(n * leaves, n) : randomWords(n * leaves, n);
            const column = keep(upload(one, data));
            const count = keep(upload(one, Uint32Array.of(n)));
            const into = keep(one.allocate(leaves + 3));
            const program: Program = columnsProgram(
              monoid.types.map((_, leaf) => ({ type, binding: bindingOf(column, n, storageOf(type), leaf * n) })),
            );
            const extent = known ? n : { buffer: count, word: 0, minus: less, limit: n };
            one.run({ kind: 'reduce', extent, program, monoid, into: { buffer: into, word: 3 } });
            return [await one.read(into, 3, leaves)];
          });
        }),
        { numRuns: costlyCaseCount(8) },
      );
    },
    slow,
  );
}, tried);
