import { afterAll, describe } from 'vitest';
import { createReferenceBackend } from '../backends/reference/index.ts';
import { fuzzCases } from './arbitraries/functors.ts';
import { fuzz, fuzzTimeout } from './functor-comparison.ts';
import { expectAsSpecified } from './functor-on-backend.ts';
import { SPECIFIED } from './ir-interpreter.ts';
import { test } from './law-test.ts';

const backend = createReferenceBackend();
afterAll(() => backend.close());

describe('random programs on the reference backend', () => {
  test.prop([fuzzCases()], fuzz(200))(
    'compute what the rules say',
    (program) => expectAsSpecified(backend, program, SPECIFIED),
    fuzzTimeout,
  );
});
