import { afterAll, describe } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { fuzzCases } from '../../arbitraries/functors.ts';
import { test } from '../../law-test.ts';
import { fuzz, fuzzTimeout } from '../../support/functor-comparison.ts';
import { expectAsSpecified } from '../../support/functor-on-backend.ts';
import { SPECIFIED } from '../../support/ir-interpreter.ts';

const backend = createReferenceBackend();
afterAll(() => backend.close());

describe('random programs on the reference backend', () => {
  test.prop([fuzzCases()], fuzz(200))(
    'compute what the rules define',
    (program) => expectAsSpecified(backend, program, SPECIFIED),
    fuzzTimeout,
  );
});
