import { afterAll, beforeAll, describe } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import type { Backend } from '../../../primitives/contract/backend.ts';
import { type FunctorDescription, isFunctor } from '../../../primitives/functors/index.ts';
import * as standard from '../../../primitives/functors/standard/index.ts';
import { entryOf } from '../../../primitives/ir/ir.ts';
import { drawForever, drawValue, type Inputs } from '../../arbitraries/functors.ts';
import { costlyCaseCount, someOf } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { expectSame, fuzzTimeout, runInterpreter } from '../../support/functor-comparison.ts';
import { runOnBackend } from '../../support/functor-on-backend.ts';
import { PROMISED } from '../../support/ir-interpreter.ts';
import { openTestBackend } from '../../support/webgpu-support.ts';

const functors: readonly FunctorDescription[] = Object.values<unknown>(standard).filter(isFunctor);

const backends: Record<string, () => Promise<Backend>> = {
  reference: async () => createReferenceBackend(),
  workers: () => createWorkersBackend({ workers: 2 }),
  webgpu: () => openTestBackend(),
};

function drawRows(seed: number, { module }: FunctorDescription): Inputs {
  const draw = drawForever(seed);
  const rows = Array.from({ length: 131 }, () => entryOf(module).parameters.map(({ type }) => drawValue(draw, type)));
  return { rows, arrays: {}, uniforms: {} };
}

describe.each(Object.keys(backends))('the standard library on %s', (name) => {
  // By default, each run of the tests tries a random half of the functors on each backend.
  const tried = someOf(functors, Math.ceil(functors.length / 2));
  let backend: Backend;
  beforeAll(async () => {
    backend = await backends[name]!();
  }, 60_000);
  afterAll(() => backend.close());

  describe.each(tried.map((functor) => [functor.functorName, functor] as const))('%s', (_, functor) => {
    test.prop([fc.integer()], { numRuns: costlyCaseCount(4) })(
      'gives the bytes that the rules define',
      async (seed) => {
        const inputs = drawRows(seed, functor);
        const expected = runInterpreter(functor.module, inputs);
        const types = entryOf(functor.module).results;
        expectSame(types, await runOnBackend(backend, functor.module, inputs), expected, PROMISED);
      },
      fuzzTimeout,
    );
  });
});
