import { test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { backendsWithout, testLaws } from '../backends.ts';
import { weightedHistogramLaws } from '../laws/weighted-histogram.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

testLaws(weightedHistogramLaws);
testLaws(weightedHistogramLaws, backendsWithout('weightedHistogram'));

test('refuses bins, weights and lengths that do not match', () => {
  const context = openReference();
  const bins = context.column(Uint32Array.of(1, 2));
  const floats = context.column(Float32Array.of(1, 2)) as never;
  const shorter = context.column(Uint32Array.of(1));
  for (const count of [0, -1, 0.5, Number.NaN, 2 ** 32]) {
    expectRefusal(context, 'histogram/size', () => q.weightedHistogram(bins, count, { bins }));
  }
  expectRefusal(context, 'column/type', () => q.weightedHistogram(floats, 2, { bins }));
  expectRefusal(context, 'column/type', () => q.weightedHistogram(bins, 2, { floats }));
  expectRefusal(context, 'column/length', () => q.weightedHistogram(bins, 2, { shorter }));
  expectRefusal(context, 'column/size', () => q.weightedHistogram(bins, 2 ** 31, { bins }));
});
