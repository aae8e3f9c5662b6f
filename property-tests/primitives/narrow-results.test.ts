import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dealToBackends, onEveryBackend, plainBackends } from '../backends.ts';
import { costlyCaseCount, someOf } from '../cases.ts';
import { narrowResultsLaw } from '../laws/narrow-results.ts';
import { RESULTS } from '../support/results-of-primitives.ts';
import { primitiveCalls } from '../valid-calls/primitives.ts';

const resultsOn = dealToBackends(someOf(Object.keys(RESULTS), 40));

onEveryBackend((opened, backend) => {
  test.each(resultsOn(backend))('the result of %s can be packed', async (primitive) => {
    const { property } = narrowResultsLaw([primitive]);
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
