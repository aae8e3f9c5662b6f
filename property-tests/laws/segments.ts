import fc from 'fast-check';
import type { Column } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context/context.ts';
import type { Segments } from '../../primitives/rows/segments.ts';
import { type Presentation, present, presentation } from '../arbitraries/presentations.ts';

/** Ways in which segments are drawn. */
const ways = ['even', 'ascending', 'unsorted', 'apart', 'pairs', 'whole'] as const;

/** Segments of rows, as a primitive is given them and as a plain loop goes through them. */
export interface SegmentsOfRows {
  readonly given: (context: Context) => Segments;
  /** The rows of every segment, from the first to before the end. */
  readonly bounds: readonly (readonly [from: number, to: number])[];
  /** The number of rows of all segments together. */
  readonly total: number;
}

interface SegmentRecipe {
  readonly way: (typeof ways)[number];
  readonly count: number;
  readonly cuts: readonly number[];
  readonly how: Presentation;
}

/** Makes segments of any number of rows: empty ones, some beyond the rows, some that overlap, in and out of order. */
export const segmentsOfRows: fc.Arbitrary<(rows: number) => SegmentsOfRows> = fc
  .record({
    way: fc.constantFrom(...ways),
    count: fc.oneof(fc.nat({ max: 9 }), fc.nat({ max: 70 })),
    cuts: fc.array(fc.double({ min: 0, max: 1.1, noNaN: true }), { minLength: 1, maxLength: 8 }),
    how: presentation,
  })
  .map((recipe) => {
    const make = (rows: number): SegmentsOfRows => segmentsFrom(recipe, rows);
    return Object.defineProperty(make, fc.toStringMethod, { value: () => fc.stringify(recipe) });
  });

function segmentsFrom({ way, count, cuts, how }: SegmentRecipe, rows: number): SegmentsOfRows {
  // Cuts repeat with a shift, so that a few of them make many places.
  const places = Array.from({ length: 2 * count + 2 }, (_, i) => {
    const cut = cuts[i % cuts.length]! + 0.37 * Math.floor(i / cuts.length);
    return Math.floor((cut % 1.1) * rows);
  });
  const ascending = places.toSorted((a, b) => a - b);
  const shuffled = Array.from({ length: count }, (_, s) => (s * 7) % count);
  const pairs = (list: readonly number[]): [number, number][] =>
    (count % 7 === 0 ? shuffled.map((_, s) => s) : shuffled).map((s) => [list[2 * s]!, list[2 * s + 1]!]);
  const offsetsOf = {
    even: Array.from({ length: count + 1 }, (_, s) => Math.floor((s * rows) / Math.max(1, count))),
    ascending: ascending.slice(0, count + 1),
    unsorted: places.slice(0, count + 1),
    whole: [0, rows],
  };
  const offsets = way === 'apart' || way === 'pairs' ? undefined : offsetsOf[way];
  const given =
    offsets === undefined
      ? pairs(way === 'apart' ? ascending : places)
      : offsets.slice(1).map((end, s) => [offsets[s]!, end] as const);
  const bounds = given.map(([first, end]): [number, number] => {
    const to = Math.min(rows, end);
    return [Math.min(first, to), to];
  });
  return {
    bounds,
    total: bounds.reduce((sum, [from, to]) => sum + to - from, 0),
    given: (context) => {
      if (offsets !== undefined)
        return present(context, { offsets: Uint32Array.from(offsets) }, how).offsets as Column<'u32'>;
      const columns = { first: given.map(([first]) => first), end: given.map(([, end]) => end) };
      return present(
        context,
        { first: Uint32Array.from(columns.first), end: Uint32Array.from(columns.end) },
        how,
      ) as Segments;
    },
  };
}
