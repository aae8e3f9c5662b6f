import fc from 'fast-check';
import { type Context, listDevices, open } from 'quadrille';
import { assertSame, createRun, law } from 'quadrille/property-tests';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { drainageBasins } from '../src/drainage-basins.ts';
import { plainBasins } from '../src/plain.ts';

/** Random terrains with few different heights, so that there are plains and equal neighbours. */
const terrain = fc
  .record({ width: fc.integer({ min: 1, max: 40 }), rows: fc.integer({ min: 1, max: 40 }), highest: fc.nat(20) })
  .chain(({ width, rows, highest }) => {
    const cells = fc.array(fc.nat(highest), { minLength: width * rows, maxLength: width * rows });
    return fc.record({ width: fc.constant(width), rows: fc.constant(rows), heights: cells });
  });

/**
 * A property of the algorithm. `run` executes a pipeline on a backend and on the reference backend. The test fails if
 * the bytes differ or memory leaks.
 */
const drainsDownhill = law('water ends where it comes by going downhill', [terrain], async (run, given) => {
  const { width, rows } = given;
  const heights = Uint32Array.from(given.heights);
  const basins = await run((context) => drainageBasins(context, context.column(heights), width, rows));
  assertSame(basins, plainBasins(heights, width, rows));
});

const { entries } = await listDevices();
const usable = entries.filter(({ unavailable }) => unavailable === undefined);

describe.each(usable)('on $backend ($device)', ({ backend, adapter }) => {
  let contexts: readonly Context[] = [];
  beforeAll(async () => {
    contexts = [await open({ backend, adapter }), await open({ backend: 'reference' })];
  });
  afterAll(() => Promise.all(contexts.map((context) => context.close())));

  test(`${drainsDownhill.name}, on ${backend}`, async () => {
    const [context, reference] = contexts as [Context, Context];
    await fc.assert(drainsDownhill.property(createRun(context, reference)));
  });
});
