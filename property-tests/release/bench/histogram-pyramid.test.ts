import { describe, expect } from 'vitest';
import {
  buildPyramid,
  disposePyramid,
  type PointExtent,
  pointList,
} from '../../../bench/experiments/histogram-pyramid.ts';
import { bool, copyIf, fn, map, sequence, u32 } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';

const isActive = fn('isActive', { cell: u32 }, bool, ({ cell }) => cell.ne(0));

/** The indices of active cells in quadtree order. The quadtree covers a square whose side is a power of two. */
function activeInQuadtree(cells: readonly number[], { width, height }: PointExtent): number[] {
  const visit = (left: number, bottom: number, side: number): number[] => {
    if (left >= width || bottom >= height) return [];
    if (side === 1) return cells[bottom * width + left] === 1 ? [bottom * width + left] : [];
    const half = side / 2;
    return [0, 1, 2, 3].flatMap((child) => visit(left + (child & 1) * half, bottom + (child >> 1) * half, half));
  };
  return visit(0, 0, 2 ** Math.ceil(Math.log2(Math.max(width, height, 1))));
}

/** Grids whose sides are close to powers of two, from empty to full. */
const grids = fc
  .record({
    width: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(15, 16, 17, 63, 64, 65)),
    height: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(15, 16, 17)),
    among: fc.constantFrom(1, 2, 7, 100, 2000),
    seed: fc.nat(),
  })
  .map(({ width, height, among, seed }) => ({
    extent: { width, height },
    cells: Array.from({ length: width * height }, (_, i) =>
      Number((Math.imul(i + seed, 0x9e3779b1) >>> 8) % among === 0),
    ),
  }));

describe('a histogram pyramid', () => {
  onEveryBackend((opened, { runs }) => {
    const lists = fc.asyncProperty(grids, async ({ cells, extent }) => {
      const { context } = opened();
      const { liveBuffers } = context.backend.counters;
      const column = context.column(Uint32Array.from(cells));
      const flat = buildPyramid(context, column, { width: cells.length, height: 1 }, 1);
      const square = buildPyramid(context, column, extent, 2);
      const found = {
        flat: pointList(context, flat),
        square: pointList(context, square),
        kept: copyIf(sequence(cells.length), map(isActive, { cell: column }), { context }),
      };
      const read = await context.read(found);
      expect(read.flat).toEqual(read.kept);
      expect([...read.square]).toEqual(activeInQuadtree(cells, extent));
      context.dispose(found, column);
      for (const pyramid of [flat, square]) disposePyramid(context, pyramid);
      expect(context.backend.counters.liveBuffers).toBe(liveBuffers);
    });
    test(
      'lists the indices that copyIf keeps, and in two dimensions those of a quadtree',
      () => fc.assert(lists, { numRuns: runs }),
      120_000,
    );
  });
});
