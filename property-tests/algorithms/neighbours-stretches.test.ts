import { expect, test } from 'vitest';
import { deviceFrame } from '../../algorithms/neighbours/exact/device-frame.ts';
import { hostTree } from '../../algorithms/neighbours/exact/host-tree.ts';
import { type HostMetric, recordOf } from '../../algorithms/neighbours/metrics.ts';
import type { Stretches } from '../../algorithms/stretches.ts';

/** The result of some work, and its number of pauses. */
function counted<T>(work: Stretches<T>): { readonly value: T; readonly pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const step = work.next();
    if (step.done === true) return { value: step.value, pauses };
  }
}

const COUNT = 2 ** 17;
/** Number of points that work may pass between two pauses. */
const PIECE = 2 ** 14;

test.each<HostMetric>(['l2', 'cosine', 'sphere'])('points are placed and put into a tree in pieces: %s', (metric) => {
  const values = Float64Array.from({ length: 2 * COUNT }, (_, i) => ((i * 7919) % 1000) / 11 + i * 1e-7);
  const points = { dimensions: 2, values, rests: undefined };
  const space = recordOf(metric).spaceOf(points);
  const placed = counted(space.place(points));
  const frame = counted(deviceFrame(space, placed.value));
  const tree = counted(hostTree(space, placed.value));
  const pieces = COUNT / PIECE - 1;
  // The coordinates of l2 are taken as they are.
  if (metric !== 'l2') expect(placed.pauses).toBeGreaterThanOrEqual(pieces);
  expect(frame.pauses).toBeGreaterThanOrEqual(pieces);
  expect(tree.pauses).toBeGreaterThanOrEqual(pieces * Math.log2(pieces));
});
