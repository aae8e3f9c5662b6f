import { someOf, THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  bindingOf,
  columnsProgram,
  configurations,
  describeConfigurations,
  edgeSizes,
  expectAgreement,
  randomWords,
  slow,
  upload,
} from '../../support/webgpu-support.ts';

const bits = fc
  .tuple(fc.nat(32), fc.nat(32))
  .map(([a, b]): readonly [number, number] => [Math.min(a, b), Math.max(a, b)]);

/** By default, three random configurations, because a software GPU takes seconds to compile the kernels of all. */
const tried = someOf(configurations, 3);

describeConfigurations((backend) => {
  test(
    'keys sort stably by any range of bits, with and without payload',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...edgeSizes.filter((n) => n < 2500)),
          bits,
          fc.constantFrom('keys', 'payload', 'both'),
          fc.nat(31),
          fc.option(fc.nat(5)),
          async (n, [beginBit, endBit], wanted, alike, less) => {
            await expectAgreement(backend(), async (one, keep) => {
              const length = Math.max(0, n - (less ?? 0));
              const keysIn = keep(
                upload(
                  one,
                  randomWords(n, n).map((word) => word & (0xffffffff << alike)),
                ),
              );
              const payloadIn = keep(
                upload(
                  one,
                  Uint32Array.from({ length: n }, (_, i) => i),
                ),
              );
              const count = keep(upload(one, Uint32Array.of(n)));
              const [keys, payload] = [keep(one.allocate(n + 2)), keep(one.allocate(n + 1))];
              const columns = wanted === 'keys' ? [keysIn] : [keysIn, payloadIn];
              one.run({
                kind: 'sort',
                extent: less === null ? n : { buffer: count, word: 0, minus: less, limit: n },
                program: columnsProgram(columns.map((buffer) => ({ type: 'u32', binding: bindingOf(buffer, n) }))),
                beginBit,
                endBit,
                keys: wanted === 'payload' ? undefined : { buffer: keys, word: 2 },
                payload: wanted === 'keys' ? undefined : { buffer: payload, word: 1 },
              });
              const sortedKeys = wanted === 'payload' ? [] : [await one.read(keys, 2, length)];
              return wanted === 'keys' ? sortedKeys : [...sortedKeys, await one.read(payload, 1, length)];
            });
          },
        ),
        { numRuns: THOROUGH ? 12 : 1 },
      );
    },
    slow,
  );

  test('a sort can write to the buffer that it reads', async () => {
    await expectAgreement(backend(), async (one, keep) => {
      const n = 1500;
      const keys = keep(upload(one, randomWords(n)));
      const program = columnsProgram([{ type: 'u32', binding: bindingOf(keys, n) }]);
      one.run({ kind: 'sort', extent: n, program, beginBit: 0, endBit: 32, keys: { buffer: keys, word: 0 } });
      return [await one.read(keys, 0, n)];
    });
  });
}, tried);
