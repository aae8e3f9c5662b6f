import { test } from '@fast-check/vitest';
import { afterAll, describe, expect } from 'vitest';
import { createWorkersBackend } from '../backends/workers/backend.ts';
import { explainVectorization } from '../backends/workers/straight-line.ts';
import { resultTypesOf, straightLine } from './arbitraries/functor-sketch.ts';
import { moduleOfSketch } from './arbitraries/functor-sketch-ir.ts';
import { fuzzCases } from './arbitraries/functors.ts';
import { expectSame, fuzz, fuzzTimeout, runInterpreter } from './functor-comparison.ts';
import { runOnBackend } from './functor-on-backend.ts';
import { SPECIFIED } from './ir-interpreter.ts';

const backend = await createWorkersBackend({ workers: 2 });
afterAll(() => backend.close());

describe('random programs on worker threads', () => {
  test.prop([fuzzCases()], fuzz(150))(
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

  test.prop([fuzzCases(straightLine)], fuzz(150))(
    'compute it with SIMD',
    async ({ sketch, inputs }) => {
      const module = moduleOfSketch(sketch);
      expect(explainVectorization(module)).toEqual({ vectorizes: true });
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
