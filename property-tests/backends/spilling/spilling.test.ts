import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { Context } from '../../../primitives/context.ts';
import { testBackends } from '../../backends.ts';
import { lawsOfVariant } from '../../cases.ts';
import { allLaws } from '../../laws/all.ts';
import { createRun } from '../../laws/law.ts';

const SLOW = 120_000;

describe.each(testBackends)('in windows of 64 rows on $name', (backend) => {
  const { open, runs } = backend;
  let context: Context;
  const reference = new Context(createReferenceBackend());
  beforeAll(async () => {
    context = new Context(createSpillingBackend(await open(), { windowRows: 64 }));
  }, SLOW);
  afterAll(async () => {
    await context.close();
    await reference.close();
  });
  for (const { name, property } of lawsOfVariant(allLaws, testBackends.indexOf(backend), testBackends.length)) {
    test(name, async () => fc.assert(property(createRun(context, reference)), { numRuns: Math.ceil(runs / 4) }), SLOW);
  }
  test('there were windows', () => expect(context.backend.counters.spilling!.windows).toBeGreaterThan(0));
});
