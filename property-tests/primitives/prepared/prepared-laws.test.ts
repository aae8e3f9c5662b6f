import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Context } from '../../../primitives/context/context.ts';
import * as q from '../../../primitives/index.ts';
import { dealToBackends, mortalBackend, plainBackends, testBackends } from '../../backends.ts';
import { someOf, THOROUGH } from '../../cases.ts';
import { primitiveLaws } from '../../laws/all.ts';
import { repeatLosses } from '../../support/mortal-backend.ts';
import { createPreparedRun, type Tally } from './prepared-run.ts';

/** By default, half of the laws. A software GPU gets few of them, because it takes long to compile their kernels. */
const lawsOn = dealToBackends(someOf(primitiveLaws, Math.ceil(primitiveLaws.length / 2)), 1 / 4, testBackends);

/** Number of prepared pipelines and number of refused pipelines, each summed over all backends. */
const all = { prepared: 0, refused: 0 };

describe.each(testBackends)('on $name, the pipelines of all laws', (backend) => {
  const { open, runs } = backend;
  if (backend === mortalBackend) repeatLosses();
  test('give the same bytes when they are prepared', async () => {
    const context = new Context(await open());
    const tally: Tally = { prepared: 0, refused: new Map() };
    const run = createPreparedRun(context, tally);
    for (const { property } of lawsOn(backend)) await fc.assert(property(run), { numRuns: Math.ceil(runs / 8) });
    await context.close();
    const refused = [...tally.refused.values()].reduce((sum, count) => sum + count, 0);
    // By default, a backend gets few laws, and most of their pipelines may be refused.
    expect(tally.prepared).toBeGreaterThan(THOROUGH ? refused : 0);
    all.prepared += tally.prepared;
    all.refused += refused;
  }, 600_000);
});

test('most pipelines of laws can be prepared', () => {
  expect(all.prepared).toBeGreaterThan(all.refused);
});

describe.each(plainBackends)('on $name, a functor', ({ open }) => {
  test('may read the same value of a call through any of its uniforms', async () => {
    const context = new Context(await open());
    const digits = q.fn(
      { x: q.u32, a: q.uniform(q.u32), b: q.uniform(q.u32), c: q.uniform(q.u32) },
      q.u32,
      ({ x, a, b, c }) => x.mul(10).add(a).mul(10).add(b).mul(10).add(c),
    );
    const x = context.column(Uint32Array.of(1, 2));
    const call = { first: 3, second: 4 };
    const names = ['first', 'second'] as const;
    // All pipelines differ only in which value of the call each uniform reads.
    for (const a of names) {
      for (const b of names) {
        for (const c of names) {
          const declared = { x: q.input(q.u32, 2), first: q.uniform(q.u32), second: q.uniform(q.u32) };
          const prepared = context.prepare(declared, ({ x, ...given }) =>
            context.materialize(q.map(digits, { x, a: given[a], b: given[b], c: given[c] })),
          );
          const tail = 100 * call[a] + 10 * call[b] + call[c];
          expect(await context.read(prepared({ x, ...call })), `${a} ${b} ${c}`).toEqual(
            Uint32Array.of(1000 + tail, 2000 + tail),
          );
        }
      }
    }
    await context.close();
  });
});
