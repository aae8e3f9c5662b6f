import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createSpillingBackend } from '../../../backends/spilling/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import { inclusiveScan, plus, u32 } from '../../../primitives/index.ts';
import { dealToBackends, plainBackends } from '../../backends.ts';
import { someOf, THOROUGH } from '../../cases.ts';
import { allLaws } from '../../laws/all.ts';
import { createRun } from '../../laws/law.ts';

const SLOW = 120_000;

/**
 * By default, half of the laws, which other tests try without spilling. A software GPU gets few of them, because it
 * takes long to compile their kernels.
 */
const lawsOn = dealToBackends(someOf(allLaws, Math.ceil(allLaws.length / 2)), 1 / 4);

describe.each(plainBackends)('laws in windows of few rows on $name', (backend) => {
  const { name, open, runs } = backend;
  // In a default run, the reference uses windows of 64 rows. All other backends use windows of 512 rows, because a
  // software GPU needs half a minute for a single law with windows of 64 rows.
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
  for (const { name: law, property } of lawsOn(backend)) {
    test(law, async () => fc.assert(property(createRun(context, reference)), { numRuns: Math.ceil(runs / 4) }), SLOW);
  }
  test('windows were used', async () => {
    // The laws that were tried before are random, and some of their random cases are small. This case is large.
    await createRun(
      context,
      reference,
    )((on) => inclusiveScan(on.column(new Uint32Array(2 * windowRows + 1).fill(3)), plus(u32)));
    expect(context.backend.counters.spilling!.windows).toBeGreaterThan(0);
  });
});
