import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { Context } from '../../../primitives/context.ts';
import { testBackends } from '../../backends.ts';
import { lawsOfVariant, THOROUGH } from '../../cases.ts';
import { allLaws } from '../../laws/all.ts';
import { createRun } from '../../laws/law.ts';

const SLOW = 120_000;

describe.each(testBackends)('laws in windows of few rows on $name', (backend) => {
  const { name, open, runs } = backend;
  // Windows are larger except on the reference backend: on a software GPU, a single law takes half a minute with
  // windows of 64 rows.
  const windowRows = THOROUGH || name === 'reference' ? 64 : 512;
  let context: Context;
  const reference = new Context(createReferenceBackend());
  beforeAll(async () => {
    context = new Context(createSpillingBackend(await open(), { windowRows }));
  }, SLOW);
  afterAll(async () => {
    await context.close();
    await reference.close();
  });
  for (const { name: law, property } of lawsOfVariant(allLaws, testBackends.indexOf(backend), testBackends.length)) {
    test(law, async () => fc.assert(property(createRun(context, reference)), { numRuns: Math.ceil(runs / 4) }), SLOW);
  }
  test('windows were used', () => expect(context.backend.counters.spilling!.windows).toBeGreaterThan(0));
});
