import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Context } from '../../../primitives/context.ts';
import { testBackends } from '../../backends.ts';
import { lawsOfVariant } from '../../cases.ts';
import { primitiveLaws } from '../../laws/all.ts';
import { createPreparedRun, type Tally } from './prepared-run.ts';

describe.each(testBackends)('on $name, the pipelines of all laws', ({ name, open, runs }) => {
  test('give the same bytes when they are prepared', async () => {
    const context = new Context(await open());
    const tally: Tally = { prepared: 0, refused: new Map() };
    const run = createPreparedRun(context, tally);
    // Laws are prepared on a single backend, which varies between runs of the tests.
    const [first] = fc.sample(fc.nat(testBackends.length - 1), 1) as [number];
    const variant = (first + testBackends.findIndex((backend) => backend.name === name)) % testBackends.length;
    for (const { property } of lawsOfVariant(primitiveLaws, variant, testBackends.length))
      await fc.assert(property(run), { numRuns: Math.ceil(runs / 8) });
    await context.close();
    const refused = [...tally.refused.values()].reduce((sum, count) => sum + count, 0);
    expect(tally.prepared).toBeGreaterThan(refused);
  }, 600_000);
});
