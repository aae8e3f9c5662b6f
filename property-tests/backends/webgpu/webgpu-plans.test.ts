import fc from 'fast-check';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import type { DeviceBuffer } from '../../../primitives/contract/backend.ts';
import { costlyCaseCount, dealLaws, someOf } from '../../cases.ts';
import { kernelLaws, primitiveLaws } from '../../laws/all.ts';
import { assertSameBytes } from '../../laws/compare.ts';
import { createRun, type LawRun } from '../../laws/law.ts';
import { configurations, openTestBackend } from '../../support/webgpu-support.ts';

const SLOW = 120_000;

/**
 * Runs a pipeline several times over different buffers. In the first run, its commands are new; in the second, they are
 * recognised; in later runs, plans (stored sequences of commands) carry them out.
 */
function calledAgain(context: Context, reference: Context): LawRun {
  const run = createRun(context, reference);
  return async (pipeline) => {
    const result = await run(pipeline);
    for (let again = 0; again < 3; again++) {
      const inTheWay = occupied(context, again);
      const { backend } = context;
      try {
        assertSameBytes((await run(pipeline)) as never, result as never, `call ${again + 2}`);
      } finally {
        for (const buffer of inTheWay) backend.release(buffer);
      }
    }
    return result;
  };
}

/**
 * Allocates buffers of the sizes that small cases need. While these buffers are in use, a run of the pipeline gets
 * other buffers than the run before.
 */
function occupied({ backend }: Context, count: number): DeviceBuffer[] {
  return Array.from({ length: 3 * count }, (_, i) => backend.allocate(1 << (2 * (i % 3) + 6)));
}

/**
 * Pairs of a configuration and the laws to test in it. The configuration without subgroups is left out. All
 * configurations run the laws of kernels. Only one also runs the laws of primitives, because these laws need more
 * bindings than the other configurations have.
 */
const cases = configurations.flatMap(([name, options]) => {
  return name.includes('without') ? [] : [{ name, options, isOfPrimitives: name.startsWith('looking back past') }];
});
/** By default, each law of kernels is tried in one random configuration. */
const dealt = dealLaws(
  kernelLaws,
  cases.map(() => 1),
);
/** By default, a random twentieth of the laws of primitives. */
const ofPrimitives = someOf(primitiveLaws, Math.ceil(primitiveLaws.length / 20));

describe.each(cases.map((each, variant) => ({ ...each, variant })))(
  'laws called twice, $name',
  ({ options, isOfPrimitives, variant }) => {
    let context: Context;
    const reference = new Context(createReferenceBackend());
    beforeAll(async () => {
      context = new Context(await openTestBackend(options));
    }, SLOW);
    afterAll(async () => {
      await context.close();
      await reference.close();
    });
    for (const { name, property } of [...dealt[variant]!, ...(isOfPrimitives ? ofPrimitives : [])]) {
      test(
        name,
        async () => fc.assert(property(calledAgain(context, reference)), { numRuns: costlyCaseCount(2) }),
        SLOW,
      );
    }
  },
);
