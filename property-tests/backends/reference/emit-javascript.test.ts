import { expect, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { cases, describeCase, moduleOfCase, runCase, wrongAt } from '../../support/every-operation.ts';

test.each(cases.map((one) => [describeCase(one), one] as const))(
  '%s computes what its rule defines',
  async (_, one) => {
    const backend = createReferenceBackend();
    expect(wrongAt(one, await runCase(backend, one, moduleOfCase(one, false)))).toEqual([]);
  },
);
