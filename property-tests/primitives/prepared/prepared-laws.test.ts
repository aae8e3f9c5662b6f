import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Context } from '../../../primitives/context.ts';
import { dealToBackends, testBackends } from '../../backends.ts';
import { THOROUGH } from '../../cases.ts';
import { primitiveLaws } from '../../laws/all.ts';
import { createPreparedRun, type Tally } from './prepared-run.ts';

/** A software GPU gets few laws, because it takes long to compile their kernels. */
const lawsOn = dealToBackends(primitiveLaws, 1 / 4);

/** Numbers of pipelines that were prepared and refused, on all backends together. */
const all = { prepared: 0, refused: 0 };

describe.each(testBackends)('on $name, the pipelines of all laws', (backend) => {
  const { open, runs } = backend;
  test('give the same bytes when they are prepared', async () => {
    const context = new Context(await open());
    const tally: Tally = { prepared: 0, refused: new Map() };
    const run = createPreparedRun(context, tally);
    for (const { property } of lawsOn(backend)) await fc.assert(property(run), { numRuns: Math.ceil(runs / 8) });
    await context.close();
    const refused = [...tally.refused.values()].reduce((sum, count) => sum + count, 0);
    // Of few laws, most may be refused.
    expect(tally.prepared).toBeGreaterThan(THOROUGH ? refused : 0);
    all.prepared += tally.prepared;
    all.refused += refused;
  }, 600_000);
});

test('most pipelines of laws can be prepared', () => {
  expect(all.prepared).toBeGreaterThan(all.refused);
});
