import { expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { testLaws } from '../backends.ts';
import { histogramLaws } from '../laws/histogram.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

const { bool, f32, fn, u32 } = q;

testLaws(histogramLaws);

test.each([0, -1, 0.5, Number.NaN, 2 ** 32])('refuses %d bins, rows per segment, ranks or histograms', (size) => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1, 2));
  const rows = {
    active: q.map(
      fn({ x: u32 }, bool, ({ x }) => x.gt(1)),
      { x },
    ),
    x,
  };
  const element = fn({ x: u32 }, { bin: u32, histogram: u32 }, ({ x }) => ({ bin: x, histogram: 0 }));
  const sizes = { ranks: 1, bins: 1, histograms: 1 };
  expectRefusal(context, 'histogram/size', () => q.histogram(x, size));
  expectRefusal(context, 'histogram/size', () => q.histogram(x, 3, { segment: size }));
  expectRefusal(context, 'histogram/size', () => q.histogramEven(x, 0, 1, size));
  for (const name of Object.keys(sizes)) {
    expectRefusal(context, 'histogram/size', () => q.rankHistogram(rows, element, { ...sizes, [name]: size }));
  }
});

test.each([[[]], [[1]], [[0, 0]], [[1, 0]], [[0, Number.NaN]], [[0, Number.POSITIVE_INFINITY]]])(
  'refuses %o as edges',
  (edges) => {
    const context = openReference();
    const x = context.column(Float32Array.of(1, 2));
    expectRefusal(context, 'histogram/edges', () => q.binOf(x, edges));
    expectRefusal(context, 'histogram/edges', () => q.histogramEdges(x, edges));
  },
);

test('refuses even bins with crossed bounds', () => {
  const context = openReference();
  const x = context.column(Float32Array.of(1));
  expectRefusal(context, 'histogram/edges', () => q.histogramEven(x, 1, 1, 4));
  expectRefusal(context, 'histogram/edges', () => q.histogramEven(x, 2, 1, 4));
});

test('refuses functors without bin and histogram, and rows whose fields do not match', () => {
  const context = openReference();
  const x = context.column(Uint32Array.of(1));
  const rows = {
    active: q.map(
      fn({ x: u32 }, bool, ({ x }) => x.gt(1)),
      { x },
    ),
    x,
  };
  const floating = context.column(Float32Array.of(1));
  const sizes = { ranks: 1, bins: 1, histograms: 1 };
  const floats = fn({ x: u32 }, { bin: f32, histogram: u32 }, ({ x }) => ({ bin: f32(x), histogram: x }));
  const other = fn({ y: u32 }, { bin: u32, histogram: u32 }, ({ y }) => ({ bin: y, histogram: y }));
  expectRefusal(context, 'histogram/result', () => q.rankHistogram(rows, floats, sizes));
  expectRefusal(context, 'histogram/result', () =>
    q.rankHistogram(
      rows,
      fn({ x: u32 }, u32, ({ x }) => x),
      sizes,
    ),
  );
  expectRefusal(context, 'rows/field', () => q.rankHistogram(rows, other, sizes));
  expectRefusal(context, 'rows/type', () => q.rankHistogram({ ...rows, y: floating }, other, sizes));
  expectRefusal(context, 'rows/rank', () => q.rankHistogram({ ...rows, rank: x }, other, sizes));
});

test('reads each edge a few times, however many there are', () => {
  const context = openReference();
  const x = context.column(Float32Array.of(0.5, 3));
  for (const length of [1000, 4000]) {
    let reads = 0;
    const edges = new Proxy(
      Array.from({ length }, (_, i) => i / 2),
      {
        get(target, key) {
          if (typeof key === 'string' && /^\d+$/.test(key)) reads++;
          return Reflect.get(target, key);
        },
      },
    );
    context.dispose(q.histogramEdges(x, edges));
    expect(reads).toBeGreaterThanOrEqual(length);
    expect(reads).toBeLessThanOrEqual(10 * length);
  }
});
