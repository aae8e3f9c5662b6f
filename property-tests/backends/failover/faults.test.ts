import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { plainBackends } from '../../backends.ts';
import { arbitrarySteps, manySteps, reasonsIn, runSteps, undisturbed } from '../../support/arbitrary-steps.ts';
import { interrupted } from '../../support/faulty-backend.ts';
import { slow } from '../../support/webgpu-support.ts';

const nothingHeld = { liveBuffers: 0, liveBytes: 0 };
const point = fc.integer({ min: 1, max: 120 });

describe.each(plainBackends)('on $name', ({ name, open, runs }) => {
  // Workers get fewer cases, because their threads start slowly.
  const cases = name === 'workers' ? runs : 4 * runs;

  test(
    'exceeding the memory limit fails with one clear error, leaks nothing, and other work still fits',
    async () => {
      let short = 0;
      const property = fc.asyncProperty(
        arbitrarySteps,
        fc.integer({ min: 1000, max: 200_000 }),
        async (steps, bytes) => {
          const context = new Context(await open({ memoryBytes: bytes }));
          for (const reason of reasonsIn(await runSteps(context, steps), await undisturbed(steps))) {
            short++;
            expect(reason).toBeInstanceOf(OutOfMemoryError);
            expect(reason).toMatchObject({ code: 'memory/limit', expected: expect.stringContaining(`${bytes}`) });
          }
          expect(context.backend.counters).toMatchObject(nothingHeld);
          expect(await context.read(context.column(Uint32Array.of(3, 1, 2)))).toEqual(Uint32Array.of(3, 1, 2));
          await context.close();
        },
      );
      await fc.assert(property, { numRuns: cases, examples: [[manySteps, 1000]] });
      expect(short).toBeGreaterThan(0);
    },
    slow,
  );

  test(
    'running out of memory at any call leaks nothing, and the context works afterwards',
    async () => {
      const error = new OutOfMemoryError('memory/test', 'No more of it.');
      const backend = await open();
      let short = 0;
      const property = fc.asyncProperty(arbitrarySteps, point, async (steps, at) => {
        const context = new Context(
          interrupted(backend, at, () => {
            throw error;
          }),
        );
        const expected = await undisturbed(steps);
        for (const reason of reasonsIn(await runSteps(context, steps), expected)) {
          short++;
          expect(reason).toBe(error);
        }
        expect(backend.counters).toMatchObject(nothingHeld);
        expect(await runSteps(new Context(backend), steps)).toEqual(expected);
      });
      await fc.assert(property, { numRuns: 4 * runs, examples: [[manySteps, 2]] });
      expect(short).toBeGreaterThan(0);
      await backend.close();
    },
    slow,
  );

  test(
    'an abort before any call rejects pending and later reads with its reason, and does not affect other contexts',
    async () => {
      const other = new Context(await open());
      let aborted = 0;
      const property = fc.asyncProperty(arbitrarySteps, arbitrarySteps, point, async (steps, others, at) => {
        const reason = new Error('enough');
        const context = new Context(interrupted(await open(), at, ({ abort }) => abort(reason)));
        const [outcomes, undistracted] = await Promise.all([runSteps(context, steps), runSteps(other, others)]);
        const reasons = reasonsIn(outcomes, await undisturbed(steps));
        for (const each of reasons) expect(each).toBe(reason);
        expect(undistracted).toEqual(await undisturbed(others));
        if (reasons.length > 0) {
          aborted++;
          expect(() => context.column(Uint32Array.of(1))).toThrow(reason);
          await expect(context.read(q.sequence(3))).rejects.toBe(reason);
        }
        await context.close();
        expect(context.backend.counters).toMatchObject(nothingHeld);
      });
      await fc.assert(property, { numRuns: cases, examples: [[manySteps, manySteps, 2]] });
      expect(aborted).toBeGreaterThan(0);
      expect(other.backend.counters).toMatchObject(nothingHeld);
      await other.close();
    },
    slow,
  );
});
