import { expect, test } from 'vitest';
import * as q from '../../primitives/index.ts';
import { onEveryBackend, testLaws } from '../backends.ts';
import { segmentedReduceLaws } from '../laws/segmented-reduce.ts';

testLaws(segmentedReduceLaws);

const { f32 } = q;
const { fround } = Math;

/** The sum of f32 from left to right, 4096 rows at a time, and of these sums in the same way. */
function sumOf(x: Float32Array): number {
  if (x.length === 0) return 0;
  const sums = Float32Array.from({ length: Math.ceil(x.length / 4096) }, (_, i) =>
    x.subarray(4096 * i, 4096 * (i + 1)).reduce((sum, each) => fround(sum + each)),
  );
  return sums.length === 1 ? sums[0]! : sumOf(sums);
}

const hostRows = Float32Array.from({ length: 50_000 }, (_, i) => fround(Math.sin(i) * 100));

onEveryBackend((opened) => {
  test('sums of f32 of long segments are those of their pieces, whether or not they are cut', async () => {
    const { run } = opened();
    const first = Array.from({ length: 30 }, (_, s) => 17 * s);
    const result = await run((context) => {
      const rows = context.column(hostRows);
      const segments = {
        first: context.column(Uint32Array.from(first)),
        end: context.column(Uint32Array.from(first, (from) => hostRows.length - from)),
      };
      return {
        overlapping: q.segmentedReduce(rows, segments, q.plus(f32)),
        apart: q.segmentedReduce(rows, context.column(Uint32Array.of(5, 30, 40_000, 50_000)), q.plus(f32)),
      };
    });
    const sums = first.map((from) => sumOf(hostRows.subarray(from, hostRows.length - from)));
    expect([...result.overlapping]).toEqual(sums);
    const parts = [
      [5, 30],
      [30, 40_000],
      [40_000, 50_000],
    ] as const;
    expect([...result.apart]).toEqual(parts.map(([from, to]) => sumOf(hostRows.subarray(from, to))));
  });
});
