import { test } from '@fast-check/vitest';
import { afterAll, describe } from 'vitest';
import { createReferenceBackend } from '../backends/reference/index.ts';
import { resultTypesOf } from './arbitraries/functor-sketch.ts';
import { moduleOfSketch } from './arbitraries/functor-sketch-ir.ts';
import { fuzzCases } from './arbitraries/functors.ts';
import { expectSame, fuzz, fuzzTimeout, runInterpreter } from './functor-comparison.ts';
import { runOnBackend } from './functor-on-backend.ts';
import { SPECIFIED } from './ir-interpreter.ts';

const backend = createReferenceBackend();
afterAll(() => backend.close());

describe('random programs on the reference backend', () => {
  test.prop([fuzzCases()], fuzz(200))(
    'compute what the rules say',
    async ({ sketch, inputs }) => {
      const module = moduleOfSketch(sketch);
      expectSame(
        resultTypesOf(sketch),
        await runOnBackend(backend, module, inputs),
        runInterpreter(module, inputs),
        SPECIFIED,
      );
    },
    fuzzTimeout,
  );
});
