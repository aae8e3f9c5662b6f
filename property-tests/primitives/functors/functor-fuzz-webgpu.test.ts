import { afterAll, beforeAll, describe } from 'vitest';
import type { WebGpuBackend } from '../../../backends/webgpu/backend.ts';
import { everything, type SketchOptions } from '../../arbitraries/functor-sketch.ts';
import { fuzzCases } from '../../arbitraries/functors.ts';
import { test } from '../../law-test.ts';
import { fuzz, fuzzTimeout } from '../../support/functor-comparison.ts';
import { expectAsSpecified } from '../../support/functor-on-backend.ts';
import { PROMISED } from '../../support/ir-interpreter.ts';
import { openTestBackend } from '../../support/webgpu-support.ts';

let backend: WebGpuBackend;
beforeAll(async () => {
  backend = await openTestBackend();
}, 60_000);
afterAll(() => backend.close());

const integers: SketchOptions = { ...everything, floats: 'none' };
const numeric: SketchOptions = { ...everything, floats: 'mostly' };

describe('random programs on WebGPU', () => {
  test.prop([fuzzCases(integers)], fuzz(30))(
    'compute what the rules define for integers',
    (program) => expectAsSpecified(backend, program, PROMISED),
    fuzzTimeout,
  );

  test.prop([fuzzCases()], fuzz(20))(
    'compute what the rules define for f32 too, if all f32 are normal numbers',
    (program) => expectAsSpecified(backend, program, PROMISED),
    fuzzTimeout,
  );

  test.prop([fuzzCases(numeric)], fuzz(30))(
    'compute what the rules define for f32 that stay in range',
    (program) => expectAsSpecified(backend, program, PROMISED),
    fuzzTimeout,
  );
});
