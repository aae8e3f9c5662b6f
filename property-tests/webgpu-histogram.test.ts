import { fc, test } from '@fast-check/vitest';
import {
  bindingOf,
  columnsProgram,
  describeConfigurations,
  edgeSizes,
  expectAgreement,
  randomWords,
  slow,
  upload,
} from './webgpu-support.ts';

describeConfigurations((backend) => {
  test(
    'counts per run and bin are those of the reference',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...edgeSizes),
          fc.constantFrom(0, 1, 7, 256, 5000),
          fc.option(fc.constantFrom(1, 3, 64, 100, 1024, 4096, 5000)),
          fc.option(fc.nat(5)),
          async (n, bins, segment, less) => {
            const runs = segment === null ? 1 : Math.ceil(n / segment);
            fc.pre(bins * runs < 20000);
            await expectAgreement(backend(), async (one, keep) => {
              const data = randomWords(n, n).map((word) => word % (bins + 3));
              const column = keep(upload(one, data));
              const count = keep(upload(one, Uint32Array.of(n)));
              const into = keep(upload(one, randomWords(bins * runs + 3)));
              one.histogram({
                extent: less === null ? n : { buffer: count, word: 0, minus: less, limit: n },
                program: columnsProgram([{ type: 'u32', binding: bindingOf(column, n) }]),
                bins,
                segment: segment ?? undefined,
                into: { buffer: into, word: 2 },
              });
              return [await one.read(into, 0, bins * runs + 3)];
            });
          },
        ),
        { numRuns: 12 },
      );
    },
    slow,
  );
});
