import { afterAll, describe, expect } from 'vitest';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { explainVectorization } from '../../../backends/workers/wasm/explain-vectorization.ts';
import { straightLine } from '../../arbitraries/functor-sketch.ts';
import { moduleOfSketch } from '../../arbitraries/functor-sketch-ir.ts';
import { fuzzCases } from '../../arbitraries/functors.ts';
import { test } from '../../law-test.ts';
import { fuzz, fuzzTimeout } from '../../support/functor-comparison.ts';
import { expectAsSpecified } from '../../support/functor-on-backend.ts';
import { SPECIFIED } from '../../support/ir-interpreter.ts';

const backend = await createWorkersBackend({ workers: 2 });
afterAll(() => backend.close());

describe('random programs on worker threads', () => {
  test.prop([fuzzCases()], fuzz(150))(
    'compute what the rules define',
    (program) => expectAsSpecified(backend, program, SPECIFIED),
    fuzzTimeout,
  );

  test.prop([fuzzCases(straightLine)], fuzz(150))(
    'compute the same with SIMD',
    async (program) => {
      expect(explainVectorization(moduleOfSketch(program.sketch))).toEqual({ vectorizes: true });
      await expectAsSpecified(backend, program, SPECIFIED);
    },
    fuzzTimeout,
  );
});
