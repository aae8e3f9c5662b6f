import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dealToBackends, onEveryBackend, plainBackends } from '../backends.ts';
import { costlyCaseCount, someOf } from '../cases.ts';
import { narrowResultsLaw, packedRowsLaw } from '../laws/narrow-results.ts';
import { RESULTS } from '../support/results-of-primitives.ts';
import { primitiveCalls } from '../valid-calls/primitives.ts';

const names = Object.keys(RESULTS);
const laws = [
  ...someOf(names, 20).map((name) => [`the result of ${name} can be packed`, narrowResultsLaw([name])] as const),
  ...someOf(names, 12).map((name) => [`${name} takes packed rows`, packedRowsLaw([name])] as const),
];
// A software GPU compiles several kernels for each.
const lawsOn = dealToBackends(laws, 0.4);

onEveryBackend((opened, backend) => {
  test.each(lawsOn(backend))('%s', async (_, { property }) => {
    await fc.assert(property(opened().run), { numRuns: costlyCaseCount(5) });
  });
}, plainBackends);

test('this file covers every primitive that returns columns', () => {
  const NO_COLUMNS = [
    // Monoids, what is no primitive, and what writes to a column of whole words that it is given.
    ...['bitAnd', 'bitOr', 'bitXor', 'maximum', 'minimum', 'monoid', 'plus', 'product', 'segmented', 'times'],
    ...['capacityOf', 'explain', 'input'],
    ...['scatterReduce', 'unfoldReduce'],
  ];
  const functions = Object.keys(primitiveCalls).filter((name) => !/^new |^Context\./.test(name));
  expect([...Object.keys(RESULTS), ...NO_COLUMNS].sort()).toEqual(functions.sort());
});
