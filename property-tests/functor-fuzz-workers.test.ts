import { afterAll, describe, expect } from 'vitest';
import { explainVectorization } from '../backends/workers/explain-vectorization.ts';
import { createWorkersBackend } from '../backends/workers/index.ts';
import { straightLine } from './arbitraries/functor-sketch.ts';
import { moduleOfSketch } from './arbitraries/functor-sketch-ir.ts';
import { fuzzCases } from './arbitraries/functors.ts';
import { fuzz, fuzzTimeout } from './functor-comparison.ts';
import { expectAsSpecified } from './functor-on-backend.ts';
import { SPECIFIED } from './ir-interpreter.ts';
import { test } from './law-test.ts';

const backend = await createWorkersBackend({ workers: 2 });
afterAll(() => backend.close());

describe('random programs on worker threads', () => {
  test.prop([fuzzCases()], fuzz(150))(
    'compute what the rules say',
    (program) => expectAsSpecified(backend, program, SPECIFIED),
    fuzzTimeout,
  );

  test.prop([fuzzCases(straightLine)], fuzz(150))(
    'compute it with SIMD',
    async (program) => {
      expect(explainVectorization(moduleOfSketch(program.sketch))).toEqual({ vectorizes: true });
      await expectAsSpecified(backend, program, SPECIFIED);
    },
    fuzzTimeout,
  );
});
